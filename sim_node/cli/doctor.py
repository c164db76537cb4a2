"""Report which ROS 2 is in use, what is missing and how to get it, and which plug-ins are installed."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from sim_node.cli.commands import command
from sim_node.packages import missing_message, missing_program
from sim_node.plugins import PluginWarning, described, offered
from sim_node.registry import Registry
from sim_node.text import did_you_mean

# Registries by entry-point group.
GROUPS: dict[str, tuple[str, ...]] = {
    "sim_node.autopilots": (
        "sim_node.autopilot.lockstep.autopilot:AUTOPILOTS",
        "sim_node.world.vehicles:AUTOPILOT_TYPES",
    ),
    "sim_node.builtin": (
        "sim_node.autopilot.builtin.streams:MESSAGES",
        "sim_node.autopilot.builtin.commands:COMMANDS",
        "sim_node.autopilot.builtin.mission:ITEMS",
    ),
    "sim_node.commands": ("sim_node.cli.commands:COMMANDS",),
    "sim_node.displays": ("sim_node.viewing.rviz_displays:DISPLAYS",),
    "sim_node.engines": ("sim_node.physics.engine:ENGINES",),
    "sim_node.films": ("sim_node.viewing.pictures:FILMS",),
    "sim_node.forces": ("sim_node.physics.force_elements:FORCE_ELEMENTS", "sim_node.world.readers.yaml_forces:FORCES"),
    "sim_node.joint_types": ("sim_node.world.joints:JOINTS",),
    "sim_node.links": ("sim_node.autopilot.links.endpoint:ENDPOINTS",),
    "sim_node.loop_closures": ("sim_node.physics.loop_closures:LOOP_CLOSURES",),
    "sim_node.markers": ("sim_node.viewing.markers:MARKER_GROUPS",),
    "sim_node.mate_types": ("sim_node.world.mate_types:MATES",),
    "sim_node.message_readers": ("sim_node.viewing.messages.readers:READERS",),
    "sim_node.measures": ("sim_node.sweep.measures:MEASURES",),
    "sim_node.parts": ("sim_node.world.part:PARTS", "sim_node.world.readers.yaml_section:SECTIONS"),
    "sim_node.pictures": ("sim_node.viewing.pictures:PICTURES",),
    "sim_node.readers": (
        "sim_node.world.readers.registry:READERS",
        "sim_node.world.readers.registry:MODEL_READERS",
        "sim_node.world.readers.yaml_include:INCLUDE_READERS",
        "sim_node.formats.xml_roots:XML_READERS",
    ),
    "sim_node.sensor_outlines": ("sim_node.viewing.sensor_marks:OUTLINES",),
    "sim_node.sensor_views": ("sim_node.viewing.browser.sensor_views:VIEWS",),
    "sim_node.sensors": ("sim_node.world.sensor_types:SENSOR_TYPES",),
    "sim_node.storages": ("sim_node.recording.bag:STORAGES",),
    "sim_node.sweep_engines": ("sim_node.sweep.engine:SWEEP_ENGINES",),
    "sim_node.tools": ("sim_node.tools.registry:TOOLS",),
    "sim_node.translations": (
        "sim_node.autopilot.translation.registry:TRANSLATIONS",
        "sim_node.autopilot.topics:TOPICS",
    ),
}


def installed_plugins() -> Iterator[str]:
    """Yield a line for each entry point of another package: what it adds, or why it cannot."""
    for group, points in offered().items():
        registries = [registry_at(where) for where in GROUPS.get(group, ())]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PluginWarning)  # reported in the line
            loaded = [registry.plugins() for registry in registries]
        for row, point in enumerate(points):
            if not registries:
                status = f"no such group{did_you_mean(group, GROUPS)} (known: {', '.join(GROUPS)})"
            else:
                faults = [plugins[row].fault for plugins in loaded if plugins[row].fault]
                each = zip(registries, loaded, strict=True)
                added = [f"{registry.noun} {name}" for registry, plugins in each for name in plugins[row].names]
                status = f"cannot be loaded: {faults[0]}" if faults else ", ".join(added) or "adds nothing"
            yield f"{described(point)}: {status}"


def registry_at(where: str) -> Registry[str, object]:
    """Return the registry for `module:NAME`."""
    module, _, name = where.partition(":")
    registry: Registry[str, object] = getattr(importlib.import_module(module), name)
    return registry


# Module or program, and what needs it.
NEEDED = (
    ("rclpy", "everything on the graph"),
    ("tf2_msgs", "/tf and /tf_static"),
    ("geometry_msgs", "/tf"),
    ("rosgraph_msgs", "/clock"),
    ("std_srvs", "services"),
    ("diagnostic_msgs", "/diagnostics"),
)
OPTIONAL = (
    ("tf2_ros", "typed publishing and the Python listener"),
    ("launch_ros", "`ros2 launch`"),
    ("pymavlink", "`sim_node bridge`"),
    ("jax", "worlds in Python"),
    ("simulation_interfaces", "services to spawn, query, step and reset"),
    ("polars", "`sim_node sweep`"),
    ("ray", "`sim_node sweep --engine ray`"),
)
PROGRAMS = (("ros2", "the ros2 command line"), ("rviz2", "rviz"))


@command("doctor")
def run(arguments: argparse.Namespace) -> int:
    """Return 0 if nodes can run, 1 if something is missing."""
    print(f"Python           {platform.python_version()} ({sys.executable})")
    missing = _listed(NEEDED, "missing", _folder, missing_message)
    if not missing:
        _graph()
    _listed(OPTIONAL, "not here", _folder, missing_message)
    _listed(PROGRAMS, "not here", shutil.which, missing_program)
    for row, plugin in enumerate(installed_plugins()):
        print(f"{'plug-ins' if row == 0 else '':<17}{plugin}")
    if missing:
        print("a checkout gets what nodes need by `make setup` (Linux x86-64)")
    print("nodes can run" if not missing else f"nodes cannot run: {', '.join(missing)} missing; --no-ros works")
    return 1 if missing else 0


def _listed(
    rows: tuple[tuple[str, str], ...], absent: str, find: Callable[[str], str | None], remedy: Callable[[str], str]
) -> list[str]:
    """Print where each item is, or what it is for and how to get it; return the missing ones."""
    lacking = []
    for name, purpose in rows:
        found = find(name)
        print(f"{name:<17}{found}" if found else f"{name:<17}{absent} (for {purpose}): {remedy(name)}")
        if not found:
            lacking.append(name)
    return lacking


def _folder(module: str) -> str | None:
    spec = importlib.util.find_spec(module)
    return None if spec is None or spec.origin is None else str(Path(spec.origin).parent)


def _graph() -> None:
    """Print the distribution, the middleware and the reach of discovery."""
    from sim_node.nodes.environment import distro, middleware, prepare

    prepare()
    print(f"distro           {distro()}")
    print(f"middleware       {middleware()}")
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE") or "the network (as your ROS 2 is set up)"
    print(f"discovery        {reach}, domain {os.environ.get('ROS_DOMAIN_ID', '0')}")
