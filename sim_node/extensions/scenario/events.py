"""Events of a run: the section `scenario` of world files, whose events have a trigger and actions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.text import did_you_mean, shown
from sim_node.world.declared import BAD, Fault, declared, given, place_of, rule
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, KeyPlace, Place, Problem, WorldError
from sim_node.world.quantities import Pair, Plain, Text, Time, Whole
from sim_node.world.readers.keys import Form, by_name, either, listing
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import Sequence
from sim_node.world.readers.yaml_section import listed
from sim_node.world.readers.yaml_values import Value, read_parameters
from sim_node.world.writers.values import plain

TRIGGERS = ("at", "between", "every", "when", "after")
# Requests that are not allowed as actions, because they control the run itself.
NOT_ACTIONS = ("step", "reset", "load", "unload")
# The key of a value that is given instead of a mapping of arguments.
_ALONE = ""
_MAX_TIMES = 10**9


@dataclass(frozen=True)
class ScenarioAction:
    """An action in a run: a request and its arguments.

    Attributes:
        name: The request; see `sim_node.simulation.requests.REQUESTS`.
        arguments: Its arguments by name; an argument with an empty name is the first.
        place: The location of the name in the file.
        places: The location of each argument.
    """

    name: str
    arguments: Mapping[str, Any]
    place: Place = NO_PLACE
    places: Mapping[str, KeyPlace] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScenarioAction) and (self.name, self.arguments) == (other.name, other.arguments)

    def __hash__(self) -> int:
        return hash(self.name)

    def given(self) -> dict[str, Any]:
        """Return the arguments in the form that the request needs. Raises KeyError (unknown action) and ValueError."""
        from sim_node.simulation.requests import REQUESTS  # here, because other worlds do not need requests

        request = REQUESTS[self.name]
        found = {name: value for name, value in self.arguments.items() if value is not None}
        if _ALONE in found:
            if not request.arguments:
                raise ValueError(f"{self.name} has no arguments")
            found = {request.arguments[0].name: found[_ALONE]}
        for each in request.arguments:
            value = found.get(each.name)
            if isinstance(value, float) and each.kind is int and value.is_integer():
                found[each.name] = int(value)
            elif isinstance(value, float) and each.kind == list[float]:
                found[each.name] = [value]
        return request.checked(found)


class Actions(Plain):
    """Actions: a mapping of their names to arguments, or a list of such mappings."""

    def form(self, about: str) -> Form:
        """Return the form of the mapping, or of the list."""
        return either(about, _actions, listing("", _actions))

    def read(self, value: Value, context: Any) -> Any:
        """Read actions. Their arguments are checked together with the world."""
        before = len(value.report.errors)
        entries = value.items() if isinstance(value.node, Sequence) else [value]
        found = tuple(action for entry in entries for action in _read(entry))
        if len(value.report.errors) > before:
            return BAD
        if not found:
            value.error("is empty; an event needs an action")
        for action in found:
            value.report.late.append(partial(_action_problems, action, lambda at, _, message: at.problem(message)))
        return found

    def settled(self, found: Any, owner: str, key: str) -> tuple[ScenarioAction, ...]:
        """Return a tuple."""
        return (found,) if isinstance(found, ScenarioAction) else tuple(found)

    def data(self, found: Any, refer: Any) -> Any:
        """Return a list of mappings."""
        return [{each.name: plain(each.arguments.get(_ALONE, dict(each.arguments)))} for each in found]


class EventCondition(Text):
    """A formula over signals, which is checked together with the world."""

    def read(self, value: Value, context: Any) -> str:
        """Read a text."""
        text = super().read(value, context)
        if text:
            value.report.late.append(partial(_formula_problems, value.place, text))
        return text


def _actions() -> Form:
    from sim_node.simulation.requests import REQUESTS

    return by_name("Actions by name, with their arguments.", {}) | {
        "properties": {
            name: {"description": each.summary} for name, each in REQUESTS.items() if name not in NOT_ACTIONS
        }
    }


def _read(entry: Value) -> Iterator[ScenarioAction]:
    for name, key, value in entry.named("of actions to their arguments"):
        if isinstance(value.node, MappingNode):
            arguments, places = read_parameters(value)
        else:
            holder, _ = read_parameters(entry)
            found = holder[name]
            arguments = {} if found is None else {_ALONE: found}
            places = {_ALONE: KeyPlace(key.place, value.place)}
        yield ScenarioAction(name, arguments, key.place, places)


@declared(at_most_one=tuple((one, other) for k, one in enumerate(TRIGGERS) for other in TRIGGERS[k + 1 :]))
class Event:
    """Something that happens in a run: actions, and when they are done.

    An event without a trigger happens by hand alone.
    """

    name: str = given(Text(), "Its name, for other events, messages and verdicts", default="", omit=True)
    at_ns: int | None = given(Time(0), "When it happens, of simulation time", "s", default=None, key="at")
    between_ns: tuple[int, int] | None = given(
        Pair(Time(0), noun="times"), "When it happens at the earliest and latest, drawn with the run's seed", "s",
        default=None, key="between",
    )  # fmt: skip
    every_ns: int | None = given(
        Time(1), "It happens again and again, for the first time after this period", "s", default=None, key="every"
    )
    when: str = given(
        EventCondition(1), "It happens when this begins to hold, such as altitude(drone) > 20 m", default="", omit=True
    )
    after: str = given(Text(1), "It happens when the event of this name has happened", default="", omit=True)
    delay_ns: int = given(Time(0), "How much later than its trigger", "s", default=0, key="delay", omit=True)
    until_ns: int | None = given(Time(0), "When it does not happen any more", "s", default=None, key="until")
    times: int | None = given(
        Whole(1, _MAX_TIMES), "How often at most; by default once, and of `every` and `after` any number of times",
        default=None,
    )  # fmt: skip
    do: tuple[ScenarioAction, ...] = given(Actions(), "What is done, in order, up to the first that fails", default=())
    place: Place = place_of(default=NO_PLACE)
    when_place: Place = place_of("when", default=NO_PLACE)
    after_place: Place = place_of("after", default=NO_PLACE)

    @rule
    def is_whole(self) -> Iterator[Fault]:
        """Yield keys that are not allowed here."""
        if self.between_ns is not None and self.between_ns[0] > self.between_ns[1]:
            yield "between", "the second time is before the first"

    @property
    def most(self) -> int:
        """The maximum number of times that it happens."""
        repeats = self.every_ns is not None or bool(self.after) or not self.trigger
        return self.times or (_MAX_TIMES if repeats else 1)

    def is_in_time(self, at_ns: int) -> bool:
        """Return whether it may still happen at a time, ns."""
        return self.until_ns is None or at_ns <= self.until_ns

    @property
    def trigger(self) -> str:
        """The key of its trigger; empty if it has none."""
        found = (self.at_ns, self.between_ns, self.every_ns, self.when or None, self.after or None)
        return next((key for key, value in zip(TRIGGERS, found, strict=True) if value is not None), "")


def events_of(world: World) -> tuple[Event, ...]:
    """Return the events of a world."""
    found: tuple[Event, ...] = world.parts.get("scenario", ())
    return found


def missions_of(world: World, events: tuple[Event, ...]) -> Iterator[tuple[ScenarioAction, Path]]:
    """Yield the actions that send a mission file beside the world's file, with the path of the mission."""
    for action in (action for event in events for action in event.do if action.name == "mission"):
        named = action.arguments.get("file", action.arguments.get(_ALONE))
        written = Path(action.place.where.file) if action.place.where.line else next(iter(world.files), None)
        if isinstance(named, str) and written is not None and "://" not in named:
            yield action, written.parent / named


