"""Waiting until a transform can be looked up: one list of calls to make, for threads, asyncio and rclpy alike."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from sim_node.geometry.arrays import FloatArray


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


class Waiting(ABC):
    """The part of TransformTree that waits."""

    _waits: Waits

    def when(self, is_ready: Callable[[], bool], call: Callable[[], None]) -> Wait:
        """Call `call` once, as soon as `is_ready` holds: now, or in the thread that stores what is missing.

        `is_ready` is asked after each store. Both must be short and must not raise. `cancel()` of what is returned
        takes it back.
        """
        return self._waits.add(is_ready, call)

    def when_available(
        self,
        target: str,
        source: str,
        stamp_ns: int | None,
        call: Callable[[], None],
        tolerance_ns: int | None = None,
    ) -> Wait:
        """As `when`, for a lookup that would answer."""
        return self.when(lambda: self.can_lookup(target, source, stamp_ns, tolerance_ns), call)

    def wait_for_transform(
        self,
        target: str,
        source: str,
        stamp_ns: int | None = None,
        timeout: float = 1.0,
        tolerance_ns: int | None = None,
    ) -> FloatArray:
        """As `lookup`, but wait up to `timeout` seconds for another thread to store what is missing.

        Raises what `lookup` raises, when the time is over.
        """
        ready = threading.Event()
        wait = self.when_available(target, source, stamp_ns, ready.set, tolerance_ns)
        try:
            ready.wait(timeout)
        finally:
            wait.cancel()
        return self.lookup(target, source, stamp_ns, tolerance_ns)

    async def wait_for_transform_async(
        self,
        target: str,
        source: str,
        stamp_ns: int | None = None,
        timeout: float = 1.0,
        tolerance_ns: int | None = None,
    ) -> FloatArray:
        """As `wait_for_transform`, in an asyncio loop; whatever thread stores, this one goes on."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()

        def call() -> None:
            # The loop may be closed already when the transform comes.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(ready.set)

        wait = self.when_available(target, source, stamp_ns, call, tolerance_ns)
        try:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(ready.wait(), timeout)
        finally:
            wait.cancel()
        return self.lookup(target, source, stamp_ns, tolerance_ns)

    @abstractmethod
    def lookup(
        self, target: str, source: str, stamp_ns: int | None = None, tolerance_ns: int | None = None
    ) -> FloatArray:
        """See TransformTree."""

    @abstractmethod
    def can_lookup(
        self, target: str, source: str, stamp_ns: int | None = None, tolerance_ns: int | None = None
    ) -> bool:
        """See TransformTree."""
