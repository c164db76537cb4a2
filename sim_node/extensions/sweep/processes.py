"""The engine `processes`: a process pool of the standard library on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from sim_node.extensions.sweep.engine import Finished, sweep_engine
from sim_node.extensions.sweep.job import Cases, Job, Outcome
from sim_node.interrupt import SIGNALS

_SIGNALS = set(SIGNALS)


class Processes:
    """Runs batches in processes on this machine.

    Workers end when this process ends for any reason, because each watches for the other end of a pipe to close.

    Args:
        job: The job.
        workers: Number of processes.
    """

    def __init__(self, job: Job, workers: int) -> None:
        self.workers = workers
        self._job = job
        self._pool: ProcessPoolExecutor | None = None
        self._lifeline: Connection | None = None
        self._running: dict[Future[list[Outcome]], tuple[Cases, ProcessPoolExecutor]] = {}

    def submit(self, cases: Cases) -> None:
        """Let a batch run."""
        while True:
            pool = self._pool or self._opened()
            try:
                with _signals_blocked():  # inherited by workers, because Ctrl-C in a terminal is for the driver
                    self._running[pool.submit(_run, cases)] = cases, pool
            except BrokenProcessPool:  # a worker ended since the last wait
                self._end_pool()
            else:
                return

    def wait(self, seconds: float) -> list[Finished]:
        """Wait until a batch has ended. If a worker ends unexpectedly, all running batches are lost."""
        done, _ = wait(self._running, seconds, FIRST_COMPLETED)
        ended = []
        for future in done:
            cases, pool = self._running.pop(future)
            try:
                ended.append(Finished(cases, future.result()))
            except BrokenProcessPool:
                ended.append(Finished(cases, None))
                if pool is self._pool:
                    self._end_pool()
        return ended

    def close(self) -> None:
        """End all workers."""
        self._end_pool()
        self._running.clear()

    def _opened(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        theirs, self._lifeline = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(self.workers, context, _start, (theirs, self._job))
        return self._pool

    def _end_pool(self) -> None:
        pool, self._pool = self._pool, None
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None
        if pool is not None:
            pool.shutdown(cancel_futures=True)


@sweep_engine("processes")
def open_processes(job: Job, workers: int | None, options: Mapping[str, str]) -> Processes:
    """Open the pool, by default with one worker for each core available to this process."""
    return Processes(job, workers or len(os.sched_getaffinity(0)))


@contextmanager
def _signals_blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# The job of this worker.
_JOB: list[Any] = []


def _start(lifeline: Connection, job: Job) -> None:
    """Prepare a worker."""
    for number in (signal.SIGINT, signal.SIGQUIT):  # a terminal sends these to all processes
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    _JOB.append(job)


def _end_with(lifeline: Connection) -> None:
    try:
        lifeline.recv_bytes()
    except (EOFError, OSError):
        os._exit(0)


def _run(cases: Cases) -> list[Outcome]:
    from sim_node.extensions.sweep.worker import run_batch

    return run_batch("", _JOB[0], cases)
