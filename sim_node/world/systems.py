"""Systems: parts of a world that mates assemble. Their poses may be undefined. Frozen data.

A name in a reference is a path of names, starting in the system that contains the reference: `arm/rod/pin`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.world.fields import floats, same
from sim_node.world.joint_motion import UNLIMITED, Stop
from sim_node.world.mate_types import MATES, MateType
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.shapes import Geometry

# An axis and a normal at a smaller angle (its sine) define no direction.
PARALLEL = 1e-9
DEFAULT_DENSITY = 1000.0  # kg/m^3


class _ComparedByContent:
    """Equality of contents, wherever they were read from."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return same(self, other)


@dataclass(frozen=True, eq=False)
class MateConnector(_ComparedByContent):
    """A frame for mates: Z is the main axis, X the normal, made orthogonal to it.

    A connector of a body moves with the body; one of a system does not move in the world.

    Attributes:
        name: Unique in its owner.
        position: Position (3,) in the owner, m.
        main_axis: Direction (3,) in the owner, of any length.
        normal: Direction (3,) in the owner, of any length. None stands for the first of the owner's X, Y and Z that is
            furthest from the main axis.
        place: Where the file describes it.
        adaptive: Whether it moves in its owner to where its mate is met, once the other mates have assembled the rest.

    Raises:
        ValueError: A direction is zero or not finite, or the normal is parallel to the main axis.
    """

    name: str
    position: FloatArray = field(default_factory=lambda: np.zeros(3))
    main_axis: FloatArray = field(default_factory=lambda: np.array((0.0, 0.0, 1.0)))
    normal: FloatArray | None = None
    place: Place = NO_PLACE
    adaptive: bool = False

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
        """Pose (7,) in the owner."""
        return np.asarray(connector_poses([self])[0])


@dataclass(frozen=True, eq=False)
class RedirectedMateConnector(MateConnector):
    """A connector placed in a system whose mates act on a body that is already placed there.

    Attributes:
        name: Unique in its owner.
        position: Position (3,) in the owner, m.
        main_axis: Direction (3,) in the owner, of any length.
        normal: Direction (3,) in the owner, of any length, or None; see MateConnector.
        place: Where the file describes it.
        adaptive: See MateConnector.
        body: The path of the body, starting in the system that owns the connector.
    """

    body: str = ""


def axes_fault(main_axis: list[float], normal: list[float] | None) -> str | None:
    """Return why two directions (3,) do not define a connector, or None."""
    for what, vector in (("main_axis", main_axis), ("normal", normal)):
        if vector is not None and not 0.0 < math.hypot(*vector) < math.inf:
            return f"{what} {vector} has no direction"
    if normal is not None:
        (ax, ay, az), (bx, by, bz) = _unit(np.array([main_axis, normal])).tolist()
        if math.hypot(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx) <= PARALLEL:
            return f"normal {normal} is parallel to main_axis {main_axis}; give a direction across it, or none"
    return None


def connector_poses(connectors: Sequence[MateConnector]) -> FloatArray:
    """Return the pose (C, 7) of each connector in its owner."""
    if not connectors:
        return np.zeros((0, 7))
    z = _unit(np.array([connector.main_axis for connector in connectors]))
    implied = _implied_normals(z)
    given = [implied[k] if c.normal is None else c.normal for k, c in enumerate(connectors)]
    x = _unit(np.array(given))
    for _ in range(2):  # twice: the first result is inaccurate for a nearly parallel normal
        x = _unit(x - np.sum(x * z, axis=1, keepdims=True) * z)
    turned = quaternions.from_matrix(np.stack([x, np.cross(z, x), z], axis=-1))
    return poses.pose(np.array([connector.position for connector in connectors]), turned)


def _implied_normals(axes: FloatArray) -> FloatArray:
    """Return, for each unit axis (C, 3), the first of X, Y and Z that is furthest from it."""
    along = np.abs(axes)
    return np.asarray(np.eye(3)[np.argmax(along <= along.min(axis=1, keepdims=True) + 1e-9, axis=1)])


def _unit(rows: FloatArray) -> FloatArray:
    # By powers of two near 1: squares of very short and very long vectors would be 0 or infinite.
    rows = np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ContactGeometry(_ComparedByContent):
    """A shape of a body, to whose mass and inertia it adds, or of a system, where it does not move.

    Attributes:
        name: Unique in its owner.
        geometry: Shape, sizes, pose in the owner, and colour. A mass in it (kg) takes precedence over the density.
        density: kg/m^3.
        massive: Whether it adds to the mass of the body.
        place: Where the file describes it.
    """

    name: str
    geometry: Geometry
    density: float = DEFAULT_DENSITY
    massive: bool = True
    place: Place = NO_PLACE


