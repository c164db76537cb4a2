"""The `sim_node` command as tools use it: a process of its own, which a fault, a limit or a cancellation ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

from sim_node.extensions.assistants.graph import Cancelled
from sim_node.extensions.assistants.registry import ToolCall, ToolRefused
from sim_node.simulation.programs import end_session
from sim_node.text import printable

# Characters of a report, and of an answer in JSON; bytes that are read of what a command prints.
MAX_TEXT, MAX_JSON, MAX_OUTPUT = 4000, 80_000, 64 << 20
# What a command has to end in after it was asked to, s.
END_S = 5.0


def finished(call: ToolCall, *arguments: str, timeout_s: float) -> tuple[int, str]:
    """Run a subcommand to its end.

    Args:
        call: Whose caller may take it back.
        arguments: The subcommand and its arguments. What a client wrote comes after a `--` or as a path.
        timeout_s: After how long to end it, s.

    Returns:
        Its exit code, and what it printed.

    Raises:
        ToolRefused: It took too long.
        Cancelled: The caller cancelled the call.
    """
    command = [sys.executable, "-m", "sim_node.cli.main", *arguments]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=call.access.folder,
            start_new_session=True,
        )
        try:
            in_time = call.patience.until(lambda: process.poll() is not None, timeout_s)
        except Cancelled:
            end_session(process, END_S)
            raise
        if not in_time:
            end_session(process, END_S)
            raise ToolRefused(f"{arguments[0]} was not done within {timeout_s:g} s and has been stopped")
        output.seek(0)
        text = output.read(MAX_OUTPUT).decode("utf-8", "replace")
    return process.returncode, text


def printed(call: ToolCall, *arguments: str, timeout_s: float) -> str:
    """Return what a subcommand printed, run as by `finished`. Raises ToolRefused with it if it failed."""
    code, text = finished(call, *arguments, timeout_s=timeout_s)
    if code != 0:
        raise ToolRefused(shortened(text))
    return text


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Give a path for a new file or folder, which becomes `target` if the block ends well; else nothing is left.

    Args:
        target: Does not exist; its folder may not, either.

    Raises:
        ToolRefused: The target cannot be made, or exists by now.
    """
    try:
        near = next(folder for folder in target.parents if folder.is_dir())
        aside = Path(tempfile.mkdtemp(prefix=".partial-", dir=near))
    except OSError as error:
        raise ToolRefused(f"{target.name!r} cannot be written: {error.strerror}") from None
    try:
        yield aside / target.name
        if target.exists():
            raise ToolRefused(f"{target.name!r} exists by now; tools overwrite nothing")
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(aside / target.name, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def shortened(text: str) -> str:
    """Return a report within bounds, in which control characters are visible."""
    lines = [printable(line) for line in text.strip()[: 2 * MAX_TEXT].splitlines()]
    joined = "\n".join(lines)
    return joined if len(joined) <= MAX_TEXT else joined[:MAX_TEXT] + "..."


def fitted(found: dict[str, Any], limit: int = MAX_JSON) -> tuple[dict[str, Any], str]:
    """Leave out the last items of the longest lists of an object until its JSON fits into an answer.

    Args:
        found: The object.
        limit: Characters of the answer.

    Returns:
        The object, and what is left out; empty if nothing is.
    """
    kept, notes = dict(found), []
    lists = [key for key, value in found.items() if isinstance(value, list) and value]
    while (size := len(json.dumps(kept))) > limit and lists:
        key = max(lists, key=lambda key: len(json.dumps(kept[key])))
        lists.remove(key)
        ends = list(accumulate(len(json.dumps(item)) + len(", ") for item in kept[key]))
        count = bisect_right(ends, limit - (size - ends[-1]))
        notes.append(f"{len(ends) - count} of {len(ends)} {key}")
        kept[key] = kept[key][:count]
    return kept, f"left out: {', '.join(notes)}; an answer has {limit} characters at most" if notes else ""


def as_json(text: str) -> dict[str, Any]:
    """Return the object that a command printed as JSON. Raises ToolRefused."""
    with suppress(ValueError):
        if isinstance(found := json.loads(text), dict):
            return found
    raise ToolRefused(shortened(text))
