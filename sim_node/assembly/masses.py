"""Masses, centres of mass and inertias of bodies from the shapes, sizes and densities of their geometries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.shapes import SHAPES_WITHOUT_MASS, Geometry, Inertial, solid_mesh, volume_of
from sim_node.world.systems import ContactGeometry, RigidBody

# Mass and inertia of a slider, relative to the body that it holds.
SHARE = 1e-6


# Functions of the sizes in world.shapes.SHAPES.
def _box(x: float, y: float, z: float) -> tuple[float, float, float]:
    return (y * y + z * z) / 12.0, (x * x + z * z) / 12.0, (x * x + y * y) / 12.0


def _cylinder(r: float, length: float) -> tuple[float, float, float]:
    across = (3.0 * r * r + length * length) / 12.0
    return across, across, r * r / 2.0


def _capsule(r: float, length: float) -> tuple[float, float, float]:
    caps = 4.0 * r / (4.0 * r + 3.0 * length)  # their fraction of the mass
    along = (1.0 - caps) * r * r / 2.0 + caps * 0.4 * r * r
    # The centre of a hemisphere is 3/8 r from its flat side.
    across = (1.0 - caps) * (3.0 * r * r + length * length) / 12.0
    across += caps * (0.4 * r * r + length * length / 4.0 + 3.0 / 8.0 * length * r)
    return across, across, along


# Principal moments per kg about the centre (m^2): Beer & Johnston, Vector Mechanics for Engineers: Dynamics, app. B.
_MOMENTS: dict[str, Callable[..., tuple[float, float, float]]] = {
    "box": _box,
    "sphere": lambda r: (0.4 * r * r,) * 3,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "ellipsoid": lambda a, b, c: ((b * b + c * c) / 5.0, (a * a + c * c) / 5.0, (a * a + b * b) / 5.0),
}


def with_mass(part: ContactGeometry) -> Geometry:
    """Return the shape with its mass: its own if it has one, else by its density; None if it does not count."""
    shape = part.geometry
    if not part.massive or shape.shape in SHAPES_WITHOUT_MASS or shape.only == "visual":
        return replace(shape, mass=0.0)
    return shape if shape.mass > 0.0 else replace(shape, mass=part.density * volume_of(shape))


def mass_properties(shapes: Iterable[Geometry]) -> Inertial:
    """Return the mass, centre of mass and inertia of shapes that are fixed together; zeros if none has mass."""
    heavy = [shape for shape in shapes if shape.mass > 0.0]
    mass = sum(shape.mass for shape in heavy)
    if not heavy:
        return Inertial(0.0, np.zeros((3, 3)))
    solids = [_solid(shape) for shape in heavy]
    centre = sum((shape.mass * at for shape, (at, _) in zip(heavy, solids, strict=True)), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for shape, (at, moments) in zip(heavy, solids, strict=True):
        turn = quaternions.to_matrix(shape.pose[3:])
        inertia += shape.mass * turn @ moments @ turn.T
        inertia += shape.mass * _steiner(at - centre)
    return Inertial(mass, (inertia + inertia.T) / 2.0, centre)


def _solid(shape: Geometry) -> tuple[FloatArray, FloatArray]:
    """Return the centre (3,) of a shape in its body, and its inertia (3, 3) about it per kg in its own axes."""
    if shape.shape != "mesh":
        return shape.pose[:3], np.diag(_MOMENTS[shape.shape](*shape.size))
    _, centre, inertia = solid_mesh(shape)
    return poses.apply(shape.pose, centre), inertia


def masses_of(body: RigidBody) -> tuple[tuple[Geometry, ...], Inertial | None]:
    """Return the shapes of a body with their masses, and the inertial properties of the body itself, if any.

    A mass of the body is distributed over its shapes in proportion to theirs, which scales the inertia. A centre or an
    inertia of the body overrides those of the shapes, which then are visible and collide but have no mass.
    """
    shapes = tuple(map(with_mass, body.geometries))
    total = sum(shape.mass for shape in shapes)
    if body.mass is not None and total > 0.0:
        shapes = tuple(replace(shape, mass=shape.mass * (body.mass / total)) for shape in shapes)
    # MuJoCo computes masses of meshes from their convex hulls.
    has_mesh = any(shape.shape == "mesh" and shape.mass > 0.0 for shape in shapes)
    if body.inertia is None and body.centre is None and (total > 0.0 or body.mass is None) and not has_mesh:
        return shapes, None
    derived = mass_properties(shapes)
    return shapes, Inertial(
        derived.mass if body.mass is None else body.mass,
        derived.inertia if body.inertia is None else body.inertia,
        derived.centre if body.centre is None else body.centre,
    )


def _steiner(offset: FloatArray) -> FloatArray:
    """Return the inertia of 1 kg at an offset (3,), by the parallel axis theorem."""
    return np.asarray(float(offset @ offset) * np.eye(3) - np.outer(offset, offset))


def share_of(body: Body) -> Inertial:
    """Return the inertial properties of a slider: a millionth of those of the body that it holds."""
    whole = body.inertial
    if whole is None:
        # For a mesh, whose inertia MuJoCo computes, a sphere of the same mass and size is accurate enough.
        shapes = [
            shape if shape.shape in _MOMENTS else replace(shape, shape="sphere", size=np.array([shape.size.max()]))
            for shape in body.geometry
        ]
        whole = mass_properties(shapes)
    return Inertial(SHARE * whole.mass, SHARE * whole.inertia, whole.centre)
