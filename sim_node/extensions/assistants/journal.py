"""The journal of calls: one line of JSON for each, with its arguments and outcome."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

# Maximum number of characters of an argument.
MAX_ARGUMENT = 500


class Journal:
    """Writes each call when it has ended.

    Args:
        streams: The streams to write to; each line is flushed.
    """

    def __init__(self, *streams: TextIO) -> None:
        self._streams, self._lock = streams, threading.Lock()

    def ended(self, tool: str, arguments: Mapping[str, Any], begun_ns: int, outcome: str, why: str = "") -> None:
        """Write a call.

        Args:
            tool: Name of the tool.
            arguments: Its arguments as received; long strings are shortened.
            begun_ns: Wall time of its beginning, ns since 1970.
            outcome: done, refused, cancelled or failed.
            why: The reason.
        """
        row: dict[str, Any] = {
            "time": begun_ns / 1e9,
            "tool": tool,
            "arguments": {name: _short(value) for name, value in arguments.items()},
            "outcome": outcome,
            "seconds": round((time.time_ns() - begun_ns) / 1e9, 3),
        }
        line = json.dumps(row | ({"why": _short(why)} if why else {}), default=str) + "\n"
        with self._lock:
            for stream in self._streams:
                # A full disk or a closed terminal must not end a flight.
                with suppress(OSError, ValueError):
                    stream.write(line)
                    stream.flush()


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return value if len(text) <= MAX_ARGUMENT else text[:MAX_ARGUMENT] + "..."
