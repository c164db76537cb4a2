"""Conversations with an autopilot: what is sent, awaited and sent again, without sockets, threads or clocks.

An exchange is given what comes in and what time it is, and says what to send; it ends with a result. Times are
monotonic nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sim_node.autopilot.codec import Message

# A message to the vehicle: its name and fields; target system and component are filled in where it goes out.
Outgoing = tuple[str, Mapping[str, Any]]


class Result(NamedTuple):
    """How an exchange ended: whether well, in words for a person, and what it brought, if anything."""

    ok: bool
    text: str
    value: Any = None


class Transaction:
    """One conversation. key: exchanges of the same key take turns; name: what a person calls it."""

    key = ""
    name = ""
    result: Result | None = None
    # Is told how far it has come, in words.
    report: Callable[[str], None] = staticmethod(lambda text: None)

    def start(self, now_ns: int) -> list[Outgoing]:
        """What opens it."""
        return []

    def receive(self, message: Message, now_ns: int) -> list[Outgoing]:
        """What answers a message of the vehicle."""
        return []

    def tick(self, now_ns: int) -> list[Outgoing]:
        """What is due by now; called about every 20 ms."""
        return []

    def end(self, ok: bool, text: str, value: Any = None) -> list[Outgoing]:
        """Sets the result; there is nothing more to send."""
        self.result = Result(ok, text, value)
        return []


class Refusal(Transaction):
    """What is refused before anything is sent."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.end(False, reason)
