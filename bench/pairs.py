"""Paired benchmarks: ours and the alternatives in turns, in one run, so that a busy machine slows all alike.

    pairs = Pairs()
    pairs.measure("publish 1000 transforms", serialised, {"typed": typed}, target=58.0)
    pairs.save(Path("bench/results/publish.json"))

prints

    publish 1000 transforms      51.0 us   typed 3.61 ms   ratio 71x   (target 58x)
"""

from __future__ import annotations

import datetime
import gc
import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Clock = Callable[[], float]
# In a row that stays under its target or exceeds its limit; `make bench` lists these rows at its end.
MISSED = "MISSED"


class Pairs:
    """The rows measured so far."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def measure(
        self,
        name: str,
        ours: Callable[[], object],
        theirs: Mapping[str, Callable[[], object]],
        *,
        target: float | None = None,
        rounds: int = 15,
        turn_s: float = 0.02,
        clock: Clock = time.perf_counter,
        units: Mapping[str, int] | None = None,
    ) -> float:
        """Print and keep one row; return how many times faster `ours` is than the fastest of `theirs`.

        Each is called once to warm up, then in turns of about `turn_s` seconds, A B A B. A time is the median over
        the rounds, the ratio the median of the rounds' own ratios. With clock=time.thread_time they are CPU seconds.
        Where the contestants do unequal amounts, `units` says how many each does in a call; times are per unit then.
        """
        contestants = {"ours": ours, **theirs}
        calls = {label: _calls_in(contestant, turn_s, clock) for label, contestant in contestants.items()}
        times: dict[str, list[float]] = {label: [] for label in contestants}
        gc.collect()
        gc.disable()
        try:
            for _ in range(rounds):
                for label, contestant in contestants.items():
                    seconds = _seconds(contestant, calls[label], clock)
                    times[label].append(seconds / units[label] if units else seconds)
        finally:
            gc.enable()
        medians = {label: statistics.median(values) for label, values in times.items()}
        rival = min(theirs, key=lambda label: medians[label])
        ratio = statistics.median(b / a for a, b in zip(times["ours"], times[rival], strict=True))
        alternatives = "   ".join(f"{label} {_readable(medians[label])}" for label in theirs)
        end = "" if target is None else aim(f"target {target:.3g}x", ratio >= target)
        print(f"{name:<34}{_readable(medians['ours']):>10}   {alternatives}   ratio {ratio:.3g}x{end}", flush=True)
        self.rows.append({"name": name, "seconds": medians, "fastest": rival, "ratio": ratio, "target": target})
        return ratio

    @property
    def missed(self) -> list[str]:
        """Names of the rows that stay under their target."""
        return [row["name"] for row in self.rows if row["target"] is not None and row["ratio"] < row["target"]]

    def save(self, path: Path) -> None:
        """Write the rows as JSON, with what they were measured on."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"machine": machine(), "rows": self.rows}, indent=2) + "\n", encoding="utf-8")


def aim(text: str, held: bool) -> str:
    """Return how a row ends: with its target or limit, and whether it was missed."""
    return f"   ({text}{'' if held else f', {MISSED}'})"


def figure(name: str, value: float, unit: str, *, target: float | None = None, limit: float | None = None) -> bool:
    """Print a row of one figure with its target or limit; return whether it reaches the one and keeps the other."""
    if limit is not None:
        text, held = f"limit {limit:g}", value <= limit
    elif target is not None:
        text, held = f"target {target:g}", value >= target
    else:
        text, held = "", True
    print(f"{name:<44}{value:>12,.4g} {unit}{aim(text, held) if text else ''}", flush=True)
    return held


# A line for each round of measurements that was worth keeping.
HISTORY = Path(__file__).with_name("history.md")
_LAST = "\n## The last full run of `make bench`\n"


def keep(what: str, found: str, table: Sequence[str] = ()) -> None:
    """Add a line to the history: the day, what was measured and on what machine, and what was found.

    A table, of a full run, replaces the last one.
    """
    day = datetime.datetime.now(tz=datetime.timezone.utc).date()
    about = f"{day}, {what}, {', '.join(machine().values())}: {found}"
    rounds, mark, last = HISTORY.read_text(encoding="utf-8").partition(_LAST)
    if table:
        mark = _LAST
        last = "\n".join(("", about, "", "```", *table, "```", ""))
    HISTORY.write_text(f"{rounds.rstrip()}\n- {about}\n{mark}{last}", encoding="utf-8")


def machine() -> dict[str, str]:
    """Return what figures were measured on."""
    return {"python": platform.python_version(), "processor": _processor(), "system": platform.platform()}


def _calls_in(contestant: Callable[[], object], turn_s: float, clock: Clock) -> int:
    contestant()
    calls = 1
    while (elapsed := _seconds(contestant, calls, clock) * calls) < turn_s / 2:
        calls = max(2 * calls, int(calls * turn_s / max(elapsed, 1e-9) / 2))
    return calls


def _seconds(contestant: Callable[[], object], calls: int, clock: Clock) -> float:
    start = clock()
    for _ in range(calls):
        contestant()
    return (clock() - start) / calls


def _readable(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _processor() -> str:
    """The processor's name, where /proc tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
