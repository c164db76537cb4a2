"""A topic, and what takes its messages: a graph, a bag, or both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sim_node.wire.qos import Qos

# Sends one message: its time (ns) and its CDR.
Send = Callable[[int, bytes], None]


@dataclass(frozen=True)
class Topic:
    """name: absolute (/tf) or below whatever namespace the outlet has (drone/imu/data_raw); type: package/msg/Name."""

    name: str
    type: str
    qos: Qos


class Outlet(Protocol):
    """Where messages go."""

    def advertise(self, topic: Topic) -> Send:
        """What sends on a topic from now on."""


class Tee:
    """Hands each message to several outlets, in their order: what is laid out once goes everywhere."""

    def __init__(self, *outlets: Outlet) -> None:
        self._outlets = outlets

    def advertise(self, topic: Topic) -> Send:
        """What sends on the topic in all of them."""
        sends = [outlet.advertise(topic) for outlet in self._outlets]
        if len(sends) == 1:
            return sends[0]

        def send(time_ns: int, data: bytes) -> None:
            for each in sends:
                each(time_ns, data)

        return send
