"""The file with the settings of a campaign: campaign.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim_node.extensions.sweep.delivery import DELIVERED, ParamsDelivery
from sim_node.extensions.sweep.toml_tables import TomlTable, flag, list_of, number, one_of, text, whole
from sim_node.world.problems import Problem

KEPT = ("always", "never", "on-fail")
# Keys of Elodin's campaigns that have no effect here.
WITHOUT_EFFECT = {"": ("rampup",), "resources": ("bind_ip",), "retention": ("compact_run_db",)}
# Elodin's "auto": the in-memory file system of Linux.
MEMORY = Path("/dev/shm")
_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class BuildStep:
    """A command that is run once, before the runs. `cwd` is its folder, `env` has additional environment variables."""

    command: Sequence[str]
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Quality:
    """The pacing requirements of runs in real time, without which their results do not count; see elodin.pacing.

    Attributes:
        max_behind_deadline_frac: The largest fraction of waits whose deadline had already passed; None for any.
        max_real_time_factor: The largest ratio of wall time to simulated time; None for any.
        fail_on_degraded: Whether runs that miss the requirements are errors of the campaign.
    """

    max_behind_deadline_frac: float | None = None
    max_real_time_factor: float | None = None
    fail_on_degraded: bool = False


@dataclass(frozen=True)
class Campaign:
    """The settings of a campaign.

    Attributes:
        workers: The number of concurrent runs; None for the number of cores.
        timeout_s: The longest time of a run, s; None for no limit.
        retries: How often a run that failed is repeated.
        cache_dir: A folder that all runs share.
        scratch_dir: The parent of the folders of runs until they end; None for the folder of the results.
        env: Environment variables of all runs.
        db_port: The port of the first worker's run; None for a free port.
        port_stride: The offset between the ports of two workers.
        ports: Further ports by name; None for a free port.
        params_delivery: The file with the parameters of a run, or None.
        keep_run_db: The runs whose recordings are kept, one of KEPT.
        prune_on_pass: Globs of files to remove from the folder of a run that passed.
        prune_on_fail: Globs of files to remove from the folder of a run that did not pass.
        post_run: A file whose function `post_run` scores each run.
        post_campaign: A file whose function `post_campaign` reports the campaign.
        quality: The pacing requirements of runs in real time.
        continue_on_error: Whether to continue with other runs after one has failed.
        fail_on_run_errors: Whether the command then ends with an error.
        build: Commands to run before the runs.
        notes: Notes about keys of the file that have no effect.
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
    quality: Quality = field(default_factory=Quality)
    continue_on_error: bool = True
    fail_on_run_errors: bool = False
    build: Sequence[BuildStep] = ()
    notes: Sequence[Problem] = ()


def read_campaign(path: Path) -> Campaign:
    """Read campaign.toml. Raises WorldError."""
    table = TomlTable.read(path)
    names = ("resources", "hooks", "retention", "params_delivery", "quality")
    resources, hooks, retention, delivery, quality = map(table.inner, names)
    delivered = ParamsDelivery(
        delivery.get("file", _inside, ParamsDelivery.file),
        delivery.get("format", one_of(DELIVERED), ParamsDelivery.format),
        delivery.get("env_var", text, None),
        delivery.texts("env"),
    )
    ports, plain = resources.inner("ports"), Campaign()
    named = {name: ports.get(name, _port) for name in ports.rows} if "ports" in resources.rows else plain.ports
    campaign = Campaign(
        workers=table.get("workers", whole(1), None),
        timeout_s=table.get("timeout", _duration, None),
        retries=table.get("retries", whole(0), 0),
        cache_dir=table.get("cache_dir", _path, None),
        scratch_dir=table.get("scratch_dir", _scratch, None),
        env=table.texts("env"),
        db_port=resources.get("db_port", _port, plain.db_port),
        port_stride=resources.get("port_stride", whole(1), plain.port_stride),
        ports=named,
        params_delivery=delivered if "params_delivery" in table.rows else None,
        keep_run_db=retention.get("keep_run_db", one_of(KEPT), plain.keep_run_db),
        prune_on_pass=retention.get("prune_on_pass", _globs, ()),
        prune_on_fail=retention.get("prune_on_fail", _globs, ()),
        post_run=hooks.get("post_run", lambda value: _hook(value, path), None),
        post_campaign=hooks.get("post_campaign", lambda value: _hook(value, path), None),
        quality=Quality(
            quality.get("max_behind_deadline_frac", number, None),
            quality.get("max_real_time_factor", number, None),
            quality.get("fail_on_degraded", flag, False),
        ),
        continue_on_error=table.get("continue_on_error", flag, True),
        fail_on_run_errors=table.get("fail_on_run_errors", flag, False),
        build=[_build(each) for each in table.each("build")],
        notes=[
            note for each in (table, resources, retention) for note in each.without_effect(WITHOUT_EFFECT[each.key])
        ],
    )
    for each in (table, resources, hooks, retention, delivery, quality):
        each.only()
    return campaign


def _build(table: TomlTable) -> BuildStep:
    arguments = table.get("args", list_of, [])
    step = BuildStep(
        [table.get("command", text), *map(str, arguments)], table.get("cwd", _path, None), table.texts("env")
    )
    table.only()
    return step


def _path(value: Any) -> Path:
    return Path(text(value))


def _hook(value: Any, campaign: Path) -> Path:
    """Return a file that a campaign names, relative to the current folder or to that of the campaign."""
    for found in (_path(value), campaign.parent / value):
        if found.is_file():
            return found
    raise ValueError(f"there is no file {str(value)!r}, neither here nor beside {campaign.name}")


def _inside(value: Any) -> str:
    """Check and return a path or a glob within the folder of a run."""
    path = _path(value)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{str(path)!r} leads out of the folder of a run")
    if path.name in ("", "**"):
        raise ValueError(f"{value!r} is the folder of a run itself")
    return str(path)


def _globs(value: Any) -> list[str]:
    return [_inside(each) for each in list_of(value)]


def _scratch(value: Any) -> Path | None:
    if not isinstance(value, str):
        raise TypeError(f'"auto", "off" or a folder is needed, found {value!r}')
    if value == "auto":
        return MEMORY if MEMORY.is_dir() else None
    return None if value in ("", "off") else Path(value)


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