def _mission_faults(path: Path) -> Iterator[str]:
    from sim_node.mavlink.mission.plan import read_plan  # here, because other worlds do not need MAVLink

    try:
        read_plan(path.read_text(encoding="utf-8"), path.name)
    except WorldError as error:
        yield from map(str, error.problems)
    except OSError as error:
        yield f"{path.name}: {error.strerror}"
    except UnicodeDecodeError:
        yield f"{path.name}: not a text"


def names_of(events: tuple[Event, ...]) -> tuple[str, ...]:
    """Return the names of events; those without one are numbered from 1."""
    return tuple(event.name or f"event {number}" for number, event in enumerate(events, 1))


@part("scenario", Event)
class Events(Kind[Event]):
    """Events of a run."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return problems: names that are taken or unknown, and invalid formulas and actions."""
        events = self.parts(world)
        if not events:
            return
        names = names_of(events)
        for index, (event, name) in enumerate(zip(events, names, strict=True)):
            problem = partial(_problem, event, index)
            if name in names[:index]:
                yield problem(NO_PLACE, ".name", f"a second event {shown(name)!r}")
            if event.after and event.after not in names:
                yield problem(
                    event.after_place, ".after", f"no event {shown(event.after)!r}{did_you_mean(event.after, names)}"
                )
            if event.when and (fault := _formula_fault(event.when)):
                yield problem(event.when_place, ".when", fault)
            for action in event.do:
                yield from _action_problems(action, problem)
            for action, path in missions_of(world, (event,)):
                place = (action.places or {}).get("file" if "file" in action.arguments else _ALONE)
                for fault in _mission_faults(path):
                    yield problem(place.value if place else action.place, ".do.mission", fault)

    def remarks(self, world: World) -> Iterator[Problem]:
        """Return remarks on names in actions that the world lacks at its start, unless actions spawn entities."""
        events = self.parts(world)
        actions = [(partial(_problem, event, index), each) for index, event in enumerate(events) for each in event.do]
        if not actions or any(action.name == "spawn" for _, action in actions):
            return
        from sim_node.simulation.requests import REQUESTS, NameOf  # here, because other worlds do not need requests

        known: dict[str, Collection[str]] = {}
        for problem, action in actions:
            given: Mapping[str, Any] = {}
            with suppress(KeyError, ValueError):  # `problems` reports them
                given = action.given()
            for argument in REQUESTS[action.name].arguments if given else ():
                name, holds, places = given.get(argument.name), argument.holds, action.places or {}
                if not isinstance(holds, NameOf) or not name:
                    continue
                if holds.kind not in known:
                    known[holds.kind] = holds.names(world)
                if name not in known[holds.kind]:
                    at = next((places[key].value for key in (argument.name, _ALONE) if key in places), action.place)
                    message = f"no {holds.kind} {shown(name)!r} at the start{did_you_mean(name, known[holds.kind])}"
                    yield problem(at, f".do.{action.name}", message)

    def misfits(self, run: Any) -> Iterator[Problem]:
        """Return problems of conditions: signals that the run does not have, or values known only at its end."""
        for index, event in enumerate(self.parts(run.world)):
            if event.when and (fault := _condition_fault(run, event.when)):
                yield _problem(event, index, event.when_place, ".when", fault)

    def renamed(self, part: Event, rename: Rename) -> None:
        """Return None, because the file that is run defines the events."""


