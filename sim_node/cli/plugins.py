"""The registries that other packages can add to, and what those that are installed add."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator

from sim_node.plugins import PluginWarning, described, offered
from sim_node.registry import Registry
from sim_node.text import did_you_mean

# By entry-point group: where its registries are.
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
    "sim_node.films": ("sim_node.viewing.films:FILMS",),
    "sim_node.forces": ("sim_node.physics.force_elements:FORCE_ELEMENTS", "sim_node.world.readers.yaml_forces:FORCES"),
    "sim_node.joint_types": ("sim_node.world.joints:JOINTS",),
    "sim_node.links": ("sim_node.autopilot.links.endpoint:ENDPOINTS",),
    "sim_node.loops": ("sim_node.physics.mujoco_loops:LOOPS",),
    "sim_node.markers": ("sim_node.viewing.marker_groups:MARKER_GROUPS",),
    "sim_node.mate_types": ("sim_node.world.mate_types:MATES",),
    "sim_node.parts": ("sim_node.world.part:PARTS", "sim_node.world.readers.yaml_section:SECTIONS"),
    "sim_node.pictures": ("sim_node.viewing.pictures:PICTURES",),
    "sim_node.readers": (
        "sim_node.world.readers.registry:READERS",
        "sim_node.world.readers.registry:MODEL_READERS",
        "sim_node.formats.xml_roots:XML_READERS",
    ),
    "sim_node.sensor_outlines": ("sim_node.viewing.sensor_marks:OUTLINES",),
    "sim_node.sensor_views": ("sim_node.viewing.browser.sensor_views:VIEWS",),
    "sim_node.sensors": ("sim_node.world.sensor_types:SENSOR_TYPES",),
    "sim_node.storages": ("sim_node.recording.storages:STORAGES",),
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
            warnings.simplefilter("ignore", PluginWarning)  # the line says it
            loaded = [registry.plugins() for registry in registries]
        for row, point in enumerate(points):
            if not registries:
                said = f"no such group{did_you_mean(group, GROUPS)} (known: {', '.join(GROUPS)})"
            else:
                faults = [plugins[row].fault for plugins in loaded if plugins[row].fault]
                each = zip(registries, loaded, strict=True)
                added = [f"{registry.noun} {name}" for registry, plugins in each for name in plugins[row].names]
                said = f"cannot be loaded: {faults[0]}" if faults else ", ".join(added) or "adds nothing"
            yield f"{described(point)}: {said}"


def registry_at(where: str) -> Registry[str, object]:
    """Return the registry that `module:NAME` is."""
    module, _, name = where.partition(":")
    registry: Registry[str, object] = getattr(importlib.import_module(module), name)
    return registry
