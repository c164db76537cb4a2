"""The parameters of sensors: declared fields, read from the plain data that a world has of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sim_node.text import did_you_mean
from sim_node.world.declared import Declared, given, keys_of, plan_of
from sim_node.world.model import Sensor
from sim_node.world.problems import Place, Problem, quoted, shortened, shown_key
from sim_node.world.quantities import Flag, FrameName, ListOf, Number, PartOf, Text, Whole, Word
from sim_node.world.readers import keys
from sim_node.world.readers.keys import Form, Keys

PERFECT = "none"
# The unit of dimensionless parameters.
_NO_UNIT = {"1": ""}
# Pairs of parameters that bound a range of measurement; the second must exceed the first.
_RANGES = (("range_min", "range_max"), ("near", "far"))
_T = TypeVar("_T")


@dataclass(frozen=True)
class ParameterGroup(PartOf):
    """A nested dataclass of parameters, or `none` for one that has no effect.

    unit: replaces "unit" in the units of its parameters. axes: for a noise, the number of values that have it.
    """

    unit: str = ""
    axes: int = 1

    def form(self, about: str) -> Form:
        """Return the form of the word or the mapping."""
        own = {
            key: spec._replace(unit=spec.unit.replace("unit", self.unit)).form()
            for _, key, spec in plan_of(self.kind).fields
        }
        return keys.either(about, keys.word("", PERFECT), Keys(own))


def parameter(
    default: float,
    unit: str,
    meaning: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
) -> Any:
    """Declare a number as a field of a sensor's dataclass. World files set it by the name of the field.

    Args:
        default: Default value.
        unit: Unit; "1" if it has none.
        meaning: Description in a few words.
        low: Smallest allowed value.
        high: Largest allowed value.
        above: Exclusive lower bound.

    Returns:
        The field.
    """
    return given(Number(low, high, above), meaning, _NO_UNIT.get(unit, unit), default=default)


def whole(default: int, unit: str, meaning: str, *, low: int, high: int) -> Any:
    """Declare an integer as a field of a sensor's dataclass."""
    return given(Whole(low, high), meaning, _NO_UNIT.get(unit, unit), default=default)


def listing(meaning: str) -> Any:
    """Declare a list of names in the world as a field of a sensor's dataclass; empty by default."""
    return given(ListOf(FrameName(), 1), meaning, default=())


def topics() -> Any:
    """Declare the topics of a sensor's messages, which an include puts below its prefix."""
    meaning = "names of its topics, in the order above; by default those below its own name"
    return given(ListOf(Text(1)), meaning, default=())


def group(default: object, unit: str, meaning: str, *, axes: int = 1) -> Any:
    """Declare a nested dataclass of parameters, such as a Noise, as a field of a sensor's dataclass.

    Args:
        default: The dataclass with its defaults.
        unit: Replaces "unit" in the units of its parameters.
        meaning: Description in a few words.
        axes: For a Noise, the number of consecutive measured values that have it.

    Returns:
        The field.
    """
    return given(ParameterGroup(type(default), unit=unit, axes=axes), meaning, unit, default=default)


def axes_of(kind: type[Any], noise: type[Any]) -> dict[str, int]:
    """Return the parameters of a dataclass that are noise, each with the number of values that have it."""
    groups = ((name, spec.holds) for name, _, spec in plan_of(kind).fields)
    return {name: held.axes for name, held in groups if isinstance(held, ParameterGroup) and held.kind is noise}


def units_of(kind: type[Any], noise: type[Any]) -> tuple[str, ...]:
    """Return the unit of each measured value that has a noise of a dataclass, in order."""
    groups = (spec.holds for _, _, spec in plan_of(kind).fields)
    of_noise = (held for held in groups if isinstance(held, ParameterGroup) and held.kind is noise)
    return tuple(held.unit for held in of_noise for _ in range(held.axes))


def names_in(kind: type[Any]) -> tuple[str, ...]:
    """Return the parameters of a dataclass that list names in the world."""
    return tuple(name for name, _, spec in plan_of(kind).fields if _lists(spec.holds, FrameName))


def _lists(holds: Any, kind: type[Any]) -> bool:
    return isinstance(holds, ListOf) and isinstance(holds.item, kind)