@dataclass(frozen=True, eq=False)
class RigidBody(_ComparedByContent):
    """A rigid body in a system.

    `mass`, `centre` and `inertia` take precedence over those of the geometries.

    Attributes:
        name: Unique in its owner.
        pose: Pose (7,) in its owner, m; None if mates determine it.
        geometries: Its shapes.
        connectors: Its connectors.
        mass: kg, or None.
        centre: Centre of mass (3,) in the body, m, or None.
        inertia: Inertia (3, 3) about the centre, in the axes of the body, kg m^2, or None.
        static: Whether it does not move in its owner.
        speed: Linear and angular velocity (6,) at the start in the axes of its owner, m/s and rad/s, if no mate carries
            it.
        place: Where the file describes it.

    Raises:
        ValueError: An array has the wrong shape.
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
class Mate(_ComparedByContent):
    """A constraint between two connectors. In its rest state their frames coincide.

    Attributes:
        name: Unique in its system.
        kind: One of MATES.
        connectors: Paths of the two connectors. Values move the second in the first, along and about its axes.
        values: The initial state, in the order of MATES[kind].values, m and rad. None stands for the rest state, from
            which the assembly may move the mate to close a loop.
        near: Where the assembly starts its search, in the same order; None for the rest state.
        speeds: Initial rates in the same order, m/s and rad/s, or None.
        damping: Of each free degree of freedom, N s/m and N m s/rad.
        limits: Least and largest value, one pair for each value, or None; infinite for no limit.
        stop: The springs at the limits; None for stops as hard as the timestep allows.
        friction_loss: Dry friction of each value, N or N m, or None.
        enabled: Whether the mate acts at all.
        snap: Whether it takes part in the assembly. It constrains moving bodies in any case.
        target: For a mate that holds a distance: the one that it takes in motion, m. None for the initial one.
        place: Where the file describes it.
        connector_places: Where the file names the connectors.

    Raises:
        ValueError: There is no such kind, the number of values is wrong, or the kind has no target.
    """

    name: str
    kind: str
    connectors: tuple[str, str]
    values: tuple[float | None, ...] | None = None
    near: tuple[float, ...] | None = None
    speeds: tuple[float, ...] | None = None
    damping: float = 0.0
    limits: tuple[tuple[float, float], ...] | None = None
    stop: Stop | None = None
    friction_loss: tuple[float, ...] | None = None
    enabled: bool = True
    snap: bool = True
    target: float | None = None
    place: Place = NO_PLACE
    connector_places: tuple[Place, Place] = (NO_PLACE, NO_PLACE)

    def __post_init__(self) -> None:
        if self.kind not in MATES:
            raise ValueError(f"{self.name!r}: no mate type {self.kind!r}; allowed: {', '.join(MATES)}")
        for what in ("values", "near", "speeds", "limits", "friction_loss"):
            given = getattr(self, what)
            if given is not None and len(given) != len(self.type.values):
                needed = " and ".join(self.type.values) or "none"
                raise ValueError(f"{self.name!r}: {what} of a {self.kind}: {needed}, found {len(given)}")
        if self.target is not None and (not self.type.distance or not 0.0 <= self.target < math.inf):
            raise ValueError(f"{self.name!r}: {self.target} is no target of a {self.kind}: only of a distance, in m")

    @property
    def type(self) -> MateType:
        """The motion that the mate leaves free."""
        return MATES[self.kind]

    @property
    def is_driven(self) -> bool:
        """Whether limits or friction act on its values, so that it has to carry a body on a joint."""
        limited = self.limits is not None and any(pair != UNLIMITED for pair in self.limits)
        return limited or bool(self.friction_loss and any(self.friction_loss))


@dataclass(frozen=True, eq=False)
class System(_ComparedByContent):
    """Systems, bodies, shapes and connectors, and the mates between them.

    The names of what a system owns are unique and contain no slash. Only at the top of a world may a name be a path.

    Attributes:
        name: Unique in its owner.
        pose: Pose (7,) in its owner, m; None if mates determine it. At the top of a world, None stands for the origin
            of `parent`.
        systems: Systems in it.
        bodies: Bodies in it.
        geometries: Shapes that do not move in it.
        connectors: Its connectors.
        mates: The mates between connectors in it.
        parent: At the top of a world, a frame of the world; empty for its fixed frame.
        tolerance: How well loops of its mates have to be closed, rad and parts of the size of their mechanism; None
            for that of its owner.
        place: Where the file gives the name.
        parent_place: Where the file gives the parent.

    Raises:
        ValueError: `pose` has the wrong shape.
    """

    name: str
    pose: FloatArray | None = None
    systems: tuple[System, ...] = ()
    bodies: tuple[RigidBody, ...] = ()
    geometries: tuple[ContactGeometry, ...] = ()
    connectors: tuple[MateConnector, ...] = ()
    mates: tuple[Mate, ...] = ()
    parent: str = ""
    tolerance: float | None = None
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def __post_init__(self) -> None:
        if self.pose is not None:
            object.__setattr__(self, "pose", floats(self.pose, (7,), self.name, "pose"))

    def frames(self, path: str = "") -> Iterator[tuple[str, System | RigidBody]]:
        """Iterate over this system and every system and body in it, owners first.

        Args:
            path: The path of its owner; empty at the top.

        Yields:
            The path and the system or body.
        """
        at = f"{path}/{self.name}" if path else self.name
        yield at, self
        for body in self.bodies:
            yield f"{at}/{body.name}", body
        for system in self.systems:
            yield from system.frames(at)


@dataclass(frozen=True, eq=False)
class Attachment(_ComparedByContent):
    """A frame or sensor of the world whose pose follows from a mate: extrinsics without numbers.

    Attributes:
        frame: The name of the frame or sensor.
        connector: The connector in that frame.
        mate: Between a connector of a system, by its path from the top of the world, and this one, `FRAME/CONNECTOR`.
        place: Where the file describes it.
    """

    frame: str
    connector: MateConnector
    mate: Mate
    place: Place = NO_PLACE
