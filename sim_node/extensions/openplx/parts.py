"""Conversion of values of Physics3D objects to parts of a World: connectors, shapes, masses and transforms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.extensions.openplx.models import Entry, Fault
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.values import OPAQUE, AffineTransform, Undefined, components
from sim_node.registry import Registry
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.mates import MateConnector, axes_fault
from sim_node.world.problems import Place
from sim_node.world.shapes import Geometry
from sim_node.world.surfaces import Surface
from sim_node.world.systems import ContactGeometry

OVERRIDE = "Physics.GeometryMaterialOverrideTrait"
ADAPTIVE, DISTANCE = "Physics3D.Interactions.AdaptiveMateConnector", "Physics3D.Interactions.Distance"
SPEEDS = ("initial_local_linear_velocity", "initial_local_angular_velocity")
# The axis of cylinders and capsules is y in OpenPLX and z in a World.
ALONG_Y = poses.pose(np.zeros(3), quaternions.from_axis_angle([1.0, 0.0, 0.0], -np.pi / 2))

Shape = Callable[[Object], Geometry]
SHAPES: Registry[str, Shape] = Registry(
    "shape", shipped=("sim_node.extensions.openplx.parts", "sim_node.extensions.openplx.visuals")
)


def shape(name: str, *bundles: str) -> Callable[[Shape], Shape]:
    """Register a function that makes a Geometry, without its pose in the owner, for a type in some bundles."""
    return SHAPES.add(*(f"{bundle}.Geometries.{name}" for bundle in bundles or ("Physics3D", "Visuals")))


@shape("Box")
def _box(of: Object) -> Geometry:
    return Geometry("box", np.array(components(value_of(of, "size"))))


@shape("Sphere")
def _sphere(of: Object) -> Geometry:
    return Geometry("sphere", np.array([value_of(of, "radius")]))


@shape("Cylinder")
def _cylinder(of: Object) -> Geometry:
    return Geometry("cylinder", np.array([value_of(of, "radius"), value_of(of, "height")]), pose=ALONG_Y)


@shape("Capsule", "Physics3D")
def _capsule(of: Object) -> Geometry:
    return replace(_cylinder(of), shape="capsule")


def contact_geometry(of: Object) -> ContactGeometry | None:
    """Return the shape of a contact geometry, or None for an unsupported type. Raises Fault."""
    made = placed_shape(of)
    if made is None:
        return None
    material = material_of(of)
    density = 1000.0 if material is None else value_of(material, "density")
    massive = of.value("include_in_mass_properties") is not False
    if of.get("enable_collisions") is False:
        made = replace(made, surface=Surface(touches=()))
    return ContactGeometry(of.name, made, density, massive, place_of(of))


def placed_shape(of: Object) -> Geometry | None:
    """Return the shape of a contact geometry or a visual, placed in its owner; None for unknown types. Raises Fault."""
    make = next((SHAPES[model.name] for model in reversed(of.model.lineage) if model.name in SHAPES), None)
    if make is None:
        return None
    made = make(of)
    if not all(0.0 < size < 1e9 for size in made.size.tolist()):
        raise Fault(line_of(of, "size", "radius", "height", "scale"), f"sizes {made.size.tolist()} must be above zero")
    transform = pose_of(of, "local_transform")
    return replace(
        made, pose=made.pose if transform is None else poses.compose(transform, made.pose), place=place_of(of)
    )


def material_of(geometry: Object) -> Object | None:
    """Return the material of a geometry: that of the innermost owner that overrides it, otherwise its own."""
    owner = geometry.owner
    while owner is not None and not owner.is_a(OVERRIDE):
        owner = owner.owner
    if owner is not None:
        kept, material = (owner.value(name) for name in ("material_override_geometries_excluded", "material_override"))
        if isinstance(material, Object) and not (isinstance(kept, list) and geometry in kept):
            return material
    material = geometry.value("material")
    return material if isinstance(material, Object) else None


def connector_of(of: Object) -> MateConnector:
    """Return a connector. Its normal is undefined unless it is set explicitly. Raises Fault."""
    position, axis = (np.array(components(value_of(of, name))) for name in ("position", "main_axis"))
    normal = np.array(components(value_of(of, "normal"))) if of.given("normal") else None
    fault = axes_fault(axis.tolist(), None if normal is None else normal.tolist())
    if fault:
        raise Fault(line_of(of, "normal" if fault.startswith("normal") else "main_axis"), fault)
    return MateConnector(of.name, position, axis, normal, place_of(of), of.is_a(ADAPTIVE))


def target_of(mate: Object) -> float | None:
    """Return the distance to which a mate moves, or None if it keeps the initial distance. Raises Fault."""
    if not mate.is_a(DISTANCE) or not mate.given("target_distance"):
        return None
    target = float(value_of(mate, "target_distance"))
    if target < 0.0:
        raise Fault(line_of(mate, "target_distance"), f"target_distance {target:g} must be zero or more")
    return target


def inertial(of: Object) -> tuple[float | None, FloatArray | None, FloatArray | None]:
    """Return the mass, centre of mass and inertia in body axes; None for those that are not given."""
    mass = float(value_of(of.value("inertia"), "mass")) if of.given("inertia", "mass") else None
    if mass is not None and mass <= 0.0:
        raise Fault(line_of(of.value("inertia"), "mass"), f"a mass of {mass:g} kg; it must be above zero")
    centre = None
    turn = np.eye(3)
    if of.given("kinematics", "local_cm_transform"):
        transform: AffineTransform = value_of(of.value("kinematics"), "local_cm_transform")
        centre = np.array(components(transform.position))
        turn = quaternions.to_matrix(components(transform.rotation.normal()))
    inertia = None
    if of.given("inertia", "tensor"):
        inertia = turn @ value_of(of.value("inertia"), "tensor").array() @ turn.T
    return mass, centre, inertia


def initial_speed(of: Object) -> FloatArray | None:
    """Return the initial linear and angular velocity (6,) of a body, or None."""
    if not any(of.given("kinematics", name) for name in SPEEDS):
        return None
    return np.concatenate([components(value_of(of.value("kinematics"), name)) for name in SPEEDS])


def pose_of(of: Object, name: str) -> FloatArray | None:
    """Return a transform as a pose (7,), or None if it is not given. Raises Fault."""
    if not of.given(name):
        return None
    transform: AffineTransform = value_of(of, name)
    return transform.pose()


def value_of(of: Object, name: str) -> Any:
    """Return a required attribute, whose numbers must be finite. Raises Fault."""
    value = of.value(name)
    if isinstance(value, Undefined):
        stated = line_of(of, name)
        raise Fault(stated, f"{name if stated == place_of(of) else value.of} has no value")
    if value is OPAQUE:
        raise Fault(line_of(of, name), f"{name} depends on something unknown")
    try:
        parts = value.pose().tolist() if isinstance(value, AffineTransform) else [*components(value)] or [value]
    except ValueError as error:  # a rotation of norm zero
        raise Fault(line_of(of, name), str(error)) from None
    if not np.all(np.isfinite(np.array(parts, dtype=np.float64))):
        raise Fault(line_of(of, name), f"{name} is not finite: {parts}")
    return value


def line_of(of: Object, *names: str) -> Place:
    """Return where the first of several attributes is last set, or else the location of the object."""
    for name in names:
        stated: list[Entry] = [entry for entry, _, _ in of.lines(name) if entry.value is not None]
        if stated:
            return stated[-1].place()
    return place_of(of)


def place_of(of: Object) -> Place:
    """Return the location where an object is declared, with its path."""
    return Place(of.place.where, of.path or of.name)
