"""The scene graph of a run on topics."""

from __future__ import annotations

from sim_node.extensions.aerosim.live import SceneMessages
from sim_node.messages import topic
from sim_node.messages.clock import Stamp, simulation_stamp
from sim_node.messages.encoding import encode
from sim_node.messages.rotor_frames import SPEEDS, Instants, RotorAngles, RotorFrames
from sim_node.messages.topic import Outlet, Qos, Send, Topic
from sim_node.simulation import Sink, Snapshot
from sim_node.world import FrameTable, World

WHOLE = Topic("scene_graph", "std_msgs/msg/String", topic.LATCHED)
UPDATE = Topic("scene_graph/update", "std_msgs/msg/String", Qos(depth=100))
# Maximum rate at which the latched graph is renewed for late subscribers, per simulated second.
WHOLE_RATE = 1.0


class SceneGraphSink(Sink):
    """Publishes the whole scene graph, latched, and its changes as updates.

    The whole graph is sent at the start, after a reset, when the structure changes, and otherwise at most once per
    second. Updates continue it; see `aerosim.live.SceneMessages`.

    Args:
        outlet: Receives the messages; topics are in its namespace.
        rate: Maximum rate of updates per simulated second, Hz.
        prefix: Prefix of all names.
        dialect: Spelling of keys, one of aerosim.writing.DIALECTS.
        stamp: Returns the time of sending for a simulation time. The graph itself has the simulation time.
    """

    def __init__(
        self,
        outlet: Outlet,
        rate: float = 20.0,
        *,
        prefix: str = "",
        dialect: str = "seed",
        stamp: Stamp = simulation_stamp,
    ) -> None:
        self._outlet, self._stamp = outlet, stamp
        self._messages = SceneMessages(prefix=prefix, dialect=dialect)
        self._updates, self._wholes = Instants(rate), Instants(WHOLE_RATE)
        self._sends: tuple[Send, Send] | None = None
        self._angles = RotorAngles(RotorFrames(World("none")))
        self._last_ns: int | None = None
        self._reopened = self._stale = False

    def open(self, world: World, frames: FrameTable) -> None:
        """Find the entities. A further call between two instants changes the structure."""
        if self._sends is None:
            self._sends = self._outlet.advertise(WHOLE), self._outlet.advertise(UPDATE)
        self._reopened = self._last_ns is not None
        layout = self._messages.open(world, frames)
        self._angles = RotorAngles(layout.rotors)

    def write(self, snapshot: Snapshot) -> None:
        """Publish the messages that are due."""
        assert self._sends is not None, "open comes before write"
        whole, update = self._sends
        time_ns = snapshot.time_ns
        angles = self._angles.advance(time_ns, snapshot[SPEEDS]) if len(self._angles.angles) else None
        begins = self._last_ns is None or time_ns < self._last_ns
        self._last_ns = time_ns
        if not self._updates.due(time_ns) and not begins and not self._reopened:
            return
        text = None if begins else self._messages.update(time_ns, snapshot.poses, angles)
        if text is not None:
            update(self._stamp(time_ns), _string(text))
            self._stale = True
        if begins or self._reopened or (self._stale and self._wholes.due(time_ns)):
            whole(self._stamp(time_ns), _string(self._messages.whole(time_ns, snapshot.poses, angles)))
            self._stale = False
        self._reopened = False


def _string(text: str) -> bytes:
    return encode("std_msgs/msg/String", {"data": text})
