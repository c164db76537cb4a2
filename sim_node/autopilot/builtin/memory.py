"""What outlives the process: kept in a file that its simulation holds open, so that it is gone with that."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any


class Memory:
    """A file by its descriptor; -1 to remember nothing. A text that was cut short is none."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = b""

    def load(self) -> dict[str, Any] | None:
        """What was kept last, None where nothing was."""
        if self._descriptor < 0:
            return None
        data = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        check, _, text = data.partition(b"\n")
        if not text or check != _check(text):
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    def keep(self, what: dict[str, Any]) -> None:
        """In place of what was kept before."""
        text = json.dumps(what).encode()
        if self._descriptor < 0 or text == self._kept:
            return
        self._kept = text
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, _check(text) + b"\n" + text, 0)


def _check(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
