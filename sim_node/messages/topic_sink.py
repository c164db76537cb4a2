"""Sinks with their own topics."""

from __future__ import annotations

from sim_node.messages.clock import Stamp, simulation_stamp
from sim_node.messages.topic import AdvertisedTopics, Outlet
from sim_node.simulation import Sink


class TopicSink(Sink):
    """Publishes on its own topics.

    Args:
        outlet: The outlet of the messages; topics are in its namespace.
        prefix: Prefix of the topics, and of all frame ids except the fixed frame's.
        stamp: Returns the stamp for a simulation time.
    """

    def __init__(self, outlet: Outlet, *, prefix: str = "", stamp: Stamp = simulation_stamp) -> None:
        self._topics, self._prefix, self._stamp = AdvertisedTopics(outlet), prefix, stamp
