"""Handle what no subcommand handles: internal errors, lack of memory or files, failing standard output."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

from sim_node.limits import lack, refused

FAILED = 1
DEBUG = "--debug"
# Reserve of address space for handling errors, including its exhaustion.
_SPARE = 4 << 20
REPORT = "https://github.com/sim-node/sim_node/issues"


def guarded(run: Callable[[list[str]], tuple[int, bool]], given: Sequence[str], *, ends: bool = False) -> int:
    """Return the exit code of `run`; 1, with one line on standard error, for unhandled errors.

    `--debug`, anywhere before `--ros-args`, shows the traceback.

    Args:
        run: Returns the exit code, and whether the command only prints. Such a command fails if standard output is
            closed.
        given: The arguments.
        ends: Whether the process ends with the command. It must then not be blocked by leftovers of an unhandled error,
            such as threads, or a library that waits at exit for a thread that it could not start.

    Returns:
        The exit code.
    """
    words = list(given)
    own = words.index("--ros-args") if "--ros-args" in words else len(words)
    debug = DEBUG in words[:own]
    words = [word for word in words[:own] if word != DEBUG] + words[own:]
    closed = _open_standard_streams()
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # for names that the output's encoding lacks
    if too_small := refused():
        _print_error(too_small)
        return FAILED
    spare = bytes(_SPARE)  # mapped, but never touched
    try:
        code, needs_output = _flushed(run, words)
    except Exception as error:
        del spare
        if debug:
            traceback.print_exc()
        _print_error(_reason(error))
        if ends:
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(FAILED)
        return FAILED
    if 1 in closed and needs_output and code == 0:
        _print_error("standard output is closed")
        return FAILED
    return code


def _flushed(run: Callable[[list[str]], tuple[int, bool]], words: list[str]) -> tuple[int, bool]:
    """Flush standard output, even if `--help` ends by SystemExit. Raises what `run` raises."""
    try:
        done = run(words)
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return done


def _reason(error: Exception) -> str:
    """Return the message for an error."""
    if isinstance(error, OSError) and error.filename is None and _output_fails():
        return f"standard output cannot be written: {error.strerror}"
    text = str(error) or "no reason given"
    if lacking := lack(error):
        return lacking
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}:{place.lineno}"
    text = " ".join(text.split())[:300]
    return (
        f"internal error in sim_node: {type(error).__name__} at {where}: {text}; "
        f"please report it at {REPORT} with the output of the same command with {DEBUG}"
    )


def _output_fails() -> bool:
    """Try to write once more. Standard output is discarded from now on, including at Python's exit."""
    try:
        sys.stdout.flush()
        os.write(1, b"\n")  # if unbuffered (python -u), there is nothing to flush
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        return True
    return False


def _print_error(text: str) -> None:
    with suppress(OSError):
        print(f"sim_node: {text}", file=sys.stderr, flush=True)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _open_standard_streams() -> list[int]:
    """Redirect closed standard streams to /dev/null and return them, so that no file is opened in their place."""
    closed = []
    for number in range(3):
        if not _is_open(number):
            closed.append(number)
            os.open(os.devnull, os.O_RDWR)
    for number, name in ((1, "stdout"), (2, "stderr")):
        if number in closed and getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    return closed
