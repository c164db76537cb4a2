"""The Suite: all sensors of a world, read in banks of those that read together."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.randomness import stream
from sim_node.sensors.camera import CameraType, Taken
from sim_node.sensors.parameters import fault, read
from sim_node.sensors.readings import Batch, Packed, Readings, batch_of, no_batch, packed, unpacked
from sim_node.sensors.registry import SENSORS, Remembers, SensorType
from sim_node.sensors.schedule import Schedule
from sim_node.sensors.setting import OPEN_AIR, Exposure, Setting, Surroundings
from sim_node.sensors.tap import Tap
from sim_node.sensors.truth import DOWN, FrameState
from sim_node.text import did_you_mean
from sim_node.world.model import Sensor, World
from sim_node.world.problems import Problem, WorldError, quoted


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


def groups_of(world: World) -> tuple[Group, ...]:
    """The sensors that a world describes; mountings without a type are frames only.

    Raises WorldError for types and parameters that there are not, that are out of range, or that do not fit the
    world: each at its place.
    """
    problems: list[Problem] = []
    groups: dict[tuple[str, float, float, tuple[int, ...]], list[tuple[str, SensorType]]] = {}
    for mounting in world.sensors:
        if not mounting.type:
            continue
        kind = SENSORS.get(mounting.type)
        if kind is None:
            hint = did_you_mean(mounting.type, SENSORS)
            message = f"{quoted(mounting.type)} is no sensor{hint} (known: {', '.join(sorted(SENSORS))})"
            problems.append(fault(mounting, "type", message))
            continue
        before = len(problems)
        with SENSORS.blaming(mounting.type):
            sensor = read(kind, mounting, problems)
            if len(problems) == before:
                problems.extend(_misfits(mounting, sensor, world))
                try:
                    sensor = sensor.in_world(mounting, world)
                except ValueError as misfit:
                    problems.append(fault(mounting, "type", str(misfit)))
            alike = (mounting.type, sensor.rate, sensor.latency, sensor.shape())
        groups.setdefault(alike, []).append((mounting.name, sensor))
    if problems:
        raise WorldError(problems)
    return tuple(
        Group(kind, tuple(name for name, _ in members), tuple(sensor for _, sensor in members))
        for (kind, *_), members in groups.items()
    )


def _misfits(mounting: Sensor, sensor: SensorType, world: World) -> list[Problem]:
    problems = []
    if sensor.rate * world.time.step_ns > 1e9 * (1.0 + 1e-9):
        steps = 1e9 / world.time.step_ns
        wanted = f"{sensor.rate:g} Hz is more than the world's {steps:g} steps per second"
        finer = f"a rate up to {steps:g}, or time.step up to {1.0 / sensor.rate:g}, is needed"
        problems.append(fault(mounting, "rate", f"{wanted}; {finer}"))
    if sensor.needs_origin and world.origin is None:
        message = f"{mounting.type} needs to know where on Earth it is; the world needs an origin"
        problems.append(fault(mounting, "type", message))
    if sensor.needs_package and find_spec(sensor.needs_package) is None:
        package = sensor.needs_package
        message = f"{mounting.type} needs the package {package}, which is not installed: pip install {package}"
        problems.append(fault(mounting, "type", message))
    return problems


class Suite:
    """Reads all sensors of a world, each when it is due.

    frames: the names of those that they are; state: how these move, in this order, for others to fill before
    `measure`. surroundings: what else they perceive; gravity: as a FrameState has it. told: what came out last.
    Raises WorldError as groups_of does. Errors inside a plug-in's sensor are raised as PluginFault.
    """

    def __init__(self, world: World, surroundings: Surroundings = OPEN_AIR, gravity: npt.ArrayLike = DOWN) -> None:
        self.groups = groups_of(world)
        self.frames = tuple(name for group in self.groups for name in group.names)
        self.state = FrameState.at_rest(len(self.frames), gravity)
        self.told = Readings()
        self.due: float = math.inf
        self._banks: list[_Bank | _CameraBank] = []
        at = 0
        for group in self.groups:
            end = at + len(group.names)
            setting = Setting(world, group.names, surroundings)
            bank = _CameraBank if issubclass(group.type, CameraType) else _Bank
            with SENSORS.blaming(group.kind):
                self._banks.append(bank(group, self.state.rows(slice(at, end)), setting))
            at = end
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Back to step 0, with noise drawn from `seed`."""
        for bank in self._banks:
            with SENSORS.blaming(bank.kind):
                bank.reset(seed)
        self._find_due()

    @property
    def dropped(self) -> int:
        """The pictures that were left out since the last reset."""
        return sum(bank.dropped for bank in self._banks)

    def measure(self, step: int, time_ns: int, *, wait: bool = True) -> None:
        """Takes the readings that are due at a step, of the frames in their state.

        wait: for pictures, where too many are in the making; else new ones are left out.
        """
        for bank in self._banks:
            if bank.schedule.due == step:
                try:
                    bank.measure(time_ns, wait=wait)
                except Exception as error:
                    SENSORS.blame(bank.kind, error)
                    raise
        self._find_due()

    def tell(self, step: int, *, wait: bool = True) -> Readings:
        """What came out by a step since this was last asked.

        wait: for pictures in the making; else they come out when this is asked after they are done.
        """
        self.told = Readings(tuple([bank.tell(step, wait=wait) for bank in self._banks]))
        return self.told

    def tap(self, name: str) -> Tap:
        """Hears one sensor, no camera, from now on. Raises KeyError for a name that is none of one."""
        for bank in self._banks:
            if isinstance(bank, _Bank) and name in bank.names:
                return bank.tap(name)
        raise KeyError(f"no sensor {quoted(name)}{did_you_mean(name, self.frames)}")

    def save(self) -> tuple[SavedBank, ...]:
        """All that later readings depend on beside the world and its seed, and what was told last."""
        return tuple(bank.save(batch) for bank, batch in zip(self._banks, self.told.batches, strict=True))

    def restore(self, seed: int, saved: tuple[SavedBank, ...]) -> None:
        """Goes on from what a suite of the same world and seed saved. Raises ValueError for one of another world."""
        mine, theirs = [group.names for group in self.groups], [each.names for each in saved]
        if mine != theirs:
            raise ValueError(f"a state of sensors {theirs} is not of this world, which has {mine}")
        self.reset(seed)
        self.told = Readings(tuple([bank.restore(each) for bank, each in zip(self._banks, saved, strict=True)]))
        self._find_due()

    def _find_due(self) -> None:
        """due: the step of the next reading, infinite where there are no sensors."""
        self.due = min([bank.schedule.due for bank in self._banks], default=math.inf)


