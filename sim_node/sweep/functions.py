"""Measures from their texts: registered ones, and functions of a user's Python file."""

from __future__ import annotations

import hashlib
import re
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sim_node.plugins import error_line
from sim_node.sweep.case_run import Run
from sim_node.sweep.measures import MEASURES, Measure, Value
from sim_node.sweep.signals import MeasureFault
from sim_node.text import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])
_FUNCTION = re.compile(r"(?P<file>.+\.py)(?::(?P<function>\w+))?")
_NEEDS = "__sim_node_needs__"
_CALL = re.compile(r"(?:(?P<name>[^=<>()\[\]]+)=)?\s*(?P<type>[A-Za-z_]\w*)\s*\((?P<inside>.*)\)\s*", re.DOTALL)


def records(*columns: str, sensors: bool = False) -> Callable[[F], F]:
    """Return a decorator for a measure in Python: which columns it reads over time.

    Args:
        columns: Names of columns, such as "pose".
        sensors: Whether sensors must measure.

    Returns:
        The decorator.
    """

    def mark(function: F) -> F:
        setattr(function, _NEEDS, (columns, sensors))
        return function

    return mark


def measure_of(text: str) -> Measure:
    """Return the measure that a text describes.

    Args:
        text: `TYPE(...)` or `NAME=TYPE(...)` with a type of MEASURES, or `FILE.py` or `FILE.py:FUNCTION`.

    Returns:
        The measure.

    Raises:
        MeasureFault: The text describes none.
    """
    call = _CALL.fullmatch(text.strip())
    if call is None:
        if _FUNCTION.fullmatch(text):
            return measure_in_file(text)
        known = ", ".join(f"{name}(...)" for name in MEASURES)
        raise MeasureFault(f"{text!r} is not a measure; allowed: {known}, FILE.py, FILE.py:FUNCTION")
    kind = call["type"]
    if kind not in MEASURES:
        raise MeasureFault(f"{text}: no measure {kind!r}{did_you_mean(kind, MEASURES)} (known: {', '.join(MEASURES)})")
    name = (call["name"] or f"{kind}({call['inside'].strip()})").strip()
    with MEASURES.blaming(kind, MeasureFault):
        made = MEASURES[kind](name, call["inside"].strip())
    MEASURES.expect(kind, made, Measure, "a Measure")
    return made


def located(text: str, place: Callable[[str], Path]) -> str:
    """Return a measure with its file elsewhere.

    Args:
        text: The measure.
        place: Returns the new path of a file.

    Returns:
        The measure; unchanged if it is not FILE.py or FILE.py:FUNCTION.
    """
    found = _FUNCTION.fullmatch(text)
    if found is None or "(" in text:
        return text
    return str(place(found["file"])) + (f":{found['function']}" if found["function"] else "")


def measure_in_file(text: str) -> Measure:
    """Return a measure by a function of a file: the named one, or the one with the file's name.

    Args:
        text: FILE.py or FILE.py:FUNCTION.

    Returns:
        The measure. A mapping gives a value for each key; anything else is one value with the function's name.

    Raises:
        MeasureFault: The file cannot be imported, or has no such function.
    """
    found = _FUNCTION.fullmatch(text)
    assert found is not None
    path = Path(found["file"])
    module = _imported(path)
    name = found["function"] or path.stem
    function = getattr(module, name, None)
    if not callable(function):
        own = [key for key, value in vars(module).items() if isinstance(value, types.FunctionType)]
        raise MeasureFault(f"{path}: no function {name!r}{did_you_mean(name, own)}; name one: {path}:FUNCTION")
    columns, sensors = getattr(function, _NEEDS, ((), False))

    def read(run: Run) -> Mapping[str, Value]:
        try:
            result = function(run)
        except Exception as error:
            raise MeasureFault(error_line(error, module.__name__)) from error
        values = dict(result) if isinstance(result, Mapping) else {name: result}
        return {str(key): plain(value, f"{path}:{name}") for key, value in values.items()}

    return Measure(name, read, columns=columns, sensors=sensors)


def plain(value: object, owner: str) -> Value:
    """Return a number, truth value, text or None of a measure, as Python's own.

    Args:
        value: The value, which may be NumPy's.
        owner: What gave it, for messages.

    Returns:
        The value.

    Raises:
        MeasureFault: It is something else.
    """
    if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise MeasureFault(f"{owner} returned {value!r:.60}; a number, a text, or a mapping of them is needed")


def _imported(path: Path) -> types.ModuleType:
    """Return the module of a file, imported once for each content."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise MeasureFault(f"{path}: {error.strerror}") from None
    digest = hashlib.sha256(str(path.resolve()).encode() + source).hexdigest()[:16]
    name = f"sim_node_measure_{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        exec(compile(source, str(path), "exec"), vars(module))
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):
            raise MeasureFault(f"{path}: {type(error).__name__}: {error}") from None
        raise
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module
