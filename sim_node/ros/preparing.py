"""Requests that take long, such as one with a large world: carried out beside the executor, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from queue import Full, Queue
from typing import TypeVar

from rclpy.node import Node
from rclpy.task import Future

from sim_node.simulation import Refused

# Most requests that wait. Each may hold a text of 16 MB.
MAX_WAITING = 16
T = TypeVar("T")


class Preparing:
    """Carries out requests in a thread of its own, so that the executor serves others meanwhile.

    Args:
        node: Whose requests they are.

    Attributes:
        closed: Whether no other request begins.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: Queue[Callable[[], None] | None] = Queue(MAX_WAITING)
        self.closed = False
        self._thread: threading.Thread | None = None

    def run(self, function: Callable[[], T]) -> Awaitable[T]:
        """Carry out a request after those before it.

        Args:
            function: Does it.

        Returns:
            What awaits its result.

        Raises:
            Refused: Too many requests wait.
        """
        future = Future()

        def act() -> None:
            if self.closed:
                return
            try:
                future.set_result(function())
            except Exception as error:  # raised where it is awaited
                future.set_exception(error)
            if self._node.executor is not None:
                self._node.executor.wake()

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
        """Wait for the request under way, and begin no other: Python must not end while one builds a world."""
        self.closed = True
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()

    def _serve(self) -> None:
        while (act := self._waiting.get()) is not None:
            act()
