"""Attempts: running a case in isolation, so that errors, sys.exit() and endless loops become its outcome."""

from __future__ import annotations

import faulthandler
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from sim_node.extensions.sweep.job import FAILED, TIMED_OUT, Case, Outcome
from sim_node.extensions.sweep.signals import MeasureFault
from sim_node.plugins import PluginFault, error_line
from sim_node.world import WorldError
from sim_node.world.problems import RunFailed

# Additional time (s) for code that Python cannot interrupt, after which its worker ends.
GRACE_S = 10.0


class TimedOut(BaseException):
    """A case took too long. It is not an Exception, because code of measures and plug-ins may catch those."""


def attempted(case: Case, timeout_s: float, run: Callable[[float], Outcome]) -> Outcome:
    """Run a case.

    Args:
        case: The case.
        timeout_s: The longest time that it may take, s.
        run: Runs it, given its start time on the clock perf_counter, s.

    Returns:
        Its outcome.
    """
    began = time.perf_counter()
    try:
        with time_limit(timeout_s):
            return run(began)
    except TimedOut:
        return timed_out(case, timeout_s)
    except (Exception, SystemExit) as error:
        return failed(case, error, began)


def failed(case: Case, error: Exception | SystemExit, began: float) -> Outcome:
    """Return the outcome of a case that raised an error."""
    if isinstance(error, (WorldError, MeasureFault, PluginFault, RunFailed)):
        reason = " ".join(str(error).split())
    else:
        reason = error_line(error, "sim_node")
    return Outcome(case, FAILED, reason, {}, time.perf_counter() - began)


def timed_out(case: Case, timeout_s: float) -> Outcome:
    """Return the outcome of a case that took too long."""
    return Outcome(case, TIMED_OUT, f"did not end within {timeout_s:g} s (--timeout)", {}, timeout_s)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimedOut in a block that takes too long. Works only in the main thread, where workers run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, _time_out)
    before, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        if before:  # restore the timer of other code
            signal.setitimer(signal.ITIMER_REAL, max(before - (time.monotonic() - began), 1e-6), interval)


@contextmanager
def last_limit(seconds: float) -> Iterator[None]:
    """End this process, with a traceback, if a block takes too long, even in code that Python cannot interrupt."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _time_out(number: int, frame: FrameType | None) -> None:
    raise TimedOut
