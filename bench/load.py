"""Loading a world, checked whole, beside parsers that check nothing.

Run from the repository: python -m bench.load [--out bench/results/load.json]

10,000 frames beside PyYAML's yaml.load with libyaml (CSafeLoader), which gives dicts and lists; 100,000 keyframes
from CSV beside numpy.loadtxt, which gives one array; 1,000 hinged bodies in OpenPLX beside lark's own tree of the
same text. Garbage is not collected while it is measured: with it, as
programs run, yaml.load takes two to three times as long; load pauses it by itself. Exit code 1 where the 10,000
frames take a second or more, or a third longer than yaml.load.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import yaml
from lark import Lark

from bench.pairs import Pairs, figure
from sim_node.extensions.openplx.parse import GRAMMAR, Indentation
from sim_node.world import load

FRAMES, KEYFRAMES, BODIES = 10_000, 100_000, 1_000
CHAIN = """\
Link is Physics3D.Bodies.RigidBody:
    box is Physics3D.Geometries.Box:
        size: {0.1, 0.1, 1}
    start is Physics3D.Interactions.MateConnector:
        position.z: -box.size.z / 2
    end is Physics3D.Interactions.MateConnector:
        position.z: box.size.z / 2
Chain is Physics3D.System:
    origin is Physics3D.Interactions.MateConnector"""
MAX_S = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/load.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    with tempfile.TemporaryDirectory() as folder:
        frames = write_frames(Path(folder))
        pairs.measure(
            f"load {FRAMES:,} frames",
            partial(load, frames),
            {"yaml.load": lambda: yaml.load(frames.read_bytes(), yaml.CSafeLoader)},
            target=0.75,
            rounds=7,
        )
        world, csv = write_keyframes(Path(folder))
        chain = write_chain(Path(folder))
        pairs.measure(
            f"load {BODIES:,} hinged bodies, OpenPLX",
            partial(load, chain),
            {"lark, tree only": partial(lark_tree(), chain.read_text(encoding="utf-8"))},
            rounds=3,
        )
        pairs.measure("load clock.openplx", partial(load, "clock"), {"yaml, orbit": partial(load, "orbit")}, rounds=7)
        pairs.measure(
            f"load {KEYFRAMES:,} keyframes, CSV",
            partial(load, world),
            {"numpy.loadtxt": partial(np.loadtxt, csv, delimiter=",", skiprows=1)},
            rounds=7,
        )
    pairs.save(arguments.out)
    elapsed = pairs.rows[0]["seconds"]["ours"]
    held = figure(f"load {FRAMES:,} frames, all in all", elapsed, "s", limit=MAX_S)
    return 1 if pairs.missed or not held else 0


def write_frames(folder: Path) -> Path:
    """A world of vehicles of ten frames each: a tree such as people write, 1 MB."""
    lines = ["world: fleet", "frames:"]
    for i in range(FRAMES):
        vehicle, part = divmod(i, 10)
        name, parent = (
            (f"v{vehicle}/base_link", "map") if part == 0 else (f"v{vehicle}/p{part}", f"v{vehicle}/base_link")
        )
        position = f"[{i * 0.01:.3f}, {part * 0.1:.2f}, 0.25]"
        lines.append(
            f"  - {{name: {name}, parent: {parent}, pose: {{position: {position}, rpy_deg: [0, {part}, 90]}}}}"
        )
    path = folder / "fleet.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_keyframes(folder: Path) -> tuple[Path, Path]:
    """A world of one recorded motion, 100 Hz for a thousand seconds, and its CSV, 6 MB."""
    seconds = np.arange(KEYFRAMES) * 0.01
    rows = np.stack(
        [seconds, np.cos(seconds), np.sin(seconds), 0.01 * seconds, *np.zeros((2, KEYFRAMES)), *half_angle(seconds)],
        axis=1,
    )
    csv = folder / "recorded.csv"
    np.savetxt(csv, rows, fmt=["%.2f", "%.4f", "%.4f", "%.4f", "%g", "%g", "%.9f", "%.9f"], delimiter=",",
               header="t,x,y,z,qx,qy,qz,qw", comments="")  # fmt: skip
    world = folder / "recorded.yaml"
    world.write_text(
        "world: recorded\nmotions: [{frame: base_link, keyframes: {csv: recorded.csv}}]\n", encoding="utf-8"
    )
    return world, csv


def write_chain(folder: Path) -> Path:
    """An OpenPLX system of bodies hinged to each other, 0.1 MB for a thousand."""
    lines = [CHAIN]
    for i in range(BODIES):
        above = "origin" if i == 0 else f"link{i - 1}.end"
        lines.append(f"    link{i} is Link")
        lines.append(f"    hinge{i} is Physics3D.Interactions.Hinge:")
        lines.append(f"        connectors: [{above}, link{i}.start]")
        lines.append("        initial_angle: 0.1")
    path = folder / "chain.openplx"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def lark_tree() -> Callable[[str], object]:
    """lark with the same grammar, which gives a tree without places and checks nothing."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", postlex=Indentation(), maybe_placeholders=False).parse


def half_angle(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """qz and qw of a turn about z."""
    return np.sin(angle / 2), np.cos(angle / 2)


if __name__ == "__main__":
    sys.exit(main())
