"""Vehicles' telemetry to their topics: advertised by name, with the first message."""

from __future__ import annotations

from collections.abc import Callable

from sim_node.autopilot.topics import Topic
from sim_node.wire.topic import Outlet, Send


class VehiclePublishers:
    """Sends CDR on the topics of one vehicle, which lie below its name. now_ns: the graph's clock."""

    def __init__(self, outlet: Outlet, name: str, now_ns: Callable[[], int]) -> None:
        self._outlet, self._name, self._now_ns = outlet, name, now_ns
        self._sends: dict[Topic, Send] = {}

    def send(self, topic: Topic, data: bytes) -> None:
        """One message."""
        send = self._sends.get(topic)
        if send is None:
            send = self._sends[topic] = self._outlet.advertise(topic.below(self._name))
        send(self._now_ns(), data)
