"""Waiting until a transform is available: one list of callbacks, for threads, asyncio and rclpy."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from sim_node.spatial.geometry.arrays import FloatArray


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
        """Remove the callback. This has no effect after it was called, and may be done at any time."""
        self._waits.remove(self)


@dataclass(eq=False)
class Waits:
    """All pending callbacks. Who stores transforms calls `wake` after releasing the tree's lock."""

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


class Waiting(ABC):
    """The part of TransformTree that waits."""

    _waits: Waits

    def when(self, is_ready: Callable[[], bool], call: Callable[[], None]) -> Wait:
        """Call a function once, as soon as a condition holds: now, or in the thread that stores the missing transform.

        Args:
            is_ready: The condition, evaluated after each store. It must be short and must not raise.
            call: The function. It must be short and must not raise.

        Returns:
            A handle with `cancel()`.
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
        """Call a function once, as soon as a lookup would succeed; see `when`.

        Args:
            target: The target frame.
            source: The source frame.
            stamp_ns: The time (ns); None for the latest common time.
            call: The function. It must be short and must not raise.
            tolerance_ns: How far the stamp may lie outside a history (ns); None for the tolerance of the tree.

        Returns:
            A handle with `cancel()`.
        """
        return self.when(lambda: self.can_lookup(target, source, stamp_ns, tolerance_ns), call)

    def wait_for_transform(
        self,
        target: str,
        source: str,
        stamp_ns: int | None = None,
        timeout: float = 1.0,
        tolerance_ns: int | None = None,
    ) -> FloatArray:
        """Return the pose of a frame in another, waiting for another thread to store what is missing.

        Args:
            target: The frame in which the pose is expressed.
            source: The frame whose pose is returned.
            stamp_ns: The time (ns); None for the latest common time.
            timeout: How long to wait (s).
            tolerance_ns: How far the stamp may lie outside a history (ns); None for the tolerance of the tree.

        Returns:
            Pose (7,) [x y z qx qy qz qw], m.

        Raises:
            TransformError: As `lookup` does, after the timeout.
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
        """Return the pose of a frame in another, waiting in an asyncio loop; see `wait_for_transform`.

        Args:
            target: The frame in which the pose is expressed.
            source: The frame whose pose is returned.
            stamp_ns: The time (ns); None for the latest common time.
            timeout: How long to wait (s).
            tolerance_ns: How far the stamp may lie outside a history (ns); None for the tolerance of the tree.

        Returns:
            Pose (7,) [x y z qx qy qz qw], m.

        Raises:
            TransformError: As `lookup` does, after the timeout.
        """
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
        """See TransformTree.lookup."""

    @abstractmethod
    def can_lookup(
        self, target: str, source: str, stamp_ns: int | None = None, tolerance_ns: int | None = None
    ) -> bool:
        """See TransformTree.can_lookup."""
