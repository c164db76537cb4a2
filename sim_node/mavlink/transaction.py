"""Transactions with an autopilot: requests, answers and retries, without sockets, threads or clocks.

A transaction receives messages and the time, and returns messages to send. It ends with a result. Times are monotonic
nanoseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from sim_node.mavlink.codec import EncodeError, MavlinkMessage

# A message to the vehicle: its name and fields. Target system and component are set when it is sent.
Outgoing = tuple[str, Mapping[str, Any]]


class Result(NamedTuple):
    """The result of a transaction: success, a text for the user, and a value, if any."""

    ok: bool
    text: str
    value: Any = None


class Transaction:
    """An exchange of messages with an autopilot.

    Attributes:
        key: Transactions with the same key run one after the other.
        name: Name for users.
        result: The result; None until it ends.
    """

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
        """Set the result, and return that there are no more messages."""
        self.result = Result(ok, text, value)
        return []


class TransactionRefused(Transaction):
    """A transaction that is refused before anything is sent."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.end(False, reason)


MAX_WAITING = 32

Ended = Callable[[Transaction, Result], None]
# Reports an unexpected exception: what failed, the exception, the time (monotonic, ns).
Fault = Callable[[str, Exception, int], None]


class Conversations:
    """The active transactions with a vehicle, and those that wait for them.

    All functions that are called here may begin or cancel transactions. Times are monotonic nanoseconds.

    Args:
        send: Sends messages to the vehicle.
        fault: Reports unexpected exceptions.
    """

    def __init__(self, send: Callable[[list[Outgoing], int], None], fault: Fault) -> None:
        self._send, self._fault = send, fault
        self._active: dict[str, tuple[Transaction, Ended]] = {}
        self._waiting: deque[tuple[Transaction, Ended]] = deque()

    def begin(self, transaction: Transaction, ended: Ended, now_ns: int) -> None:
        """Start a transaction, or queue it behind those with the same key."""
        key = transaction.key
        if transaction.result is not None:
            self._report(transaction, ended, now_ns)
        elif key not in self._active and all(waiting.key != key for waiting, _ in self._waiting):
            self._start(transaction, ended, now_ns)
            self._settle(now_ns)
        elif len(self._waiting) < MAX_WAITING:
            self._waiting.append((transaction, ended))
        else:
            transaction.end(False, f"{MAX_WAITING} requests are already waiting")
            self._report(transaction, ended, now_ns)

    def cancel(self, key: str, why: str, now_ns: int) -> None:
        """End the active transaction with a key, if there is one."""
        found = self._active.get(key)
        if found is not None:
            found[0].end(False, why)
            self._settle(now_ns)

    def receive(self, message: MavlinkMessage, now_ns: int) -> None:
        """Pass a message of the vehicle to all transactions."""
        if not self._active:  # true for nearly all messages
            return
        for transaction, _ in list(self._active.values()):
            self._advance(transaction, partial(transaction.receive, message), now_ns)
        self._settle(now_ns)

    def tick(self, now_ns: int) -> None:
        """Let all transactions do what is due."""
        for transaction, _ in list(self._active.values()):
            self._advance(transaction, transaction.tick, now_ns)
        self._settle(now_ns)

    def _start(self, transaction: Transaction, ended: Ended, now_ns: int) -> None:
        self._active[transaction.key] = transaction, ended
        self._advance(transaction, transaction.start, now_ns)

    def _advance(self, transaction: Transaction, step: Callable[[int], list[Outgoing]], now_ns: int) -> None:
        """Send the messages of a step of a transaction. The transaction fails if the step raises."""
        if transaction.result is not None:  # another transaction has just cancelled it
            return
        try:
            self._send(step(now_ns), now_ns)
        except EncodeError as error:
            transaction.end(False, f"not sent: {error}")
        except Exception as error:
            transaction.end(False, f"internal error: {type(error).__name__}; the log has the details")
            self._fault(transaction.name, error, now_ns)

    def _settle(self, now_ns: int) -> None:
        """Report ended transactions and start those that waited for them.

        Each report may begin and cancel others, and thereby call this again: only the transactions present now count.
        """
        while True:
            key = next((key for key, (each, _) in self._active.items() if each.result is not None), None)
            if key is None:
                return
            self._report(*self._active.pop(key), now_ns)
            waiting = next((each for each in self._waiting if each[0].key == key), None)
            if waiting is not None and key not in self._active:
                self._waiting.remove(waiting)
                self._start(*waiting, now_ns)

    def _report(self, transaction: Transaction, ended: Ended, now_ns: int) -> None:
        assert transaction.result is not None
        try:
            ended(transaction, transaction.result)
        except Exception as error:
            self._fault(f"the result of {transaction.name}", error, now_ns)
