"""Banks: the sensors of a world that read together, at work."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.columns import Array, Column
from sim_node.geometry.arrays import FloatArray
from sim_node.randomness import stream
from sim_node.sensors.camera import CameraType, Drawn
from sim_node.sensors.context import Exposure, SensorContext
from sim_node.sensors.measurements import Batch, Schedule, SensorSubscription, batch_of, no_batch
from sim_node.sensors.registry import SENSORS, Remembers, SensorType
from sim_node.sensors.truth import FrameState

# What noise and sensors remember, by the names that they give it.
_MEANINGS = {
    "next": "how many readings of the block of errors are used",
    "stream": "where each random stream was when the block was drawn: counter, key, words ahead, words used",
    "bias": "bias that walks, when the block was drawn",
    "drift": "bias that comes and goes, when the block was drawn",
}


@dataclass(frozen=True, eq=False)
class Group:
    """The sensors of one type, rate (Hz), latency (s) and shape of reading, in the order of their world."""

    kind: str
    names: tuple[str, ...]
    sensors: tuple[SensorType, ...]

    @property
    def type(self) -> type[SensorType]:
        """Their class."""
        return SENSORS[self.kind]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array of one reading of one of them."""
        return self.sensors[0].shape()

    @property
    def rate(self) -> float:
        """Readings per simulated second (Hz)."""
        return self.sensors[0].rate


def _queues(label: str, row: tuple[int, ...], dtype: npt.DTypeLike) -> tuple[Column, ...]:
    """The columns of all banks: how many readings there were, those not published yet, and those published last."""
    count = Column(f"{label}/taken", ("readings",), dtype=np.int64, meaning="readings since the start")
    return (
        count,
        Column(f"{label}/held/step", None, dtype=np.int64, meaning="step at which each one not published yet will be"),
        Column(f"{label}/held/stamp", None, dtype=np.int64, unit="ns", meaning="when each of them was measured"),
        Column(f"{label}/held/values", None, row, dtype, meaning="values of each of them"),
        Column(
            f"{label}/last/stamp", None, dtype=np.int64, unit="ns", meaning="when the last published ones were measured"
        ),
        Column(f"{label}/last/values", None, row, dtype, meaning="values of each of them"),
    )


def _queued(
    count: int, held: Sequence[tuple[int, int, Array]], published: Batch, row: tuple[int, ...], dtype: npt.DTypeLike
) -> tuple[Array, ...]:
    """Return the arrays of those columns; held: step, stamp (ns) and values of each reading not published yet."""
    return (
        np.array([count]),
        np.array([step for step, _, _ in held], np.int64),
        np.array([time_ns for _, time_ns, _ in held], np.int64),
        # With the row's shape where there are none, too.
        np.array([values for _, _, values in held], dtype).reshape(len(held), *row),
        published.stamps_ns,
        np.asarray(published.values, dtype),
    )


