"""The files of a campaign: which runs there are (a plan in CSV, or a spec in TOML), and how they run (TOML)."""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from typing import Any, NoReturn

from sim_node.text import did_you_mean
from sim_node.world.problems import Problem, Where, WorldError

KEPT = ("always", "never", "on-fail")
# Keys of Elodin's campaigns that have no effect here.
WITHOUT_EFFECT = {
    "": ("rampup", "quality"),
    "resources": ("bind_ip",),
    "retention": ("compact_run_db",),
}
# Where a line of TOML has the name of a table, or a key.
_TABLE, _KEY = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]"), re.compile(r"\s*([\w.\"' -]+?)\s*=")
# Elodin's "auto": memory as a file system, on Linux.
MEMORY = Path("/dev/shm")
_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class PlanRow:
    """A run: its name, its seed, the values of its parameters, and what else is known of it."""

    run_id: str
    seed: int | None
    params: Mapping[str, Any]
    meta: Mapping[str, Any]


def _as_toml(value: Any) -> str:
    """Return a value of JSON in TOML. Raises ValueError for null, which TOML has not."""
    if value is None:
        raise ValueError('is null, for which TOML has no word; deliver the parameters with format = "json"')
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_as_toml(name)} = {_as_toml(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_as_toml, value))}]"
    if isinstance(value, float):
        return repr(value)  # nan and inf, too, are words of TOML
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# Write the parameters of a run.
DELIVERED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "json": lambda params: json.dumps(params, indent=2),
    "toml": lambda params: "".join(f"{_as_toml(name)} = {_as_toml(value)}\n" for name, value in params.items()),
}


@dataclass(frozen=True)
class ParamsDelivery:
    """A file with the parameters of a run, for scripts that do not ask for them.

    In texts, {seed}, {run_id}, {db_path} and {run_dir} stand for those of the run.

    Attributes:
        file: Its path from the folder of the run.
        format: One of DELIVERED.
        env_var: The variable that has its path, or None.
        env: Further variables.
    """

    file: str = "params.json"
    format: str = "json"
    env_var: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Campaign:
    """How the runs of a campaign run.

    Attributes:
        workers: How many run at once; None for as many as the machine has cores.
        timeout_s: The longest time of a run, s; None for no limit.
        retries: How often a run that failed is repeated.
        cache_dir: A folder for what runs share.
        scratch_dir: A folder in which each run has its own until it ends; None for the folder of the results.
        env: Variables of the environment of all runs.
        db_port: The port of a run's own, and of another run that many more; None for a free one.
        port_stride: The distance of the ports of two workers.
        ports: Further ports by name; None for a free one.
        params_delivery: The file with the parameters of a run, or None.
        keep_run_db: Of which runs recordings are kept, one of KEPT.
        prune_on_pass, prune_on_fail: Globs of what is removed from the folder of a run that passed, or did not.
        post_run: A file whose function `post_run` scores each run.
        post_campaign: A file whose function `post_campaign` reports the campaign.
        continue_on_error: Whether runs go on after one has failed.
        fail_on_run_errors: Whether the command then ends with an error.
        build: Commands that are run before.
        notes: What of the file has no effect.
    """

    workers: int | None = None
    timeout_s: float | None = None
    retries: int = 0
    cache_dir: Path | None = None
    scratch_dir: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    db_port: int | None = 2240
    port_stride: int = 20
    ports: Mapping[str, int | None] = field(default_factory=lambda: {"state": None, "command": None})
    params_delivery: ParamsDelivery | None = None
    keep_run_db: str = "always"
    prune_on_pass: Sequence[str] = ()
    prune_on_fail: Sequence[str] = ()
    post_run: Path | None = None
    post_campaign: Path | None = None
    continue_on_error: bool = True
    fail_on_run_errors: bool = False
    build: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()


