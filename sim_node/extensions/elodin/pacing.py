"""Pacing of ticks to real time, and statistics of it, which campaigns evaluate."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# The environment variable with the path of the file of counts.
SUMMARY = "ELODIN_SIM_SUMMARY_JSON"
# A run that is more than this many periods late does not catch up.
MOST_LATE = 2.0


class Pacing:
    """Makes groups of ticks wait until they are due.

    The first group, in which steps are compiled, is not counted.

    Args:
        period: The real time between two ticks, s.
        time_step: The simulated time between two ticks, s.
    """

    def __init__(self, period: float, time_step: float) -> None:
        self._period, self._time_step = period, time_step
        self._due = time.monotonic()
        self._began: float | None = None
        self._cycles = self._behind = self._resets = self._ticks = 0

    def wait(self, ticks: int, sleep: Callable[[float], None]) -> None:
        """Wait until ticks are due. After a delay of more than two periods, the schedule restarts from now."""
        period = ticks * self._period
        self._due += period
        left = self._due - time.monotonic()
        is_reset = left < -MOST_LATE * period
        if is_reset:
            self._due -= left
        elif left > 0.0:
            sleep(left)
        if self._began is None:
            self._began = time.monotonic()
            return
        self._cycles, self._ticks = self._cycles + 1, self._ticks + ticks
        self._behind, self._resets = self._behind + (left < 0.0), self._resets + is_reset

    def write(self) -> None:
        """Write the counts to the file named by the environment, as Elodin does, if it names one."""
        path = os.environ.get(SUMMARY)
        if path is None or self._began is None:
            return
        counts = {
            "cycles": self._cycles,
            "steps": self._ticks,
            "pacing_behind_events": self._behind,
            "pacing_resets": self._resets,
            "real_time_pacing": {"count": self._cycles},
            "simulation_rate_hz": 1.0 / self._time_step,
            "wall_ns": round(1e9 * (time.monotonic() - self._began)),
        }
        Path(path).write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")


class PaceKept(NamedTuple):
    """How well a run kept real time; all None for a run that did not wait, or that wrote no counts.

    Attributes:
        behind_deadline_frac: The fraction of waits whose deadline had already passed.
        real_time_factor: Wall time over simulated time: more than 1 is slower than real time.
        drift_resets: How often the run was so late that its schedule restarted.
    """

    behind_deadline_frac: float | None = None
    real_time_factor: float | None = None
    drift_resets: int | None = None

    @classmethod
    def read(cls, path: Path) -> PaceKept:
        """Read the counts that a run of this project or of Elodin wrote; all None if there is no such file."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            cycles, simulated = found["cycles"], found["steps"] / found["simulation_rate_hz"]
            if not found["real_time_pacing"]["count"]:
                return cls()
            return cls(
                found["pacing_behind_events"] / cycles,
                1e-9 * found["wall_ns"] / simulated,
                found["pacing_resets"],
            )
        except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
            return cls()
