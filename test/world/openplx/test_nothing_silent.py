"""Whatever a model sets of an object of any type, the world or the report changes."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from sim_node.extensions.openplx.library import Library, Namespace
from sim_node.extensions.openplx.models import Fault
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.values import Undefined, members
from sim_node.world import World, WorldError, WorldWarning, load
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report

RIG = """\
Part is Physics3D.Bodies.RigidBody:
    inertia.mass: 2
    c is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Z_AXIS()
    d is Physics3D.Interactions.MateConnector:
        position: {1, 0, 0}
        main_axis: Math.Vec3.Z_AXIS()
Rig is Physics3D.System:
    ground is Part:
        is_dynamic: false
        kinematics.local_transform.position.x: 0
    one is Part
    two is Part
    hinge is Physics3D.Interactions.Hinge:
        connectors: [ground.c, one.c]
    slide is Physics3D.Interactions.Prismatic:
        connectors: [ground.d, two.d]
    first is DriveTrain.Shaft
    second is DriveTrain.Shaft
"""
# What an object of a type needs beside its type, by the nearest of its bases.
SHAFTS = "connectors: [first.output, second.input]\n"
CORNERS = "vertices: [{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}]"
NEEDS = {
    "Physics3D.Interactions.Mate": "connectors: [one.d, two.c]",
    "Physics3D.Interactions.LinearRange": "connectors: slide.connectors\nstart: -1\nend: 1",
    "Physics3D.Interactions.RotationalRange": "connectors: hinge.connectors\nstart: -1\nend: 1",
    "Physics3D.Interactions.LinearVelocityMotor": "connectors: slide.connectors",
    "Physics3D.Interactions.LinearSpring": "connectors: slide.connectors",
    "Physics3D.Interactions.ForceMotor": "connectors: slide.connectors",
    "Physics.Interactions.Interaction1DOF": "connectors: hinge.connectors",
    "Physics1D.Interactions.Mate": SHAFTS,
    "Physics1D.Interactions.RotationalVelocityMotor": "connectors: [first.output]",
    "DriveTrain.TorqueMotor": "connectors: [first.output]",
    "DriveTrain.GearBox": SHAFTS + "forward_gears: [2, 3]\nreverse_gears: [4, 5]\ninitial_gear: 1",
    "DriveTrain.TorqueLimitedSlipDifferential": "breakaway_torque: 3",
    "DriveTrain.Differential": "gear_ratio: 2",
    "DriveTrain.ManualClutch": SHAFTS + "torque_capacity: 2\ninitial_engagement_fraction: 0.5",
    "DriveTrain.ManualBrake": SHAFTS + "torque_capacity: 2\ninitial_engagement_fraction: 0.5",
    "DriveTrain.AutomaticClutch": SHAFTS + "torque_capacity: 2\ninitially_engaged: true",
    "DriveTrain.AutomaticBrake": SHAFTS + "torque_capacity: 2\ninitially_engaged: true",
    "DriveTrain.HingeActuator": "connector_1d: first.output\nmate_3d: hinge",
    "Physics3D.Geometries.Box": "size: {1, 2, 3}",
    "Physics3D.Geometries.Sphere": "radius: 1",
    "Physics3D.Geometries.Cylinder": "radius: 1\nheight: 2",
    "Physics3D.Geometries.Capsule": "radius: 1\nheight: 2",
    "Physics3D.Geometries.ConvexMesh": CORNERS,
    "Visuals.Geometries.ConvexMesh": CORNERS,
    "Visuals.Geometries.Box": "size: {1, 2, 3}",
    "Visuals.Geometries.Sphere": "radius: 1",
    "Visuals.Geometries.Cylinder": "radius: 1\nheight: 2",
    "Physics3D.Bodies.RigidBody": "inertia.mass: 3",
    "Physics3D.Interactions.RedirectedMateConnector": "redirected_parent: one",
    "Physics3D.Interactions.MateConnector": "main_axis: Math.Vec3.Z_AXIS()",
    "DriveTrain.Shaft": "inertia.inertia: 2",
    "Physics1D.Bodies.RotationalBody": "inertia.inertia: 2",
    "Physics3D.System": "local_transform.position.x: 1",
}
# Meshes and the types of places for more special ones, of which nothing can be said by itself.
WITHOUT = (
    "TriMesh",
    "TriMeshGeometry",
    "ExternalTriMeshGeometry",
    "ContactGeometry",
    "Geometry",
    "World",
    "RangeInteraction1DOF",
)
DEPTH = 2
# The bundles of openplx-bundles with types of things; those without are Math and Simulation's and Physics' bases.
ALL = ("DriveTrain", "Physics1D", "Physics3D", "Robotics", "Sensors", "Terrain", "Urdf", "Vehicles", "Visuals")


# One in so many values is tried in the ordinary suite; the test of all bundles tries all.
SHARE = 3


def types(*bundles: str) -> Iterator[str]:
    """Yield the types that a system may have, of some bundles; those that are built in, unless there is a path."""
    library = Library(Roots(()), Report(""))

    def inside(namespace: Namespace) -> Iterator[str]:
        for name in sorted(namespace.names()):
            inner = namespace.inner(name)
            if inner is not None:
                yield from inside(inner)
        for file in namespace.files():
            namespace._read_file(file)
        for name, definition in namespace.definitions.items():
            if definition.statement.types and name not in WITHOUT and not definition.statement.modifiers:
                yield definition.name

    for name in bundles:
        bundle = library.bundle(name)
        assert bundle is not None
        yield from inside(bundle)


Read = Callable[[str, str, str], "tuple[World, list[str]] | None"]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The world of the rig with an object and lines about it, and what is reported; None if it is refused."""

    def read(type_: str, needs: str, line: str) -> tuple[World, list[str]] | None:
        path = tmp_path / "rig.openplx"
        lines = "".join(f"        {each}\n" for each in (*needs.splitlines(), *filter(None, [line])))
        path.write_text(f"{RIG}    x is {type_}{':' if lines else ''}\n{lines}", encoding="utf-8")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", WorldWarning)
            try:
                world = load(path)
            except WorldError:
                return None
        return world, [str(each.message).partition(": ")[2] for each in caught]

    return read


