"""The end of processes that this one has started: they are asked, and made to end where they do not."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Any

# Time between two looks at a process that is to end, s.
_LOOK_S = 0.05
_ENDED = os.WEXITED | os.WNOWAIT | os.WNOHANG


def let_go(process: subprocess.Popen[Any], patience_s: float = 0.0) -> None:
    """Close the streams of a process, wait for its end, and kill it if that does not come.

    Args:
        process: The process. It ends by itself where its input ends, or was asked to.
        patience_s: How long it may take, s.
    """
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    try:
        process.wait(patience_s)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        # A second Ctrl-C means that the user does not want to wait.
        process.kill()
        process.wait()


def end_session(process: subprocess.Popen[Any], patience_s: float, number: int = signal.SIGINT) -> None:
    """Ask a process that has a session of its own, and all that it has started there, to end; then make them.

    Args:
        process: The process.
        patience_s: How long it may take after being asked, s.
        number: The signal that asks.
    """
    if process.poll() is not None:
        return
    _signal(process, number)
    deadline = time.monotonic() + patience_s
    # Its number stays its own until it is waited for, so that what it has started can be ended by it.
    while time.monotonic() < deadline and not os.waitid(os.P_PID, process.pid, _ENDED):
        time.sleep(_LOOK_S)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[Any], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
