"""A worker: runs the cases of a job in the way that the world needs."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sim_node.extensions.sweep.attempts import GRACE_S, attempted, last_limit
from sim_node.extensions.sweep.components import varied
from sim_node.extensions.sweep.job import OK, Case, Cases, Job, Outcome
from sim_node.extensions.sweep.keeping import BAG, needs_session
from sim_node.extensions.sweep.runner import Runner
from sim_node.world import Diverged

# Retries after port conflicts, because workers on one machine choose the ports of autopilots at the same time.
ATTEMPTS, LONGEST_PAUSE_S = 20, 0.3


class CaseWorker:
    """Runs cases of a job: in blocks, in a session, or by a simulation alone.

    Args:
        job: The job.

    Raises:
        WorldError: The world is invalid.
        MeasureFault: A measure is invalid.
    """

    def __init__(self, job: Job) -> None:
        runner = self._runner = Runner(job)
        self._in_session = needs_session(runner.world, job.keep)
        self._blocks: Any = None
        if job.block > 1:
            from sim_node.extensions.sweep.blocks import BlockProgram

            self._blocks = BlockProgram(runner)

    def run(self, cases: Cases) -> Iterator[Outcome]:
        """Run cases.

        Args:
            cases: The cases.

        Yields:
            The outcome of each.
        """
        if self._blocks is not None:
            yield from self._blocks.run(cases)
        elif self._in_session:
            for case in cases:
                yield run_in_session(self._runner, case)
        else:
            yield from self._runner.run(cases)


def run_in_session(runner: Runner, case: Case) -> Outcome:
    """Run a case with its autopilots, and record its topics.

    Args:
        runner: The runner of this worker.
        case: The case.

    Returns:
        Its outcome.
    """
    keep = runner.job.keep
    with TemporaryDirectory(prefix="sim_node_case_") as folder:
        outcome = attempted(case, runner.job.timeout_s, partial(_tried, runner, case, Path(folder)))
        if not keep.topics or (keep.failures_only and outcome.status == OK):
            return outcome
        attempt = max(Path(folder).iterdir(), key=lambda path: int(path.name), default=Path(folder))
        files = {f"{BAG}/{path.name}": path.read_bytes() for path in sorted((attempt / BAG).glob("*"))}
        return outcome._replace(files={**outcome.files, **files})


def _tried(runner: Runner, case: Case, folder: Path, began: float) -> Outcome:
    """Run a session, and retry if another worker takes its ports. Each attempt has its own folder for its bag."""
    from sim_node.mavlink.ports import PortInUse

    for attempt in range(ATTEMPTS):
        bag = folder / f"{attempt}" / BAG if runner.job.keep.topics else None
        try:
            return _outcome(runner, case, began, bag)
        except PortInUse:  # another worker was faster: the next attempt finds other ports
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(random.uniform(0.0, LONGEST_PAUSE_S))
    raise AssertionError


def _outcome(runner: Runner, case: Case, began: float, bag: Path | None) -> Outcome:
    """Run a session to its end. Raises PortInUse if an autopilot's port is taken between its choice and its use."""
    from sim_node.recording.settings import RecordingSettings
    from sim_node.session import Session

    if bag is not None:
        bag.parent.mkdir()
    session = Session(
        varied(runner.world, case.values),
        seed=case.seed,
        real_time_factor=0.0,
        duration_ns=runner.job.duration_ns,
        record=bag,
        recording=RecordingSettings(topics=runner.job.keep.topics),
    )
    with session:
        simulation = session.simulation
        opened = runner.observe(simulation)
        diverged_at = None
        try:
            session.run()
        except Diverged:
            diverged_at = (simulation.time_ns - simulation.world.time.start_ns) * 1e-9
        return runner.finish(opened, case, began, diverged_at)


# The worker of this process, and the key of its job. Consecutive batches usually belong to the same sweep.
_WORKER: dict[str, Any] = {}


def run_batch(key: str, job: Job, cases: Cases) -> list[Outcome]:
    """Run cases in this worker process, which keeps its open world for the next batch.

    The process ends if a case does not end in time and cannot be interrupted.

    Args:
        key: Identifies the job.
        job: The job.
        cases: The cases.

    Returns:
        Their outcomes.
    """
    if _WORKER.get("key") != key:
        _WORKER.clear()
        _WORKER.update(key=key, worker=CaseWorker(job))
    outcomes = _WORKER["worker"].run(cases)
    done: list[Outcome] = []
    while len(done) < len(cases):
        with last_limit(job.timeout_s * job.block + GRACE_S):
            done.append(next(outcomes))
    return done
