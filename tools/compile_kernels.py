"""Compile the kernels of sim_node before several processes would each do so at the same time."""

import importlib
from pathlib import Path

import sim_node
from sim_node import Simulation, load, loads

ROOT = Path(sim_node.__file__).parent
# Kernels without a signature are compiled where they are first called: four in ten. These worlds call most of them.
WORLDS = ("formation", "buoys", "warehouse", "sensor_rig")
# What no shipped world has.
BY_HAND = """
world: by_hand
vehicles: [{name: drone, model: iris, sensors: false, pose: {position: [0, 0, 5]}, pilot: {wait: 0}}]
sensors: [{name: ODOM, parent: drone/base_link, type: odometry, rate: 100}]
"""


def main() -> None:
    """Import every module that defines kernels, and run worlds."""
    for path in sorted(ROOT.rglob("*.py")):
        if "\n@kernel(" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(("sim_node", *path.relative_to(ROOT).with_suffix("").parts)))
    for name in WORLDS:
        Simulation(load(name)).run(0.3)
    by_hand = Simulation(loads(BY_HAND))
    by_hand.vehicles["drone"].cmd_vel(1.0, 0.0)
    by_hand.run(0.3)
    by_hand.snapshot()


if __name__ == "__main__":
    main()
