"""Runs the benchmarks: python -m bench [NAME ...]; each saves its rows in bench/results/NAME.json."""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from bench import LIMIT_S
from bench.pairs import HISTORY, MISSED, keep

ROOT = Path(__file__).parents[1]
# What a benchmark past its limit, and the last of its output, may take, s.
GRACE_S = 30.0
# In the order in which a reader wants the figures. A module here has a `main` that measures, prints and saves.
BENCHES = (
    "publish",
    "load",
    "frames",
    "tree",
    "snap",
    "changes",
    "physics",
    "shapes",
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
    faulthandler.cancel_dump_traceback_later()  # the limit is that of each benchmark
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run the benchmarks.")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"all by default: {', '.join(BENCHES)}")
    parser.add_argument("--keep", action="store_true", help=f"keep a full run in {HISTORY.relative_to(ROOT)}")
    arguments = parser.parse_args()
    if arguments.keep and arguments.names:
        parser.error("--keep is for full runs: leave out NAME")
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
        keep("all benchmarks", f"{len(missed)} of {sum(map(len, tables.values()))} rows missed", lines)
    return 1 if missed or failed else 0


def _run(name: str) -> tuple[list[str], int]:
    """Run a benchmark and show what it prints. Return its rows and its exit code."""
    # A process each: what one imports and allocates does not weigh on the next. A group each: what it leaves is ended.
    words = [sys.executable, "-m", f"bench.{name}"]
    rows: list[str] = []
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        reader = threading.Thread(target=_show, args=(process, rows), daemon=True)
        reader.start()
        # It ends itself by the limit, but programs that it leaves may hold its output open.
        try:
            code = process.wait(LIMIT_S + GRACE_S)
        except subprocess.TimeoutExpired:
            code = 1
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        reader.join(GRACE_S)
    return rows, code


def _show(process: subprocess.Popen[str], rows: list[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="", flush=True)
        rows.append(line.rstrip())


if __name__ == "__main__":
    sys.exit(main())
