"""Measures: what a sweep records of each case, by name. To add one, register it with `@measure`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.extensions.sweep.signals import POSE, MeasureFault, condition, signal
from sim_node.registry import Registry
from sim_node.text import did_you_mean

if TYPE_CHECKING:
    from sim_node.extensions.sweep.case_run import CaseRun
    from sim_node.simulation import Simulation

# The value of a measure: a number, a boolean, a string, or None if there is nothing to measure.
Value = float | int | bool | str | None
# Reads the values by name from a finished run.
Read = Callable[["CaseRun"], Mapping[str, Value]]


@dataclass(frozen=True)
class Measure:
    """A measure of a run.

    Attributes:
        name: Its name among the results, or the prefix of the names of several values.
        read: Returns the values by name, from a finished run.
        columns: The columns that it reads over time.
        sensors: Whether sensors must measure.
        check: Checks that it fits a simulation of the world. Raises MeasureFault.
        watch: Attaches an observer to a simulation, and returns a replacement of `read`; or None.
        of_diverged: Whether it has a value for runs that diverged.
        source: Its type in MEASURES, or FILE.py:FUNCTION. `measure_of` fills it in.
    """

    name: str
    read: Read
    columns: tuple[str, ...] = ()
    sensors: bool = False
    check: Callable[[Simulation], object] = field(default=lambda simulation: None)
    watch: Callable[[Simulation], Read | None] = field(default=lambda simulation: None)
    of_diverged: bool = False
    source: str = ""


# Makes a measure from its name and the text between its parentheses. Raises MeasureFault.
Maker = Callable[[str, str], Measure]
MEASURES: Registry[str, Maker] = Registry(
    "measure", shipped=("sim_node.extensions.sweep.measures",), group="sim_node.measures"
)
# Decorator that registers a Maker under a name.
measure = MEASURES.add


def _statistic(reduce: Callable[[Any], Any]) -> Maker:
    def make(name: str, inside: str) -> Measure:
        of = signal(inside)
        return Measure(
            name,
            lambda run: {name: float(reduce(run.signal(of)))},
            columns=(of.column,),
            check=lambda simulation: of.reader(simulation.columns),
        )

    return make


measure("min")(_statistic(np.min))
measure("max")(_statistic(np.max))
measure("mean")(_statistic(np.mean))
measure("rms")(_statistic(lambda values: np.sqrt(np.mean(np.square(values)))))
measure("final")(_statistic(lambda values: values[-1]))


@measure("time_to")
def time_to(name: str, inside: str) -> Measure:
    """The first time (s) since the start at which a condition holds; None if it never does."""
    of = condition(inside)

    def read(run: CaseRun) -> Mapping[str, Value]:
        holds = of.holds(run.signal(of.signal))
        first = int(np.argmax(holds))
        return {name: float(run.times[first] - run.times[0]) if holds[first] else None}

    return Measure(
        name, read, columns=(of.signal.column,), check=lambda simulation: of.signal.reader(simulation.columns)
    )


@measure("final_pose")
def final_pose(name: str, inside: str) -> Measure:
    """The pose of a frame in the fixed frame at the end: seven values, NAME.x to NAME.qw."""

    def check(simulation: Simulation) -> None:
        if inside not in simulation.frames.names:
            raise MeasureFault(f"{name}: no frame {inside!r}{did_you_mean(inside, simulation.frames.names)}")

    def read(run: CaseRun) -> Mapping[str, Value]:
        return {f"{name}.{part}": float(value) for part, value in zip(POSE, run.final_pose(inside), strict=True)}

    return Measure(name, read, check=check)


@measure("divergence")
def divergence(name: str, inside: str) -> Measure:
    """The time (s) since the start by which the run had diverged; None if it did not."""
    if inside:
        raise MeasureFault(f"{name}: divergence() has nothing between its parentheses")
    return Measure(name, lambda run: {name: run.diverged_at}, of_diverged=True)


@measure("contact")
def contact(name: str, inside: str) -> Measure:
    """The first time (s) since the start at which two bodies, or one and anything, touch; None if they never do."""
    names = [word.strip() for word in inside.split(",")]
    if not 1 <= len(names) <= 2 or not all(names):
        raise MeasureFault(f"{name}: contact(BODY) or contact(BODY, BODY) is needed")

    def watch(simulation: Simulation) -> Read:
        watching = ContactWatch(simulation, names)
        simulation.connect(watching)
        return lambda run: {name: watching.first}

    return Measure(name, lambda run: {name: None}, check=lambda simulation: bodies_of(simulation, names), watch=watch)


def bodies_of(simulation: Simulation, names: list[str]) -> list[int]:
    """Return the MuJoCo ids of bodies. Raises MeasureFault for names that are not bodies."""
    engine: Any = simulation.engines.get("rigid_bodies")
    if engine is None:
        raise MeasureFault(f"contact: world {simulation.world.name!r} has no bodies")
    known = {engine.model.body(index).name: index for index in range(1, engine.model.nbody)}
    # A body without a joint is part of the fixed frame.
    rows = {name: row for row, name in enumerate(simulation.frames.names)}
    for name in names:
        if name not in known and name in rows:
            known[name] = int(engine.compiled.solids[rows[name]])
        if name not in known:
            raise MeasureFault(f"contact: no body {name!r}{did_you_mean(name, known)}")
    return [known[name] for name in names]


class ContactWatch:
    """Observes at each step whether bodies touch.

    Args:
        simulation: The run.
        names: One body, or two that must touch each other.

    Attributes:
        rate: Every step.
        first: The time (s) since the start of the first contact, or None.
    """

    def __init__(self, simulation: Simulation, names: list[str]) -> None:
        self.rate = Fraction(10**9, simulation.world.time.step_ns)
        self.first: float | None = None
        self._bodies = bodies_of(simulation, names)
        engine: Any = simulation.engines["rigid_bodies"]
        self._engine = engine
        self._frame = names[:1]
        self._sense = engine.environment().contact

    def send(self, step: int, time_ns: int) -> None:
        """Check the contacts of a step."""
        if step == 0:
            self.first = None
        if self.first is not None:
            return
        self._sense(self._frame, np.zeros((1, 3)))  # computes the contacts of the current state
        data, model = self._engine.data, self._engine.model
        touching = data.contact.dist <= 0.0
        bodies = model.geom_bodyid[data.contact.geom[touching]]
        found = (bodies == self._bodies[0]).any(axis=1)
        if len(self._bodies) == 2:
            found &= (bodies == self._bodies[1]).any(axis=1)
        if found.any():
            self.first = time_ns * 1e-9

    def receive(self) -> None:
        """Do nothing: there is no answer."""

    def interrupt(self) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Do nothing: nothing is open."""
