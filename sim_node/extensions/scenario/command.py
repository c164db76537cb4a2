"""Run scenarios and judge them by what they expect: pass, fail or error, each with a certificate that repeats it."""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from sim_node.autopilots.installed import ARDUPILOT, PX4
from sim_node.cli.arguments import UsageError, span
from sim_node.cli.colours import coloured
from sim_node.cli.commands import command
from sim_node.cli.parser import refuse
from sim_node.extensions.scenario.certificate import Certificate, CertificateFault, read_certificate, tally
from sim_node.extensions.scenario.junit import junit
from sim_node.extensions.scenario.results import CERTIFICATES, ResultsFault
from sim_node.extensions.scenario.scenarios import Scenario, find_scenarios, shipped_scenarios
from sim_node.extensions.scenario.testing import BAGS, TIMEOUT_S, RunPlan, Tested, judge_scenario, repeated
from sim_node.extensions.scenario.verdicts import ERROR, FAIL, PASS
from sim_node.extensions.sweep import Bar, EngineFault, Variation, add_vary, count, seed, variation_option
from sim_node.world.locate import LocateError
from sim_node.world.problems import counted

OUTPUT = Path("sim_node_test")
ROBUSTNESS = "robustness"
FAILED, UNJUDGED = 1, 2
_COLOURS = {PASS: "green", FAIL: "red", ERROR: "yellow"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the scenarios, how they run, and where the results go."""
    what = "a shipped scenario, a world with a section `expect`, or a folder of them"
    parser.add_argument("scenarios", metavar="SCENARIO", nargs="*", help=what)
    parser.add_argument("--list", action="store_true", help="list the shipped scenarios, or those given")
    parser.add_argument(
        "-k", dest="only", metavar="NAME", help="only scenarios whose name has this part, or matches it"
    )
    runs = parser.add_argument_group("runs")
    runs.add_argument("--runs", metavar="N", type=count, default=1, help="runs of each scenario (default 1)")
    add_vary(runs, "what differs between the runs")
    search = "search what --vary gives for the run that holds least, instead of drawing it; needs cmaes"
    runs.add_argument("--search", metavar="WHAT", choices=(ROBUSTNESS,), help=search)
    autopilot = "let px4 or ardupilot of this machine fly instead of the scenarios' autopilots"
    runs.add_argument("--autopilot", metavar="NAME", choices=(PX4, ARDUPILOT), default="", help=autopilot)
    runs.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of all randomness (default 0)")
    runs.add_argument("--duration", metavar="S", type=span, help="simulated seconds of each run, instead of its own")
    runs.add_argument(
        "--allow", metavar="DIR", type=Path, action="append", default=[], help="also read files below DIR"
    )
    runs.add_argument(
        "-n",
        dest="workers",
        metavar="N",
        type=count,
        help="how many runs of a scenario go on at once (default: all cores)",
    )
    runs.add_argument("--engine", metavar="NAME", default="processes", help="processes (the default) or ray")
    timeout = f"the longest time that a run may take, in seconds of this machine (default {TIMEOUT_S:g})"
    runs.add_argument("--timeout", metavar="S", type=span, default=TIMEOUT_S, help=timeout)
    results = parser.add_argument_group("results")
    output = f"folder of the results, which replaces those in it (default: {OUTPUT})"
    results.add_argument("-o", "--output", metavar="DIR", type=Path, default=OUTPUT, help=output)
    results.add_argument("--resume", action="store_true", help="go on with the results in the folder")
    results.add_argument("--junit", metavar="FILE", type=Path, help="write JUnit XML")
    results.add_argument("--json", metavar="FILE", type=Path, help="write all verdicts as JSON")
    results.add_argument("--report", metavar="DIR", type=Path, help="write a page, DIR/index.html")
    keep = "how many failed runs of each scenario keep a bag (default 3)"
    results.add_argument("--keep", metavar="N", type=int, choices=range(1001), default=3, help=keep)
    again = "run this run again, and say whether it is the same: FILE, or FILE:CASE"
    results.add_argument("--again", metavar="CERTIFICATE", help=again)


@command("test", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Return 0 if all runs passed, 1 if any failed, and 2 if any could not be judged."""
    if arguments.again is not None:
        return _again(arguments)
    if not arguments.scenarios and not arguments.list:
        raise UsageError("SCENARIO is needed; --list lists the shipped ones")
    try:
        found = find_scenarios(arguments.scenarios) if arguments.scenarios else shipped_scenarios()
    except LocateError as error:
        raise UsageError(str(error)) from None
    chosen = [each for each in found if arguments.only is None or _matches(each.name, arguments.only)]
    if not chosen:
        raise UsageError(f"-k {arguments.only}: none of {', '.join(each.name for each in found) or 'no scenarios'}")
    if arguments.list:
        return _list(chosen)
    vary = tuple(map(variation_option, arguments.vary))
    if arguments.search is not None:
        _check_search(arguments, vary)
    plan = RunPlan(
        arguments.runs,
        vary,
        arguments.seed,
        arguments.duration,
        arguments.workers,
        arguments.engine,
        arguments.timeout,
        arguments.keep,
        tuple(arguments.allow),
        arguments.autopilot,
        arguments.search is not None,
    )
    tested = _test(chosen, plan, arguments.output, resume=arguments.resume)
    if arguments.junit is not None:
        arguments.junit.write_text(junit(tested), encoding="utf-8")
    if arguments.json is not None:
        arguments.json.write_text(_json(tested), encoding="utf-8")
    if arguments.report is not None:
        from sim_node.extensions.scenario.report import write_report

        print(write_report(tested, arguments.report))
    return _summarise(tested)


def _check_search(arguments: argparse.Namespace, vary: Sequence[Variation]) -> None:
    """Check that there is something to search. Raises UsageError."""
    if not vary or arguments.runs == 1:
        raise UsageError("--search requires --vary, and --runs for the most runs that it may take")
    if any(each.path == "seed" for each in vary):
        raise UsageError("--search: the seed cannot be searched; --seed is that of all runs")


def _test(scenarios: Sequence[Scenario], plan: RunPlan, output: Path, *, resume: bool) -> list[Tested]:
    """Test scenarios one after the other, and print a line on each."""
    names = [each.name for each in scenarios]
    width = max(map(len, names))
    tested = []
    for index, each in enumerate(scenarios):
        folder = output / (each.name if names.count(each.name) == 1 else f"{each.name}_{index}")
        if not resume:
            _clear(folder)
        try:
            with Bar() as bar:
                started = bar.start if plan.runs > 1 else lambda prepared, results: None
                progress = bar.show if plan.runs > 1 else lambda done, failures: None
                found = judge_scenario(each, plan, folder, resume=resume, started=started, progress=progress)
        except (ResultsFault, EngineFault) as fault:
            raise UsageError(str(fault)) from None
        tested.append(found)
        for line in lines_of(found, width):
            print(line, flush=True)
    return tested


def lines_of(tested: Tested, width: int = 0) -> list[str]:
    """Return the output for a scenario: a line with its verdict, and commands to repeat and view failed runs."""
    certificates, worst = tested.certificates, tested.worst
    several = len(certificates) > 1
    held = _margin(certificates[0]) if worst == PASS else ""
    many = f"{counted(len(certificates), 'run')}: {tally(certificates)}" if several else held
    verdict = coloured(worst.upper().ljust(5), _COLOURS[worst], sys.stdout)
    lines = [f"{verdict}  {tested.scenario.name:{width}}  {many}".rstrip()]
    for each in tested.failed[:3]:
        case = f"run {each.case}: " if several else ""
        lines += [f"       {case}{each.reason}", f"       again: {tested.again(each.case)}"]
        if view := tested.view(each):
            lines.append(f"       view:  {view}")
    if least := tested.least:
        numbers = ", ".join(f"{path}={value:.6g}" for path, value in least.values.items())
        lines.append(f"       least: run {least.case} {_margin(least)}, with {numbers}")
    passed = (each for each in certificates if each.verdict == PASS and each.case in tested.bags)
    return [*lines, *(f"       good:  {tested.view(each)}" for each in passed)]


def _margin(certificate: Certificate) -> str:
    if certificate.robustness is None:
        return ""
    how = "held" if certificate.verdict == PASS else "failed"
    return f"{how} by {abs(certificate.robustness):.4g}"


def _again(arguments: argparse.Namespace) -> int:
    """Repeat the run of a certificate, and print whether the result is the same."""
    refuse(
        arguments,
        "--again",
        ("list", "only", "runs", "vary", "seed", "duration", "workers", "engine", "resume", "autopilot", "search"),
    )
    if arguments.scenarios:
        raise UsageError("--again runs the run of its certificate, and takes no SCENARIO")
    try:
        before = read_certificate(arguments.again)
    except CertificateFault as fault:
        raise UsageError(str(fault)) from None
    now = repeated(before, arguments.allow)
    differences = before.differences(now)
    about = f"{before.scenario}, run {before.case}, seed {before.seed}: {now.verdict}"
    print(about + (f": {now.reason}" if now.reason else ""))
    if not differences:
        print(f"the same, to the byte: {now.digest}")
        return 0
    print("not the same:", file=sys.stderr)
    for line in differences:
        print(f"  {line}", file=sys.stderr)
    return FAILED


def _list(scenarios: Sequence[Scenario]) -> int:
    width = max(len(each.name) for each in scenarios) + 2
    for each in scenarios:
        print(f"{each.name:{width}}{each.about}".rstrip())
    return 0


def _summarise(tested: Sequence[Tested]) -> int:
    """Print the number of runs, and return the exit code."""
    found = [each for one in tested for each in one.certificates]
    print(f"{counted(len(tested), 'scenario')}, {counted(len(found), 'run')}: {tally(found)}")
    verdicts = {each.verdict for each in found}
    return FAILED if FAIL in verdicts else UNJUDGED if ERROR in verdicts else 0


def _json(tested: Sequence[Tested]) -> str:
    rows = [
        {"scenario": one.scenario.name, "runs": [json.loads(each.line()) for each in one.certificates]}
        for one in tested
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def _clear(folder: Path) -> None:
    """Remove only the results of an earlier test from a folder."""
    shutil.rmtree(folder / BAGS, ignore_errors=True)
    (folder / CERTIFICATES).unlink(missing_ok=True)


def _matches(name: str, wanted: str) -> bool:
    return wanted in name or fnmatch.fnmatchcase(name, wanted)
