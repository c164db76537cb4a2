"""3000 boxes, cylinders and spheres that lie on a plane, in SDF: how soon they are read, and the real-time factor.

Run from the repository: python -m bench.shapes

GAZEBO_WORLDS, a folder with gz-sim's examples/worlds, gives its 3k_shapes.sdf; without it, such a world is
written. The bodies are awake in two rows, by two solvers; in the last they sleep, as MuJoCo lets those at rest.
Gazebo's own table for that world, on its machine: DART 0.008 and 0.018, MuJoCo 0.166 and 3.0.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

from bench.pairs import figure
from sim_node.simulation import Simulation
from sim_node.world import load

SHAPES = ("<box><size>1 1 1</size></box>", "<cylinder><radius>0.5</radius><length>1</length></cylinder>",
          "<sphere><radius>0.5</radius></sphere>")  # fmt: skip
SIDE = 55  # of the square that 3000 shapes fill
WORLD = """
time: {step: 0.001}
physics: {gravity: [0, 0, -9.8], OPTIONS}
include: [{file: 3k_shapes.sdf}]
"""
# Name, options of physics, least real-time factor, and when it is measured, s: when bodies at rest sleep, if they do.
# The first has the solver that MuJoCo chooses, the second what is quickest for many bodies that touch little.
ROWS = (
    ("awake, Newton's method", "integrator: implicitfast, flags: {sleep: false}", None, 0.02),
    ("awake", "integrator: euler, solver: cg, cone: elliptic, flags: {sleep: false}", 0.2, 0.02),
    ("asleep", "integrator: implicitfast, flags: {sleep: true}", 3.3, 0.3),
)


def main() -> int:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    warnings.simplefilter("ignore")
    given = os.environ.get("GAZEBO_WORLDS")
    text = written() if given is None else Path(given, "3k_shapes.sdf").read_text(encoding="utf-8")
    held = True
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "3k_shapes.sdf").write_text(text, encoding="utf-8")
        for name, options, target, until in ROWS:
            path = Path(folder, f"{name}.yaml")
            path.write_text(WORLD.replace("OPTIONS", options), encoding="utf-8")
            start = time.perf_counter()
            world = load(path)
            if name == ROWS[0][0]:
                held &= figure("read 3000 shapes", time.perf_counter() - start, "s", limit=3.0)
            simulation = Simulation(world)
            simulation.run(until)
            start = time.perf_counter()
            simulation.run(0.1)
            held &= figure(f"real-time factor, {name}", 0.1 / (time.perf_counter() - start), "", target=target)
    return 0 if held else 1


def written() -> str:
    """Return the text of a world of shapes in a square, 2 m apart."""
    models = [
        '<model name="ground"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry>'
        "</collision></link></model>"
    ]
    for number in range(3000):
        row, column = divmod(number, SIDE)
        shape = f"<geometry>{SHAPES[number % 3]}</geometry>"
        models.append(
            f'<model name="m{number}"><pose>{2 * row} {2 * column} 0.5 0 0 0</pose><link name="l"><inertial><inertia>'
            "<ixx>0.16</ixx><iyy>0.16</iyy><izz>0.16</izz></inertia></inertial>"
            f'<collision name="c">{shape}</collision><visual name="v">{shape}</visual></link></model>'
        )
    return f'<sdf version="1.6"><world name="shapes">{"".join(models)}</world></sdf>'


if __name__ == "__main__":
    sys.exit(main())
