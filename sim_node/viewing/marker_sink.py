"""A world's markers to their topic, once."""

from __future__ import annotations

from sim_node.simulation import Snapshot
from sim_node.viewing.markers import markers_of
from sim_node.wire import qos
from sim_node.wire.marker_messages import marker_array
from sim_node.wire.topic import Outlet, Send, Topic
from sim_node.world import FrameTable, World

# Below the name of the node, whatever that is.
MARKERS = Topic("~/markers", "visualization_msgs/msg/MarkerArray", qos.LATCHED)


class MarkerSink:
    """Sends the markers with the first snapshot, and again after a reset, where viewers drop what they have.

    prefix: before every frame id but the fixed frame's.
    """

    def __init__(self, outlet: Outlet, *, prefix: str = "") -> None:
        self._outlet, self._prefix = outlet, prefix
        self._send: Send | None = None
        self._message = b""
        self._last_ns: int | None = None

    def open(self, world: World, frames: FrameTable) -> None:
        """Lays out the message."""
        self._send = self._outlet.advertise(MARKERS)
        self._message = marker_array(world.fixed_frame, markers_of(world, frames, self._prefix))

    def write(self, snapshot: Snapshot) -> None:
        """Sends it where that is due."""
        if self._send and (self._last_ns is None or snapshot.time_ns < self._last_ns):
            self._send(snapshot.time_ns, self._message)
        self._last_ns = snapshot.time_ns

    def close(self) -> None:
        """The outlet is its owner's."""
