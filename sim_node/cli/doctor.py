"""Say which ROS 2 is in use, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from sim_node.cli.commands import command
from sim_node.cli.plugins import installed_plugins

SOURCE_ROS = "install ROS 2 Jazzy and source its setup.bash"
# Module, what needs it, how to get it.
NEEDED = (
    ("rclpy", "everything on the graph", "`make setup` (Linux x86-64), or " + SOURCE_ROS),
    ("tf2_msgs", "/tf and /tf_static", "`make setup` builds it, or " + SOURCE_ROS),
    ("geometry_msgs", "/tf", "`make setup`, or " + SOURCE_ROS),
    ("rosgraph_msgs", "/clock", "`make setup`, or " + SOURCE_ROS),
    ("std_srvs", "services", "`make setup`, or " + SOURCE_ROS),
    ("diagnostic_msgs", "/diagnostics", "`make setup`, or " + SOURCE_ROS),
)
OPTIONAL = (
    ("tf2_ros", "typed publishing and the Python listener", SOURCE_ROS),
    ("launch_ros", "`ros2 launch`", SOURCE_ROS),
    ("pymavlink", "`sim_node bridge`", "`make setup`, or pip install 'sim_node[autopilot]'"),
)
PROGRAMS = (("ros2", "the ros2 command line", SOURCE_ROS), ("rviz2", "rviz", SOURCE_ROS))


@command("doctor")
def run(arguments: argparse.Namespace) -> int:
    """0 where nodes can run, 1 where something that they need is missing."""
    print(f"Python           {platform.python_version()} ({sys.executable})")
    missing = _modules(NEEDED, "missing")
    if not missing:
        _graph()
    _modules(OPTIONAL, "not here")
    _listed(PROGRAMS, "not here", shutil.which)
    for row, plugin in enumerate(installed_plugins()):
        print(f"{'plug-ins' if row == 0 else '':<17}{plugin}")
    print("nodes can run" if not missing else f"nodes cannot run: {', '.join(missing)} missing; --no-ros works")
    return 1 if missing else 0


def _modules(rows: tuple[tuple[str, str, str], ...], absent: str) -> list[str]:
    return _listed(rows, absent, _folder)


def _listed(rows: tuple[tuple[str, str, str], ...], absent: str, find: Callable[[str], str | None]) -> list[str]:
    """Prints where each thing is, or what it is for and how to get it; returns what is not there."""
    lacking = []
    for name, purpose, remedy in rows:
        found = find(name)
        print(f"{name:<17}{found}" if found else f"{name:<17}{absent} (for {purpose}): {remedy}")
        if not found:
            lacking.append(name)
    return lacking


def _folder(module: str) -> str | None:
    spec = importlib.util.find_spec(module)
    return None if spec is None or spec.origin is None else str(Path(spec.origin).parent)


def _graph() -> None:
    """The distro, the middleware and how far discovery reaches."""
    from sim_node.nodes.discovery import prepare
    from sim_node.nodes.installation import distro, middleware

    prepare()
    print(f"distro           {distro()}")
    print(f"middleware       {middleware()}")
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE") or "the network (as your ROS 2 is set up)"
    print(f"discovery        {reach}, domain {os.environ.get('ROS_DOMAIN_ID', '0')}")
