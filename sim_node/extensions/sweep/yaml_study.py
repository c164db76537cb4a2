"""Studies as YAML files: the key `sweep`, with errors that name file, line and column."""

from __future__ import annotations

import re
from pathlib import Path

from sim_node.extensions.sweep.job import Keep
from sim_node.extensions.sweep.study import MAX_RUNS, Study
from sim_node.extensions.sweep.variations import MAX_SEED, SAMPLINGS, Variation, variation
from sim_node.world import WorldError
from sim_node.world.locate import LocateError, locate
from sim_node.world.problems import Place
from sim_node.world.readers.files import read_text
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import Mapping, Sequence, compose
from sim_node.world.readers.yaml_values import Table, Value, boolean

SUFFIXES = (".yaml", ".yml")
KEY = "sweep"
_KEY = re.compile(rf"^{KEY}\s*:", re.MULTILINE)
KNOWN = ("world", "allow", "duration", "runs", "seed", "sampling", "vary", "measures", "every", "keep")
KEPT = ("topics", "columns", "picture", "failures_only")


def is_study(reference: str) -> bool:
    """Return whether a reference is a YAML file with the key `sweep`, rather than a world."""
    path = Path(reference)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return False
    text = read_text(path, Report(str(path)))
    # Of a file that is not YAML, too: its faults are those of a sweep then.
    return text is not None and _KEY.search(text) is not None


def read_study(path: Path) -> Study:
    """Read a study.

    Args:
        path: A YAML file with the key `sweep`. Files that it names are relative to its folder.

    Returns:
        The study.

    Raises:
        WorldError: Lists every problem with file, line and column.
    """
    report = Report(str(path))
    text = read_text(path, report)
    root = None if text is None else compose(text, report)
    study = None
    if root is not None and not report.errors:
        inside = Value(root, report).table((KEY,), required=(KEY,)).get(KEY)
        if inside is not None:
            study = _study(inside.table(KNOWN, required=("world", "duration")), path)
    if report.errors or study is None:
        raise WorldError(report.errors)
    return study


def _study(table: Table, path: Path) -> Study | None:
    errors = table.value.report.errors
    places: dict[str, Place] = {}
    for key in KNOWN:
        if (value := table.get(key)) is not None:
            places[key] = value.place
    vary = _varied(table.get("vary"))
    measures: list[str] = []
    for value in _items(table.get("measures")):
        places[f"measures[{len(measures)}]"] = value.place
        measures.append(_beside(path, value.text()))
    keep = _kept(table.get("keep"))
    runs, seed = _whole(table, "runs", 1, MAX_RUNS), _whole(table, "seed", 0, MAX_SEED)
    duration, every = _seconds(table, "duration"), _seconds(table, "every")
    sampling = table.choice("sampling", SAMPLINGS, SAMPLINGS[0])
    world = table.get("world")
    reference = "" if world is None else world.text()
    if world is not None and reference:
        reference = _beside(path, reference)
        try:
            locate(reference)
        except LocateError as error:
            world.error(str(error))
    allow = tuple(str((path.parent / value.text()).resolve()) for value in _items(table.get("allow")))
    if errors or duration is None:
        return None
    return Study(reference, duration, vary, runs, seed or 0, sampling, tuple(measures), every, keep, allow, places)


def _varied(value: Value | None) -> tuple[Variation, ...]:
    """Read the mapping of key paths to values: a text, a number, or a list of numbers."""
    found = []
    for path, _, at in () if value is None else value.named("of key paths to values"):
        if isinstance(at.node, Sequence):
            numbers = [item.number() for item in at.items()]
            text = ",".join(f"{number:.17g}" for number in numbers)
        elif isinstance(at.node, Mapping):
            at.error("a list of numbers, or a text such as uniform(1, 2), is needed, found a mapping")
            continue
        else:
            text = at.node.text
        try:
            found.append(variation(path, text, at.place))
        except WorldError as error:
            at.report.errors.extend(error.problems)
    return tuple(found)


def _kept(value: Value | None) -> Keep:
    if value is None:
        return Keep()
    table = value.table(KEPT)
    topics, columns = (tuple(item.text() for item in _items(table.get(key))) for key in KEPT[:2])
    return Keep(topics, columns, boolean(table, "picture", False), boolean(table, "failures_only", False))


def _items(value: Value | None) -> list[Value]:
    return [] if value is None else list(value.items())


def _whole(table: Table, key: str, low: int, high: int) -> int | None:
    value = table.get(key)
    if value is None:
        return None
    number = value.number(low, high, low)
    if number != int(number):
        value.error(f"a whole number is needed, found {value.found()}")
    text = getattr(value.node, "text", "")
    return int(text) if text.isdecimal() else int(number)


def _seconds(table: Table, key: str) -> float | None:
    value = table.get(key)
    return None if value is None else value.number(1e-9, 1e9)


def _beside(path: Path, reference: str) -> str:
    """Return the path of a file beside another if there is one, else the reference itself."""
    file, colon, function = reference.partition(".py:")
    beside = path.parent / (f"{file}.py" if colon else reference)
    return str(beside) + (f":{function}" if colon else "") if reference and beside.is_file() else reference
