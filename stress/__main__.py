"""Feeds hostile inputs to all doors, or to those that are named: python -m stress [DOOR ...] [--inputs N]."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from stress.doors import DOORS
from stress.feeding import Find, Outcome
from stress.keeping import SEEDS, keep
from stress.runner import run

# Finds of one place that are kept and printed.
SHOWN = 1


def main(arguments: list[str] | None = None) -> int:
    """Feed the doors; returns 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m stress", description=(__doc__ or "").partition(":")[0] + ".")
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=f"one of: {', '.join(DOORS)}; all by default")
    parser.add_argument("--inputs", type=int, help="for each door; by default 1,000,000 for bytes, 100,000 for files")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (default: 1)")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)"
    )
    parser.add_argument(
        "--keep", type=Path, default=SEEDS, metavar="DIR", help="where finds are kept (default: stress/seeds)"
    )
    parser.add_argument("--list", action="store_true", help="list the doors and their numbers of inputs")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.doors if name not in DOORS]
    if unknown:
        parser.error(f"no door {', '.join(unknown)}; there are {', '.join(DOORS)}")
    if options.list:
        print("\n".join(f"{name:<18} {number:>9,}" for name, (_, number) in DOORS.items()))
        return 0
    found = 0
    for name in options.doors or DOORS:
        began = time.monotonic()
        outcome = run(name, DOORS[name][1] if options.inputs is None else options.inputs, options.seed, options.workers)
        found += len(outcome.finds)
        _report(name, outcome, time.monotonic() - began, options.seed, options.keep)
    print(f"{found} finds" if found else "no finds")
    return 1 if found else 0


def _report(name: str, outcome: Outcome, seconds: float, seed: int, folder: Path) -> None:
    results = ", ".join(f"{what} {count}" for what, count in outcome.results.most_common(6) if what[:5] != "seed ")
    rate = outcome.fed / max(outcome.seconds, 1e-9)
    print(f"{name:<18} {outcome.fed:>9,} inputs in {seconds:6.0f} s, {rate:7.0f}/s a core: {results}", flush=True)
    places: dict[str, list[Find]] = {}
    for find in outcome.finds:
        places.setdefault(find.place, []).append(find)
    for place, finds in places.items():
        print(f"  FOUND {len(finds)} times at {place}")
        for find in finds[:SHOWN]:
            again = f"kept as {keep(name, find.inputs, folder)}; " if find.inputs and find.number >= 0 else ""
            print(f"    {find.what}\n    input {find.number} of seed {seed}; {again}repeat: ", end="")
            print(f"python -m stress {name} --inputs 0")
            print("".join(f"    | {line}\n" for line in find.trace.splitlines()[-12:]), end="")


if __name__ == "__main__":
    sys.exit(main())
