"""Banks: groups of sensors that measure together, with their schedules, noise and subscriptions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.randomness import stream
from sim_node.simulation.columns import Array, Column
from sim_node.simulation.sensors.alteration import Alteration
from sim_node.simulation.sensors.camera import CameraType, ReadyExposure
from sim_node.simulation.sensors.context import Exposure, SensorContext
from sim_node.simulation.sensors.measurements import Batch, Schedule, SensorSubscription, batch_of, no_batch
from sim_node.simulation.sensors.noise import NoiseBank
from sim_node.simulation.sensors.registry import SENSORS, Disturb, Remembers, SensorType
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray

# Meanings of the state of noise and sensors, by name.
_MEANINGS = {
    "next": "measurements of the block of errors that are used",
    "stream": "position of each random stream before the block: counter, key, words ahead, words used",
    "bias": "bias that walks at random, before the block",
    "drift": "Gauss-Markov bias, before the block",
}


@dataclass(frozen=True, eq=False)
class Group:
    """Sensors of one type, rate, latency and shape of measurement, in the order of their world.

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


def _queues(label: str, row: tuple[int, ...], dtype: npt.DTypeLike) -> tuple[Column, ...]:
    """Return the columns of every bank: a count, the pending measurements, and those published last, and when."""
    count = Column(f"{label}/count", ("measurements",), dtype=np.int64, meaning="measurements since the start")
    return (
        count,
        Column(f"{label}/held/step", None, dtype=np.int64, meaning="step at which each pending one will be published"),
        Column(f"{label}/held/stamp", None, dtype=np.int64, unit="ns", meaning="when each pending one was measured"),
        Column(f"{label}/held/values", None, row, dtype, meaning="values of each pending one"),
        Column(
            f"{label}/last/stamp", None, dtype=np.int64, unit="ns", meaning="when the last published ones were measured"
        ),
        Column(f"{label}/last/values", None, row, dtype, meaning="values of each of them"),
        Column(f"{label}/last/new", ("published",), dtype=np.bool_, meaning="whether the last step published them"),
    )


def _queued(
    count: int,
    held: Sequence[tuple[int, int, Array]],
    newest: Batch,
    new: bool,
    row: tuple[int, ...],
    dtype: npt.DTypeLike,
) -> tuple[Array, ...]:
    """Return the arrays of those columns; held: step, stamp (ns) and values of each measurement not published yet."""
    return (
        np.array([count]),
        np.array([step for step, _, _ in held], np.int64),
        np.array([time_ns for _, time_ns, _ in held], np.int64),
        # With the row's shape where there are none, too.
        np.array([values for _, _, values in held], dtype).reshape(len(held), *row),
        newest.stamps_ns,
        np.asarray(newest.values, dtype),
        np.array([new]),
    )


def _last(batch: Batch) -> Array | None:
    return batch.values[-1] if len(batch.values) else None


