"""Listening to a graph from the test's own process with the real rclpy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from waiting import PATIENCE


class Listener:
    """A node of its own participant; spins while something is waited for."""

    def __init__(self, node: Node, executor: Executor) -> None:
        self.node = node
        self._executor = executor

    def subscribe(self, kind: Any, topic: str, profile: Any) -> list[tuple[float, Any]]:
        """A list that grows by (arrival on the monotonic clock, message) while spinning."""
        got: list[tuple[float, Any]] = []
        self.node.create_subscription(kind, topic, lambda message: got.append((time.monotonic(), message)), profile)
        return got

    def spin_until(
        self, done: Callable[[], object], what: str | Callable[[], str] = "", patience: float = PATIENCE
    ) -> None:
        """Spins until `done` gives something true; fails when patience is over. what: for the message, or makes it."""
        deadline = time.monotonic() + patience
        while not done():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {patience:g} s: {what() if callable(what) else what}")
            self._spin_once()

    def _spin_once(self) -> None:
        """What the executor finds, then all that has come meanwhile: it takes one message for each set it waits on.

        rclpy's experimental events executor is as quick, but runs timers that were destroyed, and processes that used
        it have crashed minutes later.
        """
        self._executor.spin_once(timeout_sec=0.05)
        for subscription in list(self.node.subscriptions):
            with subscription.handle:
                while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
                    subscription.callback(taken[0])

    def spin_for(self, seconds: float) -> None:
        """Spins for at least so long: whatever comes by then must not come at all, or is of no interest."""
        end = time.monotonic() + seconds
        self.spin_until(lambda: time.monotonic() > end)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.node.create_client(kind, name)
        self.spin_until(client.service_is_ready, what=f"service {name}")
        calls = [client.call_async(request)]
        asked = time.monotonic()

        def replied() -> bool:
            # A server that has not found this client yet answers nobody; one that is only slow is not to do it twice.
            if time.monotonic() > asked + 20.0 * len(calls):
                calls.append(client.call_async(request))
            return any(call.done() for call in calls)

        self.spin_until(replied, what=f"a reply of {name}")
        self.node.destroy_client(client)
        return next(call.result() for call in calls if call.done())


@contextmanager
def listener(name: str = "listener") -> Iterator[Listener]:
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node(name, context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        yield Listener(node, executor)
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown(context=context)
