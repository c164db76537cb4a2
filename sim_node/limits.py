"""Errors that come from small limits of the shell: too little memory, too few open files."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from pathlib import Path

_NO_FILES = "too many open files"
_NO_MEMORY = ("can't start new thread", "cannot allocate memory", "failed to map segment", "out of memory")


def lack(error: BaseException) -> str:
    """Return what was lacking when an error was raised, and the limit to look at; empty if nothing was."""
    for each in _chain(error):
        said, number = str(each).lower(), getattr(each, "errno", None)
        if isinstance(each, MemoryError) or number == errno.ENOMEM or any(words in said for words in _NO_MEMORY):
            what = str(each) or str(error) or "no reason given"
            return f"not enough memory ({what}); `ulimit -a` shows the limits of this shell"
        if number in (errno.EMFILE, errno.ENFILE) or _NO_FILES in said:
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            return f"too many open files; `ulimit -n` allows {limit}"
    return ""


def free_addresses() -> int | None:
    """Return how many bytes this process may still map; None if that is not limited, or not known."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return None
    return most - pages * resource.getpagesize()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that led to it."""
    seen: list[BaseException] = []
    while error not in seen:
        seen.append(error)
        yield error
        error = error.__cause__ or error.__context__ or error
