"""Signals for formulas wherever a world is shown: poses of frames, components, and sensor measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.schematic import FormulaSignal, UnknownName, bound
from sim_node.viewing.schematic.binding import problem_of
from sim_node.viewing.schematic.eql import CallNode, Formula, IndexNode, NameNode, Sum, Tree
from sim_node.viewing.schematic.formulas import POSE_LABELS, Origin
from sim_node.viewing.schematic.model import Schematic
from sim_node.viewing.sensor_numbers import labels_of, units_of
from sim_node.world import FrameTable, World
from sim_node.world.part import PARTS, NamedNumbers
from sim_node.world.problems import Problem

WORLD_POS, WORLD_VEL = "world_pos", "world_vel"
VELOCITY_LABELS = ("ωx", "ωy", "ωz", "x", "y", "z")
# Units of the angular and the linear part of components.
_UNITS = {WORLD_POS: ("", "m"), WORLD_VEL: ("rad/s", "m/s"), "world_accel": ("rad/s²", "m/s²")}
# Maximum time between instants from which velocities are computed, s.
_MAX_APART_S = 1.0
# Prefix of sensors whose measurements are complete; those for views contain only what is drawn.
SENSOR = "sensor/"
# Indices that convert poses [x y z qx qy qz qw] to the order of formulas.
_AS_TRANSFORM = [3, 4, 5, 6, 0, 1, 2]


class SceneReference(NamedTuple):
    """The reference of poses in formulas.

    Attributes:
        origin: Position of the fixed frame on Earth (degrees, degrees, m above the ellipsoid), or None.
        base: The frame that poses of frames are relative to; empty for the fixed frame.
    """

    origin: Origin | None = None
    base: str = ""


def scene_reference(schematic: Schematic | None, world: World | None) -> SceneReference:
    """Return the reference of poses in a schematic's formulas, with or without a world."""
    origin = None if schematic is None else schematic.origin
    if world is not None and world.origin is not None:
        at = world.origin
        origin = (at.latitude, at.longitude, at.altitude)
    return SceneReference(origin, "" if schematic is None else schematic.base)


def unknown_names(world: World, frames: FrameTable) -> Iterator[Problem]:
    """Yield the unknown names in a world's schematic, at its start. Fields of topics are known only during a run."""
    scope = ShownSignals(frames, labels_of(world), world, reference=scene_reference(world.schematic, world))
    for formula in _formulas(world.schematic):
        if not any(str(name).startswith("/") for name in formula.names()):
            try:
                bound(formula, scope)
            except UnknownName as error:
                yield from problem_of(formula, "schematic", error).problems


def _formulas(of: Any) -> Iterator[Formula]:
    """Yield the formulas of a schematic or a part of it, in the order of their fields."""
    if isinstance(of, Formula):
        yield of
    elif is_dataclass(of) or isinstance(of, tuple):
        for each in of if isinstance(of, tuple) else (getattr(of, field.name) for field in fields(of)):
            yield from _formulas(each)


