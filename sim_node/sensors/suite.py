"""The Suite: all sensors of a world, read in banks of those that read together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from sim_node.geometry.arrays import FloatArray
from sim_node.randomness import stream
from sim_node.sensors.noise import NoiseBank
from sim_node.sensors.parameters import fault, read
from sim_node.sensors.readings import Batch, Readings, batch_of
from sim_node.sensors.registry import SENSORS, SensorType
from sim_node.sensors.schedule import Schedule
from sim_node.sensors.setting import OPEN_AIR, Setting, Surroundings
from sim_node.sensors.truth import FrameState
from sim_node.world.model import Sensor, World
from sim_node.world.problems import Problem, WorldError, did_you_mean, quoted


@dataclass(frozen=True, eq=False)
class Group:
    """The sensors of one type, rate (Hz) and latency (s), in the order of their world."""

    kind: str
    names: tuple[str, ...]
    sensors: tuple[SensorType, ...]

    @property
    def type(self) -> type[SensorType]:
        """Their class."""
        return SENSORS[self.kind]

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
    groups: dict[tuple[str, float, float], list[tuple[str, SensorType]]] = {}
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
        groups.setdefault((mounting.type, sensor.rate, sensor.latency), []).append((mounting.name, sensor))
    if problems:
        raise WorldError(problems)
    return tuple(
        Group(kind, tuple(name for name, _ in members), tuple(sensor for _, sensor in members))
        for (kind, _, _), members in groups.items()
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

    frames: the names of those whose FrameState `measure` wants, in this order. surroundings: what else they perceive.
    Raises WorldError as groups_of does.
    """

    def __init__(self, world: World, surroundings: Surroundings = OPEN_AIR) -> None:
        self.groups = groups_of(world)
        self.frames = tuple(name for group in self.groups for name in group.names)
        self._banks: list[_Bank] = []
        at = 0
        for group in self.groups:
            self._banks.append(
                _Bank(group, slice(at, at + len(group.names)), Setting(world, group.names, surroundings))
            )
            at += len(group.names)

    @property
    def due(self) -> float:
        """The step of the next reading, infinite where there are no sensors."""
        return min((bank.schedule.due for bank in self._banks), default=math.inf)

    def reset(self, seed: int) -> None:
        """Back to step 0, with noise drawn from `seed`."""
        for bank in self._banks:
            bank.reset(seed)

    def measure(self, step: int, time_ns: int, state: FrameState) -> None:
        """Takes the readings that are due at a step, of frames in a state (a row for each of `frames`)."""
        for bank in self._banks:
            if bank.schedule.due == step:
                bank.measure(time_ns, state)

    def readings(self, step: int) -> Readings:
        """What came out by a step since this was last asked."""
        return Readings(tuple(bank.told(step) for bank in self._banks))


class _Bank:
    """The sensors of a group at work; rows: theirs of the FrameState."""

    def __init__(self, group: Group, rows: slice, setting: Setting) -> None:
        self._group, self._rows, self._step_ns = group, rows, setting.world.time.step_ns
        self._measure = group.type.measure(group.sensors, setting)
        self._report = group.type.report(group.sensors, setting)
        self.reset(0)

    def reset(self, seed: int) -> None:
        group = self._group
        self.schedule: Schedule[tuple[int, FloatArray]] = Schedule(group.rate, group.sensors[0].latency, self._step_ns)
        quantities = [sensor.quantities() for sensor in group.sensors]
        self._noise: Callable[[FloatArray], FloatArray] | None = None
        if quantities[0]:
            streams = [stream(seed, name, group.kind) for name in group.names]
            self._noise = NoiseBank(quantities, streams, group.rate).read

    def measure(self, time_ns: int, state: FrameState) -> None:
        measured = self._measure(state.rows(self._rows))
        if self._noise is not None:
            measured = self._noise(measured)
        self.schedule.took((time_ns, self._report(measured)))

    def told(self, step: int) -> Batch:
        group = self._group
        return batch_of(group.kind, group.names, len(group.type.channels), self.schedule.out(step))
