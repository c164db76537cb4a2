"""Signals of a spec, opened on a simulation: functions that read one value each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from sim_node.extensions.gym.draws import collecting
from sim_node.extensions.gym.expressions import Quantity
from sim_node.extensions.gym.interface import (
    FRAME_VALUES,
    JOINT_VALUES,
    MOTION_VALUES,
    VEHICLE_VALUES,
    ColumnSignal,
    FrameSignal,
    JointSignal,
    SensorSignal,
    Signal,
    VehicleSignal,
)
from sim_node.simulation import Simulation
from sim_node.simulation.physics import VehicleHandle
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.problems import Place, Problem, WorldError, refuse_any

Reader = Callable[[], Quantity]
# Names of the elements of values of frames; other values are vectors.
LABELS = {"quaternion": ("qx", "qy", "qz", "qw"), "rpy": ("roll", "pitch", "yaw"), "rotation": ()}
# Limits of bounded values.
UNIT_LIMITS = {"quaternion": 1.0, "rotation": 1.0}


class Readers:
    """Readers of signals of a simulation.

    Args:
        simulation: The run.
        signals: The signals by name, without expressions.
        frames: Further frames whose motion is read.

    Attributes:
        readers: The readers by name. They return a float for a number, or else a new array.
        labels: The names of the elements of signals, if they have names.

    Raises:
        WorldError: The run lacks something that a signal names; the message has the nearest name.
    """

    def __init__(self, simulation: Simulation, signals: Mapping[str, Signal], frames: tuple[str, ...] = ()) -> None:
        self._simulation = simulation
        problems: list[Problem] = []
        moving = dict.fromkeys(frames)
        for signal in signals.values():
            if isinstance(signal, FrameSignal):
                moving |= dict.fromkeys(name for name in (signal.frame, signal.relative_to) if name)
                names = (signal.frame, signal.relative_to or signal.frame)
                problems += unknown("frame", names, simulation.frames.names, signal.place)
        refuse_any(problems)
        self._rows = {name: row for row, name in enumerate(moving)}
        self._observe: Callable[[], FrameState] | None = simulation.observer(tuple(moving)) if moving else None
        self._motion = self._observe() if self._observe else FrameState.at_rest(0)
        self.readers: dict[str, Reader] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        for name, signal in signals.items():
            with collecting(problems):
                self.readers[name] = self._reader(signal)
                self.labels[name] = self._labels(signal)
        refuse_any(problems)

    def refresh(self) -> None:
        """Evaluate the motion of frames at the current step, for the readers."""
        if self._observe is not None:
            self._observe()

    def position(self, frame: str) -> FloatArray:
        """Return the position (3,) of one of the frames in the fixed frame, a view that `refresh` overwrites."""
        return self._motion.pose[self._rows[frame], :3]

    def _reader(self, signal: Any) -> Reader:
        if isinstance(signal, FrameSignal):
            check_choice("value", signal.value, (*FRAME_VALUES, *MOTION_VALUES), signal.place)
            return self._pose(signal) if signal.value in FRAME_VALUES else self._motion_of(signal)
        if isinstance(signal, JointSignal):
            return self._joint(signal)
        if isinstance(signal, SensorSignal):
            return self._sensor(signal)
        if isinstance(signal, VehicleSignal):
            check_choice("value", signal.value, VEHICLE_VALUES, signal.place)
            vehicle = multirotors(self._simulation)
            require("vehicle", signal.vehicle, vehicle, signal.place)
            handle = vehicle[signal.vehicle]
            array = handle.speeds if signal.value == "speeds" else handle.command
            return lambda: np.array(array)
        return self._column(signal)

    def _labels(self, signal: Any) -> tuple[str, ...]:
        if isinstance(signal, FrameSignal):
            return LABELS.get(signal.value, ("x", "y", "z"))
        return (
            signal.channels or self._simulation.sensors[signal.sensor].channels
            if isinstance(signal, SensorSignal)
            else ()
        )

    def _pose(self, signal: FrameSignal) -> Reader:
        row = self._motion.pose[self._rows[signal.frame]]
        if signal.relative_to:
            base = self._motion.pose[self._rows[signal.relative_to]]

            def position() -> FloatArray:
                return np.asarray(quaternions.rotate(quaternions.conjugate(base[3:]), row[:3] - base[:3]))

            def turn() -> FloatArray:
                return np.asarray(quaternions.multiply(quaternions.conjugate(base[3:]), row[3:]))

        else:
            position, turn = row[:3].copy, row[3:].copy
        readers: dict[str, Reader] = {
            "position": position,
            "quaternion": turn,
            "rpy": lambda: np.asarray(quaternions.to_rpy(turn())),
            "rotation": lambda: _matrix(*turn().tolist()),
        }
        return readers[signal.value]

    def _motion_of(self, signal: FrameSignal) -> Reader:
        if signal.relative_to:
            refuse(signal.place, f"{signal.value} is relative to the fixed frame; relative_to is for poses")
        row = self._rows[signal.frame]
        turn, twist, acceleration = (getattr(self._motion, part)[row] for part in ("pose", "twist", "acceleration"))
        own = turn[3:]

        def along_own_axes(vector: FloatArray) -> FloatArray:
            # In plain floats, which is faster for one.
            x, y, z, w = own.tolist()
            return np.array(quaternions.rotated_of((-x, -y, -z, w), vector.tolist()))

        readers: dict[str, Reader] = {
            "velocity": twist[:3].copy,
            "angular_velocity": twist[3:].copy,
            "acceleration": acceleration[:3].copy,
            "body_velocity": lambda: along_own_axes(twist[:3]),
            "body_rates": lambda: along_own_axes(twist[3:]),
        }
        return readers[signal.value]

    def _joint(self, signal: JointSignal) -> Reader:
        check_choice("value", signal.value, JOINT_VALUES, signal.place)
        require("joint", signal.joint, self._simulation.joints, signal.place)
        handle, value = self._simulation.joints[signal.joint], signal.value
        if len(getattr(handle, value)) == 1:
            engine: Any = self._simulation.engines.get("rigid_bodies")
            record = engine.joints.get(signal.joint) if engine is not None else None
            if record is None or value == "effort":
                return lambda: float(getattr(handle, value)[0])
            # Read MuJoCo's arrays directly, because a handle would take ten times as long.
            if value == "velocity":
                qvel, dof = engine.data.qvel, int(record.velocity_places[0])
                return lambda: float(qvel.item(dof))
            qpos, at, origin = engine.data.qpos, int(record.position_places[0]), float(record.origin[0])
            return lambda: float(qpos.item(at)) - origin
        return lambda: np.asarray(getattr(handle, value))

    def _sensor(self, signal: SensorSignal) -> Reader:
        require("sensor", signal.sensor, self._simulation.sensors, signal.place)
        handle = self._simulation.sensors[signal.sensor]
        for channel in signal.channels:
            require("channel", channel, handle.channels, signal.place)
        chosen = [handle.channels.index(channel) for channel in signal.channels or handle.channels]
        everything = not signal.channels

        def read() -> FloatArray:
            values = handle.values
            if values is None:
                return np.zeros(len(chosen))
            flat = np.asarray(values, dtype=np.float64)
            return np.array(flat if everything else flat[..., chosen]).ravel()

        return read

    def _column(self, signal: ColumnSignal) -> Reader:
        columns = self._simulation.columns
        require("column", signal.column, columns, signal.place)
        row: int | slice = slice(None)
        if signal.entity:
            entities = columns.column(signal.column).entities or ()
            require(f"row of column {signal.column}", signal.entity, entities, signal.place)
            row = entities.index(signal.entity)

        def read() -> Quantity:
            values = np.array(columns[signal.column][row], dtype=np.float64).ravel()
            return float(values[0]) if signal.entity and len(values) == 1 else values

        return read


def unknown(noun: str, names: tuple[str, ...], known: Any, place: Place) -> Iterator[Problem]:
    """Yield a problem for each name that is not known, with the nearest."""
    for name in dict.fromkeys(names):
        if name not in known:
            yield Problem(place.where, place.key or noun, f"no {noun} {name!r}{did_you_mean(name, known)}")


def check_choice(key: str, value: str, allowed: tuple[str, ...], place: Place) -> None:
    """Raise WorldError for a word that is not allowed."""
    if value not in allowed:
        near = did_you_mean(value, allowed)
        path = f"{place.key}.{key}" if place.key else key
        raise WorldError([Problem(place.where, path, f"found {value!r}; allowed: {', '.join(allowed)}{near}")])


def require(noun: str, name: str, known: Any, place: Place) -> None:
    """Raise WorldError for a name that is not known."""
    refuse_any(unknown(noun, (name,), known, place))


def refuse(place: Place, message: str) -> NoReturn:
    """Raise WorldError about the value at a location."""
    raise WorldError([Problem(place.where, place.key, message)])


def _matrix(x: float, y: float, z: float, w: float) -> FloatArray:
    """Return the rotation matrix (9,) of a unit quaternion, row by row. Plain floats are faster for a single one."""
    return np.array(
        [
            *(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
            *(2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
            *(2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
        ]
    )


def multirotors(simulation: Simulation) -> dict[str, VehicleHandle]:
    """Return the vehicles that have rotors, by name."""
    return {name: each for name, each in simulation.vehicles.items() if not each.drives}
