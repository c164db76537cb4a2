"""Joints, shapes and masses as world files write them."""

from __future__ import annotations

from typing import Any

from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import Body, Geometry, Inertial
from sim_node.world.part import Refer
from sim_node.world.writers.values import given, one_or_more, pose_words


def joint_words(body: Body) -> dict[str, Any] | None:
    """Return the joint of a body, its friction, springs and start; None for a frozen body, where nothing is said."""
    states = {key: getattr(body, key) for key in ("damping", "armature", "spring_stiff", "spring_zero", "q", "qd")}
    if not body.type.parts and all(values is None for values in states.values()):
        return None
    return {
        "type": body.joint,
        **({"axis": one_or_more(body.axes)} if len(body.axes) else {}),
        **{key: one_or_more(values) for key, values in states.items() if values is not None},
    }


def geometry_words(shape: Geometry, refer: Refer) -> dict[str, Any]:
    """Return a shape with its sizes, mass, pose and colour."""
    if shape.file is not None:
        words: dict[str, Any] = {shape.shape: refer(shape.file), "scale": shape.size}
    else:
        words = {shape.shape: one_or_more(shape.size) if len(shape.size) else True}
    return given({**words, "mass": shape.mass, "pose": pose_words(shape.pose), "color": shape.colour})


def inertial_words(inertial: Inertial) -> dict[str, Any]:
    """Return mass, centre and moments of inertia."""
    return {
        "mass": inertial.mass,
        "center": inertial.centre.tolist(),
        "inertia": inertia_words(inertial.inertia),
    }


def inertia_words(inertia: FloatArray) -> list[float]:
    """Return the three moments, and the three products where one is not zero."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    return [xx, yy, zz, *((xy, xz, yz) if any((xy, xz, yz)) else ())]
