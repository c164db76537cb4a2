"""Log files of programs: the last run's is kept beside this one's, and their ends are shown."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# Of a log's end: how much is read, and how much of it a person is shown.
_READ, LINES_SHOWN, MAX_SHOWN = 4096, 2, 300


def opened(path: Path) -> int:
    """A new log to append to; the one that was there gets `.1` behind its name. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.replace(path.with_name(path.name + ".1"))
    # Shared by the program and all that it starts: each write goes to the end.
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def end_of(path: Path) -> str:
    """`: LINE | LINE (all of it in PATH)`: the last lines that say something."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - _READ))
            text = log.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line for raw in text.splitlines() if (line := "".join(filter(str.isprintable, raw)).strip())]
    shown = " | ".join(lines[-LINES_SHOWN:])
    return f": {shown[-MAX_SHOWN:]} (all of it in {path})" if shown else f" (its output is in {path})"
