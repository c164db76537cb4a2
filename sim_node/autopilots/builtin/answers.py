"""Answers: messages to the peer that asked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from sim_node.mavlink.codec import EncodeError
from sim_node.mavlink.links import Address


class Answers(Protocol):
    """What sends answers: a Connection, or the link of a simulator."""

    def send(self, name: str, fields: Mapping[str, Any], to: Address, now_ns: int) -> None:
        """Send a message to a peer at a monotonic time."""


def answer(name: str, fields: Mapping[str, Any], connection: Answers, address: Address) -> None:
    """Send a message to a peer, unless its fields do not fit into it."""
    with suppress(EncodeError):
        connection.send(name, fields, address, time.monotonic_ns())
