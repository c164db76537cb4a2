"""The timetable of a run: executes events at their steps, applies lasting effects, and logs what happened."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.extensions.scenario.alterations import SENSOR, alteration_of
from sim_node.extensions.scenario.effects import EFFECTS, Lasting
from sim_node.extensions.scenario.events import Event, ScenarioAction, events_of, names_of
from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.plugins import PluginFault
from sim_node.randomness import stream
from sim_node.session.entities import Rejected
from sim_node.session.requests import RequestContext
from sim_node.simulation import Refused, Simulation
from sim_node.simulation.columns import Array, Column, Columns
from sim_node.simulation.sensors.alteration import Alteration
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World, WorldError
from sim_node.world.problems import Problem, RunFailed

if TYPE_CHECKING:
    from sim_node.extensions.scenario.sampling import SignalCondition

_LOG = logging.getLogger("sim_node")
ENGINE = "scenario"
# Exceptions that mean that an action failed. Any other exception is a bug in its code.
FAILURES = (ValueError, LookupError, OSError, TypeError, Rejected, WorldError, Refused, RunFailed, PluginFault)
_NO_LIMIT = math.inf


@dataclass(frozen=True)
class Happened:
    """An entry of the log of events.

    Attributes:
        time_ns: Simulation time, ns.
        event: The name of the event; empty for a manual action.
        text: A line that says what was done.
        error: Whether it failed.
    """

    time_ns: int
    event: str
    text: str
    error: bool = False

    @property
    def line(self) -> str:
        """The event, what it did and whether it failed, without the time."""
        what = f"{self.event}: {self.text}" if self.event else self.text
        return f"{'error: ' * self.error}{what}"

    def __str__(self) -> str:
        return f"{self.time_ns / 1e9:.9g} s: {self.line}"


@dataclass
class Progress:
    """The state of a scenario.

    Attributes:
        known: The names of all events.
        passed: The last completed step.
        due: The steps at which events happen, by event name.
        counts: How often each event has happened.
        holds: The events whose condition held at the last step.
        lasting: The effects in force, in the order in which they began.
        log: What happened so far.
    """

    known: list[str] = field(default_factory=list)
    passed: int = -1
    due: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    holds: list[str] = field(default_factory=list)
    lasting: list[Lasting] = field(default_factory=list)
    log: list[Happened] = field(default_factory=list)


class Timetable:
    """The events of a world, as an engine that moves nothing.

    Attributes:
        events: The events by name.
        progress: The state.
        alterations: The alterations of sensors.
    """

    def __init__(self, world: World, columns: Columns) -> None:
        events = events_of(world)
        self.events: Mapping[str, Event] = dict(zip(names_of(events), events, strict=True))
        self._most = {name: event.most for name, event in self.events.items()}
        self._conditional = {name: event for name, event in self.events.items() if event.when}
        self._start_ns, self._step_ns = world.time.start_ns, world.time.step_ns
        self.alterations: dict[str, Alteration] = {}
        meaning = "what has happened and what lasts, in JSON"
        columns.compute(Column("scenario/progress", None, dtype=np.uint8, meaning=meaning), self._save, self._put)
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset to the start, and draw new times."""
        self.seed, self.progress = seed, Progress(list(self.events))
        for name, event in self.events.items():
            self._schedule(name, event)
        self._alter()

    def step(self, steps: int) -> None:
        """Do nothing."""

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Do nothing."""

    @property
    def due(self) -> float:
        """The next step at which something happens or may happen."""
        progress = self.progress
        if progress.lasting or self.awaited():
            return progress.passed + 1
        return max(min(progress.due.values(), default=_NO_LIMIT), progress.passed + 1)

    def awaited(self) -> list[tuple[str, Event]]:
        """Return the events that await their condition, with their names."""
        counts, due = self.progress.counts, self.progress.due
        return [
            (name, event)
            for name, event in self._conditional.items()
            if name not in due and counts.get(name, 0) < self._most[name]
        ]

    def happen(self, run: Simulation) -> None:
        """Execute the events that are due at the current step of the run, and apply the effects in force."""
        OccurredEvent(run, run.steps).go()

    def step_of(self, time_ns: int) -> int:
        """Return the first step at or after a time."""
        return max(-((self._start_ns - time_ns) // self._step_ns), 0)

    def steps_in(self, duration_ns: int) -> int:
        """Return the number of steps of a duration, rounded up."""
        return -(-duration_ns // self._step_ns)

    def begin(self, lasting: Lasting) -> None:
        """Add an effect, which replaces any effect of the same kind on the same target."""
        self.drop(lasting.kind, lasting.of)
        self.progress.lasting.append(lasting)
        self._alter()

    def drop(self, kind: str, of: str) -> Lasting | None:
        """Remove and return an effect if it is in force."""
        for each in self.progress.lasting:
            if (each.kind, each.of) == (kind, of):
                self.progress.lasting.remove(each)
                self._alter()
                return each
        return None

    def _schedule(self, name: str, event: Event) -> None:
        at_ns = event.at_ns
        if event.between_ns is not None:
            low, high = event.between_ns
            at_ns = round(float(stream(self.seed, name, "scenario").uniform(low, high)))
        elif event.every_ns is not None:
            at_ns = self._start_ns + event.every_ns
        if at_ns is not None and event.is_in_time(at_ns + event.delay_ns):
            self.progress.due[name] = self.step_of(at_ns + event.delay_ns)

    def _alter(self) -> None:
        """Update the alterations of sensors from the effects in force."""
        found: dict[str, list[Lasting]] = {}
        for each in self.progress.lasting:
            if each.kind == SENSOR:
                found.setdefault(each.arguments["sensor"], []).append(each)
        self.alterations.clear()
        for name, some in found.items():
            self.alterations[name] = alteration_of(some, self.seed, self._step_ns)

    def _save(self) -> tuple[Array]:
        return (np.frombuffer(json.dumps(asdict(self.progress)).encode(), np.uint8),)

    def _put(self, saved: Any) -> None:
        found = json.loads(bytes(np.asarray(saved[0], np.uint8)))
        progress = Progress(**found)
        progress.lasting = [Lasting(**each) for each in found["lasting"]]
        progress.log = [Happened(**each) for each in found["log"]]
        # Events added by a change of the world already have times; those of removed events are dropped.
        added = {name: step for name, step in self.progress.due.items() if name not in progress.known}
        progress.due = {name: step for name, step in progress.due.items() if name in self.events}
        progress.due |= {name: step for name, step in added.items() if step > progress.passed}
        progress.known = list(self.events)
        self.progress = progress
        self._alter()


def timetable_of(run: Simulation) -> Timetable:
    """Return the timetable of a run. A world without events gets an empty one for manual actions."""
    found = run.engines.get(ENGINE)
    if found is None:
        run.add(Event(name="by hand"))
        found = run.engines[ENGINE]
    assert isinstance(found, Timetable)
    return found


def happened(run: Simulation) -> tuple[Happened, ...]:
    """Return what has happened in a run so far, in order."""
    found = run.engines.get(ENGINE)
    return tuple(found.progress.log) if isinstance(found, Timetable) else ()


def reason_of(error: Exception) -> str:
    """Return the message of an error, without the quotes that str() adds for a KeyError."""
    return str(error.args[0] if isinstance(error, KeyError) and error.args else error)


class EventSurroundings:
    """The environment of a scenario, apart from the state of its run.

    Attributes:
        context: The executor of requests.
        report: Called with a line of text about what happened.
        conditions: The conditions that events await, by event name.
        last_step: The last completed step.
        event: The event whose action is being executed.
    """

    def __init__(self, run: Simulation) -> None:
        self.context = _bare_context(run)
        self.report: Callable[[str], None] = _LOG.info
        self.conditions: dict[str, SignalCondition] = {}
        self.last_step, self.event = -1, ""


def surroundings_of(run: Simulation) -> EventSurroundings:
    """Return the surroundings of a run's scenario."""
    found = run.beside.get(ENGINE)
    if found is None:
        found = run.beside[ENGINE] = EventSurroundings(run)
    assert isinstance(found, EventSurroundings)
    return found


