"""Bodies, systems and mates as data of world files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim_node.world.declared import data_of, holder_of
from sim_node.world.joint_motion import UNLIMITED
from sim_node.world.part import Refer
from sim_node.world.shapes import Inertial
from sim_node.world.systems import (
    DEFAULT_DENSITY,
    Attachment,
    ContactGeometry,
    Mate,
    MateConnector,
    RedirectedMateConnector,
    RigidBody,
    System,
)
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
            "mates": [_mate(mate) for mate in system.mates],
            "tolerance": system.tolerance,
        }
    )


def attachment_data(attachment: Attachment) -> dict[str, Any]:
    """Return the mate of a frame or a sensor."""
    mate = attachment.mate
    return {
        mate.kind: mate.connectors[0],
        **_values(mate),
        "connector": _connector(attachment.connector),
    }


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
    return {connector.name: _connector(connector) for connector in connectors}


def _connector(connector: MateConnector) -> dict[str, Any]:
    body = connector.body if isinstance(connector, RedirectedMateConnector) else None
    axes = {"position": connector.position, "main_axis": connector.main_axis, "normal": connector.normal}
    return given({**axes, "body": body, "adaptive": connector.adaptive})


def _mate(mate: Mate) -> dict[str, Any]:
    return given(
        {
            "name": mate.name,
            mate.kind: mate.connectors,
            **_values(mate),
            "near": _one_or_more(mate.near),
            "speed": _one_or_more(mate.speeds),
            "damping": mate.damping,
            "limits": _mate_limits(mate),
            "stop": mate.stop,
            "friction_loss": _one_or_more(mate.friction_loss),
            "enabled": mate.enabled,
            "snap": mate.snap,
            "target": mate.target,
        }
    )


def _mate_limits(mate: Mate) -> Any:
    if mate.limits is None:
        return None
    rows = [None if pair == UNLIMITED else list(pair) for pair in mate.limits]
    return rows[0] if len(rows) == 1 else rows


def _values(mate: Mate) -> dict[str, float]:
    values = zip(mate.type.values, mate.values or (), strict=False)
    return {name: value for name, value in values if value is not None}


def _one_or_more(values: tuple[float, ...] | None) -> Any:
    return values[0] if values is not None and len(values) == 1 else values


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """Return the values that are neither None nor empty."""
    return {key: value for key, value in given(data).items() if value not in ([], {})}
