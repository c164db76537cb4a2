"""The runs of a campaign, listed in a plan (CSV) or drawn from a specification (TOML)."""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any, NoReturn

from sim_node.extensions.sweep.toml_tables import TomlTable, list_of, number, of_json, one_of, whole
from sim_node.world.problems import Problem, Where, WorldError

_NAME = re.compile(r"(?!\.+$)[\w.+-]+")


@dataclass(frozen=True)
class PlanRow:
    """A run: its name, its seed, the values of its parameters, and its metadata.

    `line` is its line in the plan; 0 for a run that was drawn.
    """

    run_id: str
    seed: int | None
    params: Mapping[str, Any]
    meta: Mapping[str, Any]
    line: int = field(default=0, compare=False)


def read_plan(path: Path) -> list[PlanRow]:
    """Read plan.csv: run_id, seed, param.NAME and meta.NAME of each run. Raises WorldError."""
    rows: dict[str, PlanRow] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            for row in reader:
                cells = {name: value for name, value in row.items() if name and value}
                params, meta = (
                    {name[len(prefix) :]: _cell(value) for name, value in cells.items() if name.startswith(prefix)}
                    for prefix in ("param.", "meta.")
                )
                seed, name = cells.get("seed"), cells.get("run_id", f"run_{len(rows):07}")
                if seed is not None and not seed.isdecimal():
                    refuse(path, reader.line_num, "seed", f"{seed!r} is not a whole number")
                if name in rows or not _NAME.fullmatch(name):
                    refuse(path, reader.line_num, "run_id", f"{name!r} is there twice, or no name of a folder")
                rows[name] = PlanRow(name, None if seed is None else int(seed), params, meta, reader.line_num)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        refuse(path, 0, "", str(error))
    if not rows:
        refuse(path, 0, "", "has no runs")
    return [*rows.values()]


def read_spec(path: Path) -> list[PlanRow]:
    """Read spec.toml, and draw its samples, which are the same as Elodin's. Raises WorldError."""
    table = TomlTable.read(path)
    sampled, simulated, noted = map(table.inner, ("monte_carlo", "sim_sweep", "meta_sweep"))
    table.only()
    samples = _samples(sampled) if sampled.rows else [{}]
    drawn = [*itertools.product(_grid(simulated), samples, _grid(noted))]
    if not drawn:
        table.refuse("has no runs")
    return [
        PlanRow(f"run_{index:07}", index + 1, {**fixed, **sample}, meta)
        for index, (fixed, sample, meta) in enumerate(drawn)
    ]


def write_plan(rows: Sequence[PlanRow], path: Path) -> None:
    """Write runs as plan.csv."""
    params = sorted({name for row in rows for name in row.params})
    meta = sorted({name for row in rows for name in row.meta})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["run_id", "seed", *(f"param.{name}" for name in params), *(f"meta.{name}" for name in meta)])
        for row in rows:
            values = [row.params.get(name, "") for name in params] + [row.meta.get(name, "") for name in meta]
            writer.writerow([row.run_id, "" if row.seed is None else row.seed, *values])


def refuse(path: Path, line: int, key: str, message: str) -> NoReturn:
    """Raise WorldError at a line of a plan, or at the file as a whole."""
    raise WorldError([Problem(Where(str(path), line, 1) if line else Where(str(path)), key, message)])


def _cell(text: str) -> Any:
    """Return the value of a cell: a number, true, false, null, or its text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _samples(table: TomlTable) -> list[dict[str, Any]]:
    count = table.get("n_samples", whole(1), 1)
    method = table.get("method", one_of(("lhs", "random")), "lhs")
    generator = random.Random(table.get("seed", whole(0), None))
    variables = table.inner("variables")
    table.only()
    draws = {name: _distribution(variables.inner(name)) for name in sorted(variables.rows)}
    units: list[list[float]] = [[0.0] * len(draws) for _ in range(count)]
    if method == "random":
        units = [[generator.random() for _ in draws] for _ in range(count)]
    else:
        for column in range(len(draws)):
            strata = [(row + generator.random()) / count for row in range(count)]
            generator.shuffle(strata)
            for row, value in enumerate(strata):
                units[row][column] = value
    return [{name: draw(unit) for (name, draw), unit in zip(draws.items(), row, strict=True)} for row in units]


def _distribution(table: TomlTable) -> Callable[[float], Any]:
    """Return the inverse distribution function, which maps a number in [0, 1) to a value."""
    kind = table.get("dist", one_of(DISTRIBUTIONS), "fixed")
    draw: Callable[[float], Any] = DISTRIBUTIONS[kind](table)
    table.only()
    return draw


def _fixed(table: TomlTable) -> Callable[[float], Any]:
    value = table.get("value", of_json)
    return lambda u: value


def _choice(table: TomlTable) -> Callable[[float], Any]:
    values = table.get("values", _some)
    return lambda u: values[min(int(u * len(values)), len(values) - 1)]


def _some(value: Any) -> list[Any]:
    if not list_of(value):
        raise ValueError("there is nothing to choose from")
    return list_of(of_json(value))


def _range(table: TomlTable) -> tuple[float, float]:
    low, high = (
        table.get(next((name for name in names if name in table.rows), names[0]), number)
        for names in (("min", "lo", "low"), ("max", "hi", "high"))
    )
    return low, high


def _uniform(table: TomlTable) -> Callable[[float], Any]:
    low, high = _range(table)
    return lambda u: low + (high - low) * u


def _loguniform(table: TomlTable) -> Callable[[float], Any]:
    ends = _range(table)
    if min(ends) <= 0.0:
        table.refuse("loguniform needs bounds above zero")
    low, high = map(math.log, ends)
    return lambda u: math.exp(low + (high - low) * u)


def _normal(table: TomlTable) -> Callable[[float], Any]:
    mean, deviation = table.get("mean", number), table.get("std", number)
    return lambda u: mean + deviation * NormalDist().inv_cdf(min(max(u, 1e-12), 1.0 - 1e-12))


DISTRIBUTIONS: Mapping[str, Callable[[TomlTable], Callable[[float], Any]]] = {
    "fixed": _fixed,
    "choice": _choice,
    "uniform": _uniform,
    "loguniform": _loguniform,
    "normal": _normal,
}


def _grid(table: TomlTable) -> list[dict[str, Any]]:
    names = sorted(table.rows)
    values = [table.get(name, lambda value: list_of(of_json(value))) for name in names]
    return [dict(zip(names, each, strict=True)) for each in itertools.product(*values)]