def read_campaign(path: Path) -> Campaign:
    """Read campaign.toml. Raises WorldError."""
    table = _Table(path, _toml(path))
    inner = ("resources", "hooks", "retention", "params_delivery")
    resources, hooks, retention, delivery = map(table.inner, inner)
    delivered = ParamsDelivery(
        delivery.get("file", _inside, ParamsDelivery.file),
        delivery.get("format", _one_of(DELIVERED), ParamsDelivery.format),
        delivery.get("env_var", str, None),
        {name: str(value) for name, value in delivery.inner("env").rows.items()},
    )
    ports = resources.inner("ports")
    plain = Campaign()
    named = {name: ports.get(name, _port, None) for name in ports.rows} if "ports" in resources.rows else plain.ports
    campaign = Campaign(
        workers=table.get("workers", _whole(1), None),
        timeout_s=table.get("timeout", _duration, None),
        retries=table.get("retries", _whole(0), 0),
        cache_dir=table.get("cache_dir", Path, None),
        scratch_dir=table.get("scratch_dir", _scratch, None),
        env={name: str(value) for name, value in table.inner("env").rows.items()},
        db_port=resources.get("db_port", _port, plain.db_port),
        port_stride=resources.get("port_stride", _whole(1), plain.port_stride),
        ports=named,
        params_delivery=delivered if "params_delivery" in table.rows else None,
        keep_run_db=retention.get("keep_run_db", _one_of(KEPT), plain.keep_run_db),
        prune_on_pass=retention.get("prune_on_pass", _globs, ()),
        prune_on_fail=retention.get("prune_on_fail", _globs, ()),
        post_run=hooks.get("post_run", lambda value: _hook(value, path), None),
        post_campaign=hooks.get("post_campaign", lambda value: _hook(value, path), None),
        continue_on_error=table.get("continue_on_error", _flag, True),
        fail_on_run_errors=table.get("fail_on_run_errors", _flag, False),
        build=[_command(path, each) for each in table.rows.get("build", [])],
        notes=[
            str(Problem(_where(path, key), key, "has no effect here"))
            for each in (table, resources, retention)
            for key in each.notes
        ],
    )
    for each, known in ((table, (*inner, "env", "build")), (resources, ("ports",)), (delivery, ("env",))):
        each.only(known)
    for each in (hooks, retention):
        each.only(())
    return campaign


def read_plan(path: Path) -> list[PlanRow]:
    """Read plan.csv: run_id, seed, param.NAME and meta.NAME of each run. Raises WorldError."""
    rows = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            for number, row in enumerate(csv.DictReader(file)):
                cells = {name: value for name, value in row.items() if name and value}
                params, meta = (
                    {name[len(prefix) :]: _cell(value) for name, value in cells.items() if name.startswith(prefix)}
                    for prefix in ("param.", "meta.")
                )
                seed = cells.get("seed")
                if seed is not None and not seed.isdecimal():
                    _refuse(path, "seed", f"{seed!r} is not a whole number", number + 2)
                rows.append(
                    PlanRow(cells.get("run_id", f"run_{number:07}"), None if seed is None else int(seed), params, meta)
                )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        _refuse(path, "", str(error))
    return _named(path, rows)


def refuse_undeliverable(path: Path, rows: Sequence[PlanRow], campaign: Campaign) -> None:
    """Refuse parameters of a plan that the file which delivers them cannot have. Raises WorldError."""
    if campaign.params_delivery is None:
        return
    write = DELIVERED[campaign.params_delivery.format]
    for number, row in enumerate(rows):
        for name, value in row.params.items():
            try:
                write({name: value})
            except ValueError as error:  # noqa: PERF203  each parameter on its own
                _refuse(path, f"param.{name}", str(error), number + 2)


def read_spec(path: Path) -> list[PlanRow]:
    """Read spec.toml, and draw its samples: the same as Elodin draws. Raises WorldError."""
    root = _toml(path)
    table = _Table(path, root)
    table.only(("monte_carlo", "sim_sweep", "meta_sweep"))
    sampled = _samples(path, _Table(path, root["monte_carlo"], "monte_carlo")) if root.get("monte_carlo") else [{}]
    rows: list[PlanRow] = []
    for fixed, drawn, meta in itertools.product(
        _grid(table.inner("sim_sweep")), sampled, _grid(table.inner("meta_sweep"))
    ):
        number = len(rows)
        rows.append(PlanRow(f"run_{number:07}", number + 1, {**fixed, **drawn}, meta))
    return _named(path, rows)


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