class Bank:
    """The sensors of a group at work; state: how their frames move."""

    dropped = 0

    def __init__(self, group: Group, state: FrameState, context: SensorContext) -> None:
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

    @property
    def names(self) -> tuple[str, ...]:
        """Its sensors."""
        return self._group.names

    def subscribe(self, name: str) -> SensorSubscription:
        """Return a subscription to one of them, from now on."""
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
        self._clear_subscriptions()

    def measure(self, time_ns: int, *, wait: bool) -> None:
        """Measure what is due."""
        self._state.time_ns = time_ns
        measured = self._measure(self._state)
        if self._foreign and (np.ndim(measured) != 2 or len(measured) != len(self.names)):
            rows, shape = len(self.names), np.shape(measured)
            raise ValueError(f"measured values of {rows} sensors have shape {shape}, not ({rows}, C)")
        if self._disturb is not None:
            measured = self._disturb(measured)
        values = self._report(measured)
        if self._foreign and np.shape(values) != self._row:
            raise ValueError(f"readings of {len(self.names)} sensors have shape {np.shape(values)}, not {self._row}")
        for column, subscription in self._subscriptions:
            subscription.record(self.schedule.next_out, values[column])
        self.schedule.record((time_ns, values))

    def publish(self, step: int, *, wait: bool) -> Batch:
        """Return what is due to be published by a step and was not yet."""
        out = self.schedule.out(step)
        return batch_of(self._group.kind, self._group.names, out) if out else self._nothing

    def columns(self, label: str) -> tuple[Column, ...]:
        """Return the layout of what `save` returns."""
        parts = [(f"noise/{label}", self._noise())]
        parts += [(f"sensor/{label}/memory{k}", memory.state()) for k, memory in enumerate(self._memories)]
        kept = [
            Column(f"{prefix}/{name}", self.names, array.shape[1:], array.dtype, meaning=_MEANINGS.get(name, name))
            for prefix, arrays in parts
            for name, array in arrays.items()
        ]
        return (*_queues(f"sensor/{label}", self._row, np.float64), *kept)

    def save(self, published: Batch) -> Sequence[Array]:
        """Return all that later readings depend on, and those published last."""
        count, held = self.schedule.state()
        readings = [(step, time_ns, values) for step, (time_ns, values) in held]
        parts = (self._noise(), *(memory.state() for memory in self._memories))
        return (
            *_queued(count, readings, published, self._row, np.float64),
            *(array for part in parts for array in part.values()),
        )

    def restore(self, saved: Sequence[Array]) -> Batch:
        """Go on from what `save` returned; return the readings published last."""
        count, steps, stamps, values, last_stamps, last_values, *kept = saved
        held = zip(steps.tolist(), zip(stamps.tolist(), np.array(values), strict=True), strict=True)
        self.schedule.restore((int(count[0]), tuple(held)))
        rest = iter(kept)
        for part in ([] if self._disturb is None else [self._disturb]) + self._memories:
            part.restore({name: next(rest) for name in part.state()})
        self._clear_subscriptions()
        return Batch(self._group.kind, self._group.names, np.array(last_stamps), np.array(last_values))

    def _noise(self) -> Mapping[str, Array]:
        return {} if self._disturb is None else self._disturb.state()

    def _clear_subscriptions(self) -> None:
        for _, subscription in self._subscriptions:
            subscription.clear()


class CameraBank:
    """A Bank of cameras: pictures may not be drawn yet when they are due. They are published in order.

    dropped: pictures that were lost or not begun.
    """

    def __init__(self, group: Group, state: FrameState, context: SensorContext) -> None:
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
        self.dropped = 0

    def measure(self, time_ns: int, *, wait: bool) -> None:
        """Measure what is due."""
        exposure = self._expose(self._state, wait)
        self.dropped += (exposure is None) * len(self._group.names)
        self.schedule.record((time_ns, exposure))

    def publish(self, step: int, *, wait: bool) -> Batch:
        """Return what is due to be published by a step and was not yet."""
        self._due.extend((stamp, exposure) for stamp, exposure in self.schedule.out(step) if exposure is not None)
        published: list[tuple[int, npt.NDArray[Any]]] = []
        while self._due and (wait or self._due[0][1].done()):
            stamp, exposure = self._due.popleft()
            pictures = exposure.take()
            if pictures is None:
                self.dropped += len(self._group.names)
            else:
                published.append((stamp, pictures))
        return batch_of(self._group.kind, self._group.names, published) if published else self._nothing

    def columns(self, label: str) -> tuple[Column, ...]:
        """Return the layout of what `save` returns."""
        dropped = Column(f"sensor/{label}/dropped", ("pictures",), dtype=np.int64, meaning="pictures left out")
        return (*_queues(f"sensor/{label}", self._row, self._nothing.values.dtype), dropped)

    def save(self, published: Batch) -> Sequence[Array]:
        """Wait for pictures that are being drawn; those due and not published yet are so after a restore, too."""
        count, held = self.schedule.state()
        waiting = [(0, time_ns, exposure) for time_ns, exposure in self._due]
        waiting += [(step, time_ns, exposure) for step, (time_ns, exposure) in held if exposure is not None]
        done = [(step, time_ns, exposure.take()) for step, time_ns, exposure in waiting]
        kept = [(step, time_ns, pictures) for step, time_ns, pictures in done if pictures is not None]
        queued = _queued(count, kept, published, self._row, self._nothing.values.dtype)
        return (*queued, np.array([self.dropped]))

    def restore(self, saved: Sequence[Array]) -> Batch:
        """Go on from what `save` returned; return the readings published last."""
        count, steps, stamps, values, last_stamps, last_values, dropped = saved
        held = zip(steps.tolist(), stamps.tolist(), np.array(values), strict=True)
        self.schedule.restore((int(count[0]), tuple((s, (ns, Drawn(pictures))) for s, ns, pictures in held)))
        self.dropped = int(dropped[0])
        return Batch(self._group.kind, self._group.names, np.array(last_stamps), np.array(last_values))
