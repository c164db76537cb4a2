"""Campaigns of Elodin: runs of a script in separate processes, each with its own parameters, ports and folder."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim_node.extensions.elodin.monte_carlo import CONTEXT, DB_PATH, port_variable
from sim_node.extensions.elodin.pacing import SUMMARY, PaceKept
from sim_node.extensions.sweep.campaign_files import Campaign, Quality
from sim_node.extensions.sweep.plans import PlanRow, write_plan
from sim_node.simulation.programs import end_session

# Time between two checks of a process, and time after which a process that was asked to end is killed, s.
LOOK_S, PATIENCE_S = 0.05, 3.0
# The file in the folder of a run with its pacing statistics.
_SUMMARY = "sim_summary.json"
# The columns of results.csv that each run fills in. Further columns of Elodin stay empty.
_COLUMNS = (
    *("run_id", "status", "passed", "valid", "degraded", "scored_pass", "scored_valid", "failure_reason"),
    *("behind_deadline_frac", "real_time_factor", "drift_resets", "worker_id", "wall_ms", "db_path", "result_json"),
)


@dataclass
class RunOutcome:
    """How a run ended.

    Attributes:
        row: The run.
        folder: Where its files are.
        status: ok, failed, timeout, invalid, degraded or skipped.
        reason: Why it failed.
        exit_ok: Whether its process exited successfully.
        worker: The number of its worker, or None if it did not run.
        attempt: The number of the attempt, from 1.
        wall_ms: Its wall time, ms.
        scores: The result of its hook: numbers, booleans and strings by name.
        pace: How well it kept real time.
    """

    row: PlanRow
    folder: Path
    status: str = "skipped"
    reason: str = ""
    exit_ok: bool = False
    worker: int | None = None
    attempt: int = 0
    wall_ms: int = 0
    scores: Mapping[str, Any] = field(default_factory=dict)
    pace: PaceKept = field(default_factory=PaceKept)

    @property
    def is_valid(self) -> bool:
        """Whether it counts as a run."""
        return self.status not in ("skipped", "invalid")

    @property
    def has_passed(self) -> bool:
        """Whether it ended successfully and its score did not fail."""
        return self.status == "ok" and self.scores.get("pass") is not False

    def degrade(self, quality: Quality) -> None:
        """Mark the run as degraded if it succeeded but did not keep real time."""
        late, factor, _ = self.pace
        if self.status != "ok":
            return
        if (most := quality.max_behind_deadline_frac) is not None and late is not None and late > most:
            self.status, self.reason = "degraded", f"{late:.1%} of its waits were late ({most:.1%} allowed)"
        elif (most := quality.max_real_time_factor) is not None and factor is not None and factor > most:
            self.status, self.reason = "degraded", f"took {factor:.3f} times real time ({most:g} allowed)"


class CampaignRuns:
    """Runs a campaign.

    Args:
        script: The script.
        rows: Its runs.
        campaign: How they run.
        out: The folder of the results; it is created.
        workers: The number of concurrent runs; by default that of the campaign, or the number of cores.
        stop: Returns whether to end early.
    """

    def __init__(
        self,
        script: Path,
        rows: Sequence[PlanRow],
        campaign: Campaign,
        out: Path,
        workers: int | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._script, self._rows, self._campaign, self.out = script.resolve(), rows, campaign, out.resolve()
        self._stop, self._workers = stop, min(workers or campaign.workers or os.cpu_count() or 1, len(rows))
        self._idle = list(range(self._workers))
        self._lock, self._ports = threading.Lock(), set[int]()
        self._failed = threading.Event()
        # The folder in which runs are until they end.
        self._active = self.out

    def run(self, progress: Callable[[int, int], None] = lambda done, failures: None) -> list[RunOutcome]:
        """Run all runs, and write their results.

        Args:
            progress: Called with the number of finished runs, and how many of them did not pass.

        Returns:
            The outcomes, in the order of the plan.

        Raises:
            subprocess.CalledProcessError: A build command failed.
            OSError: The folder cannot be written.
        """
        self.out.mkdir(parents=True)
        write_plan(self._rows, self.out / "plan.csv")
        for step in self._campaign.build:
            subprocess.run(step.command, check=True, cwd=step.cwd, env={**os.environ, **step.env})
        if (scratch := self._campaign.scratch_dir) is not None:
            scratch.mkdir(parents=True, exist_ok=True)
            self._active = Path(tempfile.mkdtemp(prefix=f"sim_node-{self.out.name}-", dir=scratch.resolve()))
        began = time.monotonic()
        try:
            outcomes = self._all(progress)
        finally:
            if self._active != self.out:
                self._leave_scratch()
        self._write(outcomes, time.monotonic() - began)
        return outcomes

    def _all(self, progress: Callable[[int, int], None]) -> list[RunOutcome]:
        with ThreadPoolExecutor(self._workers) as pool:
            futures = {pool.submit(self._one, row): number for number, row in enumerate(self._rows)}
            outcomes = [self._not_run(row) for row in self._rows]
            done = failures = 0
            for future in as_completed(futures):
                outcome = outcomes[futures[future]] = future.result()
                done, failures = done + 1, failures + (not outcome.has_passed)
                progress(done, failures)
        return outcomes

    def _leave_scratch(self) -> None:
        """Remove the scratch folder, unless it has the only copy of a run that could not be moved."""
        left = sorted(each.name for each in self._active.glob("runs/*"))
        if left:
            some = ", ".join(left[:5]) + (", ..." if len(left) > 5 else "")
            print(f"{self._active / 'runs'} keeps what could not be moved to {self.out}: {some}", file=sys.stderr)
        else:
            shutil.rmtree(self._active, ignore_errors=True)

    def is_error(self, outcome: RunOutcome) -> bool:
        """Return whether a run counts as an error of the campaign.

        Args:
            outcome: How the run ended.

        Returns:
            True for a run that did not pass; for a run that was only late, as the campaign specifies.
        """
        if outcome.status == "degraded":
            return self._campaign.quality.fail_on_degraded
        return outcome.status != "skipped" and not outcome.has_passed

    def _not_run(self, row: PlanRow) -> RunOutcome:
        return RunOutcome(row, self.out / "runs" / row.run_id)

    def _one(self, row: PlanRow) -> RunOutcome:
        with self._lock:
            worker = self._idle.pop(0)
        try:
            outcome = self._not_run(row)
            for attempt in range(1, self._campaign.retries + 2):
                if self._stop() or self._failed.is_set():
                    break
                outcome = self._attempt(row, worker, attempt)
                if outcome.exit_ok:
                    break
            if not outcome.has_passed and not self._campaign.continue_on_error:
                self._failed.set()
            return outcome
        finally:
            with self._lock:
                self._idle.append(worker)
                self._idle.sort()

    def _attempt(self, row: PlanRow, worker: int, attempt: int) -> RunOutcome:
        folder, last = (base / "runs" / row.run_id for base in (self._active, self.out))
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "logs").mkdir(parents=True)
        database, began = folder / "db", time.monotonic()
        ports, db_port = self._claim(worker)
        try:
            env = self._environment(row, worker, folder, database, ports, db_port)
            status, reason = self._process(env, folder / "logs" / "sim.log")
        finally:
            with self._lock:
                self._ports -= {*ports.values(), db_port}
        wall_ms = round(1e3 * (time.monotonic() - began))
        outcome = RunOutcome(row, folder, status, reason, status == "ok", worker, attempt, wall_ms)
        outcome.pace = PaceKept.read(folder / _SUMMARY)
        self._score(outcome, database)
        outcome.degrade(self._campaign.quality)
        keep = self._campaign.keep_run_db
        if keep == "never" or (keep == "on-fail" and outcome.has_passed):
            shutil.rmtree(database, ignore_errors=True)
        for glob in self._campaign.prune_on_pass if outcome.has_passed else self._campaign.prune_on_fail:
            _remove(folder, glob)
        if folder != last:
            self._move(outcome, last)
        _write_json(outcome.folder / "metrics.json", _metrics(outcome))
        return outcome

    def _move(self, outcome: RunOutcome, last: Path) -> None:
        """Move the folder of a run to the results. If this fails, it stays, and the run counts as failed."""
        try:
            last.parent.mkdir(exist_ok=True)
            shutil.rmtree(last, ignore_errors=True)
            shutil.move(outcome.folder, last)
            outcome.folder = last
        except (OSError, shutil.Error) as error:
            shutil.rmtree(last, ignore_errors=True)
            reason = f"stays in {outcome.folder}, since it cannot be moved: {error}"
            outcome.status, outcome.reason = "failed", "; ".join(filter(None, (outcome.reason, reason)))

    def _claim(self, worker: int) -> tuple[dict[str, int], int]:
        """Return ports that no other run uses: those of the campaign, shifted for the worker, or free ones."""
        campaign, shift = self._campaign, worker * self._campaign.port_stride

        def one(base: int | None) -> int:
            found = base + shift if base is not None else _free_port(self._ports)
            self._ports.add(found)
            return found

        with self._lock:
            return {name: one(base) for name, base in campaign.ports.items()}, one(campaign.db_port)

    def _environment(
        self, row: PlanRow, worker: int, folder: Path, database: Path, ports: Mapping[str, int], db_port: int
    ) -> dict[str, str]:
        delivery = self._campaign.params_delivery
        cache, context = (self._campaign.cache_dir or self.out / "cache").resolve(), folder / "context.json"
        about = {
            "run_id": row.run_id,
            "seed": row.seed,
            "db_path": str(database),
            "db_addr": f"127.0.0.1:{db_port}",
            "cache_dir": str(cache),
            "run_dir": str(folder),
            "params": row.params,
            "meta": row.meta,
            "slots": {"worker_id": worker, "db_port": db_port, "ports": ports},
        }
        _write_json(context, about)
        seed = {} if row.seed is None else {"ELODIN_MONTE_CARLO_SEED": str(row.seed)}
        return {
            **_thread_limits(self._workers),
            **os.environ,
            # For the processes that the script starts.
            "ROS_LOG_DIR": str(folder / "logs"),
            **self._campaign.env,
            CONTEXT: str(context),
            "ELODIN_CACHE_DIR": str(cache),
            "ELODIN_MONTE_CARLO_WORKER_ID": str(worker),
            "ELODIN_MONTE_CARLO_DB_PORT": str(db_port),
            "ELODIN_MONTE_CARLO_PORT_OFFSET": str(worker * self._campaign.port_stride),
            DB_PATH: str(database),
            "ELODIN_MONTE_CARLO_RUN_DIR": str(folder),
            SUMMARY: str(folder / _SUMMARY),
            **seed,
            **{port_variable(name): str(port) for name, port in ports.items()},
            **({} if delivery is None else delivery.deliver(row, folder, database)),
        }

    def _process(self, env: Mapping[str, str], log: Path) -> tuple[str, str]:
        """Run the script and its child processes as a process group. Return its status, and why it failed."""
        limit = self._campaign.timeout_s
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(self._script)],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            began, status, reason = time.monotonic(), "failed", ""
            while not _has_ended(process, LOOK_S):
                if self._stop():
                    status, reason = "skipped", "interrupted"
                elif limit is not None and time.monotonic() - began > limit:
                    status, reason = "timeout", f"took longer than {limit:g} s"
                else:
                    continue
                end_session(process, PATIENCE_S, signal.SIGTERM)
        if reason or process.returncode:
            return status, reason or f"exit code {process.returncode}: {_last_line(log)}"
        return "ok", ""

    def _score(self, outcome: RunOutcome, database: Path) -> None:
        """Score a run with the hook of the campaign."""
        hook, folder = self._campaign.post_run, outcome.folder
        if hook is None or outcome.status == "skipped":
            return
        context = folder / "post_run_context.json"
        about = {
            "run_id": outcome.row.run_id,
            "params": outcome.row.params,
            "meta": outcome.row.meta,
            "metrics": _metrics(outcome),
            "db_path": str(database),
            "run_dir": str(folder),
        }
        fault = run_hook(hook, "post_run", about, context)
        if fault:
            outcome.status, outcome.reason = "failed", f"{hook}: {fault}"
            return
        given = _read_json(folder / "post_run_result.json")
        outcome.scores = {name: value for name, value in given.items() if isinstance(value, (bool, int, float, str))}
        if given.get("valid", given.get("status") != "invalid") is False:
            outcome.status = "invalid"

    def _write(self, outcomes: Sequence[RunOutcome], wall_s: float) -> None:
        names = sorted({name for each in outcomes for name in each.scores} - {"pass", "valid"})
        with (self.out / "results.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*_COLUMNS, *names])
            for each in outcomes:
                row = {**_metrics(each), "result_json": f"runs/{each.row.run_id}/result.json"}
                row["db_path"] = str(each.folder / "db")
                writer.writerow(
                    [*(_cell(row.get(name)) for name in _COLUMNS), *(_cell(each.scores.get(n)) for n in names)]
                )
        _write_json(self.out / "summary.json", self._summary(outcomes, wall_s, names))
        hook = self._campaign.post_campaign
        if hook is not None:
            about = {name: str(self.out / f"{name}.{end}") for name, end in (("results", "csv"), ("summary", "json"))}
            fault = run_hook(
                hook, "post_campaign", {"out_dir": str(self.out), **about}, self.out / "campaign_hook_context.json"
            )
            if fault:
                print(f"{hook}: {fault}", file=sys.stderr)

    def _summary(self, outcomes: Sequence[RunOutcome], wall_s: float, names: Sequence[str]) -> dict[str, Any]:
        wall = [each.wall_ms for each in outcomes]
        passed = sum(each.has_passed for each in outcomes)
        counts = {name: sum(each.status == name for each in outcomes) for name in ("invalid", "degraded", "skipped")}
        metrics = {}
        for name in names:
            values = [each.scores.get(name) for each in outcomes if each.is_valid]
            numbers = [
                float(value) for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)
            ]
            if numbers:
                ends = {"min": min(numbers), "mean": statistics.fmean(numbers), "max": max(numbers)}
                metrics[name] = {"count": len(numbers), **ends}
        return {
            "total_runs": len(outcomes),
            "passed": passed,
            "failed": len(outcomes) - passed - sum(counts.values()),
            **counts,
            "workers": self._workers,
            "wall_ms": round(1e3 * wall_s),
            "total_run_wall_ms": sum(wall),
            "average_run_wall_ms": statistics.fmean(wall),
            "max_run_wall_ms": max(wall),
            "hook_metrics": metrics,
            "pacing": _pacing(outcomes),
        }


def _remove(folder: Path, glob: str) -> None:
    """Remove the matches of a glob in a folder, but nothing outside the folder that links lead to."""
    for path in [*folder.glob(glob)]:
        if path.is_dir() and not path.is_symlink() and path.resolve().is_relative_to(folder.resolve()):
            shutil.rmtree(path, ignore_errors=True)
        elif path.parent.resolve().is_relative_to(folder.resolve()):
            path.unlink(missing_ok=True)


# Calls a function of a file with the contents of a JSON file as an object, and writes the result beside that file.
_HOOK = """
import json, runpy, sys
from pathlib import Path
from types import SimpleNamespace
hook, name, context = sys.argv[1:]
sys.path.insert(0, str(Path(hook).resolve().parent))
function = runpy.run_path(hook).get(name)
if not callable(function):
    sys.exit(f"has no function {name}")
