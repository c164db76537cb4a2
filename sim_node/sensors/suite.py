"""The Suite: all sensors of a world, read in banks of those that read together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec

import numpy.typing as npt

from sim_node.columns import Array, Columns
from sim_node.sensors.banks import Bank, CameraBank, Group
from sim_node.sensors.camera import CameraType
from sim_node.sensors.context import OPEN_AIR, Environment, SensorContext
from sim_node.sensors.measurements import NO_MEASUREMENTS, Measurements, SensorSubscription
from sim_node.sensors.parameters import fault, read
from sim_node.sensors.registry import SENSORS, SensorType
from sim_node.sensors.truth import DOWN, FrameState
from sim_node.text import did_you_mean
from sim_node.world.model import Sensor, World
from sim_node.world.problems import Problem, WorldError, quoted


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
    `measure`. environment: what else they perceive; gravity: as a FrameState has it. published: what came out last.
    Raises WorldError as groups_of does. Errors inside a plug-in's sensor are raised as PluginFault.
    """

    def __init__(self, world: World, environment: Environment = OPEN_AIR, gravity: npt.ArrayLike = DOWN) -> None:
        self.groups = groups_of(world)
        self.frames = tuple(name for group in self.groups for name in group.names)
        self.state = FrameState.at_rest(len(self.frames), gravity)
        self.published = NO_MEASUREMENTS
        self.due: float = math.inf
        self._banks: list[Bank | CameraBank] = []
        at = 0
        for group in self.groups:
            end = at + len(group.names)
            context = SensorContext(world, group.names, environment)
            bank = CameraBank if issubclass(group.type, CameraType) else Bank
            with SENSORS.blaming(group.kind):
                self._banks.append(bank(group, self.state.rows(slice(at, end)), context))
            at = end
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Go back to step 0, with noise drawn from `seed`."""
        for bank in self._banks:
            with SENSORS.blaming(bank.kind):
                bank.reset(seed)
        self._find_due()

    @property
    def dropped(self) -> int:
        """The pictures that were left out since the last reset."""
        return sum(bank.dropped for bank in self._banks)

    def measure(self, step: int, time_ns: int, *, wait: bool = True) -> None:
        """Measure what is due at a step, of the frames in their state.

        wait: where too many pictures are being drawn; otherwise new ones are dropped.
        """
        for bank in self._banks:
            if bank.schedule.due == step:
                try:
                    bank.measure(time_ns, wait=wait)
                except Exception as error:
                    SENSORS.blame(bank.kind, error)
                    raise
        self._find_due()

    def publish(self, step: int, *, wait: bool = True) -> Measurements:
        """Return what is due to be published by a step and was not yet.

        wait: for pictures that are being drawn; otherwise a later call returns them.
        """
        if self._banks:
            self.published = Measurements(tuple([bank.publish(step, wait=wait) for bank in self._banks]))
        return self.published

    def subscribe(self, name: str) -> SensorSubscription:
        """Return a subscription to one sensor, no camera, from now on. Raises KeyError for an unknown name."""
        for bank in self._banks:
            if isinstance(bank, Bank) and name in bank.names:
                return bank.subscribe(name)
        raise KeyError(f"no sensor {quoted(name)}{did_you_mean(name, self.frames)}")

    def declare(self, columns: Columns) -> None:
        """Declare all that later readings depend on beside the world and its seed, and what was published last.

        Restore it by `reset` with the seed, then by putting the columns back.
        """
        seen: Counter[str] = Counter()
        for place, bank in enumerate(self._banks):
            seen[bank.kind] += 1
            label = bank.kind if seen[bank.kind] == 1 else f"{bank.kind}#{seen[bank.kind]}"
            with SENSORS.blaming(bank.kind):
                columns.compute(bank.columns(label), partial(self._save, place), partial(self._restore, place))

    def _save(self, place: int) -> Sequence[Array]:
        bank = self._banks[place]
        with SENSORS.blaming(bank.kind):
            return bank.save(self.published.batches[place])

    def _restore(self, place: int, saved: Sequence[Array]) -> None:
        bank, batches = self._banks[place], list(self.published.batches)
        with SENSORS.blaming(bank.kind):
            batches[place] = bank.restore(saved)
        self.published = Measurements(tuple(batches))
        self._find_due()

    def _find_due(self) -> None:
        """due: the step of the next reading, infinite where there are no sensors."""
        self.due = min([bank.schedule.due for bank in self._banks], default=math.inf)
