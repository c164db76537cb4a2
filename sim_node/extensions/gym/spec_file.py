"""Specs of environments in YAML files: every fault is reported with its file, line, column and key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim_node.extensions.gym.draws import Draw, draw_of
from sim_node.extensions.gym.interface import (
    Action,
    BodyAction,
    ColumnSignal,
    FrameSignal,
    JointAction,
    JointSignal,
    SensorSignal,
    Signal,
    VehicleAction,
    VehicleSignal,
)
from sim_node.extensions.gym.route import Route
from sim_node.extensions.gym.shipped import find_spec
from sim_node.extensions.gym.spec import Bounds, Spec, Term
from sim_node.text import did_you_mean
from sim_node.world import World
from sim_node.world.load import load
from sim_node.world.locate import LocateError, locate, shipped_worlds
from sim_node.world.problems import Place, WorldError, quoted_path, shown_key
from sim_node.world.readers.files import read_text
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, compose
from sim_node.world.readers.yaml_values import Table, Value, boolean

KEYS = (
    *("environment", "world", "rate", "duration", "signals", "actions", "observation", "reward", "termination"),
    *("success", "vary", "route", "normalised", "diverged", "render"),
)
SIGNALS: dict[str, tuple[type, tuple[str, ...]]] = {
    "frame": (FrameSignal, ("value", "relative_to")),
    "joint": (JointSignal, ("value",)),
    "sensor": (SensorSignal, ("channels",)),
    "vehicle": (VehicleSignal, ("value",)),
    "column": (ColumnSignal, ("entity",)),
}
ACTIONS: dict[str, type] = {"joint": JointAction, "body": BodyAction, "vehicle": VehicleAction}


def load_spec(path: str | Path) -> Spec:
    """Load the spec of an environment.

    Args:
        path: A file, a package:// URI, or the name of a shipped environment.

    Returns:
        The spec, with its world loaded.

    Raises:
        WorldError: Lists every problem with file, line and column.
    """
    file = find_spec(path)
    report = Report(str(file))
    text = read_text(file, report)
    root = compose(text, report) if text is not None else None
    if root is None:
        if not report.errors:
            report.error("is empty; an environment needs at least world, rate, actions, observation and reward")
        raise WorldError(report.errors)
    reading = _Reading(Value(root, report), file)
    try:
        spec = reading.spec()
    except WorldError as error:
        raise WorldError([*report.errors, *error.problems]) from None
    return spec


class _Reading:
    """Reads one file. Faults go to its report; `spec` raises them."""

    def __init__(self, root: Value, file: Path) -> None:
        self._report, self._file = root.report, file
        self._table = root.table(KEYS, required=("world", "rate", "actions", "observation", "reward"))
        self._places: dict[str, Place] = {}

    def spec(self) -> Spec:
        """Return the spec. Raises WorldError."""
        table = self._table
        for key in KEYS:
            if (value := table.get(key)) is not None:
                self._places[key] = value.place
        render = table.get("render")
        picture = render.table(("camera", "follow", "size")) if render else None
        fields: dict[str, Any] = {
            "name": self._text("environment", self._file.stem),
            "signals": dict(self._each("signals", self._signal)),
            "actions": dict(self._each("actions", self._action)),
            "observation": self._observation(),
            "reward": self._reward(),
            "termination": self._term("termination"),
            "success": self._term("success"),
            "rate": self._number("rate", 50.0),
            "duration": self._number("duration", 10.0),
            "diverged": self._number("diverged", 0.0),
            "variations": dict(self._each("vary", self._draw)),
            "route": self._route(),
            "normalised": boolean(table, "normalised", True),
            "camera": _text_of(picture, "camera"),
            "follow": _text_of(picture, "follow"),
            "places": self._places,
        }
        size = picture.get("size") if picture else None
        pixels = size.vector(2, 8192) if size else None
        if pixels is not None:
            fields["size"] = int(pixels[0]), int(pixels[1])
        world = self._world()
        if self._report.errors or world is None:
            raise WorldError(self._report.errors)
        return Spec(world=world, **fields)

    def _world(self) -> World | None:
        value = self._table.get("world")
        name = value.text() if value else ""
        if value is None or not name:
            return None
        beside = self._file.resolve().parent / name
        try:
            # A world beside the file, else a shipped one.
            path = beside if beside.is_file() and not name.startswith("package://") else locate(name)
            if path.suffix == ".py":
                raise LocateError(
                    f"{quoted_path(name)} would run as a program; load it in Python, with replace(spec, world=...)"
                )
            return load(path)
        except LocateError as error:
            near = did_you_mean(name, shipped_worlds()) if "did you mean" not in str(error) else ""
            value.error(f"{error}{near}")
        except WorldError as error:
            self._report.errors.extend(error.problems)
        return None

    def _each(self, key: str, read: Callable[[str, Value], Any]) -> list[tuple[str, Any]]:
        """Return what is read of each entry of the mapping under a key; entries with faults are left out."""
        value = self._table.get(key)
        found = []
        for name, _, entry in () if value is None else value.named():
            self._places[f"{key}.{name}"] = entry.place
            errors = len(self._report.errors)
            read_entry = read(name, entry)
            if len(self._report.errors) == errors:
                found.append((name, read_entry))
        return found

    def _signal(self, name: str, value: Value) -> Signal | None:
        if isinstance(value.node, Scalar):
            return value.node.text
        kind = self._kind(value, SIGNALS)
        if kind is None:
            return None
        type_, keys = SIGNALS[kind]
        table = value.table((kind, *keys))
        fields: dict[str, Any] = {kind: _text_of(table, kind), "place": value.place}
        for key in keys:
            entry = table.get(key)
            if entry is not None:
                fields[key] = tuple(each.text() for each in entry.items()) if key == "channels" else entry.text()
        signal: Signal = type_(**fields)
        return signal

    def _action(self, name: str, value: Value) -> Action | None:
        kind = self._kind(value, ACTIONS)
        if kind is None:
            return None
        table = value.table((kind, "value", "low", "high"), required=("value", "low", "high"))
        limits = {key: self._limits(entry) for key in ("low", "high") if (entry := table.get(key)) is not None}
        if len(limits) < 2:
            return None
        action: Action = ACTIONS[kind](
            **{kind: _text_of(table, kind)}, value=_text_of(table, "value"), place=value.place, **limits
        )
        return action

    def _kind(self, value: Value, kinds: Any) -> str | None:
        """Return which of the kinds a mapping is of: the one that it has as a key."""
        if not isinstance(value.node, Mapping):
            value.error(f"a mapping with one of {', '.join(kinds)} is needed, found {value.found()}")
            return None
        given: list[str] = [kind for kind in kinds if kind in value.node.entries]
        if len(given) != 1:
            keys = list(value.node.entries)
            near = next((hint for key in keys if (hint := did_you_mean(key, kinds))), "") if not given else ""
            value.error(
                f"one of {', '.join(kinds)} is needed, found {', '.join(map(shown_key, keys)) or 'nothing'}{near}"
            )
            return None
        return given[0]

    def _limits(self, value: Value) -> float | tuple[float, ...]:
        return value.number() if isinstance(value.node, Scalar) else tuple(each.number() for each in value.items())

    def _observation(self) -> dict[str, Bounds]:
        value = self._table.get("observation")
        if value is None:
            return {}
        if isinstance(value.node, Mapping):
            return dict(self._each("observation", self._bounds))
        names: dict[str, Bounds] = {}
        for each in value.items():
            name = each.text()
            names[name] = None
            self._places[f"observation.{name}"] = each.place
        return names

    def _bounds(self, name: str, value: Value) -> Bounds:
        if isinstance(value.node, Scalar):
            return None if value.found() == "nothing" else value.number(0.0)
        numbers = value.vector(2)
        if numbers is not None and not numbers[0] < numbers[1]:
            value.error(f"{numbers[0]:g} is not below {numbers[1]:g}")
        return None if numbers is None else (numbers[0], numbers[1])

    def _reward(self) -> dict[str, Term]:
        value = self._table.get("reward")
        if value is None:
            return {}
        if isinstance(value.node, Mapping):
            return dict(self._each("reward", lambda name, entry: self._expression(entry)))
        self._places["reward.reward"] = value.place
        return {"reward": self._expression(value)}

    def _term(self, key: str) -> Term | None:
        value = self._table.get(key)
        return None if value is None else self._expression(value)

    def _expression(self, value: Value) -> str:
        if isinstance(value.node, Scalar):
            return value.node.text
        value.error(f"an expression is needed, found {value.found()}")
        return ""

    def _draw(self, path: str, value: Value) -> Draw | None:
        if not isinstance(value.node, Scalar):
            value.error(f"a distribution such as uniform(1, 2) is needed, found {value.found()}")
            return None
        try:
            return draw_of(path, value.node.text, value.place)
        except WorldError as error:
            self._report.errors.extend(error.problems)
            return None

    def _route(self) -> Route | None:
        value = self._table.get("route")
        if value is None:
            return None
        table = value.table(("frame", "count", "low", "high", "radius"), required=("frame", "count", "low", "high"))
        low, high = ((entry.vector(3) if (entry := table.get(key)) else None) for key in ("low", "high"))
        count, radius = table.get("count"), table.get("radius")
        if low is None or high is None or count is None:
            return None
        return Route(
            _text_of(table, "frame"),
            int(count.number(1, 1000)),
            (low[0], low[1], low[2]),
            (high[0], high[1], high[2]),
            radius.number(1e-6) if radius else 0.5,
            value.place,
        )

    def _text(self, key: str, default: str) -> str:
        value = self._table.get(key)
        return default if value is None else value.text()

    def _number(self, key: str, default: float) -> float:
        value = self._table.get(key)
        return default if value is None else value.number()


def _text_of(table: Table | None, key: str) -> str:
    value = table.get(key) if table else None
    return value.text() if value else ""
