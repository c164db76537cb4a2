"""Messages whose bytes cannot be read: counted by topic, told of once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sim_node.text import printable


class Unreadable:
    """Counts messages that a reader refused.

    tell: called with a line for the first one of each topic. by_topic: how many so far. May be used by several threads.
    """

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.by_topic: dict[str, int] = {}
        self._tell = tell
        self._lock = threading.Lock()

    def count(self, topic: str, why: object, whence: str = "") -> None:
        """Takes note of one. whence: who may have sent it, for the line."""
        with self._lock:
            before = self.by_topic.get(topic, 0)
            self.by_topic[topic] = before + 1
        if not before:
            self._tell(printable(f"{topic}: message skipped{whence}: {why}; more of this topic are only counted"))

    def counted(self) -> list[str]:
        """A line for each topic of which more than the one that was told of were skipped."""
        return [f"{topic}: {count} messages skipped in all" for topic, count in self.by_topic.items() if count > 1]
