"""What tools need of a running graph, as a Protocol: rclpy stays in the room of nodes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from sim_node.spatial.tree import TransformTree

# How often what waits looks again, s.
POLL_S = 0.05


class ToolRefused(Exception):
    """A call of a tool cannot be carried out; the message is one line for whoever called."""


def check_span(name: str, given: float, most: float) -> None:
    """Refuse an argument that is no time (s) above zero, up to a limit. Raises ToolRefused."""
    if not 0.0 < given <= most:
        raise ToolRefused(f"{name} is {given:g} s; needs above 0 and up to {most:g} s")


class Cancelled(Exception):
    """The caller cancelled a call."""


class Patience:
    """How long a call may wait, and whether its caller still does.

    Args:
        cancelled: Set by another thread when the caller cancels the call.
    """

    def __init__(self, cancelled: threading.Event | None = None) -> None:
        self._cancelled = threading.Event() if cancelled is None else cancelled

    def until(self, done: Callable[[], object], timeout_s: float) -> bool:
        """Wait until something is true.

        Args:
            done: Called again and again.
            timeout_s: When to give up, s.

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
    """A topic of the graph. name: in full; types: usually one; publishers, subscriptions: how many others have."""

    name: str
    types: tuple[str, ...]
    publishers: int
    subscriptions: int


class Messages(Protocol):
    """Messages of a topic, received from when it was opened."""

    type: str

    def take(self) -> list[dict[str, Any]]:
        """Return the messages received since the last call, oldest first, as plain data."""


class Graph(Protocol):
    """A running graph. Its methods may be called from any thread."""

    @property
    def tree(self) -> TransformTree:
        """The transforms received so far."""

    def now_ns(self) -> int | None:
        """Return the graph's time in ns, from /clock where there is one; None while it is unknown."""

    def silent_for(self) -> Mapping[str, float]:
        """Return for each moving frame how long ago its last transform came in, s."""

    def topics(self) -> list[TopicInfo]:
        """Return the topics of other nodes, by name."""

    def services(self) -> dict[str, tuple[str, ...]]:
        """Return the services of all nodes, with their types."""

    def messages(self, topic: str, patience: Patience, timeout_s: float) -> AbstractContextManager[Messages]:
        """Subscribe to a topic while a block runs.

        Args:
            topic: Its name.
            patience: Of the caller.
            timeout_s: How long to wait for a publisher, s.

        Returns:
            A context manager that gives the messages.

        Raises:
            ToolRefused: There is no publisher in time, or the type is not installed.
        """

    def call(self, service: str, values: Mapping[str, Any], patience: Patience, timeout_s: float) -> dict[str, Any]:
        """Call a service.

        Args:
            service: Its name.
            values: Fields of the request.
            patience: Of the caller.
            timeout_s: How long to wait for the service, and then for the reply, s.

        Returns:
            The reply as plain data.

        Raises:
            ToolRefused: There is no such service, or no reply in time.
        """

    def publish(self, topic: str, type: str, values: Mapping[str, Any], patience: Patience) -> None:
        """Publish a message once somebody subscribes.

        Args:
            topic: Its name.
            type: Its type.
            values: Fields of the message.
            patience: Of the caller.

        Raises:
            ToolRefused: Nobody subscribes in time.
        """
