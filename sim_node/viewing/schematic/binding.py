"""Formulas bound to the signals that they refer to: functions that compute their present values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sim_node.spatial.frames import Frame, OriginRequired
from sim_node.spatial.frames.conversions import axes_in_enu
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean, shown
from sim_node.viewing.schematic.eql import (
    CallNode,
    Formula,
    IndexNode,
    NameNode,
    NumberNode,
    RowNode,
    Sum,
    Tree,
    WordNode,
)
from sim_node.viewing.schematic.formulas import (
    FORMULAS,
    LINEAR,
    POSE_LABELS,
    FormulaType,
    Origin,
    as_pose,
    as_transform,
)
from sim_node.viewing.schematic.model import ENU
from sim_node.world.problems import Problem, WorldError, counted

_OPERATORS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


@dataclass(frozen=True, slots=True)
class FormulaSignal:
    """Numbers that change over time.

    Attributes:
        labels: A label for each number.
        read: Returns the present numbers (n,), possibly always in the same array. The order of a pose is
            [qx qy qz qw x y z]. NaN if there is no value yet.
    """

    labels: tuple[str, ...]
    read: Callable[[], FloatArray]

    @property
    def is_pose(self) -> bool:
        """Return whether it is a pose."""
        return self.labels == POSE_LABELS


class FormulaScope(Protocol):
    """The names that formulas may refer to.

    Attributes:
        origin: Position of the fixed frame on Earth (degrees, degrees, m above the ellipsoid), or None.
    """

    @property
    def origin(self) -> Origin | None:
        """Position of the fixed frame on Earth, or None."""

    def find(self, name: str) -> FormulaSignal | None:
        """Find a signal.

        Args:
            name: Its name, such as `drone.world_pos` or `/imu.angular_velocity.x`.

        Returns:
            The signal, or None if the name does not exist.
        """

    def names(self) -> Iterable[str]:
        """Return the known names, for messages."""


class UnknownName(ValueError):
    """A formula refers to something that does not exist or cannot be computed. The message is for the user."""


def bound(formula: Formula, scope: FormulaScope) -> FormulaSignal:
    """Bind a formula to signals.

    Args:
        formula: The formula.
        scope: The names that it may refer to.

    Returns:
        The signal.

    Raises:
        UnknownName: A name is unknown, or a formula does not apply to a value.
    """
    return _bind(formula.tree, scope)


def bound_pose(
    formula: Formula, scope: FormulaScope, frame: str = ENU, frame_orientation: str = ""
) -> Callable[[], FloatArray]:
    """Return a function that computes a pose (7,) [x y z qx qy qz qw] in the fixed frame, from a pose or a position.

    Args:
        formula: The formula.
        scope: The names that it may refer to.
        frame: The axes of the formula: ENU, NED or ECEF.
        frame_orientation: The axes of its orientation; empty for `frame`.

    Returns:
        The function.

    Raises:
        UnknownName: As in `bound`, or it has neither three nor seven numbers.
    """
    signal = bound(formula, scope)
    if len(signal.labels) not in (3, 7):
        message = f"{shown(formula.text)} is {counted(len(signal.labels), 'number')}; a pose (7) or a position (3)"
        raise UnknownName(f"{message} is needed")
    read = signal.read
    if {frame, frame_orientation} <= {ENU, ""}:
        return lambda: as_pose(read())
    axes = axes_of(frame, scope)
    turn = axes_of(frame_orientation or frame, scope)[3:]

    def in_fixed_frame() -> FloatArray:
        pose = as_pose(read())
        return poses.pose(poses.apply(axes, pose[:3]), quaternions.multiply(turn, pose[3:]))

    return in_fixed_frame


def axes_of(frame: str, scope: FormulaScope) -> FloatArray:
    """Return the pose (7,) of axes in the fixed frame. Without an origin, latitude and longitude 0 are assumed."""
    return axes_in_enu(Frame[frame], scope.origin or (0.0, 0.0, 0.0))


def bound_vector(formula: Formula, scope: FormulaScope, frame: str = ENU) -> Callable[[], FloatArray]:
    """Return a function that computes the last three numbers (3,) of a formula, as a vector in the fixed frame.

    Args:
        formula: The formula.
        scope: The names that it may refer to.
        frame: The axes of the formula: ENU, NED or ECEF.

    Returns:
        The function.

    Raises:
        UnknownName: As in `bound`.
    """
    read, turn = bound(formula, scope).read, axes_of(frame, scope)[3:]
    return (lambda: read()[-3:]) if frame == ENU else lambda: quaternions.rotate(turn, read()[-3:])


def problem_of(formula: Formula, key: str, error: UnknownName) -> WorldError:
    """Return the error of a formula, with its location."""
    return WorldError([Problem(formula.where, key, str(error))])


def _bind(tree: Tree, scope: FormulaScope) -> FormulaSignal:
    if isinstance(tree, NumberNode):
        value = np.array([tree.value])
        return FormulaSignal((f"{tree.value:g}",), lambda: value)
    if isinstance(tree, NameNode):
        return _named(tree, scope)
    if isinstance(tree, WordNode):
        raise UnknownName(f'"{shown(tree.text)}" is a word; allowed in .cast("f64")')
    if isinstance(tree, IndexNode):
        return _indexed(tree, _bind(tree.of, scope))
    if isinstance(tree, RowNode):
        return _row(tree, scope)
    if isinstance(tree, Sum):
        return _sum(tree, _bind(tree.left, scope), _bind(tree.right, scope))
    return _called(tree, scope)


def _named(name: NameNode, scope: FormulaScope) -> FormulaSignal:
    text = str(name)
    found = scope.find(text)
    if found is not None:
        return found
    owner, _, label = text.rpartition(".")
    whole = scope.find(owner) if owner else None
    if whole is not None:
        if label in whole.labels:
            return _element(whole, whole.labels.index(label))
        known = ", ".join(whole.labels[:20])
        raise UnknownName(f"{owner} has no {label!r}{did_you_mean(label, whole.labels)} (known: {known})")
    hint = did_you_mean(text, scope.names())
    if not hint and not owner:
        hint = f"; a component is named ENTITY.COMPONENT, as in {text}.world_pos"
    raise UnknownName(f"there is no {shown(text)!r}{hint}")


def _element(of: FormulaSignal, index: int) -> FormulaSignal:
    read = of.read
    return FormulaSignal((of.labels[index],), lambda: read()[index : index + 1])


def _indexed(tree: IndexNode, of: FormulaSignal) -> FormulaSignal:
    if tree.index >= len(of.labels):
        raise UnknownName(f"[{tree.index}] of {counted(len(of.labels), 'number')}; indices begin at 0")
    return _element(of, tree.index)


def _row(tree: RowNode, scope: FormulaScope) -> FormulaSignal:
    parts = [_bind(each, scope) for each in tree.items]
    plain = all(isinstance(each, NumberNode) for each in tree.items)
    labels = tuple(label for part in parts for label in part.labels)
    if len(labels) == 7 and plain:
        labels = POSE_LABELS
    reads = [part.read for part in parts]
    if plain:
        value = np.concatenate([read() for read in reads])
        return FormulaSignal(labels, lambda: value)
    return FormulaSignal(labels, lambda: np.concatenate([read() for read in reads]))


def _sum(tree: Sum, left: FormulaSignal, right: FormulaSignal) -> FormulaSignal:
    """Return a sum of numbers. A pose plus a position is translated along the world's axes."""
    first, second, count = left.read, right.read, len(right.labels)
    if left.is_pose and tree.operator in "+-" and count in (3, 7):
        if right.is_pose and any(second()[:4]) and all(isinstance(each, NumberNode) for each in _items(tree.right)):
            raise UnknownName("poses cannot be added; begin with (0,0,0,0, or use .translate_world() and .rotate()")
        sign = 1.0 if tree.operator == "+" else -1.0

        def moved() -> FloatArray:
            pose = as_pose(first())
            by = second()
            pose[:3] += sign * (by if count == 3 else by[LINEAR])
            return as_transform(pose)

        return FormulaSignal(left.labels, moved)
    if 1 not in (len(left.labels), count) and len(left.labels) != count:
        found = f"{counted(len(left.labels), 'number')} {tree.operator} {counted(count, 'number')}"
        raise UnknownName(f"{found}; both need as many, or one of them a single one")
    apply = _OPERATORS[tree.operator]

    def result() -> FloatArray:
        with np.errstate(all="ignore"):
            return apply(first(), second())

    named = right if isinstance(tree.left, NumberNode) or len(left.labels) < count else left
    return FormulaSignal(named.labels, result)


