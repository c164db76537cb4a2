"""Look up the transform between two frames of a world, of a bag, or of a running graph."""

from __future__ import annotations

import argparse
import json

from sim_node.cli.arguments import UsageError, seconds
from sim_node.cli.bag_transforms import bag_lookup
from sim_node.cli.bags import add_chunk_limit
from sim_node.cli.commands import command
from sim_node.cli.parser import goes_with, refuse
from sim_node.cli.terminal import pose_as_dict, pose_lines
from sim_node.cli.world_arguments import add_allow, add_at, add_live, no_world_beside_live, seen_at
from sim_node.recording.opening import is_bag
from sim_node.world import FrameNotFound, load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD TARGET SOURCE, or --live TARGET SOURCE."""
    parser.usage = (
        "sim_node lookup [options] WORLD|BAG TARGET SOURCE\n       sim_node lookup --live [options] TARGET SOURCE"
    )
    parser.add_argument(
        "names", metavar="NAME", nargs="+", help="the world or bag, the frame to express in, the frame to find"
    )
    add_allow(parser)
    add_at(parser)
    add_live(parser)
    add_chunk_limit(parser)
    parser.add_argument("--every", metavar="S", type=_step, help="of a bag: one line of CSV for each S seconds")
    parser.add_argument("--json", action="store_true", help="print translation, rotation [x,y,z,w] and stamp as JSON")


@command("lookup", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the pose of SOURCE in TARGET, as tf2's lookup_transform(TARGET, SOURCE)."""
    *worlds, target, source = ["", *arguments.names] if len(arguments.names) < 2 else arguments.names
    if arguments.live and target:
        no_world_beside_live(arguments, worlds)
        refuse(arguments, "--live", ["every", "chunk_limit"])
        from sim_node.cli.live import live_lookup

        return live_lookup(target, source, period=arguments.period, as_json=arguments.json)
    if len(arguments.names) != 3:
        needed = "TARGET and SOURCE" if arguments.live else "WORLD, TARGET and SOURCE (or --live, TARGET and SOURCE)"
        raise UsageError(f"{needed} are needed, found {' '.join(arguments.names)}")
    goes_with(arguments, "--live", ["period"])
    if is_bag(worlds[0]):
        refuse(arguments, "a bag", ["allow", "allow_fetch"])
        return bag_lookup(worlds[0], target, source, arguments)
    goes_with(arguments, "a bag", ["every", "chunk_limit"])
    simulation, snapshot = seen_at(load(worlds[0], allow=arguments.allow, fetch=arguments.allow_fetch), arguments.at)
    try:
        pose = simulation.frames.lookup(snapshot.poses, target, source)
    except FrameNotFound as unknown:
        raise UsageError(str(unknown)) from None
    stamp, roots = snapshot.time_ns / 1e9, simulation.frames.names[:1]
    if arguments.json:
        print(json.dumps(pose_as_dict(target, source, pose, roots, stamp=stamp)))
    else:
        print("\n".join(pose_lines(target, source, stamp, pose, roots)))
    return 0


def _step(text: str) -> float:
    step = seconds(text)
    if step < 1e-6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a step; seconds above 0 are needed")
    return step