def _problem(event: Event, index: int, at: Place, below: str, message: str) -> Problem:
    """Return a problem of an event, at a location if there is one, or else at the event."""
    key = at.key or (event.place.key or f"scenario[{index}]") + below
    return Problem(at.where if at.where.line else event.place.where, key, message)


def _formula_fault(text: str) -> str:
    # Here: other worlds do without signals.
    from sim_node.extensions.scenario.signals import formula

    try:
        formula(text)
    except FormulaError as error:
        return str(error)
    return ""


def _formula_problems(place: Place, text: str) -> Iterator[Problem]:
    if fault := _formula_fault(text):
        yield place.problem(fault)


def _condition_fault(run: Any, text: str) -> str:
    from sim_node.extensions.scenario.sampling import SignalCondition

    try:
        SignalCondition(run, text).close()
    except FormulaError as error:
        return str(error)
    return ""


def _action_problems(action: ScenarioAction, problem: Any) -> Iterator[Problem]:
    from sim_node.simulation.requests import REQUESTS

    known = [name for name in REQUESTS if name not in NOT_ACTIONS]
    if action.name not in known:
        hint = did_you_mean(action.name, known)
        yield problem(action.place, ".do", f"no action {shown(action.name)!r}{hint} (known: {', '.join(known)})")
        return
    try:
        action.given()
    except ValueError as error:
        places = action.places or {}
        named = next((name for name in places if str(error).startswith(f"{name}: ")), _ALONE)
        at, message = (places[named], str(error).removeprefix(f"{named}: ")) if named else (None, str(error))
        unknown = next((pair for name, pair in places.items() if f" has no '{name}'" in str(error)), None)
        alone = places.get(_ALONE)
        where = at.value if at else unknown.key if unknown else alone.value if alone else action.place
        yield problem(where, f".do.{action.name}", message)


listed("scenario", "What happens in a run: events with a trigger and actions.", Event, sets=True)
