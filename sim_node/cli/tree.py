"""Show the frames of a world, a bag or a running graph as a tree, with their poses."""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

from sim_node.cli.arguments import UsageError
from sim_node.cli.bag_transforms import bag_tree
from sim_node.cli.bags import add_chunk_limit
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.terminal import short_pose
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
from sim_node.spatial.tree.describe import FrameInfo, branches, lines_in
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
    """Print the tree; with --live, repeatedly until Ctrl-C."""
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
    frames, encoding = simulation.frames, sys.stdout.encoding
    described = _described(frames)
    if arguments.json:
        rows_of = zip(described, snapshot.poses.tolist(), strict=True)
        found = {
            each.name: {
                **{"parent": each.parent, "kind": each.kind, "convention": each.convention},
                **{"position": pose[:3], "quaternion": pose[3:]},
            }
            for each, pose in rows_of
        }
        print(json.dumps(found))
        return 0
    moving = int(np.count_nonzero(~frames.static))
    print(f"{world.name} at {snapshot.time_ns / 1e9:g} s: {counted(len(frames), 'frame')}, {moving} moving")
    rows = [(each, lead + each.name) for each, lead in branches(described, lines_in(encoding))]
    width, axes = max(len(text) for _, text in rows), max(len(each.convention) for each in described)
    for each, text in rows:
        row = frames.index(each.name)
        kind = "static" if frames.static[row] else "moving"
        pose = f"  {kind}  {short_pose(snapshot.poses[row])}" if row else ""
        print(f"{text.ljust(width)}  {each.convention.ljust(axes)}{pose}".rstrip())
    return 0


def _described(frames: FrameTable) -> list[FrameInfo]:
    parents = [None if row < 0 else frames.names[row] for row in frames.parents.tolist()]
    kinds = ("root", *("static" if still else "dynamic" for still in frames.static.tolist()[1:]))
    return [FrameInfo(*each, 0, None, None, None) for each in zip(frames.names, parents, kinds, strict=True)]
