"""Calls into a loop that the executor awaits, so that it serves others until the end of a tick."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent import futures
from typing import Protocol, TypeVar

from rclpy.node import Node
from rclpy.task import Future

T = TypeVar("T")


class Submits(Protocol):
    """What runs functions between two ticks."""

    def submit(self, function: Callable[[], T]) -> futures.Future[T]:
        """Return the future of its result. Raises Refused after the end."""


def in_loop(node: Node, loop: Submits, function: Callable[[], T]) -> Awaitable[T]:
    """Run a function between two ticks.

    Args:
        node: Whose executor awaits it.
        loop: Runs it.
        function: Called without arguments in the loop's thread.

    Returns:
        What awaits its result.

    Raises:
        Refused: The loop has ended.
    """
    future = Future()

    def take(done: futures.Future[T]) -> None:
        error = done.exception()
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(error)  # raised where it is awaited
        if node.executor is not None:
            node.executor.wake()

    loop.submit(function).add_done_callback(take)
    awaited: Awaitable[T] = future
    return awaited
