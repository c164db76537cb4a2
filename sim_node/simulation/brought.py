"""Commands that any thread brings for the loop's thread: the newest for each target, or why one is refused."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class CommandRefused(ValueError):
    """A command does not fit; the message gives the reason."""


class Newest(Generic[T]):
    """Keeps the newest command for each target until they are taken. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, T] = {}

    def put(self, target: str, command: T) -> None:
        """Keep a command, instead of an older one for the same target."""
        with self._lock:
            self._waiting[target] = command

    def take(self) -> dict[str, T]:
        """Return the commands that were put since the last call, by target."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        return waiting
