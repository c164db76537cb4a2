"""Show the frames of a world or a bag as a tree, with their poses, or those of a running graph."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from sim_node.cli.arguments import UsageError
from sim_node.cli.bag_transforms import bag_tree
from sim_node.cli.bags import add_chunk_limit
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.worlds import (
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
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.recording.opening import is_bag
from sim_node.world import FrameTable
from sim_node.world.problems import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """WORLD and --at, or --live."""
    add_world(parser, default="")
    add_at(parser)
    add_randomised(parser)
    add_live(parser)
    add_chunk_limit(parser)
    parser.add_argument("--json", action="store_true", help="with --live: one line of JSON each time; of a bag: one")


@command("tree", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Prints the tree; with --live again and again, until Ctrl-C."""
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
    if arguments.json:
        raise UsageError("--json goes with --live or a bag")
    needs_no_seed(arguments)
    world = drawn(loaded(arguments), arguments)
    simulation, snapshot = seen_at(world, arguments.at)
    frames = simulation.frames
    moving = int(np.count_nonzero(~frames.static))
    print(f"{world.name} at {snapshot.time_ns / 1e9:g} s: {counted(len(frames), 'frame')}, {moving} moving")
    branches = list(_branches(frames))
    width = max(len(branch) + len(frames.names[row]) for row, branch in branches)
    for row, branch in branches:
        pose = "" if row == 0 else _pose(snapshot.poses[row], bool(frames.static[row]))
        print(f"{(branch + frames.names[row]).ljust(width)}{pose}".rstrip())
    return 0


def _branches(frames: FrameTable) -> Iterator[tuple[int, str]]:
    """Each row, parents first, with the lines drawn before its name."""
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
            stack.append((child, indent + ("└─ " if is_last else "├─ "), indent + ("   " if is_last else "│  ")))


def _pose(pose: FloatArray, static: bool) -> str:
    position = ", ".join(f"{part:.3f}" for part in pose[:3] + 0.0)
    rpy = ", ".join(f"{part:.1f}" for part in np.round(np.degrees(quaternions.to_rpy(pose[3:])), 1) + 0.0)
    return f"  {'static' if static else 'moving'}  position [{position}]  rpy_deg [{rpy}]"
