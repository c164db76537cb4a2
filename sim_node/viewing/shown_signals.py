"""What formulas can name where a world is shown: poses of frames, components, and measurements of sensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.schematic import FormulaSignal
from sim_node.viewing.schematic.eql import CallNode, IndexNode, NameNode, Sum, Tree
from sim_node.viewing.schematic.formulas import POSE_LABELS, Origin
from sim_node.viewing.schematic.model import Schematic
from sim_node.world import FrameTable, World
from sim_node.world.part import PARTS, NamedNumbers

WORLD_POS = "world_pos"
# Before the names of sensors in measurements that are whole: those for views are only what is drawn.
SENSOR = "sensor/"
_NO_POSE = np.full(7, np.nan)
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


class ShownSignals:
    """Signals of what is shown: `FRAME.world_pos`, `ENTITY.COMPONENT`, `/TOPIC.FIELD`, and sensors by their names.

    Args:
        frames: The frames.
        labels: Labels of the numbers of sensors, by name.
        world: The world, for what its kinds of parts name.
        lenient: Whether frames may come later: until then their poses are unknown.
        fields: Fields of topics; None where there are no topics.
        reference: What poses are relative to; None for that of the world.

    Attributes:
        origin: Where the fixed frame is on Earth (degrees, degrees, m above the ellipsoid), or None.
        columns: The columns that signals read, of those in a Snapshot.
        sensors: The sensors that signals read.
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
        self._in_root = np.full((len(frames), 7), np.nan)
        self._values: dict[str, FloatArray] = {name: np.full(len(of), np.nan) for name, of in self._labels.items()}
        self._lenient, self._fields = lenient, fields
        self._named: dict[str, NamedNumbers] = {}
        if world is not None:
            for kind in PARTS.values():
                self._named |= kind.columns(world)
        self.columns: set[str] = set()
        self.sensors: set[str] = set()

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
        if component == WORLD_POS and row_of is not None:
            return FormulaSignal(POSE_LABELS, partial(self._pose, row_of))
        if name in self._labels:
            self.sensors.add(name)
            return FormulaSignal(self._labels[name], lambda: self._values[name])
        if self._fields is not None and name.startswith("/"):
            labels = self._fields.labels(name)
            self._values[name] = np.full(len(labels), np.nan)
            return FormulaSignal(labels, lambda: self._values[name])
        if component == WORLD_POS and self._lenient:
            return FormulaSignal(POSE_LABELS, lambda: _NO_POSE)
        return None

    def names(self) -> Iterable[str]:
        """Return the names, for messages."""
        return [*self._named, *(f"{name}.{WORLD_POS}" for name in self._rows), *self._labels]

    def update(self, in_root: FloatArray, measurements: Mapping[str, tuple[Any, FloatArray]]) -> None:
        """Take in an instant.

        Args:
            in_root: (N, 7) poses of the frames in the fixed frame, m.
            measurements: Values by SENSOR and name, column or field, and the poses at that time.
        """
        np.copyto(self._in_root, in_root)
        for name, (values, _) in measurements.items():
            if name in self.columns:
                self._values[name] = np.asarray(values, dtype=float).reshape(len(values), -1)
            elif name.startswith(SENSOR):
                self._values[name.removeprefix(SENSOR)] = np.asarray(values, dtype=float).ravel()
            elif name in self._values and name.startswith("/") and not isinstance(values, Drawing):
                self._values[name] = values

    def _pose(self, row: int) -> FloatArray:
        pose: FloatArray = self._in_root[row]
        if self._base is not None:
            pose = poses.relative(self._in_root[self._base], pose)
        transform: FloatArray = pose[_AS_TRANSFORM]
        return transform


def is_length(tree: Tree) -> bool:
    """Return whether a formula computes lengths alone, m: coordinates of frames, their sums and their norm."""
    if isinstance(tree, Sum):
        return tree.operator in "+-" and is_length(tree.left) and is_length(tree.right)
    if isinstance(tree, NameNode):
        return tree.parts[-2:-1] == (WORLD_POS,) and tree.parts[-1] in POSE_LABELS[-3:]
    if isinstance(tree, IndexNode):
        return is_length(tree.of) or (_is_pose(tree.of) and tree.index >= len(POSE_LABELS) - 3)
    return isinstance(tree, CallNode) and (
        (tree.name in ("abs", "norm") and is_length(tree.of)) or (tree.name == "linear" and _is_pose(tree.of))
    )


def _is_pose(tree: Tree) -> bool:
    return isinstance(tree, NameNode) and tree.parts[-1] == WORLD_POS