def settings(of: Object, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield a line for each value that an object and what it owns have, with another value."""
    for name in of.names():
        where = (*path, name)
        try:
            value = of.value(name)
        except Fault:  # which a model that sets it would have
            continue
        if isinstance(value, Object):
            if value.owner is of and value.name == name and len(where) <= DEPTH:
                yield from settings(value, where)
        elif (other := _other(value)) is not None:
            member, text = other
            yield f"{'.'.join((*where, *member))}: {text}"
        elif isinstance(value, Undefined) and "Real" in getattr(of.slot_type(name), "kinds", ()):
            yield f"{'.'.join(where)}: 0.5"


def _other(value: Any) -> tuple[tuple[str, ...], str] | None:
    """Return another value, or another member of it."""
    if isinstance(value, bool):
        return (), "false" if value else "true"
    if isinstance(value, int):
        return (), str(value + 1)
    if isinstance(value, float):
        return (), repr(value + 0.25) if math.isfinite(value) else ("7.0" if value > 0 else "-7.0")
    if names := members(type(value)):
        inner = _other(getattr(value, names[0]))
        return None if inner is None else ((names[0], *inner[0]), inner[1])
    return None


Objects = Callable[..., "dict[str, Any]"]


def silent(type_: str, read: Read, objects: Objects, one_in: int = 1) -> list[str]:
    """Return the lines about an object that change neither the world nor the report; of one in so many lines."""
    found = objects(f"M:\n    x is {type_}\n")["M"].value("x")
    if not isinstance(found, Object):
        return []
    lines = [line for line in settings(found) if crc32(f"{type_} {line}".encode()) % one_in == 0]
    needs = next((NEEDS[model.name] for model in reversed(found.model.lineage) if model.name in NEEDS), "")
    before = read(type_, needs, "") if lines else None
    if before is None:
        assert not lines or one_in == 1, "only others' types may need more"
        return []
    world, reported = before
    if any(each == "Rig.x: has no effect here" or re.fullmatch("x: .*ignored", each) for each in reported):
        return []  # as a whole
    taken = {line.partition(":")[0] for line in needs.splitlines()}
    lost = []
    for line in lines:
        key = line.partition(":")[0]
        if key in taken:
            line = f"{key}: 0.75"
            after = read(type_, "\n".join(each for each in needs.splitlines() if not each.startswith(key)), line)
        else:
            after = read(type_, needs, line)
        if after is not None:
            told = any(each.startswith(f"Rig.x.{key}:") for each in after[1])
            if after[0] == world and after[1] == reported and not told:
                lost.append(line)
    return lost


@pytest.mark.parametrize("type_", sorted(types("Physics3D", "Physics1D", "DriveTrain", "Visuals")))
def test_whatever_a_model_sets_counts_or_is_reported(type_: str, read: Read, objects: Objects) -> None:
    assert silent(type_, read, objects, SHARE) == []


@pytest.mark.peers
@pytest.mark.usefixtures("bundles")
@pytest.mark.parametrize("bundle", ALL)
def test_every_value_of_every_model_on_pypi_counts_or_is_reported(bundle: str, read: Read, objects: Objects) -> None:
    """The types of openplx-bundles, those that are built in too, and all that has a value."""
    lost = {type_: lines for type_ in types(bundle) if (lines := silent(type_, read, objects))}
    assert lost == {}
