"""The Suite: all sensors of a world, measured in banks of those that measure together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from types import MappingProxyType
from typing import NamedTuple

import numpy.typing as npt

from sim_node.simulation.columns import Array, Columns
from sim_node.simulation.sensors.alteration import Alteration
from sim_node.simulation.sensors.banks import Bank, CameraBank, Group
from sim_node.simulation.sensors.camera import CameraType
from sim_node.simulation.sensors.context import OPEN_AIR, Environment, SensorContext
from sim_node.simulation.sensors.measurements import NO_MEASUREMENTS, Measurements, SensorSubscription
from sim_node.simulation.sensors.parameters import fault, read
from sim_node.simulation.sensors.registry import SENSORS, SensorType
from sim_node.simulation.sensors.truth import DOWN, FrameState
from sim_node.text import did_you_mean
from sim_node.world.model import Sensor, World
from sim_node.world.problems import Problem, quoted, refuse_any
from sim_node.world.triggers import TOPIC


class SensorRecord(NamedTuple):
    """Access to one sensor of a run.

    Attributes:
        group: The sensors that measure together with it.
        row: Its index in the group.
        bank: The bank of the group, with the measurements published last.
    """

    group: Group
    row: int
    bank: Bank | CameraBank


NO_ALTERATIONS: Mapping[str, Alteration] = MappingProxyType({})
# Divides groups further, so that sensors that did not start together can measure at different steps.
Split = Callable[[Sequence[Group]], tuple[Group, ...]]


def groups_of(world: World) -> tuple[Group, ...]:
    """Return the sensors that a world describes; mountings without a type are only frames.

    Args:
        world: The world.

    Returns:
        Groups of sensors with the same type, rate, latency and shape.

    Raises:
        WorldError: A type or parameter does not exist, is out of range, or does not fit the world; all faults are
            listed.
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
    refuse_any(problems)
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
    if sensor.topics:
        names = [each.topic for each in sensor.messages(mounting.name, world.fixed_frame)]
        if len(sensor.topics) > len(names):
            message = f"{mounting.type} has {len(names)} here, found {len(sensor.topics)}: {', '.join(names)}"
            problems.append(fault(mounting, "topics", message))
        problems += (
            fault(mounting, "topics", f"{quoted(topic)} is no name of a topic")
            for topic in sensor.topics
            if not TOPIC.fullmatch(topic)
        )
    if sensor.needs_package and find_spec(sensor.needs_package) is None:
        package = sensor.needs_package
        message = f"{mounting.type} needs the package {package}, which is not installed: pip install {package}"
        problems.append(fault(mounting, "type", message))
    return problems