class OccurredEvent:
    """The events at one step of a run. The timetable is always looked up, because a change of the world replaces it."""

    def __init__(self, run: Simulation, step: int) -> None:
        self._run, self._step = run, step
        self._around = surroundings_of(run)

    def go(self) -> None:
        """Execute the events and effects of the step."""
        table = self._table
        if self._around.last_step + 1 != self._step:  # the run was reset or restored
            for condition in self._around.conditions.values():
                condition.reset()
        self._around.last_step = table.progress.passed = self._step
        due = table.progress.due
        waiting = [name for name in table.events if due.get(name, _NO_LIMIT) <= self._step] if due else []
        waiting += [name for name in self._beginning() if name not in waiting]
        while waiting:
            name = waiting.pop(0)
            waiting += self._let_happen(name)
        self._let_last()

    @property
    def event(self) -> str:
        """The event whose action is being executed; empty for none."""
        return self._around.event

    @property
    def _table(self) -> Timetable:
        return timetable_of(self._run)

    def _beginning(self) -> list[str]:
        """Return the events whose condition begins to hold, after scheduling those with a delay."""
        table, found = self._table, []
        progress = table.progress
        for name, event in table.awaited():
            held, holds = name in progress.holds, self._condition(name, event).evaluate()
            if holds and not held:
                progress.holds.append(name)
                if not event.is_in_time(self._run.time_ns + event.delay_ns):
                    continue
                if event.delay_ns:
                    progress.due[name] = self._step + table.steps_in(event.delay_ns)
                else:
                    found.append(name)
            elif held and not holds:
                progress.holds.remove(name)
        return found

    def _condition(self, name: str, event: Event) -> SignalCondition:
        from sim_node.extensions.scenario.sampling import SignalCondition

        condition = self._around.conditions.get(name)
        if condition is None:
            try:
                condition = self._around.conditions[name] = SignalCondition(self._run, event.when)
            except FormulaError as error:
                place = event.when_place
                raise WorldError([Problem(place.where, place.key or f"scenario[{name}].when", str(error))]) from None
        return condition

    def _let_happen(self, name: str) -> list[str]:
        """Execute an event, and return the names of the events that follow immediately."""
        table = self._table
        progress, event = table.progress, table.events[name]
        progress.due.pop(name, None)
        progress.counts[name] = progress.counts.get(name, 0) + 1
        if event.every_ns is not None and progress.counts[name] < event.most:
            next_ns = self._run.world.time.start_ns + event.every_ns * (progress.counts[name] + 1) + event.delay_ns
            if event.is_in_time(next_ns):
                progress.due[name] = table.step_of(next_ns)
        if not all(self.act(action, name) for action in event.do):
            return []
        table, following = self._table, []
        for other, each in table.events.items():
            if each.after == name and table.progress.counts.get(other, 0) < each.most:
                if not each.is_in_time(self._run.time_ns + each.delay_ns):
                    continue
                if each.delay_ns:
                    table.progress.due[other] = self._step + table.steps_in(each.delay_ns)
                else:
                    following.append(other)
        return following

    def act(self, action: ScenarioAction, name: str) -> bool:
        """Execute an action and log the result. Return whether it succeeded."""
        self._around.event = name
        try:
            done, failed = self._around.context.ask(action.name, **action.given()), False
        except FAILURES as error:
            done, failed = f"{action.name}: {' '.join(reason_of(error).split())}", True
        self._around.event = ""
        self.log(name, done, error=failed)
        return not failed

    def log(self, event: str, text: str, *, error: bool = False) -> None:
        """Add an entry to the log, and report it."""
        entry = Happened(self._run.time_ns, event, text, error)
        self._table.progress.log.append(entry)
        self._around.report(str(entry))

    def _let_last(self) -> None:
        """Apply the effects in force, and end those that are over."""
        for each in list(self._table.progress.lasting):
            over = each.until is not None and each.until <= self._step
            try:
                if over:
                    self._table.drop(each.kind, each.of)
                    EFFECTS[each.kind].end(self._run, each)
                else:
                    EFFECTS[each.kind].apply(self._run, each)
            except FAILURES as error:
                self._table.drop(each.kind, each.of)
                self.log("", f"{each.kind} of {each.of} ended: {reason_of(error)}", error=True)


def _bare_context(run: Simulation) -> RequestContext:
    """Return the executor of requests for a run without a session."""
    from sim_node.mavlink.instances import AutopilotInstances
    from sim_node.session.entity_requests import EntityRequests
    from sim_node.session.resources import Resources
    from sim_node.session.run_requests import RunRequests
    from sim_node.session.structure_requests import StructureRequests
    from sim_node.simulation import Loop

    loop = Loop(run, ())
    entities = EntityRequests(loop)
    structure = StructureRequests(
        loop, entities, Resources(run.world, ()), AutopilotInstances(_LOG.info, bridged=False)
    )
    runs = RunRequests(loop, entities, despawn=structure.despawn, seed=lambda: run.seed, quit=loop.stop)
    return RequestContext(entities, runs, structure, loop)
