"""What the keys of spec files hold: the world, signals and actions of a kind each, expressions, draws, limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sim_node.extensions.gym.draws import draw_of
from sim_node.extensions.gym.expressions import Quantity
from sim_node.extensions.gym.interface import (
    BodyAction,
    ColumnSignal,
    FrameSignal,
    JointAction,
    JointSignal,
    SensorSignal,
    VehicleAction,
    VehicleSignal,
)
from sim_node.text import did_you_mean
from sim_node.world.declared import BAD, read
from sim_node.world.load import load
from sim_node.world.locate import LocateError, locate, shipped_worlds
from sim_node.world.problems import WorldError, quoted_path, shown_key
from sim_node.world.quantities import Other
from sim_node.world.readers import keys
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_values import Value

# A number from the values of all signals and actions by name.
Function = Callable[[Mapping[str, Quantity]], float]
# A term or condition: an expression, or in Python a function.
Term = str | Function
Bounds = float | tuple[float, float] | None
_SIGNALS: dict[str, type] = {
    "frame": FrameSignal,
    "joint": JointSignal,
    "sensor": SensorSignal,
    "vehicle": VehicleSignal,
    "column": ColumnSignal,
}
_ACTIONS: dict[str, type] = {"joint": JointAction, "body": BodyAction, "vehicle": VehicleAction}


def _by_name(read_entry: Callable[[str, Value], Any]) -> Other:
    """Return what a field holds that is a mapping of names to values; entries with faults are left out."""

    def entries(value: Value) -> dict[str, Any]:
        found = ((name, read_entry(name, entry)) for name, _, entry in value.named())
        return {name: each for name, each in found if each is not BAD}

    return Other(lambda about: keys.by_name(about, keys.ANYTHING), entries)


def _world(value: Value) -> Any:
    """Read the world that a spec names: a file beside it, else a shipped one."""
    errors = len(value.report.errors)
    name = value.text()
    if len(value.report.errors) > errors:
        return BAD
    beside = Path(value.report.file).resolve().parent / name
    try:
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
        value.report.errors.extend(error.problems)
    return BAD


def _signal(name: str, value: Value) -> Any:
    """Read a signal: an expression, or a mapping whose first key is its kind."""
    return value.node.text if isinstance(value.node, Scalar) else _of_kind(value, _SIGNALS)


def _action(name: str, value: Value) -> Any:
    """Read an action."""
    return _of_kind(value, _ACTIONS)


def _of_kind(value: Value, kinds: Mapping[str, type]) -> Any:
    """Read a mapping of one of the kinds: the one that it has as a key."""
    if not isinstance(value.node, MappingNode):
        value.error(f"a mapping with one of {', '.join(kinds)} is needed, found {value.found()}")
        return BAD
    entries = value.node.entries
    given = [kind for kind in kinds if kind in entries]
    if len(given) == 1:
        return read(kinds[given[0]], value)
    near = next((hint for key in entries if (hint := did_you_mean(key, kinds))), "") if not given else ""
    value.error(f"one of {', '.join(kinds)} is needed, found {', '.join(map(shown_key, entries)) or 'nothing'}{near}")
    return BAD


def _observation(value: Value) -> dict[str, Bounds]:
    """Read names, or a mapping of names to limits."""
    if not isinstance(value.node, MappingNode):
        return dict.fromkeys(each.text() for each in value.items())
    return {name: _bounds(entry) for name, _, entry in value.named()}


def _bounds(value: Value) -> Bounds:
    if isinstance(value.node, Scalar):
        return None if value.found() == "nothing" else value.number(0.0)
    numbers = value.vector(2)
    if numbers is not None and not numbers[0] < numbers[1]:
        value.error(f"{numbers[0]:g} is not below {numbers[1]:g}")
    return None if numbers is None else (numbers[0], numbers[1])


def _reward(value: Value) -> dict[str, Term]:
    """Read an expression, or a mapping of names to expressions."""
    if not isinstance(value.node, MappingNode):
        return {"reward": _expression(value)}
    return {name: _expression(entry) for name, _, entry in value.named()}


def _expression(value: Value) -> str:
    if isinstance(value.node, Scalar):
        return value.node.text
    value.error(f"an expression is needed, found {value.found()}")
    return ""


def _draw(path: str, value: Value) -> Any:
    """Read what is drawn for a key path."""
    if not isinstance(value.node, Scalar):
        value.error(f"a distribution such as uniform(1, 2) is needed, found {value.found()}")
        return BAD
    try:
        return draw_of(path, value.node.text, value.place)
    except WorldError as error:
        value.report.errors.extend(error.problems)
        return BAD


def _pixels(value: Value) -> Any:
    found = value.vector(2, 8192)
    return BAD if found is None else (int(found[0]), int(found[1]))


WORLD, EXPRESSION = Other(keys.text, _world), Other(keys.text, _expression)
SIGNALS, ACTIONS, DRAWS = map(_by_name, (_signal, _action, _draw))
OBSERVATION, REWARD = (Other(lambda about: keys.ANYTHING, read_each) for read_each in (_observation, _reward))
PIXELS = Other(lambda about: keys.vector(about, 2, 8192), _pixels)
