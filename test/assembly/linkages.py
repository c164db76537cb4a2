"""Planar linkages for tests, and what textbooks say of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_node.assembly import Assembly, assembly_of
from sim_node.world import Mate, MateConnector, RigidBody, System, World


def snapped(system: System) -> Assembly:
    return assembly_of(World("test", systems=(system,)))


def bar(name: str, length: float) -> RigidBody:
    return RigidBody(name, connectors=(MateConnector("a"), MateConnector("b", np.array([length, 0, 0]))))


def heading(assembly: Assembly, name: str) -> float:
    x, y, z, w = assembly.in_roots[assembly.table.names.index(name)][3:]
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def four_bar(
    crank: float,
    coupler: float,
    rocker: float,
    ground: float,
    angle: float | None,
    near: tuple[float, float] | None = None,
    order: Sequence[int] = (0, 1, 2, 3),
) -> System:
    mates = (
        Mate("drive", "hinge", ("g0", "crank/a"), None if angle is None else (angle,)),
        Mate("elbow", "hinge", ("crank/b", "coupler/a"), near=None if near is None else near[:1]),
        Mate("output", "hinge", ("g1", "rocker/a"), near=None if near is None else near[1:]),
        Mate("closing", "hinge", ("coupler/b", "rocker/b")),
    )
    return System(
        "s",
        bodies=(bar("crank", crank), bar("coupler", coupler), bar("rocker", rocker)),
        connectors=(MateConnector("g0"), MateConnector("g1", np.array([ground, 0, 0]))),
        mates=tuple(mates[k] for k in order),
    )


def freudenstein(crank: float, coupler: float, rocker: float, ground: float, theta: float) -> tuple[float, float]:
    """Both rocker angles for a crank angle, rad, from Freudenstein's equation (1954):

    cos(theta - phi) = R2 cos(phi) - R1 cos(theta) + R3, with the crank a, coupler b, rocker c, ground d and
    R1 = d/c, R2 = d/a, R3 = (a^2 - b^2 + c^2 + d^2) / (2 a c).
    """
    r1, r2 = ground / rocker, ground / crank
    r3 = (crank**2 - coupler**2 + rocker**2 + ground**2) / (2 * crank * rocker)
    # As p cos(phi) + q sin(phi) = r.
    p, q, r = np.cos(theta) - r2, np.sin(theta), r3 - r1 * np.cos(theta)
    middle, half = np.arctan2(q, p), np.arccos(r / np.hypot(p, q))
    return middle + half, middle - half


def wrapped(angle: float) -> float:
    return (angle + np.pi) % (2 * np.pi) - np.pi
