"""The section `systems` of a world file: bodies, shapes and connectors, and the mates that assemble them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE, MAX_MASS
from sim_node.world.declared import BAD, holder_of, keys_of, read
from sim_node.world.mates import Mate, MateConnector, RedirectedMateConnector, mate_keys, read_connector
from sim_node.world.problems import Place
from sim_node.world.readers.keys import Form, Keys, by_name, flag, frame, listing, number, text, vector
from sim_node.world.readers.yaml_nodes import Mapping
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import Table, Value, boolean
from sim_node.world.shapes import SHAPES, Geometry, Inertial
from sim_node.world.systems import (
    ContactGeometry,
    RigidBody,
    System,
)

SHAPE_KEYS = Keys(
    {**keys_of(Geometry), "name": text("Its name.")},
    exactly_one=(tuple(SHAPES),),
    at_most_one=(("mass", "density"),),
    about="A shape.",
    define="contact geometry",
)
_NAME = text("Its name, unique in its system.", least=1)
_CONNECTORS = by_name("Points and axes that mates connect, by name.", keys_of(RedirectedMateConnector))
_SHAPES = listing("Shapes, which have a density (kg/m^3) or a mass (kg).", SHAPE_KEYS)
BODY_KEYS = Keys(
    {
        "name": _NAME,
        "pose": POSE_KEYS,
        "geometry": _SHAPES,
        "connectors": _CONNECTORS,
        "mass": number("Mass, kg.", 0.0, MAX_MASS),
        "center": vector("Centre of mass in the body, m.", 3, MAX_DISTANCE),
        "inertia": keys_of(Inertial)["inertia"],
        "static": flag("Whether it is fixed in its system."),
        "velocity": vector("Initial velocity, m/s.", 3),
        "spin": vector("Initial angular velocity, rad/s.", 3),
    },
    required=("name",),
    about="A body of a system.",
    define="system body",
)


# Below, a closed loop could not be told from rounding.
TOLERANCES = (1e-12, 0.1)


def _inner_systems() -> Form:
    return listing("Systems within this one.", INNER_KEYS)


PART_KEYS: dict[str, Form] = {
    "systems": _inner_systems,
    "bodies": listing("Its bodies.", BODY_KEYS),
    "geometry": _SHAPES,
    "connectors": _CONNECTORS,
    "mates": lambda: listing("What connects its connectors.", mate_keys()),
    "tolerance": number("How well loops are closed, rad and parts of the mechanism's size.", *TOLERANCES),
}
INNER_KEYS = Keys(
    {"name": _NAME, "pose": POSE_KEYS, **PART_KEYS}, required=("name",), about="A system in a system.", define="system"
)
SYSTEM_KEYS = Keys(
    {"name": _NAME, "parent": frame("The frame that it stands in."), "pose": POSE_KEYS, **PART_KEYS}, required=("name",)
)


@section("systems", listing("Parts that are connected by mates.", SYSTEM_KEYS))
def read_systems(value: Value, context: Context) -> None:
    """Read a list of systems."""
    for entry in value.items():
        table = entry.table(SYSTEM_KEYS)
        parent = table.get("parent")
        system = _system(entry, table, context)
        if system is not None:
            at = Place(entry.where, f"{entry.path}.parent") if parent is None else parent.place
            context.add(replace(system, parent=frame_name(parent), parent_place=at))


def _system(entry: Value, table: Table, context: Context) -> System | None:
    """Read a system and what it owns. Invalid parts are left out."""
    name = frame_name(table.get("name"))
    owned = _Names()
    systems: list[System] = []
    bodies: list[RigidBody] = []
    for inner in _items(table, "systems"):
        system = _system(inner, inner.table(INNER_KEYS), context)
        if system is not None and owned.add(system.name, inner):
            systems.append(system)
    for part in _items(table, "bodies"):
        body = _body(part, context)
        if body is not None and owned.add(body.name, part):
            bodies.append(body)
    mates, called = [], _Names()
    for part in _items(table, "mates"):
        mate = read(Mate, part, known=mate_keys())
        if mate is not BAD and called.add(mate.name, part):
            mates.append(mate)
    tolerance = table.get("tolerance")
    if not name:
        return None
    return System(
        name,
        _pose(table),
        tuple(systems),
        tuple(bodies),
        _geometries(table, context),
        _connectors(table),
        tuple(mates),
        tolerance=None if tolerance is None else tolerance.number(*TOLERANCES),
        place=entry.place,
    )


class _Names:
    """The names of what a system owns, which must be unique."""

    def __init__(self) -> None:
        self._first: dict[str, Value] = {}

    def add(self, name: str, value: Value) -> bool:
        """Record a name and return whether it is valid and unique. Record a fault if it is not."""
        if "/" in name:
            value.error(f"the name {name!r} has a slash, which is not allowed in a system")
            return False
        first = self._first.setdefault(name, value)
        if first is not value:
            value.error(f"a second {name!r} in one system, the first is at {first.where}")
        return first is value


def _body(entry: Value, context: Context) -> RigidBody | None:
    table = entry.table(BODY_KEYS)
    name = frame_name(table.get("name"))
    errors = len(entry.report.errors)
    mass, centre, inertia, velocity, spin = (
        table.get(key) for key in ("mass", "center", "inertia", "velocity", "spin")
    )
    kilograms = None if mass is None else mass.number(0.0, MAX_MASS)
    middle = None if centre is None else centre.vector(3, limit=MAX_DISTANCE)
    speeds = [[0.0, 0.0, 0.0] if v is None else v.vector(3) or [0.0, 0.0, 0.0] for v in (velocity, spin)]
    fields: dict[str, Any] = {
        "pose": _pose(table),
        "geometries": _geometries(table, context),
        "connectors": _connectors(table),
        "mass": kilograms,
        "centre": None if middle is None else np.array(middle),
        "inertia": None if inertia is None else holder_of(Inertial, "inertia").read(inertia, context),
        "static": boolean(table, "static", default=False),
        "speed": None if velocity is None and spin is None else np.array(speeds).reshape(6),
    }
    if not name:
        return None
    # Enough to check the tree.
    return RigidBody(name, place=entry.place, **(fields if len(entry.report.errors) == errors else {}))


def _geometries(table: Table, context: Context) -> tuple[ContactGeometry, ...]:
    """Read shapes, which have a density (kg/m^3) unless they have a mass."""
    shapes = []
    for index, entry in enumerate(_items(table, "geometry")):
        shape = read(Geometry, entry, context, known=SHAPE_KEYS)
        weighed = isinstance(entry.node, Mapping) and "density" in entry.node.entries
        if shape is not BAD:
            massive = shape.mass > 0.0 or not weighed
            name = entry.table(SHAPE_KEYS).get("name")
            called = f"geometry_{index}" if name is None else name.text()
            shapes.append(ContactGeometry(called, shape, massive=massive, place=entry.place))
    return tuple(shapes)


def _pose(table: Table) -> FloatArray | None:
    """Read a pose; None if it is undefined."""
    value = table.get("pose")
    if value is None:
        return None
    pose, scale = read_pose(value)
    if scale is not None:
        value.error("systems and bodies have no scale")
    return np.array(poses.IDENTITY) if pose is None else pose


def _items(table: Table, key: str) -> Iterator[Value]:
    value = table.get(key)
    return iter(()) if value is None else value.items()


def _connectors(table: Table) -> tuple[MateConnector, ...]:
    """Read a mapping of connectors by name."""
    value = table.get("connectors")
    entries = () if value is None else value.named("by name")
    return tuple(c for name, _, entry in entries if (c := read_connector(name, entry)) is not BAD)
