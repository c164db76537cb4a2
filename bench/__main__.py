"""Runs the benchmarks: python -m bench [NAME ...]; each saves its rows in bench/results/NAME.json."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    failed = []
    for name in names or BENCHES:
        print(f"-- {name}", flush=True)
        # A process each: what one imports and allocates does not weigh on the next.
        if subprocess.call([sys.executable, "-m", f"bench.{name}"], cwd=Path(__file__).parents[1]) != 0:
            failed.append(name)
    if failed:
        print(f"missed a target or failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
