"""From values of Physics3D objects to numbers of a World: connectors, shapes, masses, transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sim_node.formats.openplx.models import Entry, Fault
from sim_node.formats.openplx.objects import Object
from sim_node.formats.openplx.values import OPAQUE, AffineTransform, Undefined, components
from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry
from sim_node.world.bodies import Geometry
from sim_node.world.problems import Place
from sim_node.world.systems import ContactGeometry, MateConnector, axes_fault

# Cylinders and capsules lie along y in OpenPLX, along z in a World.
ALONG_Y = poses.pose(np.zeros(3), quaternions.from_axis_angle([1.0, 0.0, 0.0], -np.pi / 2))

Shape = Callable[[Object], Geometry]
SHAPES: Registry[str, Shape] = Registry("shape", shipped=("sim_node.formats.openplx.parts",))


def shape(name: str) -> Callable[[Shape], Shape]:
    """Registers what makes a Geometry, without its pose in the owner, of a type of contact geometry."""
    return SHAPES.add(f"Physics3D.Geometries.{name}")


@shape("Box")
def _box(of: Object) -> Geometry:
    return Geometry("box", np.array(components(value_of(of, "size"))))


@shape("Sphere")
def _sphere(of: Object) -> Geometry:
    return Geometry("sphere", np.array([value_of(of, "radius")]))


@shape("Cylinder")
def _cylinder(of: Object) -> Geometry:
    return Geometry("cylinder", np.array([value_of(of, "radius"), value_of(of, "height")]), pose=ALONG_Y)


@shape("Capsule")
def _capsule(of: Object) -> Geometry:
    return Geometry("capsule", np.array([value_of(of, "radius"), value_of(of, "height")]), pose=ALONG_Y)


def contact_geometry(of: Object) -> ContactGeometry | None:
    """The shape of a contact geometry; None where it is of no type that has one here. Raises Fault."""
    make = next((SHAPES[model.name] for model in reversed(of.model.lineage) if model.name in SHAPES), None)
    if make is None:
        return None
    made = make(of)
    if not all(0.0 < size < 1e9 for size in made.size.tolist()):
        raise Fault(line_of(of, "size", "radius", "height"), f"sizes {made.size.tolist()} must be above zero")
    transform = pose_of(of, "local_transform")
    pose = made.pose if transform is None else poses.compose(transform, made.pose)
    material = of.value("material")
    density = value_of(material, "density") if isinstance(material, Object) else 1000.0
    massive = of.value("include_in_mass_properties") is not False
    geometry = Geometry(made.shape, made.size, pose=pose, place=place_of(of))
    return ContactGeometry(of.name, geometry, density, massive, place_of(of))


def connector_of(of: Object) -> MateConnector:
    """Its frame; the normal stays open where nothing but the default says it. Raises Fault."""
    position, axis = (np.array(components(value_of(of, name))) for name in ("position", "main_axis"))
    normal = np.array(components(value_of(of, "normal"))) if of.given("normal") else None
    fault = axes_fault(axis.tolist(), None if normal is None else normal.tolist())
    if fault:
        raise Fault(line_of(of, "normal" if fault.startswith("normal") else "main_axis"), fault)
    return MateConnector(of.name, position, axis, normal, place_of(of))


def inertial(of: Object) -> tuple[float | None, FloatArray | None, FloatArray | None]:
    """The mass, the centre and the inertia in the body's axes, as far as they are given."""
    mass = float(value_of(of.value("inertia"), "mass")) if of.given("inertia", "mass") else None
    if mass is not None and mass <= 0.0:
        raise Fault(line_of(of.value("inertia"), "mass"), f"a mass of {mass:g} kg; a body's is above zero")
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
    """The linear and angular velocity (6,) of a body at the start, as far as they are given."""
    names = ("initial_local_linear_velocity", "initial_local_angular_velocity")
    if not any(of.given("kinematics", name) for name in names):
        return None
    return np.concatenate([components(value_of(of.value("kinematics"), name)) for name in names])


def pose_of(of: Object, name: str) -> FloatArray | None:
    """A transform as a pose (7,); None where nothing says it. Raises Fault."""
    if not of.given(name):
        return None
    transform: AffineTransform = value_of(of, name)
    return transform.pose()


def value_of(of: Object, name: str) -> Any:
    """A value that has to be there, of finite numbers. Raises Fault."""
    value = of.value(name)
    if isinstance(value, Undefined):
        said = line_of(of, name)
        raise Fault(said, f"{name if said == place_of(of) else value.of} has no value")
    if value is OPAQUE:
        raise Fault(line_of(of, name), f"{name} depends on something that is not known here")
    try:
        parts = value.pose().tolist() if isinstance(value, AffineTransform) else [*components(value)] or [value]
    except ValueError as error:  # a rotation of norm zero
        raise Fault(line_of(of, name), str(error)) from None
    if not np.all(np.isfinite(np.array(parts, dtype=np.float64))):
        raise Fault(line_of(of, name), f"{name} is not finite: {parts}")
    return value


def line_of(of: Object, *names: str) -> Place:
    """Where the first of some attributes is said last; the object where none is."""
    for name in names:
        said: list[Entry] = [entry for entry, _, _ in of.lines(name) if entry.value is not None]
        if said:
            return said[-1].place()
    return place_of(of)


def place_of(of: Object) -> Place:
    """Where an object is declared, under its path."""
    return Place(of.place.where, of.path or of.name)
