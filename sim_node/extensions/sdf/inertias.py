"""Mass, centre of mass and inertia of links: as given in the file, or computed from a density."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sim_node.assembly.masses import mass_properties
from sim_node.extensions.sdf.elements import SdfReading, child
from sim_node.extensions.sdf.shapes import SdfSolid
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.readers.xml_elements import Element
from sim_node.world.shapes import Geometry, Inertial, principal_moments, volume_of
from sim_node.world.systems import DEFAULT_DENSITY

MOMENTS = ("ixx", "iyy", "izz")
PRODUCTS = ("ixy", "ixz", "iyz")
_ROUNDING = 1e-9
# The least moment of inertia of a link, kg m^2, so that the links that carry it can be simulated.
LEAST = 1e-9


def inertial_of(
    reading: SdfReading, link: Element, collisions: Iterable[tuple[Element, Geometry, SdfSolid]]
) -> Inertial:
    """Return the mass properties of a link in its own axes; by default 1 kg, with moments of inertia of 1 kg m^2."""
    given = child(link, "inertial")
    if given is not None and reading.truth(given, given.get("auto"), False, "auto"):
        return _by_density(reading, link, given, collisions)
    mass = reading.number(given, "mass", default=1.0)
    inertia = child(given, "inertia")
    xx, yy, zz = (reading.number(inertia, key, default=1.0) for key in MOMENTS)
    xy, xz, yz = (reading.number(inertia, key, default=0.0) for key in PRODUCTS)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    at = given if given is not None else link
    if not np.isfinite(matrix).all() or not 0.0 < mass < np.inf:
        found = f"mass {mass:g} kg" if not 0.0 < mass < np.inf else f"moments {[xx, yy, zz]}"
        reading.error(at, f"{found}: a link needs a mass above zero and finite moments of inertia")
        return Inertial(1.0, np.eye(3))
    least, middle, most = principal_moments(matrix)
    if not (least > 0.0 and most <= (least + middle) * (1.0 + _ROUNDING)):
        moment = max(float(np.trace(matrix)) / 3.0, LEAST)
        reading.approximate(
            inertia or at,
            "its inertia is that of no body: each principal moment is above zero and at most the sum of the others; "
            "all three are set to their mean",
        )
        matrix = moment * np.eye(3)
    return turned(Inertial(mass, matrix), reading.pose(child(given, "pose")))


def turned(inertial: Inertial, pose: FloatArray) -> Inertial:
    """Transform mass properties from a frame with a pose (7,) in a body to the axes of the body."""
    if not pose[3:6].any():
        return Inertial(inertial.mass, inertial.inertia, pose[:3] + inertial.centre)
    turn = quaternions.to_matrix(pose[3:])
    matrix = turn @ inertial.inertia @ turn.T
    return Inertial(inertial.mass, (matrix + matrix.T) / 2.0, poses.apply(pose, inertial.centre))


def _by_density(
    reading: SdfReading, link: Element, given: Element, collisions: Iterable[tuple[Element, Geometry, SdfSolid]]
) -> Inertial:
    usual = reading.number(given, "density", default=DEFAULT_DENSITY)
    parts = []
    for element, shape, solid in collisions:
        density = reading.number(element, "density", default=usual)
        if not 0.0 < density < np.inf:
            reading.error(element, f"a density of {density:g} kg/m^3; it must be above zero")
            continue
        if solid.cone is not None:
            parts.append(turned(_cone(*solid.cone, density), shape.pose))
            continue
        try:
            heavy = replace(shape, mass=density * volume_of(shape), surface=None)
        except ValueError as error:
            reading.approximate(element, f"{error}; it adds no mass")
            continue
        parts.append(mass_properties([heavy]))
    if not parts:
        reading.error(given, 'inertial auto="true" needs a collision that has a volume')
        return Inertial(1.0, np.eye(3))
    found = together(parts)
    if child(given, "mass") is not None:
        mass = reading.number(given, "mass", default=found.mass)
        if 0.0 < mass < np.inf:
            return Inertial(mass, found.inertia * (mass / found.mass), found.centre)
    return found


def _cone(radius: float, length: float, density: float) -> Inertial:
    """Return the mass properties of a solid cone about z, whose origin is at half its height."""
    mass = density * np.pi * radius**2 * length / 3.0
    across = mass * (3.0 / 20.0 * radius**2 + 3.0 / 80.0 * length**2)
    return Inertial(mass, np.diag([across, across, 0.3 * mass * radius**2]), np.array([0.0, 0.0, -length / 4.0]))


def together(parts: list[Inertial]) -> Inertial:
    """Return the combined mass properties of rigidly connected bodies, in the same axes."""
    mass = sum(part.mass for part in parts)
    centre = sum((part.mass * part.centre for part in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        off = part.centre - centre
        inertia = inertia + part.inertia + part.mass * ((off @ off) * np.eye(3) - np.outer(off, off))
    return Inertial(mass, inertia, centre)
