"""Run many cases of a world with numbers that differ, on all cores or on Ray; results as Parquet."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sim_node.cli.arguments import UsageError, seed, span
from sim_node.cli.bars import bar
from sim_node.cli.commands import command
from sim_node.cli.parser import add_optional, formerly, goes_with, refuse
from sim_node.cli.world_arguments import add_allow
from sim_node.extensions.sweep.about import study_of
from sim_node.extensions.sweep.dataset import DatasetFault, about_of, read
from sim_node.extensions.sweep.driver import DriverRows, execute
from sim_node.extensions.sweep.engine import EngineFault
from sim_node.extensions.sweep.job import DIVERGED, OK, TIMEOUT_S, Keep
from sim_node.extensions.sweep.options import add_vary, count, variation_option
from sim_node.extensions.sweep.study import Prepared, Study
from sim_node.extensions.sweep.variations import SAMPLINGS
from sim_node.world.problems import Place, Where, counted

FAILED, INTERRUPTED = 1, 130
# Time between two lines of progress if there is no terminal, s.
LINE_EVERY_S = 10.0
# Options that describe a sweep, and that a study file or existing results replace.
OF_STUDY = (
    "runs",
    "duration",
    "vary",
    "sampling",
    "seed",
    "measure",
    "every",
    "keep",
    "keep_columns",
    "keep_picture",
    "failures_only",
    "allow",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD, what varies, what is measured and kept, and where the cases run."""
    what = "a path, a package:// URI, the name of a shipped world, or a YAML file with the key `sweep`"
    parser.add_argument("world", metavar="WORLD", nargs="?", help=what)
    add_allow(parser)
    parser.add_argument("--runs", metavar="N", type=count, help="number of cases (default: all combinations of lists)")
    parser.add_argument("--duration", metavar="S", type=span, help="simulated seconds of each case")
    add_vary(parser, "a number of the world")
    parser.add_argument("--sampling", choices=SAMPLINGS, default="random", help="of distributions (default: random)")
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of all randomness (default 0)")
    measure = "what to measure, as max(pose[ball].z), time_to(pose[ball].z < 0.1), FILE.py or FILE.py:FUNCTION"
    parser.add_argument("--measure", metavar="MEASURE", action="append", default=[], help=measure)
    parser.add_argument("--every", metavar="S", type=span, help="sample signals at this period (default: each step)")
    kept = parser.add_argument_group("what to keep of each case beside its row")
    kept.add_argument(
        "--keep", metavar="TOPIC", action="append", default=[], help="record a topic, or a glob, in a bag"
    )
    kept.add_argument("--keep-columns", metavar="NAME", action="append", default=[], help="store a column over time")
    kept.add_argument("--keep-picture", action="store_true", help="draw the end of each case")
    kept.add_argument("--failures-only", action="store_true", help="keep these of failures only")
    campaigns = parser.add_argument_group("campaigns of Elodin, whose script runs as a process for each case")
    campaigns.add_argument("--campaign", metavar="FILE", type=Path, help="how the runs run: campaign.toml")
    rows = campaigns.add_mutually_exclusive_group()
    rows.add_argument("--plan", metavar="FILE", type=Path, help="the runs: plan.csv")
    rows.add_argument("--spec", metavar="FILE", type=Path, help="what the runs are drawn from: spec.toml")
    where = parser.add_argument_group("results and workers")
    output = where.add_argument("-o", "--output", metavar="DIR", type=Path, help="a new folder for the results")
    formerly(where, output, "--out")
    resume = "go on with the results in DIR (default: those of --output)"
    add_optional(where, "--resume", "DIR", lambda word: Path(word).is_dir(), type=Path, const=Path(), help=resume)
    where.add_argument("--plot", action="store_true", help="draw the results to plot.png in their folder")
    where.add_argument("--workers", metavar="N", type=count, help="how many run at once (default: all cores)")
    timeout = f"the longest time that a case may take, in seconds of this machine (default {TIMEOUT_S:g})"
    where.add_argument("--timeout", metavar="S", type=span, default=TIMEOUT_S, help=timeout)
    where.add_argument("--engine", metavar="NAME", default="processes", help="processes (the default) or ray")
    where.add_argument("--address", metavar="HOST:PORT", help="of a Ray cluster (default: RAY_ADDRESS, or none)")
    where.add_argument("--runtime-env", metavar="FILE", type=Path, help="Ray's runtime environment, as YAML or JSON")


