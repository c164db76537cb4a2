"""Options of a command beside parameters after --ros-args: what both would set is refused."""

from __future__ import annotations

import argparse
from collections.abc import Collection

from sim_node.cli.errors import UsageError
from sim_node.nodes.ros_arguments import ANY_NODE, overrides


def refuse_twice(arguments: argparse.Namespace, node: str, parameters: Collection[str]) -> None:
    """Raises UsageError where `-p` sets a parameter that an option of the command sets; a file gives way to options."""
    for each in overrides(arguments.ros_args):
        if not each.is_of_file and each.name in parameters and each.node.strip("/") in (ANY_NODE.strip("/"), node):
            raise UsageError(f"parameter {each.name}: the command's own options set it; leave it out of --ros-args")


def refuse_world(arguments: argparse.Namespace) -> None:
    """Raises UsageError for a world that only --ros-args names: a command's is WORLD."""
    for each in overrides(arguments.ros_args):
        if each.name == "world" and "world" not in arguments.given:
            at = f"{each.where}: " if each.is_of_file else ""
            raise UsageError(f"{at}parameter world: name the world before --ros-args, as in sim_node run WORLD")
