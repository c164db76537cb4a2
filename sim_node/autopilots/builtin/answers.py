"""Answers: messages to the peer that asked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sim_node.mavlink.codec import EncodeError
from sim_node.mavlink.connection import Connection
from sim_node.mavlink.links import Address


def answer(name: str, fields: Mapping[str, Any], connection: Connection, address: Address) -> None:
    """Send a message to a peer, unless its fields do not fit into it."""
    with suppress(EncodeError):
        connection.send(name, fields, address, time.monotonic_ns())
