"""Waiting until a transform can be looked up: one list of calls to make, for threads, asyncio and rclpy alike."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Wait:
    """Someone who is to be told, once, when `is_ready` first holds. `cancel` may be called at any time."""

    is_ready: Callable[[], bool]
    call: Callable[[], None]
    _waits: Waits

    def cancel(self) -> None:
        """Be told no more; nothing happens if the call was made already."""
        self._waits.remove(self)


@dataclass(eq=False)
class Waits:
    """Everyone who waits. Whoever stores transforms calls `wake` after it has let go of the tree's lock."""

    _pending: list[Wait] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __bool__(self) -> bool:
        return bool(self._pending)

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, is_ready: Callable[[], bool], call: Callable[[], None]) -> Wait:
        """Call `call` as soon as `is_ready` holds: in this thread if it does now, or else in the thread that wakes."""
        wait = Wait(is_ready, call, self)
        with self._lock:
            self._pending.append(wait)
        # Listed first and asked afterwards: data that comes in between is seen by the one or by the other.
        self._settle([wait])
        return wait

    def remove(self, wait: Wait) -> bool:
        """Take a wait off the list; False if it was not there any more."""
        with self._lock:
            if wait in self._pending:
                self._pending.remove(wait)
                return True
        return False

    def wake(self) -> None:
        """Tell everyone whose transform is there by now."""
        with self._lock:
            pending = list(self._pending)
        self._settle(pending)

    def _settle(self, waits: list[Wait]) -> None:
        for wait in waits:
            # Whoever takes it off the list makes the call, so it is made once.
            if wait.is_ready() and self.remove(wait):
                wait.call()
