"""Errors caused by low limits of the shell: too little memory, or too few open files."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from pathlib import Path

_NO_FILES = "too many open files"
_NO_MEMORY = ("can't start new thread", "cannot allocate memory", "failed to map segment", "out of memory")
# Address space that the imports of every command need. With less, Python loses errors, crashes, or hangs.
_LEAST = 160 << 20
# With less address space left, any error may be due to it, because Python may fail to create a MemoryError.
_SCARCE = 16 << 20


def lack(error: BaseException) -> str:
    """Return which resource was exhausted when an error was raised, and the limit to check; empty if none was."""
    for each in reversed([*_chain(error)]):  # later errors quote earlier ones
        text, number = str(each).lower(), getattr(each, "errno", None)
        if isinstance(each, MemoryError) or number == errno.ENOMEM or any(words in text for words in _NO_MEMORY):
            return _no_memory(" ".join(str(each).split()))
        if number in (errno.EMFILE, errno.ENFILE) or _NO_FILES in text:
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            return f"too many open files; `ulimit -n` allows {limit}"
    free = free_addresses()
    return _no_memory("") if free is not None and free < _SCARCE else ""


def refused() -> str:
    """Return why no command can start within the limit of address space; empty if it is large enough."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return "" if most == resource.RLIM_INFINITY or most >= _LEAST else f"not enough memory: {too_few(most, _LEAST)}"


def too_few(addresses: int, needed: int) -> str:
    """Return a message with the limit of address space and the required amount."""
    return f"`ulimit -v` allows {addresses >> 10} kB of addresses; {needed >> 10} kB are needed"


def free_addresses() -> int | None:
    """Return how many bytes this process may still map; None if that is unlimited or unknown."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return None
    return most - pages * resource.getpagesize()


def _no_memory(what: str) -> str:
    return f"not enough memory ({what or 'no reason given'}); `ulimit -a` shows the limits of this shell"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the errors that led to it."""
    seen: list[BaseException] = []
    while error not in seen:
        seen.append(error)
        yield error
        error = error.__cause__ or error.__context__ or error
