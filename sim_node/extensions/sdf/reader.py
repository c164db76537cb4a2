"""Worlds from SDF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sim_node.extensions.sdf.actors import add_actors
from sim_node.extensions.sdf.document import File, open_file, root_of
from sim_node.extensions.sdf.effects import report_effects
from sim_node.extensions.sdf.elements import SdfReading
from sim_node.extensions.sdf.mechanism import FIXED_FRAME, mechanism_of
from sim_node.extensions.sdf.plugins import add_plugins
from sim_node.extensions.sdf.sensors import add_sensors
from sim_node.extensions.sdf.surroundings import surroundings_of
from sim_node.world.model import Origin, World
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report
from sim_node.world.readers.xml_elements import Element

MAX_NESTING = "its frames depend on each other too deeply"


def read_world(path: Path, shown: Path, roots: Roots, report: Report, *, included: bool) -> World | None:
    """Return the world of an SDF file; see read_sdf."""
    reading = SdfReading(report, roots.around(path))
    errors = len(report.errors)
    opened = open_file(reading, path, (path.resolve(),), shown)
    if opened is None:
        return None
    try:
        world = _world(reading, *opened, included=included)
    except RecursionError:
        report.error(MAX_NESTING)
        return None
    if world is None or len(report.errors) > errors:
        return None
    report_effects(reading)
    return world


def _world(reading: SdfReading, root: Element, file: File, *, included: bool) -> World | None:
    scope = root_of(reading, root, file)
    if scope is None:
        return None
    around = surroundings_of(reading, scope)
    found = mechanism_of(reading, scope, around.physics.gravity)
    add_sensors(reading, found, scope, around.time.step_ns, included=included)
    add_actors(reading, found, scope)
    add_plugins(reading, found, scope, around)
    on_earth = [sensor for sensor in found.parts.get("sensors", ()) if sensor.type == "gps"]
    if on_earth and around.origin is None and not included:
        around.origin = Origin(0.0, 0.0, 0.0)
        where = on_earth[0].place.where
        reading.report.about(where.file).warning(
            "without <spherical_coordinates> of a world, its place is 0 N, 0 E",
            (where.line, where.column),
            on_earth[0].name,
        )
    parts: dict[str, Any] = {**around.parts, **found.parts}
    return World(
        name="_".join(scope.name.split()),
        fixed_frame=FIXED_FRAME,
        origin=around.origin,
        time=around.time,
        physics=around.physics,
        parts=parts,
        source=str(file.shown),
    )
