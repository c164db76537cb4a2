"""Calls that other threads order from the executor's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rclpy.node import Node


class Orders:
    """Makes calls in the executor's thread, one at a time, so that it does other things, or stops, in between.

    Args:
        node: Whose executor makes them.
    """

    def __init__(self, node: Node) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self._guard = node.create_guard_condition(self._serve)

    def add(self, call: Callable[[], object]) -> None:
        """Order a call. May be called from any thread."""
        self._waiting.append(call)
        self._guard.trigger()

    def _serve(self) -> None:
        if self._waiting:
            self._waiting.popleft()()
            self._guard.trigger()
