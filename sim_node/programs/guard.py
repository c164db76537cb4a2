"""The process around a supervised program: it ends the program, and all that this started, once we are gone.

    python -I -S guard.py PATIENCE_S EXECUTABLE ARGUMENT0 ARGUMENT1 ...

Its standard input is a pipe whose other end the supervisor holds: however the supervisor ends, SIGKILL included, the
pipe ends too. Its output is the program's log. Knows nothing of the rest of the package, so that it is small and quick.
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
# Somebody else may hold a copy of the pipe's other end; a new parent tells the same (s).
LOOK_S = 1.0


def main() -> int:
    """Runs the program until it or the pipe ends. Returns its exit code, 128 + N where signal N ended it."""
    patience_s, executable, arguments = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    parent = os.getppid()
    # A terminal's Ctrl-C is not for the program: the supervisor ends it, after what it serves.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # So is the SIGHUP of one that is closed, which under nohup is nobody's.
    hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asked_read, asked_write = os.pipe()
    died_read, died_write = os.pipe()
    for end in (asked_write, died_write):
        os.set_blocking(end, False)
    # What detaches itself from the program is adopted by this process, which waits for it too.
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    program = os.fork()
    if program == 0:
        _become(executable, arguments, hangup)
    signal.signal(signal.SIGTERM, lambda number, frame: _tell(asked_write))
    signal.signal(signal.SIGCHLD, lambda number, frame: _tell(died_write))
    status = _wait(program, parent, asked_read, died_read)
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
    assert status is not None, "it is waited for until it has ended"
    return status


def _become(executable: str, arguments: list[str], hangup: object) -> None:
    """In the child: the program, in a session and process group of its own."""
    try:
        os.setsid()
        # Were the guard itself killed, the kernel would end the program.
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGINT, signal.SIGPIPE):  # ignored up to here, which a program would inherit
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


def _wait(program: int, parent: int, asked: int, died: int) -> int | None:
    """The program's exit code once it has ended, None once it is to be ended."""
    status = _reap(program, None)
    while status is None:
        ready, _, _ = select.select([0, asked, died], [], [], LOOK_S)
        if 0 in ready or asked in ready or os.getppid() != parent:
            return _reap(program, None)
        if died in ready:
            _drain(died)
        status = _reap(program, None)
    return status


def _reap(program: int, status: int | None) -> int | None:
    """Waits for all children that have ended; the program's exit code where it is or was among them."""
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
    except PermissionError:  # it has become somebody else's
        return True
    return True


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, number)


def _tell(pipe: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.write(pipe, b"\0")


def _drain(pipe: int) -> None:
    while select.select([pipe], [], [], 0.0)[0]:
        os.read(pipe, 4096)


def _prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the pipe alone has to do."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
