"""The parameters of sensors, declared once as dataclass fields: for world files, documentation and errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, cast

from sim_node.text import did_you_mean
from sim_node.world.model import Sensor
from sim_node.world.problems import Place, Problem, quoted, shortened, shown_key
from sim_node.world.readers import keys
from sim_node.world.readers.keys import Form, Keys

PERFECT = "none"
NAMES = "names"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Spec:
    """The unit, meaning and range of a field: in [low, high], and greater than above."""

    unit: str
    meaning: str
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf

    def allows(self, number: float) -> bool:
        """Return whether a number is in the range."""
        return self.low <= number <= self.high and number > self.above

    def allowed(self) -> str:
        """Return the range in words."""
        if self.above > -math.inf:
            return f"above {self.above:g}" + (f", up to {self.high:g}" if self.high < math.inf else "")
        if self.high == math.inf:
            return f"{self.low:g} or more"
        return f"{self.low:g} to {self.high:g}"


def parameter(
    default: float,
    unit: str,
    meaning: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
) -> Any:
    """Declare a number, as a field of a sensor's dataclass. World files set it by the name of the field.

    Args:
        default: Its default.
        unit: Its unit.
        meaning: What it is, in a few words.
        low: Its least value.
        high: Its largest value.
        above: It must be greater than this.

    Returns:
        The field.
    """
    return field(default=default, metadata={"spec": Spec(unit, meaning, low, high, above)})


def whole(default: int, unit: str, meaning: str, *, low: int, high: int) -> Any:
    """Declare an integer, as a field of a sensor's dataclass."""
    return field(default=default, metadata={"spec": Spec(unit, meaning, low, high)})


def listing(meaning: str) -> Any:
    """Declare a list of names in the world, as a field of a sensor's dataclass; empty by default."""
    return field(default=(), metadata={"spec": Spec(NAMES, meaning)})


def group(default: object, unit: str, meaning: str) -> Any:
    """Declare a nested dataclass of parameters, such as a Noise, as a field of a sensor's dataclass.

    Args:
        default: The dataclass with its defaults.
        unit: Replaces "unit" in the units of its parameters.
        meaning: What it is, in a few words.

    Returns:
        The field.
    """
    return field(default=default, metadata={"spec": Spec(unit, meaning)})


def spec_of(part: Any) -> Spec:
    """Return the Spec of a dataclass field."""
    return cast(Spec, part.metadata["spec"])


def keys_of(kind: type[Any]) -> Keys:
    """Return the parameters of a dataclass as keys of world files."""
    return _keys(kind(), "")


def names_in(kind: type[Any]) -> tuple[str, ...]:
    """Return the parameters of a dataclass that list names in the world."""
    return tuple(part.name for part in fields(kind) if spec_of(part).unit == NAMES)


def _keys(default: Any, unit: str) -> Keys:
    forms: dict[str, Form] = {}
    for part in fields(default):
        spec, standing = spec_of(part), getattr(default, part.name)
        # The unit of a group replaces "unit" in the units of its parts.
        of = spec.unit.replace("unit", unit) if unit else spec.unit
        about = spec.meaning + (f" ({of})" if of not in ("", "1") else "")
        if isinstance(standing, int):
            forms[part.name] = keys.whole(about, spec.low, spec.high)
        elif isinstance(standing, float):
            forms[part.name] = keys.number(about, spec.low, spec.high, spec.above)
        elif isinstance(standing, tuple):
            forms[part.name] = keys.listing(about, keys.text(""), least=1)
        else:
            forms[part.name] = keys.either(about, keys.word("", PERFECT), _keys(standing, spec.unit))
    return Keys(forms)


def read(kind: type[_T], mounting: Sensor, problems: list[Problem]) -> _T:
    """Return the sensor of class `kind` that a mounting describes; its faults are added to `problems`."""
    return _read(kind(), mounting.parameters, "", mounting, problems)


def _read(default: _T, given: Mapping[str, Any], prefix: str, mounting: Sensor, problems: list[Problem]) -> _T:
    known = {part.name: part for part in fields(default)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in given.items():
        path = prefix + key
        if key not in known:
            hint = did_you_mean(key, known)
            problems.append(_problem(mounting, path, f"unknown key{hint} (known: {', '.join(known)})", of_key=True))
            continue
        standing = getattr(default, key)
        if isinstance(standing, (float, int)):
            values.update(_number(key, value, type(standing), spec_of(known[key]), path, mounting, problems))
        elif isinstance(standing, tuple):
            values.update(_names(key, value, path, mounting, problems))
        elif isinstance(value, Mapping):
            values[key] = _read(standing, value, f"{path}.", mounting, problems)
        elif value == PERFECT:
            values[key] = type(standing)()
        else:
            message = f"a mapping ({', '.join(part.name for part in fields(standing))}) or {PERFECT} is needed"
            problems.append(_problem(mounting, path, f"{message}, found {_shown(value)}"))
    return replace(default, **values)  # type: ignore[type-var]


def _number(
    key: str, value: object, kind: type[float], spec: Spec, path: str, mounting: Sensor, problems: list[Problem]
) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        problems.append(_problem(mounting, path, f"a number is needed, found {_shown(value)}"))
    elif not math.isfinite(value):
        problems.append(_problem(mounting, path, f"{value} is not a finite number"))
    elif not spec.allows(value):
        unit = "" if spec.unit == "1" or "unit" in spec.unit else f" {spec.unit}"
        hint = _in_radians(value) if spec.unit == "rad" and spec.allows(math.radians(value)) else ""
        problems.append(_problem(mounting, path, f"{value:g} is out of range; allowed: {spec.allowed()}{unit}{hint}"))
    elif kind(value) != value:
        problems.append(_problem(mounting, path, f"a whole number is needed, found {value:g}"))
    else:
        yield key, kind(value)


def _in_radians(degrees: float) -> str:
    return f"; angles are in radians; did you mean {math.radians(degrees):.4g} ({degrees:g} degrees)?"


def _names(
    key: str, value: object, path: str, mounting: Sensor, problems: list[Problem]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, str) for each in value):
        yield key, tuple(value)
    else:
        problems.append(_problem(mounting, path, f"a list of names is needed, found {_shown(value)}"))


def _problem(mounting: Sensor, path: str, message: str, *, of_key: bool = False) -> Problem:
    """Return a fault at the place of a parameter, where a file has it; else under the sensor's name."""
    places = mounting.parameter_places.get(path)
    if places is None:
        return Problem(mounting.place.where, f"{shown_key(mounting.name)}: {path}", message)
    place: Place = places.key if of_key else places.value
    return Problem(place.where, place.key, message)


def fault(mounting: Sensor, path: str, message: str) -> Problem:
    """Return a fault of a parameter that is in its range but does not fit the world; if not given, of the sensor."""
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
