"""Signals: numbers of a run by names such as altitude(drone).

To add a signal, register a function that finds its sources in a run; see `signal_kind` and `SignalReading`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.formula_text import parse
from sim_node.extensions.scenario.formulas import Formula
from sim_node.extensions.scenario.units import Dimension, dimension_of
from sim_node.extensions.scenario.zones import Zone
from sim_node.extensions.sweep import MeasureFault
from sim_node.extensions.sweep import signal as column_signal
from sim_node.registry import Registry
from sim_node.simulation.columns import Array
from sim_node.simulation.run_view import RunView
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean

NO_ZONES: Mapping[str, Zone] = {}


class Probe(ABC):
    """A number of a run that is not in a column, such as whether two bodies have touched since the last sample.

    Attributes:
        within: Whether it can be sampled after a timestep of the rigid-body engine, within a step of the run.
    """

    within: ClassVar[bool] = False

    @abstractmethod
    def sample(self) -> float:
        """Return the number at the current step."""

    def reset(self) -> None:  # noqa: B027  most have nothing to forget
        """Forget what came before: the run begins anew."""

    def close(self) -> None:  # noqa: B027
        """Stop observing the run."""


# The source of a number: a column and its rows, or a probe.
Source = tuple[str, tuple[int, ...]] | Probe


class SignalReading(NamedTuple):
    """How a signal is computed from a run.

    Attributes:
        sources: The sources of its numbers.
        compute: Returns its samples (T,) from the samples of each source, (T, rows, ...) of a column or (T,) of a
            probe; by default, those of the probe.
    """

    sources: tuple[Source, ...]
    compute: Callable[..., FloatArray] = lambda sampled: np.asarray(sampled, dtype=float)


@dataclass(frozen=True)
class SignalKind:
    """A kind of signal.

    Attributes:
        usage: Its syntax.
        about: Its description.
        unit: Its unit; empty if it varies or is unknown.
        open: Returns its reading for a run, the arguments, and the zones by name. Raises FormulaError.
        least: The minimum number of arguments.
        most: The maximum number of arguments.
        truth: Whether it is boolean.
        gone: Its value after a change of the world that removes its subject.
        sensors: Whether sensors must measure.
        specific: Returns the kind for some arguments, if it depends on them. Raises FormulaError.
    """

    usage: str
    about: str
    unit: str
    open: Callable[[RunView, Sequence[str], Mapping[str, Zone]], SignalReading]
    least: int = 1
    most: int = 1
    truth: bool = False
    gone: float = float("nan")
    sensors: bool = False
    specific: Callable[[SignalKind, Sequence[str]], SignalKind] | None = None


SIGNALS: Registry[str, SignalKind] = Registry(
    "signal",
    shipped=tuple(f"sim_node.extensions.scenario.{name}" for name in ("signals", "health", "message_signals")),
    group="sim_node.signals",
)
# The prefix of signals that are fields of topics, and the name of their kind.
TOPICS = "/"
_CALL = re.compile(r"(\w+)\(([^()]*)\)")


def declare(text: str) -> tuple[Dimension | None, bool]:
    """Return the dimension of a signal, and whether it is boolean. Raises FormulaError if it is unknown."""
    kind = kind_of(text)
    return (dimension_of(kind.unit), kind.truth) if kind else (None, False)


def formula(text: str) -> Formula:
    """Return the formula over signals that a text describes.

    Args:
        text: The formula, as in altitude(drone) > 20 m for at least 5 s.

    Returns:
        The formula.

    Raises:
        FormulaError: It is none.
    """
    return parse(text, declare)


def open_signal(run: RunView, text: str, zones: Mapping[str, Zone] = NO_ZONES) -> SignalReading:
    """Return the reading of a signal for a run.

    Args:
        run: The run.
        text: The signal, such as altitude(drone) or pose[ball].z.
        zones: The zones by name.

    Returns:
        Its reading.

    Raises:
        FormulaError: The run has no such signal; the message names the nearest.
    """
    if (kind := kind_of(text)) is not None and (call := _CALL.fullmatch(text)) is not None:
        return kind.open(run, _arguments(call), zones)
    if kind is not None:
        return kind.open(run, [text], zones)
    try:
        of = column_signal(text)
        read = of.reader(run.columns)
    except MeasureFault as fault:
        raise FormulaError(str(fault)) from None
    rows = tuple(range(len(run.columns.column(of.column).entities or ())))
    return SignalReading(((of.column, rows),), lambda column: np.asarray(read(column), dtype=float))


def signal_kind(
    usage: str, about: str, unit: str, **more: Any
) -> Callable[[Callable[..., SignalReading]], Callable[..., SignalReading]]:
    """Return a decorator that registers a kind of signal under the name in its usage. See `SignalKind`.

    Args:
        usage: Its syntax, such as altitude(FRAME).
        about: Its description.
        unit: Its unit; empty if it varies or is unknown.
        more: The other attributes of the kind.

    Returns:
        The decorator of a function of a run, the arguments, and the zones by name that returns a SignalReading.
    """
    name = usage.partition("(")[0]

    def enter(open_it: Callable[..., SignalReading]) -> Callable[..., SignalReading]:
        SIGNALS.add(name, module=open_it.__module__)(SignalKind(usage, about, unit, open_it, **more))
        return open_it

    return enter


def kind_of(text: str) -> SignalKind | None:
    """Return the kind of a signal such as altitude(drone) or /drone/fix.altitude; None for others such as pose[ball].z.

    Raises:
        FormulaError: There is no such kind, or it takes other arguments.
    """
    if text.startswith(TOPICS):
        return SIGNALS[TOPICS]
    call = _CALL.fullmatch(text)
    if call is None:
        return None
    name, found = call[1], _arguments(call)
    if name not in SIGNALS:
        known = ", ".join(kind.usage for kind in SIGNALS.values())
        raise FormulaError(f"no signal {name!r}{did_you_mean(name, SIGNALS)} (known: {known}, COLUMN[NAME].PART)")
    kind = SIGNALS[name]
    if not kind.least <= len(found) <= kind.most or not all(found):
        raise FormulaError(f"{call[0]}: {kind.usage} is needed")
    return kind.specific(kind, found) if kind.specific else kind


def needs_sensors(names: Iterable[str]) -> bool:
    """Return whether sensors must measure for some signals."""
    return any(kind is not None and kind.sensors for kind in map(kind_of, names))


def frame_of(run: RunView, name: str) -> str:
    """Return the frame for a name: a frame, or the root frame of a vehicle, base or model.

    Raises:
        FormulaError: There is none; the message names the nearest.
    """
    frames = run.frames.names
    if name in frames:
        return name
    for vehicle in run.world.vehicles:
        if vehicle.name == name:
            return vehicle.body
    below = [frame for frame in frames if frame.startswith(f"{name}/")]
    if below:  # parents come first
        return f"{name}/base_link" if f"{name}/base_link" in below else below[0]
    known = [*frames, *(vehicle.name for vehicle in run.world.vehicles)]
    raise FormulaError(f"no frame or vehicle {name!r}{did_you_mean(name, known)}")


def pose_source(run: RunView, name: str) -> tuple[Source, Callable[[Array], FloatArray]]:
    """Return the source of the pose of a frame in the fixed frame, and its conversion from (T, n, ...) to (T, 7)."""
    row = run.frames.index(frame_of(run, name))
    chain = [row]
    while (row := int(run.frames.parents[row])) >= 0:
        chain.append(row)
    chain = chain[:-1] or chain  # the fixed frame itself is at its own origin
    if all(run.frames.static[each] for each in chain) and "qpos" in run.columns and len(run.columns["qpos"]):
        pose = run.columns["pose"][chain[0]]
        for each in chain[1:]:
            pose = poses.compose(run.columns["pose"][each], pose)
        # The source only determines the number of samples.
        return ("qpos", (0,)), lambda numbers: np.broadcast_to(pose, (len(numbers), 7))
    moving = next((at for at, each in enumerate(chain) if not run.frames.static[each]), len(chain) - 1)
    fixed, free = chain[:moving], _free(run, chain[moving], "qpos", _FREE_POSE)
    if free:
        # The kinematics of all bodies would take longer than a step.
        offset = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        for each in fixed:
            offset = poses.compose(run.columns["pose"][each], offset)
        if not fixed:
            return ("qpos", free), lambda numbers: np.asarray(numbers.reshape(len(numbers), 7))
        return ("qpos", free), lambda numbers: poses.compose(numbers.reshape(len(numbers), 7), offset)

    def compose(rows: Array) -> FloatArray:
        pose = rows[:, 0]
        for index in range(1, rows.shape[1]):
            pose = poses.compose(rows[:, index], pose)
        return np.asarray(pose)

    return ("pose", tuple(chain)), compose


_FREE_POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")
_FREE_TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")


def _free(run: RunView, row: int, column: str, labels: Sequence[str]) -> tuple[int, ...]:
    """Return the rows of the coordinates of a body's free joint in MuJoCo; empty for other frames.

    The coordinates are in the fixed frame, wherever the joint frame of the body is.
    """
    entities = run.columns.column(column).entities or () if column in run.columns else ()
    wanted = [f"{run.frames.names[row]}.{label}" for label in labels]
    known = {entity: place for place, entity in enumerate(entities)}
    return tuple(known[each] for each in wanted) if all(each in known for each in wanted) else ()


def twist_source(run: RunView, name: str) -> tuple[Source, Callable[[Array], FloatArray]]:
    """Return the source of the twist of a frame, and its conversion from (T, n, ...) to (T, 6).

    The velocity (m/s) is in the axes of the fixed frame; the angular velocity (rad/s) is in these axes or in those of
    the frame.
    """
    row = run.frames.index(frame_of(run, name))
    if free := _free(run, row, "qvel", _FREE_TWIST):
        return ("qvel", free), lambda numbers: np.asarray(numbers.reshape(len(numbers), 6))
    return ("twist", (row,)), lambda rows: np.asarray(rows[:, 0])


def _arguments(call: re.Match[str]) -> list[str]:
    return [word.strip() for word in call[2].split(",")] if call[2].strip() else []


def _of_pose(usage: str, about: str, unit: str, compute: Callable[[FloatArray], FloatArray]) -> None:
    """Register a signal that is computed from the pose (T, 7) of a frame in the fixed frame."""

    @signal_kind(usage, about, unit)
    def open_it(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
        source, compose = pose_source(run, names[0])
        return SignalReading((source,), lambda rows: compute(compose(rows)))


def _euler(axis: int) -> Callable[[FloatArray], FloatArray]:
    return lambda pose: np.asarray(quaternions.to_rpy(pose[:, 3:])[:, axis])


def _tilt(pose: FloatArray) -> FloatArray:
    """Return the angle between a frame's z axis and the vertical: the rotation angle of its quaternion without yaw."""
    x, y, z, w = np.moveaxis(pose[:, 3:], 1, 0)
    return np.asarray(2.0 * np.arctan2(np.hypot(x, y), np.hypot(z, w)))


