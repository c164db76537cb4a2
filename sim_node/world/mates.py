"""Mates and the connectors that they join: fields, and their format in systems, frames and sensors of world files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import BAD, Refer, data_of, declared, given, keys_of, place_of, read, settle
from sim_node.world.joint_fields import Limits, read_limits
from sim_node.world.joint_motion import UNLIMITED, Stop
from sim_node.world.joints import JOINTS, Z
from sim_node.world.mate_types import MATES, MateType
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.quantities import ORIGIN, POINT, Flag, Number, Pair, PartOf, Plain, Text, Vector
from sim_node.world.readers.keys import Form, Keys, either, listing, number, text
from sim_node.world.readers.yaml_nodes import Mapping, Scalar
from sim_node.world.readers.yaml_values import Table, Value

# Minimum sine of the angle between an axis and a normal, for these to define a frame.
PARALLEL = 1e-9
_ENDS = Pair(Text(), noun="connectors")
_Pairs = tuple[tuple[float, float], ...]
_VALUE = Number(-MAX_DISTANCE, MAX_DISTANCE)


class _Cached:
    """Base class with a __dict__, for cached properties of classes with slots."""


@declared(define="connector")
class MateConnector(_Cached):
    """A point and axes that a mate connects.

    Z is the main axis, X the normal, made orthogonal to it. Without a normal it is the first of the owner's X, Y and Z
    that is furthest from the main axis. A connector of a body moves with the body; one of a system does not move in the
    world.

    Raises:
        ValueError: A direction is zero or not finite, or the normal is parallel to the main axis.
    """

    name: str = given(None, "Unique in its owner")
    position: FloatArray = given(POINT, "Position in the body or system", "m", default=ORIGIN)
    main_axis: FloatArray = given(Vector(3), "The axis that mates align", default=Z)
    normal: FloatArray | None = given(Vector(3), "An axis across the main axis", default=None)
    place: Place = place_of(default=NO_PLACE)
    # After the other mates have placed the bodies.
    adaptive: bool = given(Flag(), "Whether it moves to where its mate is met", default=False)

    def __post_init__(self) -> None:
        settle(self)
        if fault := axes_fault(self.main_axis.tolist(), None if self.normal is None else self.normal.tolist()):
            raise ValueError(f"{self.name!r}: {fault}")

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Record a fault if the axes do not define a frame."""
        axis, across = found.get("main_axis", np.array(Z)), found.get("normal")
        if "main_axis" in table and "main_axis" not in found:
            return
        if fault := axes_fault(axis.tolist(), None if across is None else across.tolist()):
            at = table.get("main_axis" if across is None or fault.startswith("main_axis") else "normal")
            (at or table.value).error(fault)

    @cached_property
    def pose(self) -> FloatArray:
        """Pose (7,) in the owner."""
        return np.asarray(connector_poses([self])[0])


@declared(define="connector")
class RedirectedMateConnector(MateConnector):
    """A point and axes that a mate connects.

    It is placed in a system, and its mates act on a body that is already placed there.
    """

    body: str = given(Text(), "The body that the connector stands for, by its path in the system", default="")

    def __post_init__(self) -> None:
        MateConnector.__post_init__(self)


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


def mate_around(value: Value) -> MateType | None:
    """Return the type of the mate that a value belongs to; None if it is unknown."""
    node = None if value.holder is None else value.holder.node
    given = [kind for kind in MATES if isinstance(node, Mapping) and kind in node.entries]
    return MATES[given[0]] if len(given) == 1 else None


class PerValue(Plain):
    """One number for each value of a mate: a tuple."""

    def form(self, about: str) -> Form:
        """Return the form of a number, or a list."""
        return either(about, number(""), listing("", number("")))

    def read(self, value: Value, context: Any) -> Any:
        """Read one number if the mate has one value, else a list."""
        mate = mate_around(value)
        if mate is None or not mate.values:
            if mate is not None:
                value.error(f"a {mate.name} mate has no initial values")
            return BAD
        if len(mate.values) == 1 and isinstance(value.node, Scalar):
            return (value.number(),)
        numbers = value.vector(len(mate.values))
        return BAD if numbers is None else tuple(numbers)

    def data(self, found: Any, refer: Refer) -> Any:
        """Return one number, or a list."""
        return found[0] if len(found) == 1 else list(found)


class Losses(PerValue):
    """Dry friction of each value of a mate: a tuple."""

    def read(self, value: Value, context: Any) -> Any:
        """Read numbers that are not negative."""
        found = super().read(value, context) if is_free(value) else BAD
        if found is not BAD and min(found) < 0.0:
            value.error(f"{list(found)} must be zero or more")
        return found


