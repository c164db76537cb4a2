"""Termination of child processes: they are asked to end, and killed if they do not."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Any

# Interval between checks whether a process has ended, s.
_LOOK_S = 0.05
_ENDED = os.WEXITED | os.WNOWAIT | os.WNOHANG


def let_go(process: subprocess.Popen[Any], patience_s: float = 0.0) -> None:
    """Close the streams of a process, wait until it ends, and kill it after a time-out.

    Args:
        process: The process, which ends by itself when its input closes or has been asked to end.
        patience_s: Time-out, s.
    """
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    try:
        process.wait(patience_s)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        # After a second Ctrl-C, the user does not want to wait.
        process.kill()
        process.wait()


def end_session(process: subprocess.Popen[Any], patience_s: float, number: int = signal.SIGINT) -> None:
    """Ask a process with its own session, and all processes of that session, to end; kill them after a time-out.

    Args:
        process: The process.
        patience_s: Time-out, s.
        number: The signal that asks them to end.
    """
    if process.poll() is not None:
        return
    _signal(process, number)
    deadline = time.monotonic() + patience_s
    # Do not reap the process yet: its id, which identifies the process group, must not be reused.
    while time.monotonic() < deadline and not os.waitid(os.P_PID, process.pid, _ENDED):
        time.sleep(_LOOK_S)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[Any], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
