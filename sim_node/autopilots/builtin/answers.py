"""Messages from the ground, and answers: messages to the peer that asked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from sim_node.mavlink.codec import EncodeError, MavlinkMessage
from sim_node.mavlink.links import Address


class Answers(Protocol):
    """What sends answers: a Connection, or the link of a simulator."""

    def send(self, name: str, fields: Mapping[str, Any], to: Address, now_ns: int) -> None:
        """Send a message to a peer at a monotonic time."""


def answer(name: str, fields: Mapping[str, Any], connection: Answers, address: Address) -> None:
    """Send a message to a peer, unless its fields do not fit into it."""
    with suppress(EncodeError):
        connection.send(name, fields, address, time.monotonic_ns())


class Received(NamedTuple):
    """A message that is addressed to the autopilot: where an answer goes, and when it came (monotonic, ns)."""

    message: MavlinkMessage
    connection: Answers
    address: Address
    now_ns: int

    @property
    def sender(self) -> dict[str, int]:
        """The fields of an answer that name who asked."""
        return {"target_system": self.message.system, "target_component": self.message.component}

    def answer(self, name: str, fields: Mapping[str, Any]) -> None:
        """Send a message to who asked."""
        answer(name, fields, self.connection, self.address)
