"""Report what works here, what is missing and how to get it: ROS 2, physics, rendering, ports, disk, plug-ins."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from sim_node.cli.arguments import add_json
from sim_node.cli.colours import coloured
from sim_node.cli.commands import command
from sim_node.cli.system_checks import CHECKS, Finding, Status
from sim_node.packages import missing_message, missing_program, unusable
from sim_node.plugins import PluginWarning, extensions, offered
from sim_node.registry import Registry
from sim_node.text import did_you_mean

# Registries by entry-point group.
GROUPS: dict[str, tuple[str, ...]] = {
    "sim_node.autopilots": (
        "sim_node.autopilots.lockstep.autopilot:AUTOPILOTS",
        "sim_node.world.vehicles:AUTOPILOT_TYPES",
    ),
    "sim_node.builtin": (
        "sim_node.autopilots.builtin.streams:MESSAGES",
        "sim_node.autopilots.builtin.commands:COMMANDS",
        "sim_node.autopilots.builtin.mission:ITEMS",
    ),
    "sim_node.bases": ("sim_node.world.base_types.registry:BASE_TYPES",),
    "sim_node.commands": ("sim_node.cli.commands:COMMANDS",),
    "sim_node.displays": ("sim_node.viewing.rviz_displays:DISPLAYS",),
    "sim_node.engines": ("sim_node.simulation.physics.engine:ENGINES",),
    "sim_node.films": ("sim_node.viewing.pictures:FILMS",),
    "sim_node.forces": (
        "sim_node.simulation.physics.force_elements:FORCE_ELEMENTS",
        "sim_node.world.forces:FORCES",
    ),
    "sim_node.joint_types": ("sim_node.world.joints:JOINTS",),
    "sim_node.links": ("sim_node.mavlink.links.endpoint:ENDPOINTS",),
    "sim_node.loop_closures": ("sim_node.simulation.physics.loop_closures:LOOP_CLOSURES",),
    "sim_node.markers": ("sim_node.viewing.markers:MARKER_GROUPS",),
    "sim_node.mate_types": ("sim_node.world.mate_types:MATES",),
    "sim_node.message_readers": ("sim_node.viewing.messages.readers:READERS",),
    "sim_node.parts": ("sim_node.world.part:PARTS", "sim_node.world.readers.yaml_section:SECTIONS"),
    "sim_node.pictures": ("sim_node.viewing.pictures:PICTURES",),
    "sim_node.readers": (
        "sim_node.world.readers.registry:READERS",
        "sim_node.world.readers.registry:MODEL_READERS",
        "sim_node.world.readers.yaml_include:INCLUDE_READERS",
        "sim_node.formats.xml_roots:XML_READERS",
    ),
    "sim_node.run_sources": ("sim_node.cli.run:RUN_SOURCES",),
    "sim_node.runs": ("sim_node.session.run_parts:RUN_PARTS",),
    "sim_node.requests": ("sim_node.simulation.requests:REQUESTS",),
    "sim_node.sensor_outlines": ("sim_node.viewing.sensor_marks:OUTLINES",),
    "sim_node.sensor_views": ("sim_node.viewing.browser.sensor_views:VIEWS",),
    "sim_node.sensors": ("sim_node.world.sensor_types:SENSOR_TYPES",),
    "sim_node.storages": ("sim_node.recording.bag:STORAGES",),
    "sim_node.translations": (
        "sim_node.mavlink.translation.rows:TRANSLATIONS",
        "sim_node.mavlink.topics:TOPICS",
    ),
}


def registries_of_groups() -> dict[str, tuple[str, ...]]:
    """Return the registries that are open to other packages, as `module:NAME`, by their groups of entry points."""
    return GROUPS | {point.name: (point.value,) for point in extensions("sim_node.registries")}


def installed_plugins() -> Iterator[tuple[str, bool]]:
    """Yield a line for each entry point of another package, what it adds or why it cannot, and whether it can."""
    groups = registries_of_groups()
    for group, points in offered().items():
        registries = [registry_at(where) for where in groups.get(group, ())]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PluginWarning)  # reported in the line
            loaded = [registry.plugins() for registry in registries]
        for row, point in enumerate(points):
            faults: list[str] = []
            if not registries:
                status = f"no such group{did_you_mean(group, groups)} (known: {', '.join(sorted(groups))})"
            else:
                faults = [plugins[row].fault for plugins in loaded if plugins[row].fault]
                each = zip(registries, loaded, strict=True)
                added = [f"{registry.noun} {name}" for registry, plugins in each for name in plugins[row].names]
                status = f"cannot be loaded: {faults[0]}" if faults else ", ".join(added) or "adds nothing"
            yield f"{point}: {status}", bool(registries) and not faults


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
WORDS: dict[Status, str] = {"missing": "missing", "optional": "not here"}
COLOURS: dict[Status, str] = {"missing": "red", "optional": "yellow"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --json."""
    add_json(parser)


