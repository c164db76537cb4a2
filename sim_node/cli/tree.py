"""Show the frames of a world, a bag or a running graph as a tree, with their poses."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sim_node.cli.arguments import UsageError
from sim_node.cli.bag_transforms import bag_tree
from sim_node.cli.bags import add_chunk_limit
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.world_arguments import (
    OF_WORLDS,
    add_at,
    add_live,
    add_randomised,
    add_world,
    drawn,
    loaded,
    needs_no_seed,
    no_world_beside_live,
    seen_at,
)
from sim_node.recording.opening import is_bag
from sim_node.simulation import Snapshot
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree.describe import lines_in
from sim_node.world import FrameTable
from sim_node.world.problems import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD and --at, or --live."""
    add_world(parser, default="")
    add_at(parser)
    add_randomised(parser)
    add_live(parser)
    add_chunk_limit(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, for programs; with --live, a line each time")


@command("tree", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the tree; with --live repeatedly, until Ctrl-C."""
    if arguments.live:
        no_world_beside_live(arguments, [arguments.world] if arguments.world else [])
        from sim_node.cli.live import live_tree

        return live_tree(period=arguments.period, as_json=arguments.json)
    if not arguments.world:
        raise UsageError("a WORLD, or --live, is needed")
    goes_with(arguments, "--live", ["period"])
    if is_bag(arguments.world):
        refuse(arguments, "a bag", OF_WORLDS)
        return bag_tree(arguments.world, arguments.at, arguments.json, arguments.chunk_limit)
    goes_with(arguments, "a bag", ["chunk_limit"])
    needs_no_seed(arguments)
    world = drawn(loaded(arguments), arguments)
    simulation, snapshot = seen_at(world, arguments.at)
    frames = simulation.frames
    if arguments.json:
        print(json.dumps(_as_dict(frames, snapshot)))
        return 0
    moving = int(np.count_nonzero(~frames.static))
    print(f"{world.name} at {snapshot.time_ns / 1e9:g} s: {counted(len(frames), 'frame')}, {moving} moving")
    branches = list(_branches(frames, lines_in(sys.stdout.encoding)))
    width = max(len(branch) + len(frames.names[row]) for row, branch in branches)
    for row, branch in branches:
        pose = "" if row == 0 else _pose(snapshot.poses[row], bool(frames.static[row]))
        print(f"{(branch + frames.names[row]).ljust(width)}{pose}".rstrip())
    return 0


def _as_dict(frames: FrameTable, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    parents = (None if row < 0 else frames.names[row] for row in frames.parents.tolist())
    return {
        name: {
            "parent": parent,
            "kind": "root" if parent is None else "static" if static else "dynamic",
            "position": pose[:3],
            "quaternion": pose[3:],
        }
        for name, parent, static, pose in zip(
            frames.names, parents, frames.static.tolist(), snapshot.poses.tolist(), strict=True
        )
    }


def _branches(frames: FrameTable, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield each row, parents first, with the tree lines before its name."""
    last, other, beside = lines
    children: list[list[int]] = [[] for _ in range(len(frames))]
    for row, parent in enumerate(frames.parents.tolist()):
        if parent >= 0:
            children[parent].append(row)
    stack = [(0, "", "")]
    while stack:
        row, branch, indent = stack.pop()
        yield row, branch
        for child in reversed(children[row]):
            is_last = child == children[row][-1]
            stack.append((child, indent + (last if is_last else other), indent + ("   " if is_last else beside)))


def _pose(pose: FloatArray, static: bool) -> str:
    position = ", ".join(f"{part:.3f}" for part in pose[:3] + 0.0)
    rpy = ", ".join(f"{part:.1f}" for part in np.round(np.degrees(quaternions.to_rpy(pose[3:])), 1) + 0.0)
    return f"  {'static' if static else 'moving'}  position [{position}]  rpy_deg [{rpy}]"
