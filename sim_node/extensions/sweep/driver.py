"""The driver of a sweep: submits batches of cases to an engine, and appends their outcomes to the results."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sim_node.extensions.sweep.about import describe
from sim_node.extensions.sweep.attempts import GRACE_S
from sim_node.extensions.sweep.dataset import DatasetFault, RowWriter, about_of, read
from sim_node.extensions.sweep.engine import SWEEP_ENGINES, SweepEngine
from sim_node.extensions.sweep.job import CRASHED, OK, TIMEOUT_S, Cases, Keep, Outcome
from sim_node.extensions.sweep.study import Prepared, Study, prepare
from sim_node.extensions.sweep.variations import Variation, variation
from sim_node.text import did_you_mean
from sim_node.world import World
from sim_node.world.problems import Place, Where

if TYPE_CHECKING:
    import polars

# The approximate duration of a batch (s), so that the overhead of submitting it is negligible.
BATCH_S = 0.5
MAX_BATCH = 10_000
# Time (s) to wait for a batch between two checks whether to stop.
POLL_S = 0.2
# Number of times that a case may crash its worker before it is given up.
MAX_CRASHES = 2
# Called with the number of finished cases, and how many of them are not ok.
Progress = Callable[[int, int], None]


class DriverRows(Protocol):
    """A receiver of the outcomes of cases.

    Attributes:
        done: Mask (runs,) of the cases that have a row.
    """

    done: npt.NDArray[np.bool_]

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Add outcomes."""


