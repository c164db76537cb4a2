"""Bodies, systems and mates as data of world files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim_node.world.declared import data_of, holder_of
from sim_node.world.mates import MateConnector
from sim_node.world.part import Refer
from sim_node.world.shapes import Inertial
from sim_node.world.systems import DEFAULT_DENSITY, ContactGeometry, RigidBody, System
from sim_node.world.writers.values import given, pose_data


def system_data(system: System, refer: Refer) -> dict[str, Any]:
    """Return a system with everything that it owns."""
    return _without_empty(
        {
            "name": system.name,
            "pose": None if system.pose is None else pose_data(system.pose),
            "connectors": _connectors(system.connectors),
            "geometry": [_geometry(shape, refer) for shape in system.geometries],
            "bodies": [_body(body, refer) for body in system.bodies],
            "systems": [system_data(inner, refer) for inner in system.systems],
            "mates": [mate.data() for mate in system.mates],
            "tolerance": system.tolerance,
        }
    )


def _body(body: RigidBody, refer: Refer) -> dict[str, Any]:
    return _without_empty(
        {
            "name": body.name,
            "pose": None if body.pose is None else pose_data(body.pose),
            "geometry": [_geometry(shape, refer) for shape in body.geometries],
            "connectors": _connectors(body.connectors),
            "mass": body.mass,
            "center": body.centre,
            "inertia": None if body.inertia is None else holder_of(Inertial, "inertia").data(body.inertia, refer),
            "static": body.static,
            "velocity": None if body.speed is None else body.speed[:3],
            "spin": None if body.speed is None else body.speed[3:],
        }
    )


def _geometry(shape: ContactGeometry, refer: Refer) -> dict[str, Any]:
    """Return a shape with its mass, or else its density, which is 0 if it has no mass."""
    data = {"name": shape.name, **data_of(shape.geometry, refer)}
    if not shape.geometry.mass:
        del data["mass"]
        if not shape.massive or shape.density != DEFAULT_DENSITY:
            data["density"] = shape.density if shape.massive else 0.0
    return data


def _connectors(connectors: Sequence[MateConnector]) -> dict[str, Any]:
    return {connector.name: data_of(connector) for connector in connectors}


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """Return the values that are neither None nor empty."""
    return {key: value for key, value in given(data).items() if value not in ([], {})}