class Altered:
    """What may come between the sensors of a bank and those who read them.

    alterations: by the names of sensors, those of the whole run; a sensor that has one is alone in its bank.
    """

    alterations: Mapping[str, Alteration]
    _group: Group

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sensors."""
        return self._group.names

    @property
    def alteration(self) -> Alteration | None:
        """What alters the sensor, if one does."""
        return self.alterations.get(self.names[0]) if self.alterations and len(self.names) == 1 else None


class Bank(Altered):
    """The sensors of a group in a run; state: the motion of their frames.

    newest: those of their measurements that were published last; empty at the start.
    """

    dropped = 0

    def __init__(
        self, group: Group, state: FrameState, context: SensorContext, alterations: Mapping[str, Alteration]
    ) -> None:
        self.alterations = alterations
        self._group, self._state, self._step_ns = group, state, context.world.time.step_ns
        self.kind = group.kind
        self._foreign = not SENSORS.is_shipped(group.kind)
        self._measure = group.type.measure(group.sensors, context)
        self._report = group.type.report(group.sensors, context)
        parts: tuple[object, ...] = (self._measure, self._report)
        self._memories = [part for part in parts if isinstance(part, Remembers)]
        self._nothing = no_batch(group.kind, group.names, group.shape)
        self._row = (len(group.names), *group.shape)
        self._subscriptions: list[tuple[int, SensorSubscription]] = []

    def subscribe(self, name: str) -> SensorSubscription:
        """Return a subscription to a sensor, from now on."""
        subscription = SensorSubscription()
        self._subscriptions.append((self.names.index(name), subscription))
        return subscription

    def reset(self, seed: int) -> None:
        """Go back to step 0, with noise drawn from `seed`."""
        group = self._group
        self.schedule: Schedule[tuple[int, FloatArray]] = Schedule(group.rate, group.sensors[0].latency, self._step_ns)
        streams = [stream(seed, name, group.kind) for name in group.names]
        self._disturb = group.type.disturb(group.sensors, streams, group.rate)
        for memory in self._memories:
            memory.reset()
        self.newest = self._nothing
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
        self.schedule.record((time_ns, values), out)

    def _altered(self, alteration: Alteration, values: FloatArray) -> tuple[int | None, FloatArray]:
        """Return the step at which altered values (1, ...) are published, None for never, and the values."""
        step, held = self.schedule.due, self.schedule.state()[1]
        if (later := alteration.later(step)) is None:
            return None, values
        before = held[-1][1][1] if held else _last(self.newest)
        altered = alteration.altered(step, values[0], None if before is None else before[0])
        return self.schedule.out_after(later), np.asarray(altered, np.float64)[None]

    def _check(self, measured: npt.ArrayLike) -> None:
        """Raise ValueError for measured values of another shape than the noise, which kernels would read beyond."""
        rows, shape = len(self.names), np.shape(measured)
        if len(shape) != 2 or shape[0] != rows:
            raise ValueError(f"measured values of {rows} sensors have shape {shape}, not ({rows}, C)")
        if isinstance(self._disturb, NoiseBank) and shape[1] != self._disturb.channels:
            needed = self._disturb.channels
            raise ValueError(
                f"measured values of {rows} sensors have shape {shape}, but quantities() has noise for {needed} of each"
            )

    def publish(self, step: int, *, wait: bool) -> Batch:
        """Return what is due by a step and was not published yet."""
        out = self.schedule.out(step)
        if not out:
            return self._nothing
        self.newest = batch_of(self._group.kind, self._group.names, out)
        return self.newest

    def newest_by(self, step: int) -> Array | None:
        """Return the newest values (S, ...) that are due by a step, published or not; None before the first."""
        due = [values for out, (_, values) in self.schedule.state()[1] if out <= step]
        return due[-1] if due else _last(self.newest)

    def columns(self, label: str) -> tuple[Column, ...]:
        """Return the layout of the result of `save`."""
        parts = [(f"noise/{label}", self._noise())]
        parts += [(f"sensor/{label}/memory{k}", memory.state()) for k, memory in enumerate(self._memories)]
        kept = [
            Column(f"{prefix}/{name}", self.names, array.shape[1:], array.dtype, meaning=_MEANINGS.get(name, name))
            for prefix, arrays in parts
            for name, array in arrays.items()
        ]
        return (*_queues(f"sensor/{label}", self._row, np.float64), *kept)

    def save(self, new: bool) -> Sequence[Array]:
        """Return all that later measurements depend on, those published last, and whether the last step did."""
        count = self.schedule.state()[0]
        parts = (self._noise(), *(memory.state() for memory in self._memories))
        return (
            *_queued(count, self.pending(), self.newest, new, self._row, np.float64),
            *(array for part in parts for array in part.values()),
        )

    def restore(self, saved: Sequence[Array]) -> Batch:
        """Continue from the result of `save`; return what the last step published."""
        count, steps, stamps, values, last_stamps, last_values, new, *kept = saved
        held = zip(steps.tolist(), zip(stamps.tolist(), np.array(values), strict=True), strict=True)
        self.schedule.restore((int(count[0]), tuple(held)))
        rest = iter(kept)
        for part in self.parts():
            part.restore({name: next(rest) for name in part.state()})
        self._clear_subscriptions()
        self.newest = Batch(self._group.kind, self._group.names, np.array(last_stamps), np.array(last_values))
        return self.newest if new[0] else self._nothing

    def parts(self) -> list[Disturb | Remembers]:
        """Return its noise and its parts that remember measurements, each with a row per sensor in its state."""
        return [*([] if self._disturb is None else [self._disturb]), *self._memories]

    def pending(self) -> list[tuple[int, int, Array]]:
        """Return step of publication, time of measurement (ns) and values (S, ...) of what is not published yet."""
        return [(step, time_ns, values) for step, (time_ns, values) in self.schedule.state()[1]]

    def begin_at(self, step: int) -> None:
        """Measure from a step on."""
        self.schedule.begin_at(step)

    def succeed(self, count: int, pending: Sequence[tuple[int, int, Array]], newest: Batch) -> None:
        """Continue the clock of earlier sensors, and publish what they had pending."""
        self.schedule.restore((count, tuple((step, (time_ns, values)) for step, time_ns, values in pending)))
        self.newest = newest

    def move_subscriptions(self, others: Mapping[str, Bank]) -> None:
        """Give the subscriptions to the banks that have the sensors now."""
        for row, subscription in self._subscriptions:
            if (bank := others.get(self.names[row])) is not None:
                bank._subscriptions.append((bank.names.index(self.names[row]), subscription))

    def _noise(self) -> Mapping[str, Array]:
        return {} if self._disturb is None else self._disturb.state()

    def _clear_subscriptions(self) -> None:
        for _, subscription in self._subscriptions:
            subscription.clear()


@dataclass(frozen=True)
class _AlteredExposure:
    """An Exposure whose images are altered: `before` is that of the images before them."""

    of: Exposure
    before: Exposure | None
    alteration: Alteration
    step: int

    def done(self) -> bool:
        """Return whether `result` returns at once."""
        return self.of.done() and (self.before is None or self.before.done())

    def result(self) -> npt.NDArray[Any] | None:
        """Wait for the images and return them altered; None if they are lost."""
        images, before = self.of.result(), None if self.before is None else self.before.result()
        if images is None:
            return None
        altered = self.alteration.altered(self.step, images[0], None if before is None else before[0])
        return np.asarray(altered, images.dtype)[None]


class CameraBank(Altered):
    """A Bank of cameras, whose images may not be rendered yet when they are due. They are published in order.

    dropped: number of images that were lost or not started. newest: as in Bank.
    """

    def __init__(
        self, group: Group, state: FrameState, context: SensorContext, alterations: Mapping[str, Alteration]
    ) -> None:
        self.alterations = alterations
        assert issubclass(group.type, CameraType)
        self._group, self._state, self._step_ns = group, state, context.world.time.step_ns
        self.kind = group.kind
        cameras = [each for each in group.sensors if isinstance(each, CameraType)]
        self._expose = group.type.expose(cameras, context)
        lens = cameras[0].lens()
        self._row = (len(group.names), *lens.shape)
        nothing = np.empty((0, *self._row), lens.dtype)
        self._nothing = Batch(group.kind, group.names, np.empty(0, np.int64), nothing)

    def reset(self, seed: int) -> None:
        """Go back to step 0, with noise drawn from `seed`."""
        group = self._group
        self.schedule: Schedule[tuple[int, Exposure | None]] = Schedule(
            group.rate, group.sensors[0].latency, self._step_ns
        )
        self._due: deque[tuple[int, Exposure]] = deque()
        self.newest = self._nothing
        self.dropped = 0

    def measure(self, time_ns: int, *, wait: bool) -> None:
        """Start rendering at the present step."""
        out: int | None = self.schedule.next_out
        alteration, step = self.alteration, self.schedule.due
        if alteration is not None:
            later = alteration.later(step)
            out = None if later is None else self.schedule.out_after(later)
        if out is None:
            self.schedule.skip()
            return
        exposure = self._expose(self._state, wait)
        self.dropped += (exposure is None) * len(self._group.names)
        if exposure is not None and alteration is not None:
            pending = self.pending()
            last = _last(self.newest)
            before = pending[-1][2] if pending else None if last is None else ReadyExposure(last)
            exposure = _AlteredExposure(exposure, before, alteration, step)
        self.schedule.record((time_ns, exposure), out)

    def publish(self, step: int, *, wait: bool) -> Batch:
        """Return what is due by a step and was not published yet."""
        self._due.extend((stamp, exposure) for stamp, exposure in self.schedule.out(step) if exposure is not None)
        published: list[tuple[int, npt.NDArray[Any]]] = []
        while self._due and (wait or self._due[0][1].done()):
            stamp, exposure = self._due.popleft()
            images = exposure.result()
            if images is None:
                self.dropped += len(self._group.names)
            else:
                published.append((stamp, images))
        if not published:
            return self._nothing
        self.newest = batch_of(self._group.kind, self._group.names, published)
        return self.newest

    def newest_by(self, step: int) -> Array | None:
        """Return the newest images (S, ...) that are published: others may not be rendered. None before the first."""
        return _last(self.newest)

    def pending(self) -> list[tuple[int, int, Exposure]]:
        """Return step of publication, time (ns) and images of what is not published yet; step 0 for what is due."""
        held = self.schedule.state()[1]
        waiting = [(0, time_ns, exposure) for time_ns, exposure in self._due]
        return waiting + [(step, time_ns, exposure) for step, (time_ns, exposure) in held if exposure is not None]

    def begin_at(self, step: int) -> None:
        """Render from a step on."""
        self.schedule.begin_at(step)

    def succeed(self, count: int, pending: Sequence[tuple[int, int, Exposure]], newest: Batch) -> None:
        """Continue the clock of earlier cameras, and publish what they had pending."""
        self.schedule.restore((count, tuple((step, (time_ns, images)) for step, time_ns, images in pending)))
        self.newest = newest

    def columns(self, label: str) -> tuple[Column, ...]:
        """Return the layout of the result of `save`."""
        dropped = Column(f"sensor/{label}/dropped", ("images",), dtype=np.int64, meaning="images that were dropped")
        return (*_queues(f"sensor/{label}", self._row, self._nothing.values.dtype), dropped)

    def save(self, new: bool) -> Sequence[Array]:
        """Wait for images that are being rendered; those due and not published yet remain so after a restore."""
        count = self.schedule.state()[0]
        done = [(step, time_ns, exposure.result()) for step, time_ns, exposure in self.pending()]
        kept = [(step, time_ns, images) for step, time_ns, images in done if images is not None]
        queued = _queued(count, kept, self.newest, new, self._row, self._nothing.values.dtype)
        return (*queued, np.array([self.dropped]))

    def restore(self, saved: Sequence[Array]) -> Batch:
        """Continue from the result of `save`; return what the last step published."""
        count, steps, stamps, values, last_stamps, last_values, new, dropped = saved
        held = zip(steps.tolist(), stamps.tolist(), np.array(values), strict=True)
        self.schedule.restore((int(count[0]), tuple((s, (ns, ReadyExposure(images))) for s, ns, images in held)))
        self.dropped = int(dropped[0])
        self.newest = Batch(self._group.kind, self._group.names, np.array(last_stamps), np.array(last_values))
        return self.newest if new[0] else self._nothing