def read(kind: type[_T], mounting: Sensor, problems: list[Problem]) -> _T:
    """Return the sensor of class `kind` that a mounting describes, adding its faults to `problems`."""
    return _read(kind(), mounting.parameters, "", mounting, problems)


def _read(default: _T, given: Mapping[str, Any], prefix: str, mounting: Sensor, problems: list[Problem]) -> _T:
    known = plan_of(type(default)).by_key
    values: dict[str, Any] = {}
    for key, value in given.items():
        path = prefix + key
        if key not in known:
            hint = did_you_mean(key, known)
            problems.append(_problem(mounting, path, f"unknown key{hint} (known: {', '.join(known)})", of_key=True))
        elif isinstance(known[key][1].holds, ParameterGroup) and isinstance(value, Mapping):
            values[key] = _read(getattr(default, key), value, f"{path}.", mounting, problems)
        else:
            try:
                values[key] = _converted(value, known[key][1])
            except ValueError as error:
                problems.append(_problem(mounting, path, str(error)))
    made = replace(default, **values)  # type: ignore[type-var]
    for least, most in _RANGES:
        if most in known and least in known and (high := getattr(made, most)) <= (low := getattr(made, least)):
            message = f"{most}, {high:g} m, is not beyond {least}, {low:g} m: nothing would be measured"
            problems.append(fault(mounting, prefix + (most if most in given else least), message))
    return made


def _converted(value: Any, spec: Declared) -> Any:
    """Return a parameter read from plain data. Raises ValueError if it is invalid."""
    holds: Any = spec.holds
    if isinstance(holds, ParameterGroup):
        if value == PERFECT:
            return holds.kind()
        raise ValueError(f"a mapping ({', '.join(keys_of(holds.kind))}) or {PERFECT} is needed, found {_shown(value)}")
    if isinstance(holds, Flag):
        if isinstance(value, bool):
            return value
        raise ValueError(f"true or false is needed, found {_shown(value)}")
    if isinstance(holds, Word):
        for _, message in holds.faults(value):
            raise ValueError(message)
        return value
    if isinstance(holds, ListOf) and isinstance(holds.item, Number):
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"a list of numbers is needed, found {_shown(value)}")
        for _, message in holds.faults(numbers := tuple(_number(each, holds.item, "") for each in value)):
            raise ValueError(message)
        return numbers
    if isinstance(holds, ListOf):
        if isinstance(value, (list, tuple)) and value and all(isinstance(each, str) for each in value):
            for _, message in holds.faults(tuple(value)):
                raise ValueError(message)
            return tuple(value)
        raise ValueError(f"a list of names is needed, found {_shown(value)}")
    return _number(value, holds, spec.unit)


def _number(value: Any, holds: Any, unit_of: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"a number is needed, found {_shown(value)}")
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    for _, message in holds.faults(value):
        unit = "" if "unit" in unit_of else f" {unit_of}".rstrip()
        in_radians = unit_of == "rad" and not any(holds.faults(math.radians(value)))
        raise ValueError(f"{message}{unit}{_in_radians(value) if in_radians else ''}")
    if isinstance(holds, Whole) and value % 1.0:
        raise ValueError(f"a whole number is needed, found {value:g}")
    return int(value) if isinstance(holds, Whole) else float(value)


def _in_radians(degrees: float) -> str:
    return f"; angles are in radians; did you mean {math.radians(degrees):.4g} ({degrees:g} degrees)?"


def _problem(mounting: Sensor, path: str, message: str, *, of_key: bool = False) -> Problem:
    """Return a fault located at a parameter in its file, or else named after the sensor."""
    places = mounting.parameter_places.get(path)
    if places is None:
        return Problem(mounting.place.where, f"{shown_key(mounting.name)}: {path}", message)
    place: Place = places.key if of_key else places.value
    return Problem(place.where, place.key, message)


def fault(mounting: Sensor, path: str, message: str) -> Problem:
    """Return a fault of a parameter that is in range but does not fit the world; of the sensor if it is not given."""
    if path in mounting.parameter_places:
        return _problem(mounting, path, message)
    key = f"{mounting.place.key.removesuffix('.name')}.{path}" if mounting.place.key else f"{mounting.name}: {path}"
    return Problem(mounting.place.where, key, message)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, Mapping):
        return "nothing" if value is None else "a mapping"
    return f"a list of {len(value)}" if isinstance(value, (list, tuple)) else shortened(repr(value))
