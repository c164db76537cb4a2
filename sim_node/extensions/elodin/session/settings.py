"""The arguments of World.run and World.build: validation, and their names in other versions of the API."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from sim_node.extensions.elodin.errors import EcsError
from sim_node.text import did_you_mean
from sim_node.world.problems import Where

LOG_LEVELS = ("error", "warn", "info", "debug", "trace")
# Names in later versions of the API: they replace sim_time_step, run_time_step and record_every.
LATER = ("simulation_rate", "generate_real_time", "telemetry_rate")
# Tolerance of the ratio of tick rate to telemetry rate, which must be a whole number.
WHOLE = 1e-9
# Arguments that are accepted because scripts pass them, and why they have no effect.
WITHOUT_EFFECT = {
    "backend": "steps are compiled by JAX",
    "iree_flags": "steps are compiled by JAX",
    "db_path": "an Exec records nothing; save_archive writes its history",
}
_reported: set[str] = set()


@dataclass(frozen=True)
class RunSettings:
    """How a world is run.

    Attributes:
        sim_time_step: The time between two ticks, s.
        run_time_step: The wall time between two ticks, s; None for as fast as possible.
        default_playback_speed: Speed at which a viewer plays the run; 1 is real time.
        max_ticks: The number of ticks to run; None for no limit.
        optimize: No effect: steps are always optimized.
        is_canceled: Called before each tick; the run ends when it returns True. Or None.
        db_path: The folder of the recorded bag, or None.
        interactive: Whether a run in a terminal pauses after `max_ticks`, until Ctrl-C, instead of ending.
        start_timestamp: The start time, us; None for now.
        log_level: The lowest severity of messages that are printed.
        record_every: Record only every N-th tick.
    """

    sim_time_step: float = 1 / 120
    run_time_step: float | None = None
    default_playback_speed: float = 1.0
    max_ticks: int | None = None
    optimize: bool = False
    is_canceled: Callable[[], Any] | None = None
    db_path: Path | None = None
    interactive: bool = True
    start_timestamp: int | None = None
    log_level: str = "info"
    record_every: int = 1

    def say(self, level: str, text: str) -> None:
        """Print a message if its level is severe enough."""
        if LOG_LEVELS.index(level) <= LOG_LEVELS.index(self.log_level):
            print(text, file=sys.stderr, flush=True)

    def mapping(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def settings_of(given: Mapping[str, Any], later: Mapping[str, Any], where: Where, method: str) -> RunSettings:
    """Check arguments.

    Args:
        given: Arguments by the names of RunSettings; None for the default where None has no other meaning.
        later: Arguments with other names.
        where: The line of the call.
        method: The name of the method, for messages.

    Returns:
        The settings.

    Raises:
        EcsError: An argument is unknown, or has a value that is not allowed.
    """
    values = dict(given)
    known = [*(each.name for each in fields(RunSettings)), "pre_step", "post_step", *LATER, *WITHOUT_EFFECT]
    for name in later:
        if name not in LATER and name not in WITHOUT_EFFECT:
            raise EcsError(f"unknown argument {name!r}{did_you_mean(name, known)}", where, method)

    def checked(name: str, value: Any) -> Any:
        try:
            return _CHECKS[name](value)
        except ValueError as error:
            raise EcsError(f"{name}: {error}", where, method) from None

    if "simulation_rate" in later:
        values["sim_time_step"] = 1.0 / checked("simulation_rate", later["simulation_rate"])
    step = values["sim_time_step"] = checked("sim_time_step", values["sim_time_step"])
    if later.get("generate_real_time"):
        values["run_time_step"] = step
    if later.get("telemetry_rate") is not None:
        every = 1.0 / (step * checked("telemetry_rate", later["telemetry_rate"]))
        values["record_every"] = round(every)
        if abs(every - round(every)) > WHOLE or every < 1.0 - WHOLE:
            rates = f"{later['telemetry_rate']:g} Hz does not divide the {1.0 / step:g} Hz of the simulation"
            raise EcsError(f"telemetry_rate: {rates}", where, method)
    values["log_level"] = values.get("log_level") or "info"
    for name in _CHECKS:
        if values.get(name) is not None:
            values[name] = checked(name, values[name])
    own = {each.name for each in fields(RunSettings)}
    settings = RunSettings(**{name: value for name, value in values.items() if name in own})
    for name in WITHOUT_EFFECT:
        if later.get(name) is not None and name not in _reported:
            _reported.add(name)
            settings.say("warn", f"{where}: {name}={later[name]!r} has no effect: {WITHOUT_EFFECT[name]}")
    return settings


# Each function returns the validated value, or raises ValueError.


def _positive(value: Any) -> float:
    if not _is_number(value) or not (math.isfinite(value) and value > 0):
        raise ValueError(f"{value!r} is not a number above zero")
    return float(value)


def _whole(value: Any, least: float = -math.inf) -> int:
    if not _is_number(value) or not math.isfinite(value) or int(value) != value:
        raise ValueError(f"{value!r} is not a whole number")
    if value < least:
        raise ValueError(f"{value!r} is less than {least}")
    return int(value)


def _function(value: Any) -> Any:
    if not callable(value):
        raise ValueError(f"{value!r} is not a function")
    return value


def _level(value: Any) -> str:
    level = str(value).lower()
    if level not in LOG_LEVELS:
        raise ValueError(f"{level!r} is not one of {', '.join(LOG_LEVELS)}{did_you_mean(level, LOG_LEVELS)}")
    return level


def _path(value: Any) -> Path:
    if not isinstance(value, (str, PathLike)) or not str(value):
        raise ValueError(f"{value!r} is not a path")
    return Path(value)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(value, str | bool)


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("simulation_rate", "sim_time_step", "telemetry_rate"), _positive),
    **dict.fromkeys(("run_time_step", "default_playback_speed"), _positive),
    "max_ticks": partial(_whole, least=0),
    "start_timestamp": _whole,
    "record_every": partial(_whole, least=1),
    **dict.fromkeys(("is_canceled", "pre_step", "post_step"), _function),
    "log_level": _level,
    "db_path": _path,
}
