"""Waiting for what must come, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import psutil

# A test that waits for longer than that hangs (s). Nothing is measured by it: it is more than anything takes on a busy
# machine, and less than the time-out of pytest, so that the failure says what was waited for.
PATIENCE = 240.0
T = TypeVar("T")


def until(done: Callable[[], T], what: object = "", poll_s: float = 0.01, patience: float = PATIENCE) -> T:
    """What `done` gives once that is true; fails when patience is over. what: for the message."""
    deadline = time.monotonic() + patience
    while not (found := done()):
        assert time.monotonic() < deadline, f"not within {patience:g} s: {what}"
        time.sleep(poll_s)
    return found


def has_ended(process: psutil.Process) -> bool:
    """Whether it is gone, or a zombie that its parent, perhaps init, has yet to look at."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def until_ended(*processes: psutil.Process) -> None:
    """Returns when all have ended. They are known by their start too: a new process of the same id is another one."""
    until(lambda: all(map(has_ended, processes)), f"the end of {[process.pid for process in processes]}")
