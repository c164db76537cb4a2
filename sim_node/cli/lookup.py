"""Look up the transform between two frames of a world."""

from __future__ import annotations

import argparse
import json

import numpy as np

from sim_node.cli.errors import UsageError
from sim_node.cli.worlds import add_at, add_world, loaded, seen_at
from sim_node.geometry import quaternions
from sim_node.world import UnknownFrame


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """WORLD TARGET SOURCE, --at, --json."""
    add_world(parser)
    parser.add_argument("target", metavar="TARGET", help="the frame to express in")
    parser.add_argument("source", metavar="SOURCE", help="the frame to find")
    add_at(parser)
    parser.add_argument("--json", action="store_true", help="print translation, rotation [x,y,z,w] and stamp as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Prints the pose of SOURCE in TARGET, as tf2's lookup_transform(TARGET, SOURCE) gives it."""
    simulation, snapshot = seen_at(loaded(arguments), arguments.at)
    try:
        pose = simulation.frames.lookup(snapshot.poses, arguments.target, arguments.source)
    except UnknownFrame as unknown:
        raise UsageError(str(unknown)) from None
    stamp = snapshot.time_ns / 1e9
    if arguments.json:
        print(json.dumps({"translation": pose[:3].tolist(), "rotation": pose[3:].tolist(), "stamp": stamp}))
        return 0
    rpy = np.degrees(quaternions.to_rpy(pose[3:]))
    print(f"{arguments.source} in {arguments.target} at {stamp:g} s")
    print(f"  translation [{', '.join(f'{part:.6f}' for part in pose[:3] + 0.0)}] m")
    print(f"  rotation    [{', '.join(f'{part:.6f}' for part in pose[3:] + 0.0)}] xyzw")
    print(f"  rpy         [{', '.join(f'{part:.3f}' for part in np.round(rpy, 3) + 0.0)}] degrees")
    return 0
