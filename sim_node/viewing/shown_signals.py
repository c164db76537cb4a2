"""What formulas can name where a world is shown: poses of frames, components, and measurements of sensors."""

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
# Units of the angular and the linear part of what formulas name.
_UNITS = {WORLD_POS: ("", "m"), WORLD_VEL: ("rad/s", "m/s"), "world_accel": ("rad/s²", "m/s²")}
# An instant so long after the last one does not say how fast things were, s.
_MAX_APART_S = 1.0
# Before the names of sensors in measurements that are whole: those for views are only what is drawn.
SENSOR = "sensor/"
# Poses [x y z qx qy qz qw] in the order of formulas.
_AS_TRANSFORM = [3, 4, 5, 6, 0, 1, 2]


class SceneReference(NamedTuple):
    """What poses in formulas are relative to.

    Attributes:
        origin: Where the fixed frame is on Earth (degrees, degrees, m above the ellipsoid), or None.
        base: The frame that poses of frames are given in; empty for the fixed frame.
    """

    origin: Origin | None = None
    base: str = ""


def scene_reference(schematic: Schematic | None, world: World | None) -> SceneReference:
    """Return what poses in the formulas of a schematic are relative to, in a world or in what has none."""
    origin = None if schematic is None else schematic.origin
    if world is not None and world.origin is not None:
        at = world.origin
        origin = (at.latitude, at.longitude, at.altitude)
    return SceneReference(origin, "" if schematic is None else schematic.base)


def unknown_names(world: World, frames: FrameTable) -> Iterator[Problem]:
    """Yield what the schematic of a world names that it lacks at its start. Of topics, only a run knows the fields."""
    scope = ShownSignals(frames, labels_of(world), world, reference=scene_reference(world.schematic, world))
    for formula in _formulas(world.schematic):
        if not any(str(name).startswith("/") for name in formula.names()):
            try:
                bound(formula, scope)
            except UnknownName as error:
                yield from problem_of(formula, "schematic", error).problems


def _formulas(of: Any) -> Iterator[Formula]:
    """Yield the formulas of a schematic or a part of one, in the order of their fields."""
    if isinstance(of, Formula):
        yield of
    elif is_dataclass(of) or isinstance(of, tuple):
        for each in of if isinstance(of, tuple) else (getattr(of, field.name) for field in fields(of)):
            yield from _formulas(each)


class ShownFields(Protocol):
    """Fields of topics, by `TOPIC.FIELD`. Their numbers come as measurements of that name."""

    def types(self) -> Mapping[str, str]:
        """Return the types of the topics that formulas name and that are known, by name."""

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the labels of a field's numbers.

        Raises:
            UnknownName: The topic or the field does not exist.
        """

    def taken(self) -> Mapping[str, FloatArray]:
        """Return the newest numbers of each field that have not been taken yet."""


class TimedFields(ShownFields, Protocol):
    """Fields of topics that were recorded."""

    def reach(self, time_ns: int) -> None:
        """Read the messages up to an instant, which must not be before the last one."""


class ShownSignals:
    """Signals of what is shown: `FRAME.world_pos` and `.world_vel`, `ENTITY.COMPONENT`, `/TOPIC.FIELD`, and sensors.

    A velocity [ωx ωy ωz x y z], rad/s and m/s along the axes of poses, is the mean since the last instant.

    Args:
        frames: The frames.
        labels: Labels of the numbers of sensors, by name.
        world: The world, for what its kinds of parts name, and for units.
        lenient: Whether frames may come later: until then their poses are unknown.
        fields: Fields of topics; None where there are no topics.
        reference: What poses are relative to; None for that of the world.

    Attributes:
        origin: Where the fixed frame is on Earth (degrees, degrees, m above the ellipsoid), or None.
        columns: The columns that signals read, of those in a Snapshot.
        sensors: The sensors that signals read.
        units: Of the numbers of sensors, by name and label.
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
        """Return the signal of a name, or None."""
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
        """Return the names, for messages."""
        of_frames = [f"{name}.{kind}" for kind in (WORLD_POS, WORLD_VEL) for name in self._rows]
        return dict.fromkeys([*self._named, *of_frames, *self._labels])

    def update(
        self, in_root: FloatArray, measurements: Mapping[str, tuple[Any, FloatArray]], time_s: float = np.nan
    ) -> None:
        """Take in an instant.

        Args:
            in_root: (N, 7) poses of the frames in the fixed frame, m.
            measurements: Values by SENSOR and name, column or field, and the poses at that time.
            time_s: When it was, s; needed for velocities alone.
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
    """Return the mean velocity (6,) [ωx ωy ωz x y z] between two poses (7,), along the axes that they are in."""
    turned = quaternions.multiply(after[3:], quaternions.conjugate(before[3:]))
    return np.concatenate([quaternions.log(turned), after[:3] - before[:3]]) / seconds


Units = Mapping[str, Mapping[str, str]]


def common_unit(units: Iterable[str]) -> str:
    """Return the unit that all have; empty if they have none, or several."""
    found = set(units)
    return found.pop() if len(found) == 1 else ""


def unit_of(tree: Tree, sensors: Units = MappingProxyType({})) -> str:
    """Return the unit of a formula of poses, velocities and measurements, their sums and norms; empty for none or many.

    sensors: Units of the numbers of sensors, by name and label, in the order of the labels.
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
    """Return the component that a formula names, as it is or moved; empty if it computes something else."""
    if isinstance(tree, Sum):
        return _component(tree.left) if tree.operator in "+-" else ""
    if isinstance(tree, CallNode):
        return _component(tree.of) if tree.name.startswith(("translate", "rotate")) else ""
    return tree.parts[-1] if isinstance(tree, NameNode) else ""


def _unit_in(component: str, *, linear: bool) -> str:
    return _UNITS[component][linear] if component in _UNITS else ""