class SavedBank(NamedTuple):
    """A bank as a state keeps it: its sensors, readings taken, those not out yet, noise, memories, those told last."""

    names: tuple[str, ...]
    taken: int
    held: tuple[tuple[int, int, Packed], ...]
    noise: bytes
    memories: tuple[bytes, ...]
    told: tuple[Packed, Packed]


class _Bank:
    """The sensors of a group at work; state: how their frames move."""

    dropped = 0

    def __init__(self, group: Group, state: FrameState, setting: Setting) -> None:
        self._group, self._state, self._step_ns = group, state, setting.world.time.step_ns
        self.kind = group.kind
        self._measure = group.type.measure(group.sensors, setting)
        self._report = group.type.report(group.sensors, setting)
        parts: tuple[object, ...] = (self._measure, self._report)
        self._memories = [part for part in parts if isinstance(part, Remembers)]
        self._shape = (len(group.names), *group.shape)
        self._nothing = no_batch(group.kind, group.names, group.shape)
        self._taps: list[tuple[int, Tap]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """Its sensors."""
        return self._group.names

    def tap(self, name: str) -> Tap:
        """Hears one of them from now on."""
        tap = Tap()
        self._taps.append((self.names.index(name), tap))
        return tap

    def reset(self, seed: int) -> None:
        group = self._group
        self.schedule: Schedule[tuple[int, FloatArray]] = Schedule(group.rate, group.sensors[0].latency, self._step_ns)
        streams = [stream(seed, name, group.kind) for name in group.names]
        self._disturb = group.type.disturb(group.sensors, streams, group.rate)
        for memory in self._memories:
            memory.reset()
        self._empty_taps()

    def measure(self, time_ns: int, *, wait: bool) -> None:
        self._state.time_ns = time_ns
        measured = self._measure(self._state)
        if np.ndim(measured) != 2 or len(measured) != len(self.names):
            rows, shape = len(self.names), np.shape(measured)
            raise ValueError(f"measured values of {rows} sensors have shape {shape}, not ({rows}, C)")
        if self._disturb is not None:
            measured = self._disturb(measured)
        values = self._report(measured)
        if np.shape(values) != self._shape:
            raise ValueError(f"readings of {len(self.names)} sensors have shape {np.shape(values)}, not {self._shape}")
        for column, tap in self._taps:
            tap.took(self.schedule.next_out, values[column])
        self.schedule.took((time_ns, values))

    def tell(self, step: int, *, wait: bool) -> Batch:
        out = self.schedule.out(step)
        return batch_of(self._group.kind, self._group.names, out) if out else self._nothing

    def save(self, told: Batch) -> SavedBank:
        taken, held = self.schedule.state()
        return SavedBank(
            self._group.names,
            taken,
            tuple((step, time_ns, packed(values)) for step, (time_ns, values) in held),
            b"" if self._disturb is None else self._disturb.state(),
            tuple(memory.state() for memory in self._memories),
            (packed(told.stamps_ns), packed(told.values)),
        )

    def restore(self, saved: SavedBank) -> Batch:
        held = tuple((step, (time_ns, unpacked(values))) for step, time_ns, values in saved.held)
        self.schedule.restore((saved.taken, held))
        if self._disturb is not None:
            self._disturb.restore(saved.noise)
        for memory, its in zip(self._memories, saved.memories, strict=True):
            memory.restore(its)
        self._empty_taps()
        return Batch(self._group.kind, self._group.names, *map(unpacked, saved.told))

    def _empty_taps(self) -> None:
        for _, tap in self._taps:
            tap.clear()


class _CameraBank:
    """As a _Bank, of cameras: what they take may not be done when it is due to be out. It comes out in order.

    dropped: pictures that were left out.
    """

    def __init__(self, group: Group, state: FrameState, setting: Setting) -> None:
        assert issubclass(group.type, CameraType)
        self._group, self._state, self._step_ns = group, state, setting.world.time.step_ns
        self.kind = group.kind
        cameras = [each for each in group.sensors if isinstance(each, CameraType)]
        self._expose = group.type.expose(cameras, setting)
        lens = cameras[0].lens()
        nothing = np.empty((0, len(group.names), *lens.shape), lens.dtype)
        self._nothing = Batch(group.kind, group.names, np.empty(0, np.int64), nothing)

    def reset(self, seed: int) -> None:
        group = self._group
        self.schedule: Schedule[tuple[int, Exposure | None]] = Schedule(
            group.rate, group.sensors[0].latency, self._step_ns
        )
        self._due: deque[tuple[int, Exposure]] = deque()
        self.dropped = 0

    def measure(self, time_ns: int, *, wait: bool) -> None:
        exposure = self._expose(self._state, wait)
        self.dropped += (exposure is None) * len(self._group.names)
        self.schedule.took((time_ns, exposure))

    def tell(self, step: int, *, wait: bool) -> Batch:
        self._due.extend((stamp, exposure) for stamp, exposure in self.schedule.out(step) if exposure is not None)
        told: list[tuple[int, npt.NDArray[Any]]] = []
        while self._due and (wait or self._due[0][1].done()):
            stamp, exposure = self._due.popleft()
            pictures = exposure.take()
            if pictures is None:
                self.dropped += len(self._group.names)
            else:
                told.append((stamp, pictures))
        return batch_of(self._group.kind, self._group.names, told) if told else self._nothing

    def save(self, told: Batch) -> SavedBank:
        """Waits for what is in the making; what is due and was not told yet is so after a restore, too."""
        taken, held = self.schedule.state()
        waiting = [(0, time_ns, exposure) for time_ns, exposure in self._due]
        waiting += [(step, time_ns, exposure) for step, (time_ns, exposure) in held if exposure is not None]
        done = [(step, time_ns, exposure.take()) for step, time_ns, exposure in waiting]
        kept = tuple((step, time_ns, packed(pictures)) for step, time_ns, pictures in done if pictures is not None)
        told_last = packed(told.stamps_ns), packed(told.values)
        return SavedBank(self._group.names, taken, kept, self.dropped.to_bytes(8, "little"), (), told_last)

    def restore(self, saved: SavedBank) -> Batch:
        held = tuple((step, (time_ns, Taken(unpacked(pictures)))) for step, time_ns, pictures in saved.held)
        self.schedule.restore((saved.taken, held))
        self.dropped = int.from_bytes(saved.noise, "little")
        return Batch(self._group.kind, self._group.names, *map(unpacked, saved.told))
