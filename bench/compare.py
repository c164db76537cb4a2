"""Paired runs of two commits: python -m bench.compare BASE [NAME ...], or make bench-compare BASE=REV.

Each benchmark runs in turns from a checkout of BASE and from the working tree, with the same packages. Of each row, the
ratio to its alternative is compared, which a busy machine changes little: medians over the rounds. Rows below 0.97 are
printed, with exit code 1. With --keep, a line for the comparison is added to bench/history.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from bench.pairs import HISTORY, keep

ROOT = Path(__file__).parents[1]
FEWEST = 0.97
# Those that save rows with a ratio to an alternative, and are short.
NAMES = ("publish", "load", "frames", "tree", "physics", "sensors", "vehicles", "recording", "reading", "changes")
# Ratios by the names of rows.
Rows = dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description="Compare two commits by benchmarks.")
    parser.add_argument("base", metavar="BASE", help="the commit to compare the working tree with")
    parser.add_argument("names", metavar="NAME", nargs="*", default=NAMES, help=f"by default {', '.join(NAMES)}")
    parser.add_argument("--rounds", type=int, default=10, help="runs of each commit (default 10)")
    parser.add_argument("--keep", action="store_true", help=f"add a line to {HISTORY.relative_to(ROOT)}")
    arguments = parser.parse_args()
    base = _git("rev-parse", "--short", f"{arguments.base}^{{commit}}")
    folder = ROOT / "build" / "bench-base"
    _checkout(base, folder)
    lower: list[str] = []
    for name in arguments.names:
        rounds: dict[Path, list[Rows]] = {folder: [], ROOT: []}
        for number in range(arguments.rounds):
            for where in (folder, ROOT) if number % 2 else (ROOT, folder):  # neither is always the first
                rounds[where].append(_rows(where, name))
        for row, factor in compared(rounds[folder], rounds[ROOT]).items():
            verdict = "LOWER" if factor < FEWEST else ""
            print(f"{name:<10}{row:<40}{factor:6.3f} {verdict}".rstrip(), flush=True)
            lower += [f"{row} {factor:.3f}"] if verdict else []
    summary = f"{len(lower)} below {FEWEST:g}" + (f": {', '.join(lower)}" if lower else "")
    print(f"-- {base} to the working tree, medians of {arguments.rounds}: {summary}")
    if arguments.keep:
        keep(f"{base} to {_git('rev-parse', '--short', 'HEAD')}, {' '.join(arguments.names)}", summary)
    return 1 if lower else 0


def compared(before: list[Rows], after: list[Rows]) -> Rows:
    """Return how many times faster each row is, of the rows that all runs have."""
    common = set.intersection(*(set(rows) for rows in (*before, *after)))
    return {
        name: statistics.median(rows[name] for rows in after) / statistics.median(rows[name] for rows in before)
        for name in after[0]
        if name in common
    }


def _rows(where: Path, name: str) -> Rows:
    """Run a benchmark of a checkout. Return the ratios of its rows; a row that misses its target counts, too."""
    path = where / "bench" / "results" / f"{name}.json"
    path.unlink(missing_ok=True)
    # The folder is searched before the installed package.
    environment = dict(os.environ, PYTHONPATH=str(where))
    subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=where, env=environment, stdout=subprocess.DEVNULL)
    if not path.exists():
        sys.exit(f"bench.{name} of {where} has saved no rows")
    return {row["name"]: row["ratio"] for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}


def _checkout(revision: str, folder: Path) -> None:
    """Lay out the files of a commit, anew unless they are there."""
    stamp = folder / ".revision"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == revision:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    packed = subprocess.run(["git", "archive", revision], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
    stamp.write_text(revision, encoding="utf-8")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
