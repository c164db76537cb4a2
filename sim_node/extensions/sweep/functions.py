"""Parsing of measures: registered types, and functions in a user's Python file."""

from __future__ import annotations

import hashlib
import re
import sys
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from sim_node.extensions.sweep.case_run import CaseRun
from sim_node.extensions.sweep.job import OWN
from sim_node.extensions.sweep.measures import MEASURES, Measure, Read, Value
from sim_node.extensions.sweep.signals import MeasureFault
from sim_node.plugins import error_line
from sim_node.text import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])
_FUNCTION = re.compile(r"(?P<file>.+\.py)(?::(?P<function>\w+))?")
_NEEDS = "__sim_node_needs__"
_CALL = re.compile(r"(?:(?P<name>[^=<>()\[\]]+)=)?\s*(?P<type>[A-Za-z_]\w*)\s*\((?P<inside>.*)\)\s*", re.DOTALL)


def records(*columns: str, sensors: bool = False) -> Callable[[F], F]:
    """Return a decorator for a measure in Python that declares the columns that it reads over time.

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
        MeasureFault: The text does not describe a measure.
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
    return replace(made, source=kind)


def located(text: str, place: Callable[[str], Path]) -> str:
    """Return a measure with its file at another path.

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
    """Return a measure from a function of a file: the named one, or the one with the file's name.

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

    def read(run: CaseRun) -> Mapping[str, Value]:
        try:
            result = function(run)
        except (Exception, SystemExit) as error:
            raise MeasureFault(error_line(error, module.__name__)) from error
        return result if isinstance(result, Mapping) else {name: result}

    return Measure(name, read, columns=columns, sensors=sensors, source=f"{path}:{name}")


def measured(measure: Measure, read: Read, run: CaseRun, taken: Collection[str]) -> dict[str, Value]:
    """Return the values of a measure by name.

    Args:
        measure: The measure.
        read: Reads its values.
        run: The run.
        taken: Names of the varied numbers and of the values of other measures.

    Returns:
        The values, as built-in Python types.

    Raises:
        MeasureFault: One is not a number, truth value, text or None, or has the name of another column.
        PluginFault: The same, of a measure that a plug-in added.
    """
    with MEASURES.blaming(measure.source, MeasureFault):
        found = read(run)
    if not isinstance(found, Mapping):
        _refuse(measure, f"a mapping of values by name is needed, found {found!r:.60}")
    values: dict[str, Value] = {}
    for key, value in found.items():
        if key in OWN:
            _refuse(measure, f"a value has the name {key!r}, which each row has already ({', '.join(OWN)})")
        if key in taken:
            _refuse(measure, f"a value has the name {key!r}, which is that of a varied number or another measure")
        if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
            value = value.item()
        if value is not None and not isinstance(value, (bool, int, float, str)):
            _refuse(measure, f"returned {value!r:.60}; a number, a text, or a mapping of them is needed")
        values[str(key)] = value
    return values


def _refuse(measure: Measure, message: str) -> NoReturn:
    if measure.source in MEASURES:
        MEASURES.refuse(measure.source, f"{measure.name}: {message}", measure.read)
    raise MeasureFault(f"{measure.source}: {message}")


def _imported(path: Path) -> types.ModuleType:
    """Import a file as a module, once for each version of its contents."""
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
        if isinstance(error, (Exception, SystemExit)):
            raise MeasureFault(f"{path}: {error_line(error, name)}") from None
        raise
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module