class Driver:
    """Runs the cases of a sweep that have no row yet.

    Args:
        prepared: The sweep.
        engine: Where its cases run.
        dataset: Where its rows go.
        progress: Called after each batch.
        stop: Returns whether to stop before the end.

    Attributes:
        failures: Number of cases that were not ok, since the driver was made.
    """

    def __init__(
        self,
        prepared: Prepared,
        engine: SweepEngine,
        dataset: DriverRows,
        progress: Progress = lambda done, failures: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._cases, self._block, self._timeout_s = prepared.cases, prepared.job.block, prepared.job.timeout_s
        self._engine, self._dataset = engine, dataset
        self._progress, self._stop = progress, stop
        self.failures = 0
        self._left = self._missing()
        self._at = self._running = 0
        self._wall_s, self._measured = 0.0, 0
        # Cases of crashed workers. Each runs alone, to find the one that causes the crash.
        self._suspects: deque[Cases] = deque()
        self._began = 0.0  # start time of the last batch, s
        self._crashes: dict[int, int] = {}

    def run(self) -> bool:
        """Run to the end, or until `stop`. Return whether all cases have a row."""
        while self._running or self._suspects or self._at < len(self._left):
            if self._stop():
                return False
            self._fill()
            for finished in self._engine.wait(POLL_S):
                self._running -= 1
                if finished.outcomes is None:
                    self._lost(finished.cases)
                else:
                    self._add(finished.outcomes)
        return True

    def _fill(self) -> None:
        """Submit batches: two for each worker, so that no worker has to wait for the next."""
        if self._suspects:
            if self._running == 0:
                self._submit(self._suspects.popleft())
            return
        while self._running < 2 * self._engine.workers and self._at < len(self._left):
            size = self._batch_size()
            rows = self._left[self._at : self._at + size]
            self._at += size
            self._submit(self._cases.part(rows))

    def _submit(self, cases: Cases) -> None:
        self._engine.submit(cases)
        self._running += 1
        self._began = time.monotonic()

    def _batch_size(self) -> int:
        """Return the number of cases that take about BATCH_S, but few enough to leave work for all workers."""
        if not self._measured:
            return self._block
        mean_s = max(self._wall_s / self._measured, 1e-9)
        left = len(self._left) - self._at
        size = min(math.ceil(BATCH_S / mean_s), math.ceil(left / self._engine.workers), MAX_BATCH)
        return max(1, math.ceil(size / self._block)) * self._block

    def _missing(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the numbers of the cases to run, in order. Cases that share a batch run together, or not at all."""
        done = self._dataset.done
        missing = np.flatnonzero(~done)
        if self._block > 1:
            blocks = np.unique(missing // self._block)
            missing = (blocks[:, None] * self._block + np.arange(self._block)).ravel()
            missing = missing[missing < len(done)]
        return missing

    def _add(self, outcomes: Sequence[Outcome]) -> None:
        self._wall_s += sum(outcome.wall_s for outcome in outcomes)
        self._measured += len(outcomes)
        self.failures += sum(outcome.status != OK for outcome in outcomes)
        self._dataset.add(outcomes)
        self._progress(int(self._dataset.done.sum()), self.failures)

    def _lost(self, cases: Cases) -> None:
        alone = len(cases) <= self._block
        for start in range(0, len(cases), self._block):
            part = cases.part(slice(start, start + self._block))
            first = int(part.numbers[0])
            self._crashes[first] = self._crashes.get(first, 0) + alone
            took = time.monotonic() - self._began
            # The worker ended because of the hard time limit. It would do so again.
            is_late = alone and took >= self._timeout_s * len(part) + GRACE_S
            if self._crashes[first] < MAX_CRASHES and not is_late:
                self._suspects.append(part)
            else:
                error = f"the worker process ended while it ran this case, the last time after {took:.0f} s"
                self._add([Outcome(case, CRASHED, error, {}, took) for case in part])


def execute(
    study: Study,
    out: Path,
    *,
    workers: int | None = None,
    engine: str = "processes",
    options: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT_S,
    resume: bool = False,
    progress: Progress = lambda done, failures: None,
    stop: Callable[[], bool] = lambda: False,
    started: Callable[[Prepared, RowWriter], None] = lambda prepared, dataset: None,
) -> bool:
    """Run a sweep into a folder.

    Args:
        study: The sweep.
        out: The folder of the results.
        workers: How many batches run at once; None for the engine's own number.
        engine: One of SWEEP_ENGINES.
        options: Options of the engine by name.
        timeout: The longest time that a case may take, s.
        resume: Whether to resume with the results in the folder.
        progress: Called with the number of finished cases, and of those that are not ok.
        stop: Returns whether to stop before the end.
        started: Called before the first case runs.

    Returns:
        Whether all cases have a row.

    Raises:
        WorldError: The sweep is invalid.
        DatasetFault: The folder cannot be used.
        EngineFault: The engine cannot run.
    """
    if engine not in SWEEP_ENGINES:
        known = ", ".join(SWEEP_ENGINES)
        raise DatasetFault(f"no engine {engine!r}{did_you_mean(engine, SWEEP_ENGINES)} (known: {known})")
    prepared = prepare(study)
    prepared = replace(prepared, job=replace(prepared.job, timeout_s=timeout))
    about = describe(study, prepared)
    if resume:
        _check_same(out, about)
    dataset = RowWriter(out, None if resume else about, len(prepared.cases))
    with closing(dataset):
        started(prepared, dataset)
        if dataset.done.all() or stop():
            return bool(dataset.done.all())
        with (
            SWEEP_ENGINES.blaming(engine),
            closing(SWEEP_ENGINES[engine](prepared.job, workers, options or {})) as opened,
        ):
            return Driver(prepared, opened, dataset, progress, stop).run()


def run(
    world: World | str | Path,
    *,
    duration: float,
    vary: Mapping[str, str | Sequence[float]] | None = None,
    runs: int | None = None,
    seed: int = 0,
    sampling: str = "random",
    measures: Sequence[str] = (),
    every: float | None = None,
    keep: Keep | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    workers: int | None = None,
    engine: str = "processes",
    options: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT_S,
) -> polars.DataFrame:
    """Run many cases of a world with different parameters, and return their results.

    With the engine `processes`, the calling script needs `if __name__ == "__main__":`, as with multiprocessing.

    Args:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        duration: Simulated time of each case, s.
        vary: The values of each key path: a list of numbers, or a string such as "uniform(1.2, 1.8)".
        runs: Number of cases; None for one case for each combination of the lists and grids.
        seed: Seed of the samples, and of the seeds of the cases.
        sampling: How distributions are sampled: "random", "latin_hypercube" or "sobol".
        measures: What to measure, as in "max(pose[ball].z)" or "landing.py:scatter".
        every: Time between two recorded instants of signals, s; None for the world's step.
        keep: What to keep of each case beside its row.
        out: A new folder for the results; None for none.
        resume: Whether to resume with the results in `out`.
        workers: How many batches run at once; None for the engine's own number.
        engine: "processes" for this machine, or "ray".
        options: Options of the engine, such as {"address": "auto"} for Ray.
        timeout: The longest time that a case may take, s; cases that take longer have the status "timeout".

    Returns:
        A row for each case: `case`, `seed`, the varied numbers, the measures, `status`, `error` and `wall_s`.

    Raises:
        WorldError: The world, a path, a number or a measure is invalid.
        DatasetFault: The folder cannot be used.
        EngineFault: The engine cannot run.
    """
    varied = tuple(_variation(path, values) for path, values in (vary or {}).items())
    study = Study(world, duration, varied, runs, seed, sampling, tuple(measures), every, keep or Keep())
    if out is None:
        if keep:
            raise DatasetFault("keep: needs a folder for the results, `out`")
        with TemporaryDirectory(prefix="sim_node_sweep_") as folder:
            execute(study, Path(folder), workers=workers, engine=engine, options=options, timeout=timeout)
            return read(folder)
    execute(study, Path(out), workers=workers, engine=engine, options=options, timeout=timeout, resume=resume)
    return read(out)


def _variation(path: str, values: str | Sequence[float]) -> Variation:
    place = Place(Where("vary"), path)
    return variation(path, values if isinstance(values, str) else ",".join(f"{value:.17g}" for value in values), place)


def _check_same(out: Path, about: Mapping[str, Any]) -> None:
    """Check that existing results belong to this sweep. Raises DatasetFault."""
    found = about_of(out)
    for key, value in about.items():
        if key != "world" and found.get(key) != value:
            what = {"digest": "the world has changed", "functions": "a file of a measure has changed"}.get(key)
            what = what or f"{key} is another"
            raise DatasetFault(f"{out}: {what}; the rest of its cases would not be of the same sweep")
