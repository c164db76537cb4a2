"""Systems: parts of a world that mates put together; poses may be left open for them. Frozen data.

A name in a reference is a path of names from the system that makes the reference: `arm/rod/pin`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import Geometry
from sim_node.world.fields import floats, same
from sim_node.world.mate_types import MATES, MateType
from sim_node.world.problems import NO_PLACE, Place

# What each may own; all of it is placed relative to its owner.
OWNERSHIP: dict[str, tuple[str, ...]] = {
    "system": ("system", "body", "geometry", "connector"),
    "body": ("geometry", "connector"),
    "geometry": (),
    "connector": (),
}
# An axis and a normal that are nearer to parallel (as a sine) say no direction.
PARALLEL = 1e-9


class _Said:
    """Equality in what is said; where it was read from is no part of it."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return same(self, other)


@dataclass(frozen=True, eq=False)
class MateConnector(_Said):
    """A frame for mates: main axis Z, normal X, made orthogonal to it; Y completes them.

    position, main_axis, normal (3,): in the owner; directions of any length. Without a normal it is the first of the
    owner's X, Y, Z that lies furthest from the main axis. Owned by a body, it moves with it; owned by a system, it
    stands still in the world. Raises ValueError for an axis without a direction and a normal parallel to it.
    """

    name: str
    position: FloatArray = field(default_factory=lambda: np.zeros(3))
    main_axis: FloatArray = field(default_factory=lambda: np.array((0.0, 0.0, 1.0)))
    normal: FloatArray | None = None
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        for what in ("position", "main_axis", "normal"):
            given = getattr(self, what)
            if given is not None or what != "normal":
                object.__setattr__(self, what, floats(given, (3,), self.name, what))
        fault = axes_fault(self.main_axis.tolist(), None if self.normal is None else self.normal.tolist())
        if fault:
            raise ValueError(f"{self.name!r}: {fault}")

    @cached_property
    def pose(self) -> FloatArray:
        """Its pose (7,) in its owner."""
        return np.asarray(connector_poses([self])[0])


@dataclass(frozen=True, eq=False)
class RedirectedMateConnector(MateConnector):
    """A connector placed in a system, whose mates act on a body that stands there already.

    body: the path of that body from the system that owns the connector.
    """

    body: str = ""


def axes_fault(main_axis: list[float], normal: list[float] | None) -> str | None:
    """Why two directions (3) span no connector, or None."""
    for what, vector in (("main_axis", main_axis), ("normal", normal)):
        if vector is not None and not 0.0 < math.hypot(*vector) < math.inf:
            return f"{what} {vector} has no direction"
    if normal is not None:
        (ax, ay, az), (bx, by, bz) = main_axis, normal
        sine = math.hypot(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)
        if sine <= PARALLEL * math.hypot(*main_axis) * math.hypot(*normal):
            return f"normal {normal} is parallel to main_axis {main_axis}; give a direction across it, or none"
    return None


def connector_poses(connectors: Sequence[MateConnector]) -> FloatArray:
    """The pose (C, 7) of each connector in its owner."""
    if not connectors:
        return np.zeros((0, 7))
    z = _unit(np.array([connector.main_axis for connector in connectors]))
    implied = _implied_normals(z)
    given = [implied[k] if c.normal is None else c.normal for k, c in enumerate(connectors)]
    x = _unit(np.array(given))
    for _ in range(2):  # twice: what a nearly parallel normal leaves is known to fewer digits
        x = _unit(x - np.sum(x * z, axis=1, keepdims=True) * z)
    turned = quaternions.from_matrix(np.stack([x, np.cross(z, x), z], axis=-1))
    return poses.pose(np.array([connector.position for connector in connectors]), turned)


def _implied_normals(axes: FloatArray) -> FloatArray:
    """Of X, Y, Z the first that lies furthest from each unit axis (C, 3)."""
    along = np.abs(axes)
    return np.asarray(np.eye(3)[np.argmax(along <= along.min(axis=1, keepdims=True) + 1e-9, axis=1)])


