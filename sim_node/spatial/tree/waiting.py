"""Waiting until a transform is available: one list of callbacks, for threads, asyncio and rclpy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Wait:
    """A callback that is called once, when `is_ready` first returns True.

    Attributes:
        is_ready: The condition.
        call: The callback.
        _waits: The pending callbacks, from which it removes itself.
    """

    is_ready: Callable[[], bool]
    call: Callable[[], None]
    _waits: Waits

    def cancel(self) -> None:
        """Remove the callback. This may be called at any time, and has no effect after the callback was called."""
        self._waits.remove(self)


@dataclass(eq=False)
class Waits:
    """All pending callbacks. Whoever stores transforms calls `wake` after releasing the tree's lock."""

    _pending: list[Wait] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __bool__(self) -> bool:
        return bool(self._pending)

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, is_ready: Callable[[], bool], call: Callable[[], None]) -> Wait:
        """Call `call` as soon as `is_ready` returns True: now in this thread, or later in that of `wake`."""
        wait = Wait(is_ready, call, self)
        with self._lock:
            self._pending.append(wait)
        # Add first and check afterwards: data that arrives in between is noticed by one or the other.
        self._settle([wait])
        return wait

    def remove(self, wait: Wait) -> bool:
        """Remove a callback. Return False if it was not pending any more."""
        with self._lock:
            if wait in self._pending:
                self._pending.remove(wait)
                return True
        return False

    def wake(self) -> None:
        """Call the callbacks whose transforms are available now."""
        with self._lock:
            pending = list(self._pending)
        self._settle(pending)

    def _settle(self, waits: list[Wait]) -> None:
        for wait in waits:
            # The thread that removes it makes the call, so that it is made once.
            if wait.is_ready() and self.remove(wait):
                wait.call()
