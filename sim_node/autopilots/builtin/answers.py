"""Messages from ground stations, and answers to their senders."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from sim_node.mavlink.codec import EncodeError, MavlinkMessage
from sim_node.mavlink.links import Address


class Answers(Protocol):
    """Sends answers: a Connection, or the link to a simulator."""

    def send(self, name: str, fields: Mapping[str, Any], to: Address, now_ns: int) -> None:
        """Send a message to a peer at a monotonic time, ns."""


def answer(name: str, fields: Mapping[str, Any], connection: Answers, address: Address) -> None:
    """Send a message to a peer. Dropped if its fields cannot be encoded."""
    with suppress(EncodeError):
        connection.send(name, fields, address, time.monotonic_ns())


class GroundMessage(NamedTuple):
    """A message for the autopilot.

    Attributes:
        message: The message.
        connection: Link for the answer.
        address: Peer for the answer.
        now_ns: Monotonic time of reception, ns.
    """

    message: MavlinkMessage
    connection: Answers
    address: Address
    now_ns: int

    @property
    def sender(self) -> dict[str, int]:
        """Target fields of an answer to the sender."""
        return {"target_system": self.message.system, "target_component": self.message.component}

    def answer(self, name: str, fields: Mapping[str, Any]) -> None:
        """Send a message to the sender."""
        answer(name, fields, self.connection, self.address)