made = function(json.loads(Path(context).read_text(), object_hook=lambda each: SimpleNamespace(**each)))
if made is not None:
    Path(context).with_name(f"{name}_result.json").write_text(json.dumps(made, indent=2, sort_keys=True))
"""


def run_hook(hook: Path, name: str, about: Mapping[str, Any], context: Path) -> str:
    """Run a hook in a separate process. The output of `post_campaign` is printed.

    Args:
        hook: The file.
        name: The function, `post_run` or `post_campaign`.
        about: Its arguments.
        context: The file to which `about` is written. The result of the hook is beside it, in NAME_result.json.

    Returns:
        Why it failed, or an empty string.
    """
    _write_json(context, about)
    command = [sys.executable, "-c", _HOOK, str(hook), name, str(context)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    log = context.with_name(f"{name}.log")
    log.write_text(f"{done.stdout}\n--- stderr ---\n{done.stderr}", encoding="utf-8")
    if name == "post_campaign":
        print(done.stdout, end="")
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1] if done.returncode else ""


def _metrics(outcome: RunOutcome) -> dict[str, Any]:
    return {
        "run_id": outcome.row.run_id,
        "worker_id": outcome.worker,
        "attempt": outcome.attempt,
        "status": outcome.status,
        "exit_ok": outcome.exit_ok,
        "passed": outcome.has_passed,
        "valid": outcome.is_valid,
        "degraded": outcome.status == "degraded",
        **outcome.pace._asdict(),
        "scored_pass": outcome.scores.get("pass"),
        "scored_valid": outcome.scores.get("valid"),
        "failure_reason": outcome.reason or None,
        "wall_ms": outcome.wall_ms,
    }


def _pacing(outcomes: Sequence[RunOutcome]) -> dict[str, Any] | None:
    """Return the number of runs in real time and the worst of them; None if there are none."""
    paced = [each for each in outcomes if each.pace != PaceKept()]
    if not paced:
        return None
    late = max(paced, key=lambda each: each.pace.behind_deadline_frac or 0.0)
    slow = max(paced, key=lambda each: each.pace.real_time_factor or 0.0)
    return {
        "paced_runs": len(paced),
        "max_behind_deadline_frac": late.pace.behind_deadline_frac,
        "max_behind_run": late.row.run_id,
        "max_real_time_factor": slow.pace.real_time_factor,
        "max_real_time_factor_run": slow.row.run_id,
    }


def _cell(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _free_port(taken: set[int]) -> int:
    """Return a port that is free for UDP and TCP, and not taken."""
    while True:
        with socket.socket() as stream:
            stream.bind(("127.0.0.1", 0))
            port = int(stream.getsockname()[1])
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
                try:
                    datagrams.bind(("127.0.0.1", port))
                except OSError:
                    continue
        if port not in taken:
            return port


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a process, at most for a time in s. Return whether it has ended."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _last_line(log: Path) -> str:
    return (log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["it printed nothing"])[-1]


def _thread_limits(workers: int) -> dict[str, str]:
    """Return environment variables that make concurrent runs share the cores, instead of each using all of them."""
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    xla = f"--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads={threads}"
    pools = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(pools, threads) | {"XLA_FLAGS": xla}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