_of_pose("altitude(FRAME)", "height above the fixed frame's origin", "m", lambda pose: pose[:, 2])
_of_pose("x(FRAME)", "position in the fixed frame", "m", lambda pose: pose[:, 0])
_of_pose("y(FRAME)", "position in the fixed frame", "m", lambda pose: pose[:, 1])
_of_pose("z(FRAME)", "position in the fixed frame", "m", lambda pose: pose[:, 2])
_of_pose("roll(FRAME)", "roll in the fixed frame", "rad", _euler(0))
_of_pose("pitch(FRAME)", "pitch in the fixed frame", "rad", _euler(1))
_of_pose("yaw(FRAME)", "yaw in the fixed frame", "rad", _euler(2))
_of_pose("tilt(FRAME)", "angle between the frame's z axis and the vertical", "rad", _tilt)


def _of_twist(usage: str, about: str, unit: str, compute: Callable[[FloatArray], FloatArray]) -> None:
    """Register a signal that is computed from the twist (T, 6) of a frame relative to the fixed frame."""

    @signal_kind(usage, about, unit)
    def open_it(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
        source, twist = twist_source(run, names[0])
        return SignalReading((source,), lambda rows: np.asarray(compute(twist(rows))))


_of_twist("speed(FRAME)", "speed", "m/s", lambda twist: np.linalg.norm(twist[:, :3], axis=1))
_of_twist("ground_speed(FRAME)", "horizontal speed", "m/s", lambda twist: np.hypot(twist[:, 0], twist[:, 1]))
_of_twist("climb_rate(FRAME)", "vertical velocity, up", "m/s", lambda twist: twist[:, 2])
_of_twist("turn_rate(FRAME)", "angular speed", "rad/s", lambda twist: np.linalg.norm(twist[:, 3:], axis=1))


def _between(usage: str, about: str, axes: int) -> None:
    @signal_kind(usage, about, "m", least=2, most=2)
    def open_it(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
        (one, compose_one), (other, compose_other) = (pose_source(run, name) for name in names)

        def compute(rows: Array, others: Array) -> FloatArray:
            apart = compose_one(rows)[:, :axes] - compose_other(others)[:, :axes]
            return np.asarray(np.linalg.norm(apart, axis=1))

        return SignalReading((one, other), compute)


_between("distance(FRAME, FRAME)", "distance between the origins of two frames", 3)
_between("horizontal_distance(FRAME, FRAME)", "horizontal distance between the origins of two frames", 2)


@signal_kind("inside(FRAME, ZONE)", "distance to the edge of a zone; negative outside", "m", least=2, most=2)
def inside(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of the distance of a frame's origin to the edge of a zone."""
    source, compose = pose_source(run, names[0])
    if names[1] not in zones:
        raise FormulaError(f"no zone {names[1]!r}{did_you_mean(names[1], zones)}")
    zone: Any = zones[names[1]]
    return SignalReading((source,), lambda rows: zone.depth(compose(rows)[:, :3]))
