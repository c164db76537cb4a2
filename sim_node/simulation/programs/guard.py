"""The guard process around a supervised program: ends the program and its descendants when the supervisor is gone.

    python -I -S guard.py PATIENCE_S EXECUTABLE ARGUMENT0 ARGUMENT1 ...

The supervisor holds the other end of the pipe on standard input. The pipe closes when the supervisor ends, even by
SIGKILL. Output goes to the program's log. The module imports nothing of the package, to start fast and stay small.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

# sys/prctl.h
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
NOT_STARTED = 127
# How often (s) to check for a new parent, in case another process holds a copy of the pipe's other end.
PARENT_CHECK_S = 1.0


def main() -> int:
    """Run the program until it or the pipe ends. Return its exit code, or 128 + N if signal N ended it."""
    patience_s, executable, arguments = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    parent = os.getppid()
    # Ignore a terminal's Ctrl-C: the supervisor ends the program, after the parts of the run that depend on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Likewise the SIGHUP of a closed terminal. Under nohup it is ignored already.
    hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop_read, stop_write = os.pipe()
    died_read, died_write = os.pipe()
    for end in (stop_write, died_write):
        os.set_blocking(end, False)
    # This process adopts descendants that detach themselves from the program, and waits for them too.
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    program = os.fork()
    if program == 0:
        _become(executable, arguments, hangup)
    signal.signal(signal.SIGTERM, lambda number, frame: _wake(stop_write))
    signal.signal(signal.SIGCHLD, lambda number, frame: _wake(died_write))
    status = _wait(program, parent, stop_read, died_read)
    deadline = time.monotonic() + patience_s
    if status is None or _lives(program):
        _signal(program, signal.SIGTERM)
    while time.monotonic() < deadline:
        status = _reap(program, status)
        if status is not None and not _lives(program):
            break
        select.select([died_read], [], [], 0.02)
        _drain(died_read)
    else:
        _signal(program, signal.SIGKILL)
        while status is None:
            status = _reap(program, status)
            time.sleep(0.005)
    assert status is not None, "the loop above waits until the program has ended"
    return status


def _become(executable: str, arguments: list[str], hangup: object) -> None:
    """Execute the program in the child, in a session and process group of its own."""
    try:
        os.setsid()
        # If the guard itself is killed, the kernel ends the program.
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGINT, signal.SIGPIPE):  # a program would inherit that they are ignored
            signal.signal(number, signal.SIG_DFL)
        if hangup != signal.SIG_IGN:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.execv(executable, arguments)
    except OSError as error:
        os.write(2, f"{executable}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _wait(program: int, parent: int, stop: int, died: int) -> int | None:
    """Return the program's exit code once it has ended, or None once it has to be ended."""
    status = _reap(program, None)
    while status is None:
        ready, _, _ = select.select([0, stop, died], [], [], PARENT_CHECK_S)
        if 0 in ready or stop in ready or os.getppid() != parent:
            return _reap(program, None)
        if died in ready:
            _drain(died)
        status = _reap(program, None)
    return status


def _reap(program: int, status: int | None) -> int | None:
    """Reap all children that have ended. Return the program's exit code if it has ended, now or before."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == program:
                code = os.waitstatus_to_exitcode(ended)
                status = 128 - code if code < 0 else code
    return status


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the group runs as another user
        return True
    return True


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, number)


def _wake(pipe: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.write(pipe, b"\0")


def _drain(pipe: int) -> None:
    while select.select([pipe], [], [], 0.0)[0]:
        os.read(pipe, 4096)


def _prctl(option: int, value: int) -> None:
    """Call prctl on Linux. Other systems rely on the pipe alone."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