def _items(tree: Tree) -> tuple[Tree, ...]:
    return tree.items if isinstance(tree, RowNode) else (tree,)


def _of_word(tree: CallNode, kind: FormulaType, of: FormulaSignal) -> FormulaSignal:
    """Return the value of a formula that takes a word, which is case-insensitive."""
    words = [each.text.strip().lower() for each in tree.arguments if isinstance(each, WordNode)]
    known = ", ".join(kind.words)
    if len(words) != 1 or len(tree.arguments) != 1:
        raise UnknownName(f"{tree.name} takes one of {known}")
    if words[0] not in kind.words:
        hint = did_you_mean(words[0], kind.words)
        raise UnknownName(f"{tree.name} does not know {shown(words[0])!r}{hint} (known: {known})")
    read, apply, none = of.read, kind.words[words[0]], np.zeros(0)
    return FormulaSignal(kind.labels(of.labels), lambda: apply(read(), none))


def _called(tree: CallNode, scope: FormulaScope) -> FormulaSignal:
    kind = FORMULAS.get(tree.name)
    if kind is None:
        raise UnknownName(f"there is no formula {tree.name!r}{did_you_mean(tree.name, FORMULAS)}")
    of = _bind(tree.of, scope)
    if kind.words:
        return _of_word(tree, kind, of)
    arguments = [_bind(each, scope) for each in tree.arguments]
    if len(arguments) != kind.takes or any(len(each.labels) != 1 for each in arguments):
        found = sum(len(each.labels) for each in arguments)
        raise UnknownName(f"{tree.name} takes {counted(kind.takes, 'number')}, found {found}")
    if kind.of and len(of.labels) not in kind.of:
        allowed = " or ".join(str(each) for each in kind.of)
        raise UnknownName(f"{tree.name} applies to {allowed} numbers, found {counted(len(of.labels), 'number')}")
    read = of.read
    try:
        apply = kind.apply if kind.on_earth is None else kind.on_earth(scope.origin)
    except OriginRequired:
        message = f"{tree.name} needs the origin of the world on Earth, or coordinate lat= lon= in the schematic"
        raise UnknownName(message) from None
    labels = kind.labels(of.labels)
    if all(isinstance(each, NumberNode) for each in tree.arguments):
        fixed = np.array([each.value for each in tree.arguments if isinstance(each, NumberNode)])
        return FormulaSignal(labels, lambda: apply(read(), fixed))
    reads = [each.read for each in arguments]
    return FormulaSignal(labels, lambda: apply(read(), np.concatenate([each() for each in reads])))
