"""Banks: groups of sensors that measure together, with their schedules, noise and subscriptions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from sim_node.randomness import stream
from sim_node.simulation.columns import Array, Column
from sim_node.simulation.sensors.alteration import Alteration
from sim_node.simulation.sensors.camera import CameraType, ReadyExposure
from sim_node.simulation.sensors.context import Exposure, SensorContext
from sim_node.simulation.sensors.measurements import Batch, Schedule, SensorSubscription, batch_of
from sim_node.simulation.sensors.noise import NoiseBank
from sim_node.simulation.sensors.registry import SENSORS, Disturb, Remembers, SensorType
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray

# Pending measurements: values (S, ...), or images that are being rendered.
P = TypeVar("P", Array, Exposure)
# Meanings of the state of noise and sensors, by name.
_MEANINGS = {
    "next": "measurements of the block of errors that are used",
    "stream": "position of each random stream before the block: counter, key, words ahead, words used",
    "bias": "bias that walks at random, before the block",
    "drift": "Gauss-Markov bias, before the block",
}


@dataclass(frozen=True, eq=False)
class Group:
    """Sensors with the same type, rate, latency and shape of measurement, in the order of the world.

    Attributes:
        kind: Name of the type, as in world files.
        names: Names of the S sensors.
        sensors: The S sensors.
    """

    kind: str
    names: tuple[str, ...]
    sensors: tuple[SensorType, ...]

    @property
    def type(self) -> type[SensorType]:
        """The class of the sensors."""
        return SENSORS[self.kind]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one measurement of one sensor."""
        return self.sensors[0].shape()

    @property
    def rate(self) -> float:
        """Measurements per second, Hz."""
        return self.sensors[0].rate