class Suite:
    """All sensors of a world. Each measures when it is due.

    Errors inside a plug-in's sensor are raised as PluginFault.

    Args:
        world: The world.
        environment: What sensors perceive besides the motion of their frames; open air by default.
        gravity: Acceleration of free fall (3,) along the fixed frame's axes, m/s².
        split: Divides the groups of sensors further.
        seed: The run's seed, from which all noise is drawn.
        alterations: Alterations of measurements by name of the sensor; the mapping may change during the run.

    Attributes:
        groups: The groups of sensors that measure together.
        banks: The bank of each group.
        alterations: Alterations of measurements by name of the sensor.
        frames: Names of the sensors' frames, in the order of the rows of `state`.
        state: The motion of the sensors' frames; callers fill it before `measure`.
        published: The measurements published last.
        due: The step of the next measurement; infinite without sensors.

    Raises:
        WorldError: As in `groups_of`.
    """

    def __init__(
        self,
        world: World,
        environment: Environment = OPEN_AIR,
        gravity: npt.ArrayLike = DOWN,
        split: Split = tuple,
        seed: int = 0,
        alterations: Mapping[str, Alteration] = NO_ALTERATIONS,
    ) -> None:
        self.groups, self.alterations = split(groups_of(world)), alterations
        self.frames = tuple(name for group in self.groups for name in group.names)
        self.state = FrameState.at_rest(len(self.frames), gravity)
        self.published = NO_MEASUREMENTS
        self.due: float = math.inf
        self.banks: list[Bank | CameraBank] = []
        at = 0
        for group in self.groups:
            end = at + len(group.names)
            context = SensorContext(world, group.names, environment)
            bank = CameraBank if issubclass(group.type, CameraType) else Bank
            with SENSORS.blaming(group.kind):
                self.banks.append(bank(group, self.state.rows(slice(at, end)), context, alterations))
            at = end
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Go back to step 0.

        Args:
            seed: The run's seed, from which all noise is drawn.
        """
        for bank in self.banks:
            with SENSORS.blaming(bank.kind):
                bank.reset(seed)
        self.find_due()

    @property
    def dropped(self) -> int:
        """Number of images that were dropped since the last reset."""
        return sum(bank.dropped for bank in self.banks)

    def measure(self, step: int, time_ns: int, *, wait: bool = True) -> None:
        """Run the measurements that are due at a step, with the motion of frames in `state`.

        Args:
            step: The current step.
            time_ns: Simulation time, ns.
            wait: Whether to wait if too many images are being rendered; otherwise, new ones are dropped.
        """
        due = math.inf
        for bank in self.banks:
            schedule = bank.schedule
            if schedule.due == step:
                try:
                    bank.measure(time_ns, wait=wait)
                except Exception as error:
                    SENSORS.blame(bank.kind, error)
                    raise
            if schedule.due < due:
                due = schedule.due
        self.due = due

    def publish(self, step: int, *, wait: bool = True) -> Measurements:
        """Publish the measurements that are due by a step and have not been published.

        Args:
            step: The current step.
            wait: Whether to wait for images that are being rendered; otherwise, a later call returns them.

        Returns:
            The measurements.
        """
        if self.banks:
            self.published = Measurements(tuple([bank.publish(step, wait=wait) for bank in self.banks]))
        return self.published

    def subscribe(self, name: str) -> SensorSubscription:
        """Subscribe to a sensor.

        Args:
            name: Name of a sensor other than a camera.

        Returns:
            A queue of the sensor's measurements from now on.

        Raises:
            KeyError: There is no such sensor, or it is a camera.
        """
        for bank in self.banks:
            if isinstance(bank, Bank) and name in bank.names:
                return bank.subscribe(name)
        raise KeyError(f"no sensor {quoted(name)}{did_you_mean(name, self.frames)}")

    def records(self) -> dict[str, SensorRecord]:
        """Return access to the newest measurement of each sensor, by name."""
        return {
            name: SensorRecord(group, row, bank)
            for bank, group in zip(self.banks, self.groups, strict=True)
            for row, name in enumerate(group.names)
        }

    def adopt(self, before: Suite) -> None:
        """Take over the subscriptions to the sensors of the previous generation.

        Args:
            before: The suite of that generation.
        """
        present = {name: bank for bank in self.banks if isinstance(bank, Bank) for name in bank.names}
        for bank in before.banks:
            if isinstance(bank, Bank):
                bank.move_subscriptions(present)

    def declare(self, columns: Columns) -> None:
        """Declare the last published measurements, and what later ones depend on besides the world and the seed.

        To restore a run, call `reset` with its seed and then restore the columns.

        Args:
            columns: The columns of the run.
        """
        seen: Counter[str] = Counter()
        for place, bank in enumerate(self.banks):
            seen[bank.kind] += 1
            label = bank.kind if seen[bank.kind] == 1 else f"{bank.kind}#{seen[bank.kind]}"
            with SENSORS.blaming(bank.kind):
                columns.compute(bank.columns(label), partial(self._save, place), partial(self._restore, place))

    def _save(self, place: int) -> Sequence[Array]:
        bank = self.banks[place]
        with SENSORS.blaming(bank.kind):
            return bank.save(bool(len(self.published.batches[place].stamps_ns)))

    def _restore(self, place: int, saved: Sequence[Array]) -> None:
        bank, batches = self.banks[place], list(self.published.batches)
        with SENSORS.blaming(bank.kind):
            batches[place] = bank.restore(saved)
        self.published = Measurements(tuple(batches))
        self.find_due()

    def find_due(self) -> None:
        """Set `due` to the step of the next measurement."""
        self.due = min([bank.schedule.due for bank in self.banks], default=math.inf)
