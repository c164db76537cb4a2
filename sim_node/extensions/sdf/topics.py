"""`sim_node run --sdf-topics gazebo`: the sensors of SDF files publish where ros_gz bridges expect them."""

from __future__ import annotations

import argparse
from dataclasses import replace

from sim_node.cli.arguments import UsageError
from sim_node.cli.run import RUN_SOURCES, FindWorld, RunSource
from sim_node.extensions.sdf import SUFFIXES, TOPICS
from sim_node.extensions.sdf.elements import NAMER
from sim_node.world import World


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --sdf-topics."""
    what = "who names the topics of sensors of SDF files: ours by frames, gazebo as ros_gz bridges (default ours)"
    parser.add_argument("--sdf-topics", choices=TOPICS.allowed, help=what)


def world_with_topics(arguments: argparse.Namespace, find: FindWorld) -> World:
    """Return the world with the topics selected by --sdf-topics."""
    token = NAMER.set(arguments.sdf_topics)
    try:
        world = find(arguments)
    finally:
        NAMER.reset(token)
    if not any(path.suffix.lower() in SUFFIXES for path in world.files):
        raise UsageError(f"--sdf-topics names those of SDF files, and {arguments.world} has none")
    # The files do not contain this setting, so recordings must write the world as it is.
    return replace(world, files=())


RUN_SOURCES.add("topics of SDF files")(RunSource("sdf_topics", add_arguments, world_with_topics))
