"""The arguments of World.run and World.build: their checks, and their names in other versions of the API."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

from sim_node.ecs.errors import EcsError
from sim_node.text import did_you_mean
from sim_node.world.problems import Where

LOG_LEVELS = ("error", "warn", "info", "debug", "trace")
# Names of later versions of the API: they replace sim_time_step and run_time_step, and thin what is recorded.
LATER = ("simulation_rate", "generate_real_time", "telemetry_rate")
# Accepted, because scripts pass them: they choose compilers, and steps are compiled by JAX here.
WITHOUT_EFFECT = ("backend", "iree_flags")
_told: set[str] = set()


@dataclass(frozen=True)
class Settings:
    """How a world is run.

    Attributes:
        sim_time_step: The time between two ticks, s.
        run_time_step: The real time between two ticks, s; None for as fast as possible.
        default_playback_speed: Speed at which a viewer plays the run; 1 is real time.
        max_ticks: How many ticks to run; None for no end.
        optimize: No effect: steps are always optimized.
        is_canceled: Called before each tick; the run ends when it returns True. Or None.
        db_path: The folder of the bag that is recorded, or None.
        interactive: Whether a run in a terminal pauses after `max_ticks`, until Ctrl-C, instead of ending.
        start_timestamp: The time of the start, us; None for now.
        log_level: The least severe messages that are printed.
        record_every: Only every so many ticks are recorded.
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
        """Print a message of a level, if it is severe enough."""
        if LOG_LEVELS.index(level) <= LOG_LEVELS.index(self.log_level):
            print(text, file=sys.stderr, flush=True)

    def mapping(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def settings_of(given: Mapping[str, Any], later: Mapping[str, Any], where: Where, method: str) -> Settings:
    """Check arguments.

    Args:
        given: Arguments of the names of Settings; None for the default where None has no meaning.
        later: Arguments of other names.
        where: The line of the call.
        method: The name of the method, for messages.

    Returns:
        The settings.

    Raises:
        EcsError: An argument is unknown, or has a value that is not allowed.
    """
    values = dict(given)
    known = [*(each.name for each in fields(Settings)), "pre_step", "post_step", *LATER, *WITHOUT_EFFECT]
    for name in later:
        if name not in LATER and name not in WITHOUT_EFFECT:
            raise EcsError(f"unknown argument {name!r}{did_you_mean(name, known)}", where, method)

    def number(name: str, value: Any, least: str = "above zero") -> float:
        if isinstance(value, bool) or not _is_number(value) or not (math.isfinite(value) and value > 0):
            raise EcsError(f"{name}: {value!r} is not a number {least}", where, method)
        return float(value)

    def whole(name: str, value: Any, least: int | None) -> int:
        if isinstance(value, bool) or not _is_number(value) or int(value) != value:
            raise EcsError(f"{name}: {value!r} is not a whole number", where, method)
        if least is not None and value < least:
            raise EcsError(f"{name}: {value!r} is less than {least}", where, method)
        return int(value)

    if "simulation_rate" in later:
        values["sim_time_step"] = 1.0 / number("simulation_rate", later["simulation_rate"])
    step = values["sim_time_step"] = number("sim_time_step", values["sim_time_step"])
    if later.get("generate_real_time"):
        values["run_time_step"] = step
    if later.get("telemetry_rate") is not None:
        rate = number("telemetry_rate", later["telemetry_rate"])
        values["record_every"] = max(1, round(1.0 / (step * rate)))
    for name in ("run_time_step", "default_playback_speed"):
        if values.get(name) is not None:
            values[name] = number(name, values[name])
    for name, least in (("max_ticks", 0), ("start_timestamp", None), ("record_every", 1)):
        if values.get(name) is not None:
            values[name] = whole(name, values[name], least)
    for name in ("is_canceled", "pre_step", "post_step"):
        if values.get(name) is not None and not callable(values[name]):
            raise EcsError(f"{name}: {values[name]!r} is not a function", where, method)
    level = str(values.get("log_level") or "info").lower()
    if level not in LOG_LEVELS:
        near = did_you_mean(level, LOG_LEVELS)
        raise EcsError(f"log_level: {level!r} is not one of {', '.join(LOG_LEVELS)}{near}", where, method)
    values["log_level"] = level
    if values.get("db_path") is not None:
        if not isinstance(values["db_path"], (str, PathLike)) or not str(values["db_path"]):
            raise EcsError(f"db_path: {values['db_path']!r} is not a path", where, method)
        values["db_path"] = Path(values["db_path"])
    own = {each.name for each in fields(Settings)}
    settings = Settings(**{name: value for name, value in values.items() if name in own})
    for name in WITHOUT_EFFECT:
        if later.get(name) is not None and name not in _told:
            _told.add(name)
            settings.say("warn", f"{where}: {name}={later[name]!r} has no effect: steps are compiled by JAX")
    return settings


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(value, str)
