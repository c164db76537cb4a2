"""Friction of collisions: coefficients, torsion, slip, and their directions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim_node.extensions.sdf.directional_friction import MAX_SLIP
from sim_node.extensions.sdf.elements import SdfReading, child, place_of
from sim_node.extensions.sdf.scopes import WORLD, ScopeFault, SdfScope, link_of
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.readers.xml_elements import Element
from sim_node.world.surfaces import COEFFICIENT

# The elements of coefficients. Those of ODE come first, because Gazebo reads them with every physics engine.
ENGINES = (("ode", "mu", "mu2"), ("bullet", "friction", "friction2"))


def friction_of(reading: SdfReading, surface: Element) -> dict[str, Any]:
    """Return the friction of a surface, by the names of fields of a Surface."""
    given: dict[str, Any] = {}
    friction = child(surface, "friction")
    of, first, second = _coefficients_of(friction)
    if of is not None:
        given["sliding"], _ = _coefficients(reading, of, first, second)
    twist = child(friction, "torsional")
    if twist is not None:
        coefficient = reading.number(twist, "coefficient", default=1.0)
        if reading.flag(twist, "use_patch_radius", default=True):
            # The effective lever arm of a Hertzian contact patch is 3 pi / 16 of its radius: gazebosim.org, torsional
            # friction.
            radius = reading.number(twist, "patch_radius", default=0.0)
            given["torsional"] = 3.0 * math.pi / 16.0 * radius * coefficient
    return given


def directional_friction_of(
    reading: SdfReading, scope: SdfScope, link: str, element: Element, pose: FloatArray, offset: FloatArray
) -> dict[str, Any] | None:
    """Return the fields of a DirectionalFriction except `shape`; None if mu and mu2 are equal and nothing slips.

    As in gz-physics, the first direction is given in the frame of the collision, or of the link in its expressed_in.
    The default is the world's z.

    Args:
        reading: What is being read.
        scope: The model of the link.
        link: The frame of the link.
        element: The collision.
        pose: The pose (7,) of the shape in the link.
        offset: The pose (7,) of the shape in the collision.
    """
    friction = child(element, "surface", "friction")
    slips = [_slip(reading, child(friction, "ode", key)) for key in ("slip1", "slip2")]
    of, first, second = _coefficients_of(friction)
    if of is None and any(slips):
        of, first, second = child(friction, "ode"), *ENGINES[0][1:]
    if of is None:
        return None
    along, across = _coefficients(reading, of, first, second)
    if along == across and not any(slips):
        return None
    given = child(of, "fdir1")
    direction = reading.vector(of, "fdir1", default=(0.0, 0.0, 0.0))
    fields: dict[str, Any] = {"along": along, "across": across, "slip_along": slips[0], "slip_across": slips[1]}
    fields["place"] = place_of(given or element, link)
    if given is None or not direction.any():
        return {**fields, "direction": np.array([0.0, 0.0, 1.0]), "frame": WORLD}
    named = given.get("gz:expressed_in") or given.get("ignition:expressed_in")
    if named:
        try:
            on = link_of(scope, named, given)
        except ScopeFault as fault:
            reading.approximate(given, f"{fault.message}; the direction is in the collision, as in Gazebo")
            on = None
        if on is not None:
            return {**fields, "direction": direction, "frame": on[0].frame(on[1].name)}
    at = poses.compose(pose, poses.invert(offset))
    return {**fields, "direction": quaternions.rotate(at[3:], direction)}


def _coefficients_of(friction: Element | None) -> tuple[Element | None, str, str]:
    """Return the element of the coefficients (None without any), and their tags along and across the direction."""
    for engine, along, across in ENGINES:
        if any(child(friction, engine, name) is not None for name in (along, across)):
            return child(friction, engine), along, across
    return None, "", ""


def _coefficients(reading: SdfReading, of: Element, first: str, second: str) -> tuple[float, float]:
    """Return the coefficients of friction along the first direction, and across it."""
    along = reading.number(of, first, default=1.0)
    both = along, reading.number(of, second, default=along)
    if max(both) > COEFFICIENT.high:
        reading.approximate(of, f"friction is at most {COEFFICIENT.high:g} here")
    along, across = (min(max(each, 0.0), COEFFICIENT.high) for each in both)
    return along, across


def _slip(reading: SdfReading, given: Element | None) -> float:
    """Return a slip. A negative slip means no slip, the default of DART."""
    slip = reading.number(given, default=0.0)
    if given is not None and slip > MAX_SLIP:
        reading.approximate(given, f"slip is at most {MAX_SLIP:g} here")
    return min(max(slip, 0.0), MAX_SLIP)
