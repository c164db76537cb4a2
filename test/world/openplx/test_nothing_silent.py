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
from nightly import only

from sim_node.extensions.openplx.library import Library, Namespace
from sim_node.extensions.openplx.models import Fault, ObjectModel, SlotType
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
    steel is Physics.Geometries.Material
    one is Part:
        ball is Physics3D.Geometries.Sphere:
            radius: 0.1
            material: steel
    two is Part
    hinge is Physics3D.Interactions.Hinge:
        connectors: [ground.c, one.c]
    slide is Physics3D.Interactions.Prismatic:
        connectors: [ground.d, two.d]
    first is DriveTrain.Shaft
    second is DriveTrain.Shaft
    third is DriveTrain.Shaft
"""
MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
# What an object of a type needs beside its type, by the nearest of its bases.
SHAFTS = "connectors: [first.output, second.input]\n"
CORNERS = "vertices: [{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}]"
AXLES = "drive_shaft: first\nleft_axle_shaft: second\nright_axle_shaft: third"
CUP = """\
resting_height: 0.1
collapsed_height: 0.05
body.inertia.mass: 1
gripper_connector.redirected_parent: body
"""
ARM = """\
link is Robotics.Links.LinkData
link.inertia.mass: 1
data.link_data: [link, link, link, link, link, link]
"""
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
    "DriveTrain.TorqueLimitedSlipDifferential": f"breakaway_torque: 3\n{AXLES}",
    "DriveTrain.ManualClutch": SHAFTS + "torque_capacity: 2\ninitial_engagement_fraction: 0.5",
    "DriveTrain.ManualBrake": SHAFTS + "torque_capacity: 2\ninitial_engagement_fraction: 0.5",
    "DriveTrain.AutomaticClutch": SHAFTS + "torque_capacity: 2\ninitially_engaged: true",
    "DriveTrain.AutomaticBrake": SHAFTS + "torque_capacity: 2\ninitially_engaged: true",
    "DriveTrain.HingeActuator": "connector_1d: first.output\nmate_3d: hinge",
    "Physics.Interactions.SurfaceContact.Model": "material_1: steel\nmaterial_2: steel",
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
    "DriveTrain.Differential": f"gear_ratio: 2\n{AXLES}",
    "DriveTrain.Actuator": "connector_1d: first.output\nmate_3d: hinge",
    "DriveTrain.PrismaticActuator": "connector_1d: first.output\nmate_3d: slide",
    "DriveTrain.MechanicalDriveTrains.TwoWheelTemplate": (
        "gear_box.forward_gears: [2]\ngear_box.initial_gear: 1\n"
        "left_actuator.mate_3d: hinge\nright_actuator.mate_3d: hinge"
    ),
    "Robotics.Joints.Joint": "mate.connectors: [one.d, two.c]",
    "Robotics.Joints.FlexibleJointDriveTrain": "hinge_actuator.mate_3d: hinge",
    "Robotics.Joints.CoupledJointDriveTrain": "primary_actuator.mate_3d: hinge\nmimic_actuator.mate_3d: hinge",
    "Robotics.Links.RigidTriMeshLink": 'inertia.mass: 3\ncontact_geometry.path: @"mesh.obj"',
    "Robotics.Links.RigidBoxLink": "inertia.mass: 3",
    "Robotics.EndEffectors.SuctionCup": CUP,
    "Robotics.EndEffectors.SixDofSuctionCup": CUP + 'geometry.path: @"mesh.obj"',
    "Robotics.Robots.SixAxisSerialManipulator": ARM,
    "Vehicles.Suspensions.Connector": "up_vector: {0, 0, 1}\nforward_vector: {1, 0, 0}\nredirected_parent: one",
    "Vehicles.Wheels.Actuator": "connector_1d: first.output",
    "Vehicles.Wheels.Rim": "radius: 0.2\nwidth: 0.1\ninertia.mass: 3",
    "Vehicles.Wheels.Tire": "outer_radius: 0.3\ninner_radius: 0.2\nwidth: 0.1\ninertia.mass: 3",
    "Vehicles.Tracks.RigidCylindricalRoadWheelBody": "geometry.radius: 0.2\ngeometry.height: 0.1\ninertia.mass: 3",
    "Vehicles.Tracks.CylindricalIdler": "radius: 0.2\nwidth: 0.1",
    "Vehicles.Tracks.CylindricalRoller": "radius: 0.2\nwidth: 0.1",
    "Vehicles.Tracks.CylindricalSprocket": "radius: 0.2\nwidth: 0.1",
    "Vehicles.Tracks.CylindricalRoadWheel": "radius: 0.2\nwidth: 0.1",
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
# The bundles of openplx-bundles with types of things; what has a type in Math is a value.
ALL = (
    *("DriveTrain", "Physics", "Physics1D", "Physics3D", "Robotics", "Sensors", "Simulation", "Terrain", "Urdf"),
    *("Vehicles", "Visuals"),
)
# One in so many values is tried in the ordinary suite, of objects this deep in an object; in the test of all bundles
# all are, and more objects, up to so many values of a type.
SHARE = 3
DEPTH, DEEP = 2, 4
MOST = 150
# Objects of types that do nothing by themselves are tried in so many attributes that take them.
PLACES = 2


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
    (tmp_path / "mesh.obj").write_text(MESH, encoding="utf-8")

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


def settings(of: Object, depth: int, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield a line for each value that an object and what it owns have, with another value."""
    for name in of.names():
        where = (*path, name)
        try:
            value = of.value(name)
        except Fault:  # which a model that sets it would have
            continue
        if isinstance(value, Object):
            if value.owner is of and value.name == name and len(where) <= depth:
                yield from settings(value, depth, where)
        elif (other := _other(value, of.slot_type(name))) is not None:
            member, text = other
            yield f"{'.'.join((*where, *member))}: {text}"