class ShownFields(Protocol):
    """Fields of topics, by `TOPIC.FIELD`. Their numbers arrive as measurements with that name."""

    def types(self) -> Mapping[str, str]:
        """Return the types of the known topics that formulas refer to, by name."""

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the labels of a field's numbers.

        Raises:
            UnknownName: The topic or the field does not exist.
        """

    def taken(self) -> Mapping[str, FloatArray]:
        """Return the newest numbers of each field that have not been returned yet."""


class TimedFields(ShownFields, Protocol):
    """Fields of recorded topics."""

    def reach(self, time_ns: int) -> None:
        """Read the messages up to an instant. Instants must not decrease."""


class ShownSignals:
    """The signals of a scene: `FRAME.world_pos` and `.world_vel`, `ENTITY.COMPONENT`, `/TOPIC.FIELD`, and sensors.

    A velocity [ωx ωy ωz x y z], rad/s and m/s along the axes of poses, is the mean since the previous instant.

    Args:
        frames: The frames.
        labels: Labels of the sensors' numbers, by name.
        world: The world, for components of its parts and for units.
        lenient: Whether frames may appear later; until then, their poses are unknown.
        fields: Fields of topics; None if there are no topics.
        reference: The reference of poses; None for that of the world.

    Attributes:
        origin: Position of the fixed frame on Earth (degrees, degrees, m above the ellipsoid), or None.
        columns: The Snapshot columns that signals read.
        sensors: The sensors that signals read.
        units: Units of the sensors' numbers, by name and label.
    """

    def __init__(
        self,
        frames: FrameTable,
        labels: Mapping[str, tuple[str, ...]] | None = None,
        world: World | None = None,
        *,
        lenient: bool = False,
        fields: ShownFields | None = None,
        reference: SceneReference | None = None,
    ) -> None:
        reference = scene_reference(None, world) if reference is None else reference
        self.origin = reference.origin
        self._rows = {name: row for row, name in enumerate(frames.names)}
        self._base = self._rows.get(reference.base)
        self._labels = dict(labels or {})
        self._in_root, self._before = np.full((2, len(frames), 7), np.nan)
        self._time_s = self._apart_s = np.nan
        self._values: dict[str, FloatArray] = {name: np.full(len(of), np.nan) for name, of in self._labels.items()}
        self._lenient, self._fields = lenient, fields
        self._named: dict[str, NamedNumbers] = {}
        if world is not None:
            for kind in PARTS.values():
                self._named |= kind.columns(world)
        self.columns: set[str] = set()
        self.sensors: set[str] = set()
        self.units: Units = {} if world is None else units_of(world)

    def find(self, name: str) -> FormulaSignal | None:
        """Return the signal with a name, or None."""
        owner, _, component = name.rpartition(".")
        known = self._named.get(name)
        if known is not None:
            column, row, labels = known
            self.columns.add(column)
            empty = np.full(len(labels), np.nan)
            return FormulaSignal(labels, lambda: self._values[column][row] if column in self._values else empty)
        row_of = self._rows.get(owner)
        of_frames = {WORLD_POS: (POSE_LABELS, self._pose), WORLD_VEL: (VELOCITY_LABELS, self._velocity)}
        of_frame, read = of_frames.get(component, ((), self._pose))
        if of_frame and row_of is not None:
            return FormulaSignal(of_frame, partial(read, row_of))
        if name in self._labels:
            self.sensors.add(name)
            return FormulaSignal(self._labels[name], lambda: self._values[name])
        if self._fields is not None and name.startswith("/"):
            labels = self._fields.labels(name)
            self._values[name] = np.full(len(labels), np.nan)
            return FormulaSignal(labels, lambda: self._values[name])
        if of_frame and self._lenient:
            unknown = np.full(len(of_frame), np.nan)
            return FormulaSignal(of_frame, lambda: unknown)
        return None

    def names(self) -> Iterable[str]:
        """Return the known names, for messages."""
        of_frames = [f"{name}.{kind}" for kind in (WORLD_POS, WORLD_VEL) for name in self._rows]
        return dict.fromkeys([*self._named, *of_frames, *self._labels])

    def update(
        self, in_root: FloatArray, measurements: Mapping[str, tuple[Any, FloatArray]], time_s: float = np.nan
    ) -> None:
        """Process an instant.

        Args:
            in_root: Poses (N, 7) of the frames in the fixed frame, m.
            measurements: Values by SENSOR and name, column or field, and the poses at that time.
            time_s: The time, s; only needed for velocities.
        """
        if time_s != self._time_s:
            self._in_root, self._before = self._before, self._in_root
            self._time_s, self._apart_s = time_s, time_s - self._time_s
        np.copyto(self._in_root, in_root)
        for name, (values, _) in measurements.items():
            if name in self.columns:
                self._values[name] = np.asarray(values, dtype=float).reshape(len(values), -1)
            elif name.startswith(SENSOR):
                self._values[name.removeprefix(SENSOR)] = np.asarray(values, dtype=float).ravel()
            elif name in self._values and name.startswith("/") and not isinstance(values, Drawing):
                self._values[name] = values

    def go_on(self, before: ShownSignals) -> None:
        """Take over what others of the same frames and world know: nothing new comes to a page that is paused."""
        self._in_root, self._before = before._in_root.copy(), before._before.copy()
        self._time_s, self._apart_s = before._time_s, before._apart_s
        self._values |= before._values

    def _pose(self, row: int) -> FloatArray:
        pose: FloatArray = self._in_root[row]
        if self._base is not None:
            pose = poses.relative(self._in_root[self._base], pose)
        transform: FloatArray = pose[_AS_TRANSFORM]
        return transform

    def _velocity(self, row: int) -> FloatArray:
        if not 0.0 < self._apart_s <= _MAX_APART_S:
            return np.full(len(VELOCITY_LABELS), np.nan)
        found = velocity(self._before[row], self._in_root[row], self._apart_s)
        if self._base is not None:
            turn = quaternions.conjugate(self._in_root[self._base, 3:])
            found = quaternions.rotate(turn, found.reshape(2, 3)).ravel()
        return found


def velocity(before: FloatArray, after: FloatArray, seconds: float) -> FloatArray:
    """Return the mean velocity (6,) [ωx ωy ωz x y z] between two poses (7,), along the axes of the poses."""
    turned = quaternions.multiply(after[3:], quaternions.conjugate(before[3:]))
    return np.concatenate([quaternions.log(turned), after[:3] - before[:3]]) / seconds


Units = Mapping[str, Mapping[str, str]]


def common_unit(units: Iterable[str]) -> str:
    """Return the common unit; empty if there is none or units differ."""
    found = set(units)
    return found.pop() if len(found) == 1 else ""


def unit_of(tree: Tree, sensors: Units = MappingProxyType({})) -> str:
    """Return the unit of a formula of poses, velocities, measurements, sums or norms; empty for none or several.

    sensors: units of the sensors' numbers, by name and label, in the order of the labels.
    """
    if isinstance(tree, Sum):
        left = unit_of(tree.left, sensors) if tree.operator in "+-" else ""
        return left if left == unit_of(tree.right, sensors) else ""
    if isinstance(tree, NameNode) and (measured := sensors.get(".".join(tree.parts))) is not None:
        return common_unit(measured.values())
    if isinstance(tree, NameNode) and (measured := sensors.get(".".join(tree.parts[:-1]))) is not None:
        return measured.get(tree.parts[-1], "")
    if isinstance(tree, NameNode):
        return _unit_in(tree.parts[-2] if len(tree.parts) > 1 else "", linear=tree.parts[-1] in VELOCITY_LABELS[3:])
    if isinstance(tree, IndexNode):
        if isinstance(tree.of, NameNode) and (measured := sensors.get(".".join(tree.of.parts))) is not None:
            return [*measured.values(), ""][min(tree.index, len(measured))]
        component = _component(tree.of)
        linear = tree.index >= (4 if component == WORLD_POS else 3)
        return _unit_in(component, linear=linear) or unit_of(tree.of, sensors)
    if not isinstance(tree, CallNode):
        return ""
    if tree.name in ("linear", "angular"):
        return _unit_in(_component(tree.of), linear=tree.name == "linear")
    return unit_of(tree.of, sensors) if tree.name in ("abs", "norm") else ""


def _component(tree: Tree) -> str:
    """Return the component that a formula refers to, unchanged or translated; empty if it computes something else."""
    if isinstance(tree, Sum):
        return _component(tree.left) if tree.operator in "+-" else ""
    if isinstance(tree, CallNode):
        return _component(tree.of) if tree.name.startswith(("translate", "rotate")) else ""
    return tree.parts[-1] if isinstance(tree, NameNode) else ""


def _unit_in(component: str, *, linear: bool) -> str:
    return _UNITS[component][linear] if component in _UNITS else ""