class SensorBank(ABC, Generic[P]):
    """The sensors of a group in a run, with the measurements that are pending publication.

    Args:
        group: The sensors.
        state: The motion of their frames.
        context: The frames, world and environment that they measure in.
        alterations: Alterations of all sensors of the run, by name; a sensor that has one is alone in its bank.
        dtype: The type of the measured numbers.

    Attributes:
        kind: Type of the sensors.
        names: Names of the sensors.
        schedule: Schedule of measurements, with those that are pending.
        newest: The measurements published last; empty at the start.
        dropped: Number of images that were lost or not started.
    """

    def __init__(
        self,
        group: Group,
        state: FrameState,
        context: SensorContext,
        alterations: Mapping[str, Alteration],
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self.kind, self.names, self.alterations, self.dropped = group.kind, group.names, alterations, 0
        self._group, self._state, self._step_ns = group, state, context.world.time.step_ns
        self._row, self._dtype = (len(group.names), *group.shape), dtype
        self._nothing = Batch(group.kind, group.names, np.empty(0, np.int64), np.empty((0, *self._row), dtype))

    @property
    def alteration(self) -> Alteration | None:
        """The alteration of the sensor, if any."""
        return self.alterations.get(self.names[0]) if self.alterations and len(self.names) == 1 else None

    def reset(self, seed: int) -> None:
        """Go back to step 0, with noise drawn from `seed`."""
        self.schedule: Schedule[P] = Schedule(self._group.rate, self._group.sensors[0].latency, self._step_ns)
        self.newest, self.dropped = self._nothing, 0

    @abstractmethod
    def measure(self, time_ns: int, *, wait: bool) -> None:
        """Measure at the present step."""

    @abstractmethod
    def _out(self, step: int, *, wait: bool) -> list[tuple[int, npt.NDArray[Any]]]:
        """Return stamps and values of the measurements to publish at a step."""

    def publish(self, step: int, *, wait: bool) -> Batch:
        """Return the measurements that are due by a step and have not been published."""
        if not (pending := self.schedule.pending) or pending[0][0] > step:
            return self._nothing
        out = self._out(step, wait=wait)
        if not out:
            return self._nothing
        self.newest = batch_of(self.kind, self.names, out)
        return self.newest

    def newest_by(self, step: int) -> Array | None:
        """Return the newest values (S, ...) that are due by a step and available; None before the first."""
        return _last(self.newest)

    def succeed(self, count: int, pending: Sequence[tuple[int, int, P]], newest: Batch) -> None:
        """Continue the clock of earlier sensors, with their pending and published measurements."""
        self.schedule.restore(count, pending)
        self.newest = newest

    def columns(self, label: str) -> tuple[Column, ...]:
        """Return the layout of the result of `save`."""
        of, row, dtype = f"sensor/{label}", self._row, self._dtype
        stamped = "when the last published ones were measured"
        return (
            Column(f"{of}/count", ("measurements",), dtype=np.int64, meaning="measurements since the start"),
            Column(f"{of}/held/step", None, dtype=np.int64, meaning="step at which each pending one will be published"),
            Column(f"{of}/held/stamp", None, dtype=np.int64, unit="ns", meaning="when each pending one was measured"),
            Column(f"{of}/held/values", None, row, dtype, meaning="values of each pending one"),
            Column(f"{of}/last/stamp", None, dtype=np.int64, unit="ns", meaning=stamped),
            Column(f"{of}/last/values", None, row, dtype, meaning="values of each of them"),
            Column(f"{of}/last/new", ("published",), dtype=np.bool_, meaning="whether the last step published them"),
            *self._own_columns(label),
        )

    def save(self, new: bool) -> Sequence[Array]:
        """Return everything that later measurements depend on, the last published ones, and whether they are new."""
        settled = [(step, time_ns, _settled(values)) for step, time_ns, values in self.schedule.pending]
        held = [(step, time_ns, values) for step, time_ns, values in settled if values is not None]
        return (
            np.array([self.schedule.count]),
            np.array([step for step, _, _ in held], np.int64),
            np.array([time_ns for _, time_ns, _ in held], np.int64),
            # Reshape so that an empty array has the right shape, too.
            np.array([values for _, _, values in held], self._dtype).reshape(len(held), *self._row),
            self.newest.stamps_ns,
            np.asarray(self.newest.values, self._dtype),
            np.array([new]),
            *self._save_own(),
        )

    def restore(self, saved: Sequence[Array]) -> Batch:
        """Continue from the result of `save`. Return the measurements that the last step published."""
        count, steps, stamps, values, last_stamps, last_values, new, *own = saved
        newest = Batch(self.kind, self.names, np.array(last_stamps), np.array(last_values))
        held = map(self._held, np.array(values))
        self.succeed(int(count[0]), list(zip(steps.tolist(), stamps.tolist(), held, strict=True)), newest)
        self._restore_own(own)
        return newest if new[0] else self._nothing

    @abstractmethod
    def _held(self, values: Array) -> P:
        """Return restored values (S, ...) in the form of pending ones."""

    @abstractmethod
    def _own_columns(self, label: str) -> Sequence[Column]: ...

    @abstractmethod
    def _save_own(self) -> Sequence[Array]: ...

    @abstractmethod
    def _restore_own(self, saved: Sequence[Array]) -> None: ...


def _last(batch: Batch) -> Array | None:
    return batch.values[-1] if len(batch.values) else None


def _settled(values: Array | Exposure) -> Array | None:
    """Return pending values, waiting for images; None if the images are lost."""
    return values if isinstance(values, np.ndarray) else values.result()


class Bank(SensorBank[Array]):
    """Sensors other than cameras, with their noise and subscriptions."""

    def __init__(
        self, group: Group, state: FrameState, context: SensorContext, alterations: Mapping[str, Alteration]
    ) -> None:
        super().__init__(group, state, context, alterations)
        self._foreign = not SENSORS.is_shipped(group.kind)
        self._measure = group.type.measure(group.sensors, context)
        self._report = group.type.report(group.sensors, context)
        parts: tuple[object, ...] = (self._measure, self._report)
        self._memories = [part for part in parts if isinstance(part, Remembers)]
        self._subscriptions: list[tuple[int, SensorSubscription]] = []

    def subscribe(self, name: str) -> SensorSubscription:
        """Return a subscription to a sensor, which starts now."""
        subscription = SensorSubscription()
        self._subscriptions.append((self.names.index(name), subscription))
        return subscription

    def reset(self, seed: int) -> None:
        """Go back to step 0, with noise drawn from `seed`."""
        super().reset(seed)
        group = self._group
        streams = [stream(seed, name, group.kind) for name in group.names]
        self._disturb = group.type.disturb(group.sensors, streams, group.rate)
        for memory in self._memories:
            memory.reset()
        self._clear_subscriptions()

    def measure(self, time_ns: int, *, wait: bool) -> None:
        """Measure at the present step."""
        self._state.time_ns = time_ns
        measured = self._measure(self._state)
        if self._foreign:
            self._check(measured)
        if self._disturb is not None:
            measured = self._disturb(measured)
        values = self._report(measured)
        if self._foreign and np.shape(values) != self._row:
            raise ValueError(
                f"reported values of {len(self.names)} sensors have shape {np.shape(values)}, not {self._row}"
            )
        out: int | None = self.schedule.next_out
        if (alteration := self.alteration) is not None:
            out, values = self._altered(alteration, values)
        if out is None:
            self.schedule.skip()
            return
        for column, subscription in self._subscriptions:
            subscription.record(out, values[column])
        self.schedule.record(time_ns, values, out)

    def _altered(self, alteration: Alteration, values: FloatArray) -> tuple[int | None, FloatArray]:
        """Return the step at which altered values (1, ...) are published, or None for never, and the values."""
        step, pending = self.schedule.due, self.schedule.pending
        if (later := alteration.later(step)) is None:
            return None, values
        before = pending[-1][2] if pending else _last(self.newest)
        altered = alteration.altered(step, values[0], None if before is None else before[0])
        return self.schedule.out_after(later), np.asarray(altered, np.float64)[None]

    def _check(self, measured: npt.ArrayLike) -> None:
        """Raise ValueError if the shape of measured values does not fit the noise: kernels would read out of bounds."""
        rows, shape = len(self.names), np.shape(measured)
        if len(shape) != 2 or shape[0] != rows:
            raise ValueError(f"measured values of {rows} sensors have shape {shape}, not ({rows}, C)")
        if isinstance(self._disturb, NoiseBank) and shape[1] != self._disturb.channels:
            needed = self._disturb.channels
            raise ValueError(
                f"measured values of {rows} sensors have shape {shape}, but quantities() has noise for {needed} of each"
            )

    def _out(self, step: int, *, wait: bool) -> list[tuple[int, npt.NDArray[Any]]]:
        return self.schedule.out(step)

    def newest_by(self, step: int) -> Array | None:
        """Return the newest values (S, ...) that are due by a step, published or not; None before the first."""
        due = [values for out, _, values in self.schedule.pending if out <= step]
        return due[-1] if due else _last(self.newest)

    def parts(self) -> list[Disturb | Remembers]:
        """Return the noise, and the parts that depend on earlier measurements; their states have a row per sensor."""
        return [*([] if self._disturb is None else [self._disturb]), *self._memories]

    def move_subscriptions(self, others: Mapping[str, Bank]) -> None:
        """Move the subscriptions to the banks that the sensors belong to now."""
        for row, subscription in self._subscriptions:
            if (bank := others.get(self.names[row])) is not None:
                bank._subscriptions.append((bank.names.index(self.names[row]), subscription))

    def _held(self, values: Array) -> Array:
        return values

    def _own_columns(self, label: str) -> Sequence[Column]:
        noise = {} if self._disturb is None else self._disturb.state()
        parts = [(f"noise/{label}", noise)]
        parts += [(f"sensor/{label}/memory{k}", memory.state()) for k, memory in enumerate(self._memories)]
        return [
            Column(f"{prefix}/{name}", self.names, array.shape[1:], array.dtype, meaning=_MEANINGS.get(name, name))
            for prefix, arrays in parts
            for name, array in arrays.items()
        ]

    def _save_own(self) -> Sequence[Array]:
        return [array for part in self.parts() for array in part.state().values()]

    def _restore_own(self, saved: Sequence[Array]) -> None:
        rest = iter(saved)
        for part in self.parts():
            part.restore({name: next(rest) for name in part.state()})
        self._clear_subscriptions()

    def _clear_subscriptions(self) -> None:
        for _, subscription in self._subscriptions:
            subscription.clear()


@dataclass(frozen=True)
class _AlteredExposure:
    """An Exposure whose images are altered. before: the exposure of the preceding images."""

    of: Exposure
    before: Exposure | None
    alteration: Alteration
    step: int

    def done(self) -> bool:
        """Return whether `result` would return immediately."""
        return self.of.done() and (self.before is None or self.before.done())

    def result(self) -> npt.NDArray[Any] | None:
        """Wait for the images and return them altered; None if they are lost."""
        images, before = self.of.result(), None if self.before is None else self.before.result()
        if images is None:
            return None
        altered = self.alteration.altered(self.step, images[0], None if before is None else before[0])
        return np.asarray(altered, images.dtype)[None]


class CameraBank(SensorBank[Exposure]):
    """Cameras. Their images may still be rendering when they are due, and are published in order."""

    def __init__(
        self, group: Group, state: FrameState, context: SensorContext, alterations: Mapping[str, Alteration]
    ) -> None:
        assert issubclass(group.type, CameraType)
        cameras = [each for each in group.sensors if isinstance(each, CameraType)]
        super().__init__(group, state, context, alterations, cameras[0].lens().dtype)
        self._expose = group.type.expose(cameras, context)

    def measure(self, time_ns: int, *, wait: bool) -> None:
        """Start rendering at the current step."""
        schedule, alteration, step = self.schedule, self.alteration, self.schedule.due
        later = 0 if alteration is None else alteration.later(step)
        exposure = None
        if later is not None:
            exposure = self._expose(self._state, wait)
            self.dropped += (exposure is None) * len(self.names)
        if exposure is None or later is None:
            schedule.skip()
            return
        out = schedule.next_out
        if alteration is not None:
            pending, last = schedule.pending, _last(self.newest)
            before = pending[-1][2] if pending else None if last is None else ReadyExposure(last)
            out, exposure = schedule.out_after(later), _AlteredExposure(exposure, before, alteration, step)
        schedule.record(time_ns, exposure, out)

    def _out(self, step: int, *, wait: bool) -> list[tuple[int, npt.NDArray[Any]]]:
        due = self.schedule.out(step, lambda exposure: wait or exposure.done())
        found = [(stamp, images) for stamp, exposure in due if (images := exposure.result()) is not None]
        self.dropped += (len(due) - len(found)) * len(self.names)
        return found

    def _held(self, values: Array) -> Exposure:
        return ReadyExposure(values)

    def _own_columns(self, label: str) -> Sequence[Column]:
        return [Column(f"sensor/{label}/dropped", ("images",), dtype=np.int64, meaning="images that were dropped")]

    def _save_own(self) -> Sequence[Array]:
        return [np.array([self.dropped])]

    def _restore_own(self, saved: Sequence[Array]) -> None:
        self.dropped = int(saved[0][0])
