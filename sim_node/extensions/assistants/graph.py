"""The interface of tools to a running ROS graph, as a Protocol, so that tools do not depend on rclpy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from sim_node.spatial.tree import TransformTree

# Polling period of waiting calls, s.
POLL_S = 0.05


class ToolRefused(Exception):
    """A call of a tool cannot be executed; the message is one line for the caller."""


def check_span(name: str, given: float, most: float) -> None:
    """Refuse an argument that is not a positive time (s) up to a limit. Raises ToolRefused."""
    if not 0.0 < given <= most:
        raise ToolRefused(f"{name} is {given:g} s; needs above 0 and up to {most:g} s")


class Cancelled(Exception):
    """The caller cancelled a call."""


class Patience:
    """Waits on behalf of a call until a timeout or a cancellation.

    Args:
        cancelled: Set by another thread when the caller cancels the call.
    """

    def __init__(self, cancelled: threading.Event | None = None) -> None:
        self._cancelled = threading.Event() if cancelled is None else cancelled

    def until(self, done: Callable[[], object], timeout_s: float) -> bool:
        """Wait until a condition is true.

        Args:
            done: The condition, which is called repeatedly.
            timeout_s: Timeout, s.

        Returns:
            Whether it became true in time.

        Raises:
            Cancelled: The caller cancelled the call.
        """
        deadline = time.monotonic() + timeout_s
        while not done():
            left = deadline - time.monotonic()
            if left <= 0.0:
                return False
            if self._cancelled.wait(min(POLL_S, left)):
                raise Cancelled
        return True


@dataclass(frozen=True)
class TopicInfo:
    """A topic of the graph.

    Attributes:
        name: Its full name.
        types: Its types, usually one.
        publishers: The number of publishers of other nodes.
        subscriptions: The number of subscriptions of other nodes.
    """

    name: str
    types: tuple[str, ...]
    publishers: int
    subscriptions: int


class Messages(Protocol):
    """Messages of a topic that are received after its subscription."""

    type: str

    def take(self) -> list[dict[str, Any]]:
        """Return the messages received since the last call, oldest first, as plain data."""


class Graph(Protocol):
    """A running graph. Its methods may be called from any thread."""

    @property
    def tree(self) -> TransformTree:
        """The transforms received so far."""

    def now_ns(self) -> int | None:
        """Return the graph's time in ns, from /clock if it is published; None while the time is unknown."""

    def silent_for(self) -> Mapping[str, float]:
        """Return the time since the last transform of each moving frame was received, s."""

    def topics(self) -> list[TopicInfo]:
        """Return the topics of other nodes, by name."""

    def services(self) -> dict[str, tuple[str, ...]]:
        """Return the services of all nodes, with their types."""

    def messages(self, topic: str, patience: Patience, timeout_s: float) -> AbstractContextManager[Messages]:
        """Subscribe to a topic while a block runs.

        Args:
            topic: Its name.
            patience: Waits for the caller.
            timeout_s: Timeout for a publisher, s.

        Returns:
            A context manager that yields the messages.

        Raises:
            ToolRefused: There is no publisher in time, or the type is not installed.
        """

    def call(self, service: str, values: Mapping[str, Any], patience: Patience, timeout_s: float) -> dict[str, Any]:
        """Call a service.

        Args:
            service: Its name.
            values: Fields of the request.
            patience: Waits for the caller.
            timeout_s: Timeout for the service, and then for the reply, s.

        Returns:
            The reply as plain data.

        Raises:
            ToolRefused: There is no such service, or no reply in time.
        """

    def publish(self, topic: str, type: str, values: Mapping[str, Any], patience: Patience) -> None:
        """Publish a message as soon as there is a subscription.

        Args:
            topic: Its name.
            type: Its type.
            values: Fields of the message.
            patience: Waits for the caller.

        Raises:
            ToolRefused: There is no subscription in time.
        """