class MateLimits(Limits):
    """The limits of each value of a mate: a tuple of pairs."""

    is_array = False

    def read(self, value: Value, context: Any) -> Any:
        """Read [low, high], or a list with that or null for each of several values."""
        mate = mate_around(value)
        found = read_limits(value, JOINTS[mate.joint]) if is_free(value) and mate is not None else BAD
        return found if found is BAD else tuple((low, high) for low, high in found.tolist())


@dataclass(frozen=True)
class MateStop(PartOf):
    """The stops at the limits of a mate."""

    kind: type[Any] = Stop

    def read(self, value: Value, context: Any) -> Any:
        """Read the stops of a mate with limits."""
        if not is_free(value):
            return BAD
        if value.holder is not None and value.holder.get("limits") is None:
            value.error("a mate without limits has no stops; give it limits: [low, high]")
        return super().read(value, context)


def is_free(value: Value) -> bool:
    """Return whether the mate that a value belongs to has a value for each free motion; record a fault if not."""
    mate = mate_around(value)
    if mate is None or not (mate.distance or len(mate.values) != len(mate.parts) or not mate.parts):
        return mate is not None
    value.error(f"a {mate.name} mate has neither limits nor friction")
    return False


class Target(Number):
    """The distance that a mate approaches during motion."""

    def read(self, value: Value, context: Any) -> float:
        """Read the distance of a mate that holds one."""
        mate = mate_around(value)
        if mate is None or mate.distance:
            return super().read(value, context)
        value.error(f"a {mate.name} mate has no target; an actuator can move it")
        return BAD  # type: ignore[no-any-return]