@command("sweep", add_arguments, until_interrupted=True)
def run(arguments: argparse.Namespace) -> int:
    """Run the cases. Return 0 if all of them ran, 1 if some failed, crashed or took too long, 130 if interrupted."""
    resumed = arguments.resume is not None
    out = arguments.output if arguments.resume in (None, Path()) else arguments.resume
    if out is None:
        raise UsageError("--output DIR is needed, a new folder for the results")
    for name in ("address", "runtime_env"):
        if arguments.engine != "ray":
            goes_with(arguments, "--engine ray", [name])
    if arguments.campaign or arguments.plan or arguments.spec:
        return _run_campaign(arguments, out)
    try:
        study = _study(arguments, out, resumed)
        options = {name: str(value) for name in ("address", "runtime_env") if (value := getattr(arguments, name))}
        with Bar() as bar:
            is_complete = execute(
                study,
                out,
                workers=arguments.workers,
                engine=arguments.engine,
                options=options,
                timeout=arguments.timeout,
                resume=resumed,
                progress=bar.show,
                stop=lambda: bool(arguments.interrupt.asked),
                started=bar.start,
            )
        is_sound = _summarise(out)
        if arguments.plot:
            from sim_node.extensions.sweep.plots import plot

            print(plot(out))
    except (DatasetFault, EngineFault) as fault:
        raise UsageError(str(fault)) from None
    if not is_complete:
        print(f"interrupted; go on with: sim_node sweep --resume {out}", file=sys.stderr)
        return INTERRUPTED
    return 0 if is_sound else FAILED


def _run_campaign(arguments: argparse.Namespace, out: Path) -> int:
    """Run a campaign. Return 0 if it ran, 1 if runs failed and it asks for that, 130 if interrupted."""
    from sim_node.extensions.sweep.campaign import CampaignRuns
    from sim_node.extensions.sweep.campaign_files import Campaign, read_campaign
    from sim_node.extensions.sweep.plans import read_plan, read_spec

    refuse(arguments, "a campaign", (*OF_STUDY, "resume", "plot"))
    if arguments.world is None or not Path(arguments.world).is_file():
        raise UsageError("a campaign needs a script, as in: sim_node sweep main.py --spec spec.toml --output DIR")
    if arguments.plan is None and arguments.spec is None:
        raise UsageError("--campaign needs --plan FILE or --spec FILE, which has the runs")
    if out.exists():
        raise UsageError(f"{out} exists already; --output DIR is a new folder for the results")
    campaign = Campaign() if arguments.campaign is None else read_campaign(arguments.campaign)
    rows = read_spec(arguments.spec) if arguments.plan is None else read_plan(arguments.plan)
    if campaign.params_delivery is not None:
        campaign.params_delivery.refuse_undeliverable(arguments.plan or arguments.spec, rows)
    for note in campaign.notes:
        print(note, file=sys.stderr)

    def stop() -> bool:
        return bool(arguments.interrupt.asked)

    runs = CampaignRuns(Path(arguments.world), rows, campaign, out, arguments.workers, stop)
    try:
        with Bar() as bar:
            bar.begin(len(rows))
            outcomes = runs.run(bar.show)
    except (subprocess.CalledProcessError, OSError) as error:
        raise UsageError(str(error)) from None
    passed = sum(each.has_passed for each in outcomes)
    print(f"{out}: {passed} of {counted(len(rows), 'run')} passed")
    for each in [each for each in outcomes if each.reason][:5]:
        print(f"{each.row.run_id}: {each.reason}", file=sys.stderr)
    if stop():
        return INTERRUPTED
    return FAILED if campaign.fail_on_run_errors and any(map(runs.is_error, outcomes)) else 0


