"""Execution of the `sim_node` command for tools, in a process that ends on a fault, timeout or cancellation."""

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

# Limits: characters of a report and of a JSON answer, and bytes of a command's output.
MAX_TEXT, MAX_JSON, MAX_OUTPUT = 4000, 80_000, 64 << 20
# Time in which a command must end after it was asked to, s.
END_S = 5.0


def finished(call: ToolCall, *arguments: str, timeout_s: float) -> tuple[int, str]:
    """Run a subcommand to its end.

    Args:
        call: The call, which may be cancelled.
        arguments: The subcommand and its arguments. Input of clients must follow a `--` or be a path.
        timeout_s: Timeout, s.

    Returns:
        Its exit code, and its output.

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
    """Run a subcommand with `finished` and return its output. Raises ToolRefused with the output if it failed."""
    code, text = finished(call, *arguments, timeout_s=timeout_s)
    if code != 0:
        raise ToolRefused(shortened(text))
    return text


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yield a path for a new file or folder, which is renamed to `target` if the block succeeds, and removed otherwise.

    Args:
        target: The target, which must not exist. Its folder is created.

    Raises:
        ToolRefused: The target cannot be created, or exists in the meantime.
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
    """Truncate a report, and make control characters visible."""
    lines = [printable(line) for line in text.strip()[: 2 * MAX_TEXT].splitlines()]
    joined = "\n".join(lines)
    return joined if len(joined) <= MAX_TEXT else joined[:MAX_TEXT] + "..."


def fitted(found: dict[str, Any], limit: int = MAX_JSON) -> tuple[dict[str, Any], str]:
    """Remove the last items of the longest lists of an object until its JSON fits into an answer.

    Args:
        found: The object.
        limit: Maximum number of characters of the answer.

    Returns:
        The object, and a description of what was removed; empty if nothing was.
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
    """Parse the object that a command printed as JSON. Raises ToolRefused."""
    with suppress(ValueError):
        if isinstance(found := json.loads(text), dict):
            return found
    raise ToolRefused(shortened(text))