def _unit(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ContactGeometry(_Said):
    """A shape on a body, to whose mass and inertia it adds, or on a system, where it stands still.

    geometry: shape, sizes, pose in the owner, colour; a mass there, kg, goes before the density, kg/m^3.
    massive: whether it counts for the body's mass.
    """

    name: str
    geometry: Geometry
    density: float = 1000.0
    massive: bool = True
    place: Place = NO_PLACE


@dataclass(frozen=True, eq=False)
class RigidBody(_Said):
    """A rigid body in a system.

    pose (7,): in its owner; None where mates are to give it. mass (kg), centre (3,) in the body (m), inertia (3, 3)
    about the centre in the body's axes (kg m^2): each goes before what the geometries give. static: it stands still
    in its owner. speed (6,): linear and angular, m/s and rad/s, in its owner's axes at the start, where no mate
    carries it.
    """

    name: str
    pose: FloatArray | None = None
    geometries: tuple[ContactGeometry, ...] = ()
    connectors: tuple[MateConnector, ...] = ()
    mass: float | None = None
    centre: FloatArray | None = None
    inertia: FloatArray | None = None
    static: bool = False
    speed: FloatArray | None = None
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        for what, shape in (("pose", (7,)), ("centre", (3,)), ("inertia", (3, 3)), ("speed", (6,))):
            given = getattr(self, what)
            if given is not None:
                object.__setattr__(self, what, floats(given, shape, self.name, what))


@dataclass(frozen=True, eq=False)
class Mate(_Said):
    """What holds two connectors together; at rest their frames coincide.

    kind: one of MATES. connectors: two paths; values move the second in the first, along and about its axes.
    values: the initial state, in the order of MATES[kind].values, m and rad. Each that is None, or all, is at rest,
    from where the assembly may move it to close a loop; near: where it begins to look for that. speeds: rates at the
    start. damping: of every degree of freedom left, N s/m and N m s/rad. enabled: whether it holds at all. snap:
    whether it assembles; what moves is held by it anyway. connector_places: where a file names the two. Raises
    ValueError for a kind that is none and values of another number.
    """

    name: str
    kind: str
    connectors: tuple[str, str]
    values: tuple[float | None, ...] | None = None
    near: tuple[float, ...] | None = None
    speeds: tuple[float, ...] | None = None
    damping: float = 0.0
    enabled: bool = True
    snap: bool = True
    place: Place = NO_PLACE
    connector_places: tuple[Place, Place] = (NO_PLACE, NO_PLACE)

    def __post_init__(self) -> None:
        if self.kind not in MATES:
            raise ValueError(f"{self.name!r}: no mate type {self.kind!r}; allowed: {', '.join(MATES)}")
        for what in ("values", "near", "speeds"):
            given = getattr(self, what)
            if given is not None and len(given) != len(self.type.values):
                needed = " and ".join(self.type.values) or "none"
                raise ValueError(f"{self.name!r}: {what} of a {self.kind}: {needed}, found {len(given)}")

    @property
    def type(self) -> MateType:
        """What it leaves free."""
        return MATES[self.kind]


@dataclass(frozen=True, eq=False)
class System(_Said):
    """Systems, bodies, shapes and connectors, and the mates between them.

    pose (7,): in its owner; None where mates are to give it. At the top of a world there is no owner to be placed in:
    there None is the origin of `parent`, a frame of the world, its fixed frame where empty. Names of what a system owns
    have no slash and stand once in it; only at the top of a world a name may be a path.
    """

    name: str
    pose: FloatArray | None = None
    systems: tuple[System, ...] = ()
    bodies: tuple[RigidBody, ...] = ()
    geometries: tuple[ContactGeometry, ...] = ()
    connectors: tuple[MateConnector, ...] = ()
    mates: tuple[Mate, ...] = ()
    parent: str = ""
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def __post_init__(self) -> None:
        if self.pose is not None:
            object.__setattr__(self, "pose", floats(self.pose, (7,), self.name, "pose"))

    def frames(self, path: str = "") -> Iterator[tuple[str, System | RigidBody]]:
        """It and every system and body in it, by its path below `path`, owners first."""
        at = f"{path}/{self.name}" if path else self.name
        yield at, self
        for body in self.bodies:
            yield f"{at}/{body.name}", body
        for system in self.systems:
            yield from system.frames(at)


@dataclass(frozen=True, eq=False)
class Attachment(_Said):
    """A frame or sensor of the world whose pose a mate gives: extrinsics without numbers.

    frame: its name; connector: its own end, in the frame; mate: between a connector of a system, by its path from the
    top of the world, and that end, `FRAME/CONNECTOR`.
    """

    frame: str
    connector: MateConnector
    mate: Mate
    place: Place = NO_PLACE