def _samples(path: Path, table: _Table) -> list[dict[str, Any]]:
    count = table.get("n_samples", _whole(1), 1)
    method = table.get("method", _one_of(("lhs", "random")), "lhs")
    generator = random.Random(table.get("seed", _whole(0), None))
    variables = table.inner("variables")
    table.only(("variables",))
    draws = {name: _distribution(path, variables.inner(name)) for name in sorted(variables.rows)}
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


def _distribution(path: Path, table: _Table) -> Callable[[float], Any]:
    """Return what makes a value of a number in [0, 1)."""
    kind = table.get("dist", _one_of(DISTRIBUTIONS), "fixed")
    draw: Callable[[float], Any] = DISTRIBUTIONS[kind](table)
    table.only(())
    return draw


def _fixed(table: _Table) -> Callable[[float], Any]:
    value = table.get("value", lambda value: value)
    return lambda u: value


def _choice(table: _Table) -> Callable[[float], Any]:
    values = table.get("values", _list)
    return lambda u: values[min(int(u * len(values)), len(values) - 1)]


def _range(table: _Table) -> tuple[float, float]:
    low, high = (
        table.get(next((name for name in names if name in table.rows), names[0]), _number)
        for names in (("min", "lo", "low"), ("max", "hi", "high"))
    )
    return low, high


def _uniform(table: _Table) -> Callable[[float], Any]:
    low, high = _range(table)
    return lambda u: low + (high - low) * u


def _loguniform(table: _Table) -> Callable[[float], Any]:
    ends = _range(table)
    if min(ends) <= 0.0:
        _refuse(table.path, table.key, "loguniform needs bounds above zero")
    low, high = map(math.log, ends)
    return lambda u: math.exp(low + (high - low) * u)


def _normal(table: _Table) -> Callable[[float], Any]:
    mean, deviation = table.get("mean", _number), table.get("std", _number)
    return lambda u: mean + deviation * NormalDist().inv_cdf(min(max(u, 1e-12), 1.0 - 1e-12))


DISTRIBUTIONS: Mapping[str, Callable[[_Table], Callable[[float], Any]]] = {
    "fixed": _fixed,
    "choice": _choice,
    "uniform": _uniform,
    "loguniform": _loguniform,
    "normal": _normal,
}


def _grid(table: _Table) -> list[dict[str, Any]]:
    names = sorted(table.rows)
    values = [table.get(name, _list) for name in names]
    return [dict(zip(names, each, strict=True)) for each in itertools.product(*values)]


_NEEDED = object()