@declared
class Mate:
    """What connects two connectors.

    In its rest state their frames coincide. Values move the second in the first, along and about its axes; None stands
    for the rest state, from which the assembly may move the mate to close a loop.

    Raises:
        ValueError: There is no such kind, the number of values is wrong, or the kind has no target.
    """

    name: str = given(Text(), "The name of the mate, unique in its system")
    kind: str = given(None, "One of MATES")
    connectors: tuple[str, str] = given(None, "Paths of the two connectors")
    # In the order of MATES[kind].values, m and rad.
    values: tuple[float | None, ...] | None = given(None, "The initial state", default=None)
    near: tuple[float, ...] | None = given(PerValue(), "The initial values that a solution is to be near", default=None)
    speeds: tuple[float, ...] | None = given(PerValue(), "Initial speeds, m/s or rad/s", default=None, key="speed")
    damping: float = given(Number(0.0), "Damping of the free motions", "N s/m or N m s/rad", default=0.0)
    limits: _Pairs | None = given(MateLimits(), "[low, high], m or rad, or one for each value", default=None)
    stop: Stop | None = given(MateStop(), "The springs at the limits; as hard as possible if not given", default=None)
    friction_loss: tuple[float, ...] | None = given(Losses(), "Dry friction", "N or N m", default=None)
    enabled: bool = given(Flag(), "Whether it is there", default=True)
    # Moving bodies are constrained in any case.
    snap: bool = given(Flag(), "Whether it moves parts when the world is assembled", default=True)
    target: float | None = given(Target(0.0, MAX_DISTANCE), "Distance in motion, of a distance", "m", default=None)
    place: Place = place_of(default=NO_PLACE)
    connector_places: tuple[Place, Place] = given(None, "Where the file has them", default=(NO_PLACE, NO_PLACE))

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

    __hash__ = None  # type: ignore[assignment]

    @property
    def type(self) -> MateType:
        """The motion that the mate leaves free."""
        return MATES[self.kind]

    @property
    def is_driven(self) -> bool:
        """Whether limits or friction act on its values, so that it has to carry a body on a joint."""
        limited = self.limits is not None and any(pair != UNLIMITED for pair in self.limits)
        return limited or bool(self.friction_loss and any(self.friction_loss))

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Read its type, connectors and initial values, whose keys depend on the registered types."""
        found.setdefault("name", f"mates[{table.value.key}]")
        if (kind := only_kind(table, tuple(MATES))) is None:
            return
        mate, ends = MATES[str(kind.key)], _ENDS.read(kind, None)
        places = tuple(each.place for each in kind.items()) if len(ends) == 2 else ()
        found |= {"kind": mate.name, "connectors": ends, "connector_places": places, "values": read_values(table, mate)}

    def data(self) -> dict[str, Any]:
        """Return the mate as data of a file."""
        return {**data_of(self), self.kind: list(self.connectors), **self.initial()}

    def initial(self) -> dict[str, float]:
        """Return the initial values that are given, by their names."""
        values = zip(self.type.values, self.values or (), strict=False)
        return {name: value for name, value in values if value is not None}


@declared
class Attachment:
    """A frame or sensor of the world whose pose follows from a mate: extrinsics without numbers.

    The mate is between a connector of a system, by its path from the top of the world, and that of the frame,
    `FRAME/CONNECTOR`.
    """

    frame: str = given(None, "The name of the frame or sensor")
    connector: MateConnector = given(None, "The connector in that frame")
    mate: Mate = given(None, "The mate")
    place: Place = place_of(default=NO_PLACE)

    __hash__ = None  # type: ignore[assignment]

    def data(self) -> dict[str, Any]:
        """Return the mate of its frame as data of a file."""
        mate = self.mate
        return {mate.kind: mate.connectors[0], **mate.initial(), "connector": data_of(self.connector)}


def value_names() -> tuple[str, ...]:
    """Return the names of initial values of all types of mates."""
    return tuple(dict.fromkeys(name for mate in MATES.values() for name in mate.values))


def _keys(about: str, define: str, kinds: tuple[str, ...], end: Form, others: Keys) -> Keys:
    values = dict.fromkeys(value_names(), _VALUE.form("Initial value of the free motion, m or rad."))
    return Keys({**dict.fromkeys(kinds, end), **values, **others}, exactly_one=(kinds,), about=about, define=define)


def mate_keys() -> Keys:
    """Return the keys of a mate between two connectors."""
    return _keys("What connects two connectors.", "mate", tuple(MATES), _ENDS.form("Two connectors."), keys_of(Mate))


def attachment_keys() -> Keys:
    """Return the keys of the mate of a frame. A distance mate cannot determine a pose."""
    about = "The connector that a frame is mounted on, instead of a pose."
    end = text("The connector it is mounted on: SYSTEM/CONNECTOR.")
    kinds = tuple(kind for kind in MATES if not MATES[kind].distance)
    return _keys(about, "attachment", kinds, end, Keys({"connector": keys_of(RedirectedMateConnector)}))


def read_connector(name: str, value: Value) -> MateConnector:
    """Read a connector; return BAD if there is a fault, which is recorded."""
    if "/" in name:
        value.error(f"the name {name!r} has a slash, which is not allowed for connectors")
    kind = MateConnector if value.get("body") is None else RedirectedMateConnector
    return read(kind, value, known=keys_of(RedirectedMateConnector), name=name)


def read_attachment(value: Value | None, frame: str, context: Any) -> None:
    """Read the `mate` of a frame or a sensor, which determines its pose: {lock: SYSTEM/CONNECTOR}."""
    if value is None or not frame:
        return
    keys = attachment_keys()
    table = value.table(keys)
    target = only_kind(table, tuple(kind for kind in MATES if kind in keys))
    if target is None:
        return
    own = table.get("connector")
    connector = MateConnector("connector") if own is None else read_connector("connector", own)
    errors = len(value.report.errors)
    mate, reference = MATES[str(target.key)], target.text()
    values = read_values(table, mate)
    if connector is not BAD and len(value.report.errors) == errors:
        both = (reference, f"{frame}/{connector.name}")
        places = (target.place, connector.place)
        attached = Mate("mate", mate.name, both, values, place=value.place, connector_places=places)
        context.add(Attachment(frame, connector, attached, value.place))


def only_kind(table: Table, kinds: tuple[str, ...]) -> Value | None:
    """Return the value under the one type of mate among the keys of a mapping; None if there is a fault, recorded."""
    given = [value for kind in kinds if (value := table.get(kind)) is not None]
    if len(given) == 1:
        return given[0]
    if isinstance(table.value.node, Mapping):
        found = " and ".join(str(value.key) for value in given) or "none"
        table.value.error(f"one mate is needed ({', '.join(kinds)}), found {found}")
    return None


def read_values(table: Table, mate: MateType) -> tuple[float | None, ...] | None:
    """Read the given initial values. Names that the type does not have are faults."""
    given = {name: value for name in value_names() if (value := table.get(name)) is not None}
    for name in given.keys() - set(mate.values):
        allowed = f"it has {', '.join(mate.values)}" if mate.values else "it has no initial values"
        given[name].error(f"a {mate.name} mate has no {name}; {allowed}")
    values = tuple(_VALUE.read(given[name], None) if name in given else None for name in mate.values)
    return values if any(value is not None for value in values) else None
