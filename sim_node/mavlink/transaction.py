"""Transactions with an autopilot: requests, answers and retries, without sockets, threads or clocks.

A transaction receives messages and the time, and returns messages to send. It ends with a result. Times are monotonic
nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sim_node.mavlink.codec import MavlinkMessage

# A message to the vehicle: its name and fields. Target system and component are set when it is sent.
Outgoing = tuple[str, Mapping[str, Any]]


class Result(NamedTuple):
    """The result of a transaction: success, a text for the user, and a value, if any."""

    ok: bool
    text: str
    value: Any = None


class Transaction:
    """A transaction. key: transactions with the same key run one after the other; name: shown to the user."""

    key = ""
    name = ""
    result: Result | None = None
    # Called with a description of the progress.
    report: Callable[[str], None] = staticmethod(lambda text: None)

    def start(self, now_ns: int) -> list[Outgoing]:
        """Return the first messages."""
        return []

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        """Return the answers to a message of the vehicle."""
        return []

    def tick(self, now_ns: int) -> list[Outgoing]:
        """Return the messages that are due; called about every 20 ms."""
        return []

    def end(self, ok: bool, text: str, value: Any = None) -> list[Outgoing]:
        """Set the result. There are no more messages."""
        self.result = Result(ok, text, value)
        return []


class TransactionRefused(Transaction):
    """A transaction that is refused before anything is sent."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.end(False, reason)
