"""Calls between threads: queued for the executor, made between two ticks of a loop, or made in a worker thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent import futures
from queue import Full, Queue
from typing import Protocol, TypeVar

from rclpy.node import Node
from rclpy.task import Future

from sim_node.simulation import Refused

# Maximum time the executor makes calls before it does other work: every wake-up visits all of its entities.
ORDERS_S = 0.01


class Orders:
    """Makes queued calls in the executor's thread, in order, interleaved with its other work.

    Args:
        node: The node whose executor makes them.
    """

    def __init__(self, node: Node) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self._guard = node.create_guard_condition(self._serve)

    def add(self, call: Callable[[], object]) -> None:
        """Queue a call. May be called from any thread."""
        self._waiting.append(call)
        self._guard.trigger()

    def _serve(self) -> None:
        end = time.monotonic() + ORDERS_S
        try:
            while self._waiting and time.monotonic() < end:
                self._waiting.popleft()()
        finally:
            if self._waiting:
                self._guard.trigger()


T = TypeVar("T")


def settle(node: Node, future: Future, function: Callable[[], object]) -> None:
    """Complete a future with what a function returns or raises, and wake the node's executor to continue.

    May be called from any thread.
    """
    try:
        future.set_result(function())
    except BaseException as error:  # raised where the future is awaited
        future.set_exception(error)
    if node.executor is not None:
        node.executor.wake()


class Submits(Protocol):
    """Runs functions between two ticks."""

    def submit(self, function: Callable[[], T]) -> futures.Future[T]:
        """Return a future of the function's result. Raises Refused after the end of the loop."""


def in_loop(node: Node, loop: Submits, function: Callable[[], T]) -> Awaitable[T]:
    """Run a function between two ticks.

    Args:
        node: The node whose executor awaits the result.
        loop: The loop that runs the function.
        function: Called without arguments in the loop's thread.

    Returns:
        An awaitable of the result.

    Raises:
        Refused: The loop has ended.
    """
    future = Future()

    loop.submit(function).add_done_callback(lambda done: settle(node, future, done.result))
    awaited: Awaitable[T] = future
    return awaited


# Maximum number of waiting requests. Each may hold a text of 16 MB.
MAX_WAITING = 16


class Preparing:
    """Carries out requests in a separate thread, so that the executor can serve others meanwhile.

    Args:
        node: The node that receives the requests.

    Attributes:
        closed: Whether no further request is started.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: Queue[Callable[[], None] | None] = Queue(MAX_WAITING)
        self.closed = False
        self._thread: threading.Thread | None = None

    def run(self, function: Callable[[], T]) -> Awaitable[T]:
        """Carry out a request after the pending ones.

        Args:
            function: Carries out the request.

        Returns:
            An awaitable of the result.

        Raises:
            Refused: Too many requests are waiting.
        """
        future = Future()

        def act() -> None:
            if not self.closed:
                settle(self._node, future, function)

        try:
            self._waiting.put_nowait(act)
        except Full:
            raise Refused(f"{MAX_WAITING} requests that change the world wait already; ask again later") from None
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="preparing", daemon=True)
            self._thread.start()
        awaited: Awaitable[T] = future
        return awaited

    def close(self) -> None:
        """Wait for the active request and start no other. Python must not exit while one is building a world."""
        self.closed = True
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()

    def _serve(self) -> None:
        while (act := self._waiting.get()) is not None:
            act()
