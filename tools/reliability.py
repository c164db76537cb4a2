"""Run the shipped scenarios again and again with one seed, and write the table of docs/reliability.md.

Run from the repository: python tools/reliability.py [--runs 1000] [-n WORKERS] [-o build/reliability]
A run that is judged stays judged: end it with Ctrl-C, or by a kill, and the same command goes on. The scenarios take
turns, so that all of them have been run about as often at any time. --table alone writes the table of what is there.

Exit code 1 if a scenario has two verdicts or, unless PX4 flies, two hashes.
"""

from __future__ import annotations

import argparse
import datetime
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.pairs import machine
from sim_node.extensions.scenario.certificate import Certificate, certificate
from sim_node.extensions.scenario.results import CERTIFICATES, ResultsFault
from sim_node.extensions.scenario.scenarios import Scenario, find_scenarios
from sim_node.extensions.scenario.testing import RunPlan, judge_scenario
from sim_node.extensions.scenario.verdicts import VERDICTS
from sim_node.extensions.sweep import variation

# In the order of docs/scenarios.md.
SHIPPED = (
    *("hover_in_gusts", "motor_out", "gps_loss", "magnetometer_disturbed", "link_loss", "geofence"),
    *("ferry_landing", "low_battery", "person_in_the_way", "slipping_part"),
)
# Of a run, which may be starved for minutes on a busy machine: that would be an error, and is none of the scenario.
TIMEOUT_S = 4 * 3600.0
HEADER = "| Scenario | Runs | Verdicts | Different hashes | Least robustness |\n|---|---|---|---|---|\n"


def main() -> int:
    """Run all, or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scenarios", nargs="*", default=list(SHIPPED), metavar="SCENARIO", help="default: all ten")
    parser.add_argument("--runs", type=int, default=1000, help="of each (default 1000)")
    parser.add_argument("--turn", type=int, default=20, help="runs of one before the next one's turn (default 20)")
    parser.add_argument("--autopilot", default="", choices=("", "px4", "ardupilot"), help="that flies instead")
    parser.add_argument("-n", dest="workers", type=int, help="how many runs go on at once (default: all cores)")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/reliability"))
    parser.add_argument("--table", action="store_true", help="write the table of the runs that are there")
    arguments = parser.parse_args()
    folder = arguments.output / (arguments.autopilot or "builtin")
    stopped: list[int] = []
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, frame: stopped.append(number))
    turns = range(0 if not arguments.table else arguments.runs, arguments.runs, arguments.turn)
    for first in turns:
        for scenario in find_scenarios(arguments.scenarios):
            if not stopped:
                turn(scenario, folder, arguments, min(first + arguments.turn, arguments.runs), stopped)
    found = {name: certificates(folder / name) for name in arguments.scenarios}
    table = HEADER + "".join(row(name, some) for name, some in found.items() if some)
    about = ", ".join(f"{key} {value}" for key, value in machine().items())
    text = f"{datetime.date.today():%d %B %Y}, {about}, {os.cpu_count()} cores\n\n{table}"
    if folder.is_dir():
        (folder / "table.md").write_text(text, encoding="utf-8")
    print(text)
    return int(any(differs(some, hashes=arguments.autopilot != "px4") for some in found.values()))


def turn(scenario: Scenario, folder: Path, arguments: argparse.Namespace, until: int, stopped: Sequence[int]) -> None:
    """Run a scenario until so many of its runs are judged."""
    done = len(certificates(folder / scenario.name))
    if done >= until:
        return
    plan = RunPlan(
        runs=arguments.runs,
        vary=(variation("seed", "0"),),
        workers=arguments.workers,
        autopilot=arguments.autopilot,
        timeout=TIMEOUT_S,
        keep=1,
    )
    judged = [done]

    def progress(found: int, failures: int) -> None:
        judged[0] = found

    began, used = time.perf_counter(), sum(os.times()[:4])
    try:
        judge_scenario(
            scenario,
            plan,
            folder / scenario.name,
            resume=True,
            progress=progress,
            stop=lambda: bool(stopped) or judged[0] >= until,
        )
    except ResultsFault as fault:
        raise SystemExit(f"{fault}\n-o chooses another folder") from None
    runs = max(judged[0] - done, 1)
    print(
        f"{scenario.name}: {judged[0]} runs; each {(time.perf_counter() - began) / runs:.1f} s, "
        f"{(sum(os.times()[:4]) - used) / runs:.1f} s of a processor",
        flush=True,
    )


def certificates(folder: Path) -> list[Certificate]:
    """Return the certificates in a folder; a line that a kill has cut off is none."""
    path = folder / CERTIFICATES
    if not path.is_file():
        return []
    return [
        certificate(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line[-1] == "\n"
    ]


def row(name: str, some: Sequence[Certificate]) -> str:
    """Return a row of the table."""
    verdicts = Counter(each.verdict for each in some)
    counts = ", ".join(f"{verdicts[each]} {each}" for each in VERDICTS if verdicts[each])
    least = min((each.robustness for each in some if each.robustness is not None), default=float("nan"))
    return f"| `{name}` | {len(some)} | {counts} | {len({each.digest for each in some})} | {least:.4g} |\n"


def differs(some: Sequence[Certificate], *, hashes: bool) -> bool:
    """Return whether runs of one scenario differ."""
    return len({(each.verdict, each.digest if hashes else "") for each in some}) > 1


if __name__ == "__main__":
    raise SystemExit(main())