UNDEFINED = {"Real": "0.5", "Int": "1", "Bool": "true", "String": '"text"'}


def _other(value: Any, slot: SlotType | None = None) -> tuple[tuple[str, ...], str] | None:
    """Return another value, or another member of it."""
    if isinstance(value, Undefined):
        kinds = slot.kinds if slot is not None and not slot.array else ()
        return next((((), UNDEFINED[kind]) for kind in kinds if isinstance(kind, str) and kind in UNDEFINED), None)
    if isinstance(value, bool):
        return (), "false" if value else "true"
    if isinstance(value, int):
        return (), str(value + 1)
    if isinstance(value, float):
        return (), repr(value + 0.25) if math.isfinite(value) else ("7.0" if value > 0 else "-7.0")
    if isinstance(value, str):
        return (), f'"{value}x"'
    if isinstance(value, list) and all(isinstance(each, (int, float)) for each in value):
        return (), str([*value, 3 if slot is not None and "Int" in slot.kinds else 3.5])
    if names := members(type(value)):
        inner = _other(getattr(value, names[0]))
        return None if inner is None else ((names[0], *inner[0]), inner[1])
    return None


WHOLE = re.compile(
    r"(?:Rig\.)?([\w.\[\]]+): "
    r"(?:has no effect here.*|(?:an?|the) .*; it is ignored|an? .* is rigid here; its \w+, .*, is ignored)"
)


def _without_effect(reported: list[str]) -> set[str]:
    """Return what is reported to have no effect as a whole, by its path."""
    return {found[1] for each in reported if (found := WHOLE.fullmatch(each)) is not None}


Objects = Callable[..., "dict[str, Any]"]


def object_of(type_: str, objects: Objects, extra: str = "") -> Any:
    return objects(f"M:\n    x is {type_}{':' if extra else ''}\n        {extra}\n")["M"].value("x")


def needs_of(of: Object) -> str:
    return next((NEEDS[model.name] for model in reversed(of.model.lineage) if model.name in NEEDS), "")


def silent(
    type_: str, read: Read, objects: Objects, one_in: int = 1, depth: int = DEPTH, extra: str = ""
) -> list[str] | None:
    """Return the lines about an object that change neither the world nor the report; of one in so many lines.

    extra: a line that gives it an object of another type, whose lines alone are tried then. None if the whole object,
    or that one, is reported to have no effect.
    """
    found = object_of(type_, objects, extra)
    if not isinstance(found, Object):
        return []
    inside = f"{extra.split()[0]}." if extra else ""
    lines = [line for line in settings(found, depth) if line.startswith(inside)]
    lines = [line for line in lines if crc32(f"{type_} {line}".encode()) % one_in == 0]
    if not lines:
        return []
    lines = sorted(lines, key=lambda line: crc32(line.encode()))[:MOST]
    needs = f"{needs_of(found)}\n{extra}".strip()
    before = read(type_, needs, "")
    assert before is not None or extra, f"{type_} needs more"
    if before is None:
        return None
    world, reported = before
    ignored = _without_effect(reported)
    if f"x.{inside}".rstrip(".") in ignored or "x" in ignored:
        return None
    taken = {line.partition(":")[0] for line in needs.splitlines()}
    lost = []
    for line in lines:
        key = line.partition(":")[0]
        parts = f"x.{key}".split(".")
        if any(".".join(parts[:k]) in ignored for k in range(1, len(parts))):
            continue
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


TYPES = sorted(types("Physics3D", "Physics1D", "DriveTrain", "Visuals"))


@pytest.mark.parametrize("type_", only(TYPES, *range(0, len(TYPES), 4)))
def test_whatever_a_model_sets_counts_or_is_reported(type_: str, read: Read, objects: Objects) -> None:
    assert not silent(type_, read, objects, SHARE)


def places(objects: Objects) -> dict[str, list[tuple[str, str]]]:
    """Return the attributes that take an object, by the names of the types that they are declared with."""
    found: dict[str, list[tuple[str, str]]] = {}
    for type_ in types(*ALL):
        of = object_of(type_, objects)
        for name in of.names() if isinstance(of, Object) else ():
            slot = of.slot_type(name)
            for kind in () if slot is None or slot.array or slot.reference else slot.kinds:
                if isinstance(kind, ObjectModel):
                    found.setdefault(kind.name, []).append((type_, name))
    return found


@pytest.mark.peers
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("bundles")
@pytest.mark.parametrize("bundle", ALL)
def test_every_value_of_every_model_on_pypi_counts_or_is_reported(bundle: str, read: Read, objects: Objects) -> None:
    """The types of openplx-bundles, those that are built in too, and all that has a value.

    What does nothing by itself, such as a flexibility, is tried as an attribute of what takes it. Of types with more
    than MOST values, such as six-axis arms and whole vehicles, a sample of as many is tried.
    """
    takes = places(objects)
    lost = {}
    for type_ in types(bundle):
        found = silent(type_, read, objects, depth=DEEP)
        if found:
            lost[type_] = found
        if found is not None:
            continue
        lineage = object_of(type_, objects).model.lineage
        hosts = [place for model in reversed(lineage) for place in takes.get(model.name, ()) if place[0] != type_]
        tried = 0
        for host, name in dict.fromkeys(hosts):
            inner = silent(host, read, objects, depth=DEEP, extra=f"{name} becomes {type_}")
            if inner:
                lost[f"{name} of {host} becomes {type_}"] = inner
            tried += inner is not None
            if tried == PLACES:
                break
    assert lost == {}