def _study(arguments: argparse.Namespace, out: Path, resumed: bool) -> Study:
    """Return the sweep that the arguments, a file, or the results describe."""
    if arguments.world is None:
        if not resumed:
            raise UsageError("WORLD is needed")
        refuse(arguments, "--resume without WORLD", OF_STUDY)
        return study_of(about_of(out))
    from sim_node.extensions.sweep.yaml_study import is_study, read_study

    if is_study(arguments.world):
        refuse(arguments, "a file with the key `sweep`", OF_STUDY)
        return read_study(Path(arguments.world))
    if arguments.duration is None:
        raise UsageError("--duration S is needed")
    return Study(
        arguments.world,
        arguments.duration,
        tuple(map(variation_option, arguments.vary)),
        arguments.runs,
        arguments.seed,
        arguments.sampling,
        tuple(arguments.measure),
        arguments.every,
        Keep(tuple(arguments.keep), tuple(arguments.keep_columns), arguments.keep_picture, arguments.failures_only),
        tuple(os.path.abspath(folder) for folder in arguments.allow),
        {f"measures[{index}]": Place(Where("--measure"), text) for index, text in enumerate(arguments.measure)},
    )


def _summarise(out: Path) -> bool:
    """Print the number of cases by status, and the first errors. Return whether all cases are ok or diverged."""
    rows = read(out)
    total = about_of(out)["runs"]
    counts = dict(sorted(rows.group_by("status").len().iter_rows()))
    parts = ", ".join(f"{count} {status}" for status, count in counts.items()) or "none"
    print(f"{out}: {len(rows)} of {counted(total, 'case')}: {parts}")
    for row in rows.filter(rows["error"] != "").head(5).iter_rows(named=True):
        print(f"case {row['case']}: {row['error']}", file=sys.stderr)
    return counts.keys() <= {OK, DIVERGED}


class Bar:
    """A progress bar with the number of finished cases, their rate, failures, and the time left."""

    def __enter__(self) -> Bar:
        self._show: Callable[[int, int], None] = lambda done, failures: None
        self._close: Callable[[], None] = lambda: None
        return self

    def __exit__(self, *of: object) -> None:
        self._close()

    def start(self, prepared: Prepared, dataset: DriverRows) -> None:
        """Show the cases that are already finished.

        Args:
            prepared: The sweep.
            dataset: Its results so far.
        """
        self.begin(len(prepared.cases), int(dataset.done.sum()))

    def begin(self, total: int, done: int = 0) -> None:
        """Show the number of cases.

        Args:
            total: The number of cases.
            done: The number of finished cases.
        """
        if sys.stderr.isatty():
            shown = bar(total=total, initial=done, unit="case", mininterval=0.2)

            def show(done: int, failures: int) -> None:
                shown.set_postfix_str(f"{failures} failed" if failures else "", refresh=False)
                shown.update(done - shown.n)

            self._show, self._close = show, shown.close
            return
        began, next_line = time.monotonic(), [time.monotonic() + LINE_EVERY_S]

        def line(now_done: int, failures: int) -> None:
            now = time.monotonic()
            if now >= next_line[0]:
                next_line[0] = now + LINE_EVERY_S
                rate = (now_done - done) / (now - began)
                left = f"{(total - now_done) / rate:.0f} s left" if rate else "time left unknown"
                print(
                    f"{now_done} of {total} cases, {rate:.3g} per second, {failures} failed, {left}",
                    file=sys.stderr,
                    flush=True,
                )

        self._show = line

    def show(self, done: int, failures: int) -> None:
        """Show the progress.

        Args:
            done: The number of finished cases.
            failures: How many of them are not ok.
        """
        self._show(done, failures)
