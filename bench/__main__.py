"""Runs the benchmarks: python -m bench [NAME ...]; each saves its rows in bench/results/NAME.json."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from bench.pairs import HISTORY, keep

ROOT = Path(__file__).parents[1]
# In a row that stays under its target or exceeds its limit.
MISSED = "MISSED"
# In the order in which a reader wants the figures. A module here has a `main` that measures, prints and saves.
BENCHES = (
    "publish",
    "load",
    "frames",
    "tree",
    "snap",
    "changes",
    "physics",
    "sensors",
    "scene",
    "vehicles",
    "robots",
    "viewer",
    "panels",
    "bridge",
    "bridge_node",
    "bridge_silence",
    "recording",
    "reading",
    "replay",
    "lockstep",
    "promptness",
    "ecs",
    "gym",
    "sweep",
    "scenario",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run the benchmarks.")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"all by default: {', '.join(BENCHES)}")
    parser.add_argument("--keep", action="store_true", help=f"add a line to {HISTORY.relative_to(ROOT)}")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in BENCHES]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    tables, failed = {}, []
    for name in arguments.names or BENCHES:
        print(f"-- {name}", flush=True)
        tables[name], code = _run(name)
        # A miss ends a benchmark with 1, too; its rows say so.
        if code != 0 and not any(MISSED in row for row in tables[name]):
            failed.append(name)
    lines = [line for name, rows in tables.items() for line in (f"-- {name}", *rows)]
    missed = [row for rows in tables.values() for row in rows if MISSED in row]
    lines += [f"-- {len(missed)} missed", *missed, *(f"-- {name} failed" for name in failed)]
    print("\n".join(["", "-- all rows", *lines]))
    if arguments.keep:
        names = " ".join(arguments.names) or "all"
        keep(
            names,
            f"{sum(map(len, tables.values()))} rows, {len(missed)} missed" + "".join(f"; {row}" for row in missed),
        )
    return 1 if missed or failed else 0


def _run(name: str) -> tuple[list[str], int]:
    """Run a benchmark and show what it prints. Return its rows and its exit code."""
    # A process each: what one imports and allocates does not weigh on the next. A group each: what it leaves is ended.
    words = [sys.executable, "-m", f"bench.{name}"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        rows = []
        for line in process.stdout:
            print(line, end="", flush=True)
            rows.append(line.rstrip())
        code = process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return rows, code


if __name__ == "__main__":
    sys.exit(main())
