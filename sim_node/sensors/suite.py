"""The Suite: all sensors of a world, read in banks of those that read together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple

import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.randomness import stream
from sim_node.sensors.parameters import fault, read
from sim_node.sensors.readings import Batch, Packed, Readings, batch_of, no_batch, packed, unpacked
from sim_node.sensors.registry import SENSORS, Remembers, SensorType
from sim_node.sensors.schedule import Schedule
from sim_node.sensors.setting import OPEN_AIR, Setting, Surroundings
from sim_node.sensors.truth import DOWN, FrameState
from sim_node.world.model import Sensor, World
from sim_node.world.problems import Problem, WorldError, did_you_mean, quoted


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
    Raises WorldError as groups_of does.
    """

    def __init__(self, world: World, surroundings: Surroundings = OPEN_AIR, gravity: npt.ArrayLike = DOWN) -> None:
        self.groups = groups_of(world)
        self.frames = tuple(name for group in self.groups for name in group.names)
        self.state = FrameState.at_rest(len(self.frames), gravity)
        self.told = Readings()
        self.due: float = math.inf
        self._banks: list[_Bank] = []
        at = 0
        for group in self.groups:
            end = at + len(group.names)
            setting = Setting(world, group.names, surroundings)
            self._banks.append(_Bank(group, self.state.rows(slice(at, end)), setting))
            at = end
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Back to step 0, with noise drawn from `seed`."""
        for bank in self._banks:
            bank.reset(seed)
        self._find_due()

    def measure(self, step: int, time_ns: int) -> None:
        """Takes the readings that are due at a step, of the frames in their state."""
        for bank in self._banks:
            if bank.schedule.due == step:
                bank.measure(time_ns)
        self._find_due()

    def tell(self, step: int) -> Readings:
        """What came out by a step since this was last asked."""
        self.told = Readings(tuple([bank.tell(step) for bank in self._banks]))
        return self.told

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

    def __init__(self, group: Group, state: FrameState, setting: Setting) -> None:
        self._group, self._state, self._step_ns = group, state, setting.world.time.step_ns
        self._measure = group.type.measure(group.sensors, setting)
        self._report = group.type.report(group.sensors, setting)
        parts: tuple[object, ...] = (self._measure, self._report)
        self._memories = [part for part in parts if isinstance(part, Remembers)]
        self._nothing = no_batch(group.kind, group.names, group.shape)

    def reset(self, seed: int) -> None:
        group = self._group
        self.schedule: Schedule[tuple[int, FloatArray]] = Schedule(group.rate, group.sensors[0].latency, self._step_ns)
        streams = [stream(seed, name, group.kind) for name in group.names]
        self._disturb = group.type.disturb(group.sensors, streams, group.rate)
        for memory in self._memories:
            memory.reset()

    def measure(self, time_ns: int) -> None:
        self._state.time_ns = time_ns
        measured = self._measure(self._state)
        if self._disturb is not None:
            measured = self._disturb(measured)
        self.schedule.took((time_ns, self._report(measured)))

    def tell(self, step: int) -> Batch:
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
        return Batch(self._group.kind, self._group.names, *map(unpacked, saved.told))