@command("doctor", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Return 0 if nodes can run, 1 if something is missing."""
    findings = list(_findings())
    missing = [finding.name for finding in findings if finding.status == "missing"]
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
        return 1 if missing else 0
    for finding in findings:
        line = finding.line()
        print(line if finding.status == "ok" else coloured(line, COLOURS[finding.status], sys.stdout))
    if missing and (Path(__file__).parents[2] / "Makefile").is_file():
        print("this checkout gets what nodes need by `make setup` (Linux x86-64)")
    print("nodes can run" if not missing else f"nodes cannot run without {', '.join(missing)}; --no-ros works")
    return 1 if missing else 0


def _findings() -> Iterator[Finding]:
    yield Finding("sim_node", "ok", version("sim_node"))
    yield Finding("Python", "ok", f"{platform.python_version()} ({sys.executable})")
    needed = [_found(name, "missing", purpose, _folder(name), missing_message) for name, purpose in NEEDED]
    needed = [_importable(finding) for finding in needed]
    yield from needed
    if all(finding.status == "ok" for finding in needed):
        yield from _graph()
    for name, purpose in OPTIONAL:
        yield _found(name, "optional", purpose, _folder(name), missing_message)
    for name, purpose in PROGRAMS:
        yield _found(name, "optional", purpose, shutil.which(name), missing_program)
    for check in CHECKS:
        yield from check()
    for row, (line, works) in enumerate(installed_plugins()):
        yield Finding("" if row else "plug-ins", "ok" if works else "optional", line)


def _found(name: str, absent: Status, purpose: str, place: str | None, remedy: Callable[[str], str]) -> Finding:
    """Return where something is, or what it is for and how to get it."""
    if place:
        return Finding(name, "ok", place)
    return Finding(name, absent, f"{WORDS[absent]} (for {purpose})", remedy(name))


def _importable(finding: Finding) -> Finding:
    """Return what was found, or why it cannot be imported: it may be broken, or of another Python."""
    if finding.status != "ok":
        return finding
    try:
        importlib.import_module(finding.name)
    except Exception as error:  # whatever a broken package raises
        folder = Path(finding.detail)
        reason = unusable(folder, error if isinstance(error, ImportError) else ImportError(repr(error)))
        return Finding(finding.name, "missing", f"{folder} cannot be imported", reason)
    return finding


def _folder(module: str) -> str | None:
    spec = importlib.util.find_spec(module)
    return None if spec is None or spec.origin is None else str(Path(spec.origin).parent)


def _graph() -> Iterator[Finding]:
    """The distribution, the middleware and the reach of discovery."""
    from sim_node.ros.environment import distro, middleware, prepare

    prepare()
    yield Finding("distro", "ok", distro())
    yield Finding("middleware", "ok", middleware())
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE") or "the network (as your ROS 2 is set up)"
    yield Finding("discovery", "ok", f"{reach}, domain {os.environ.get('ROS_DOMAIN_ID', '0')}")