class _Table:
    """A table of TOML, whose keys are noted as they are read."""

    def __init__(self, path: Path, rows: Any, key: str = "") -> None:
        self.path, self.key = path, key
        if not isinstance(rows, Mapping):
            _refuse(path, key, f"a table is needed, found {rows!r}")
        self.rows: Mapping[str, Any] = rows
        self.read: set[str] = set()
        self.notes = [self._key(name) for name in WITHOUT_EFFECT.get(key, ()) if name in rows]

    def get(self, name: str, convert: Callable[[Any], Any], default: Any = _NEEDED) -> Any:
        """Return the value of a key. Raises WorldError if it is wrong, or needed and not there."""
        self.read.add(name)
        if name not in self.rows:
            if default is _NEEDED:
                _refuse(self.path, self.key, f"needs {name}")
            return default
        try:
            return convert(self.rows[name])
        except (ValueError, TypeError) as error:
            _refuse(self.path, self._key(name), str(error))

    def inner(self, name: str) -> _Table:
        """Return the table of a key, which may be missing."""
        return _Table(self.path, self.rows.get(name, {}), self._key(name))

    def only(self, tables: Iterable[str]) -> None:
        """Refuse keys that were not read, and are neither tables that are known nor without effect."""
        known = [*sorted(self.read), *tables]
        for name in self.rows:
            if name not in known and name not in WITHOUT_EFFECT.get(self.key, ()):
                there = f"{did_you_mean(name, known)} (known: {', '.join(known)})"
                _refuse(self.path, self._key(name), f"unknown key{there}")

    def _key(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name


def _toml(path: Path) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = import_module("tomllib").loads(path.read_text(encoding="utf-8"))
        return found
    except ModuleNotFoundError:
        _refuse(path, "", "cannot be read: campaigns need Python 3.11 or newer")
    except (OSError, ValueError) as error:
        _refuse(path, "", str(error))


def _named(path: Path, rows: list[PlanRow]) -> list[PlanRow]:
    """Return runs, if there are any, with names of their own that are those of folders. Raises WorldError."""
    if not rows:
        _refuse(path, "", "has no runs")
    seen: set[str] = set()
    for row in rows:
        if row.run_id in seen or not re.fullmatch(r"[\w.+-]+", row.run_id) or set(row.run_id) == {"."}:
            _refuse(path, "run_id", f"{row.run_id!r} is there twice, or no name of a folder")
        seen.add(row.run_id)
    return rows


def _cell(text: str) -> Any:
    """Return a value of a cell: a number, true, false, null, or its text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _hook(value: Any, campaign: Path) -> Path:
    """Return a file that a campaign names, relative to the current folder or to the campaign's."""
    for found in (Path(value), campaign.parent / value):
        if found.is_file():
            return found
    raise ValueError(f"there is no file {str(value)!r}, neither here nor beside {campaign.name}")


def _command(path: Path, given: Any) -> list[str]:
    table = _Table(path, given, "build")
    command = [table.get("command", str), *map(str, table.get("args", _list, []))]
    table.only(())
    return command


def _whole(least: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"a whole number of at least {least} is needed, found {value!r}")
        return value

    return convert


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"a number is needed, found {value!r}")
    return float(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list is needed, found {value!r}")
    return value


def _inside(value: Any) -> str:
    """Return a path or a glob of what is in the folder of a run."""
    if not isinstance(value, str):
        raise TypeError(f"a path is needed, found {value!r}")
    path = Path(value)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{str(path)!r} leads out of the folder of a run")
    if path.name in ("", "**"):
        raise ValueError(f"{value!r} is the folder of a run itself")
    return str(path)


def _globs(value: Any) -> list[str]:
    return [_inside(each) for each in _list(value)]


def _scratch(value: Any) -> Path | None:
    if not isinstance(value, str):
        raise TypeError(f'"auto", "off" or a folder is needed, found {value!r}')
    if value == "auto":
        return MEMORY if MEMORY.is_dir() else None
    return None if value in ("", "off") else Path(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"true or false is needed, found {value!r}")
    return value


def _one_of(known: Iterable[str]) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if value not in known:
            raise ValueError(f"found {value!r}{did_you_mean(str(value), known)}; allowed: {', '.join(known)}")
        return str(value)

    return convert


def _port(value: Any) -> int | None:
    if value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 65536:
        raise ValueError(f'"auto" or a port from 1 to 65535 is needed, found {value!r}')
    return value


def _duration(value: Any) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*", str(value))
    if found is None:
        raise ValueError(f"found {value!r}; a time such as 90s, 500ms, 5m or 1h is needed")
    return float(found[1]) * _UNITS[found[2]]


def _refuse(path: Path, key: str, message: str, line: int = 0) -> NoReturn:
    raise WorldError([Problem(Where(str(path), line, 1) if line else _where(path, key), key, message)])


def _where(path: Path, key: str) -> Where:
    """Return where a file has a key of TOML, or else the table or the line that it is in: the parser does not say."""
    found, table = Where(str(path)), ""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() and key else []
    for number, line in enumerate(lines, 1):
        if header := _TABLE.match(line):
            table = name = re.sub(r"[\s\"']", "", header[1])
        elif given := _KEY.match(line):
            name = re.sub(r"[\s\"']", "", f"{table}.{given[1]}".lstrip("."))
        else:
            continue
        if f"{key}.".startswith(f"{name}."):
            found = Where(str(path), number, len(line) - len(line.lstrip()) + 1)
            if name == key:
                break
    return found
