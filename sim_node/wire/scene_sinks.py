"""The scene graph of a run on topics, and the turning rotors of its vehicles on /tf."""

from __future__ import annotations

import warnings

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.scene.live import SceneMessages
from sim_node.scene.rotors import RotorAngles, RotorFrames
from sim_node.simulation import Snapshot
from sim_node.wire import topic
from sim_node.wire.clock import Stamp, simulation_stamp
from sim_node.wire.encoding import encode
from sim_node.wire.tf_sink import TF, LayOutPoses, PoseOutlet, SendPoses
from sim_node.wire.topic import Outlet, Qos, Send, Topic
from sim_node.world import FrameTable, World
from sim_node.world.problems import WorldWarning, counted

WHOLE = Topic("scene_graph", "std_msgs/msg/String", topic.LATCHED)
UPDATE = Topic("scene_graph/update", "std_msgs/msg/String", Qos(depth=100))
# At most so often the latched graph is renewed for those who join later, per simulated second.
WHOLE_RATE = 1.0
_SPEEDS = "rotor_speed"


class _Rate:
    """Instants that are at least a period apart, on multiples of it."""

    def __init__(self, rate: float) -> None:
        self._period_ns = round(1e9 / rate)
        self._next_ns: int | None = None

    def due(self, time_ns: int) -> bool:
        """Return whether an instant is due, and count it as used."""
        if self._next_ns is not None and self._next_ns - self._period_ns <= time_ns < self._next_ns:
            return False
        self._next_ns = time_ns - time_ns % self._period_ns + self._period_ns
        return True


class SceneGraphSink:
    """Publishes the whole scene graph, latched, and its changes as updates.

    The whole graph is sent at the start, after a reset, when the structure changes, and at most once per second
    otherwise. Updates continue it; see `scene.live.SceneMessages`.

    Args:
        outlet: Where the messages go; topics are in its namespace.
        rate: Updates per simulated second at most, Hz.
        prefix: Prefix of all names.
        dialect: Spelling of keys, one of scene.writing.DIALECTS.
        stamp: Gives the time of sending for a simulation time, which the graph itself has.
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
        self._updates, self._wholes = _Rate(rate), _Rate(WHOLE_RATE)
        self._sends: tuple[Send, Send] | None = None
        self._angles = RotorAngles(RotorFrames(World("none")))
        self._last_ns: int | None = None
        self._reopened = self._stale = False

    def open(self, world: World, frames: FrameTable) -> None:
        """Find the entities. A second call between two instants changes the structure."""
        if self._sends is None:
            self._sends = self._outlet.advertise(WHOLE), self._outlet.advertise(UPDATE)
        self._reopened = self._last_ns is not None
        layout = self._messages.open(world, frames)
        self._angles = RotorAngles(layout.rotors)

    def write(self, snapshot: Snapshot) -> None:
        """Publish what is due."""
        assert self._sends is not None, "open comes before write"
        whole, update = self._sends
        time_ns = snapshot.time_ns
        angles = self._angles.advance(time_ns, snapshot[_SPEEDS]) if len(self._angles.angles) else None
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

    def close(self) -> None:
        """Do nothing: the outlet belongs to its owner."""


class RotorFrameSink:
    """Publishes the rotors of vehicles as frames on /tf, turning: BODY/rotor_0, BODY/rotor_1, ...

    Args:
        outlet: Where the transforms go.
        rate: Transforms per simulated second at most, Hz.
        prefix: Prefix of all frame names.
        stamp: Gives the stamp for a simulation time.
    """

    def __init__(self, outlet: PoseOutlet, rate: float, *, prefix: str = "", stamp: Stamp = simulation_stamp) -> None:
        self._outlet, self._prefix, self._stamp = outlet, prefix, stamp
        self._lay_out: LayOutPoses | None = None
        self._rate = _Rate(rate)
        self._rotors = RotorFrames(World("none"))
        self._angles = RotorAngles(self._rotors)
        self._send: SendPoses | None = None
        self._chosen: FloatArray = np.zeros(0, dtype=np.intp)

    def open(self, world: World, frames: FrameTable) -> None:
        """Find the rotors. A frame of the world that has the name of a rotor stays what it is."""
        self._rotors = RotorFrames(world)
        self._angles = RotorAngles(self._rotors)
        names = self._rotors.ends()
        taken = [child for _, child in names if child in frames.names]
        if taken:
            message = f"{counted(len(taken), 'rotor')} not on /tf: the world has frames of the names {', '.join(taken)}"
            warnings.warn(WorldWarning(message), stacklevel=2)
        self._chosen = np.array([row for row, (_, child) in enumerate(names) if child not in taken], dtype=np.intp)
        ends = [names[row] for row in self._chosen.tolist()]
        self._send = None
        if ends:
            parents, children = ([self._prefix + name for name in each] for each in zip(*ends, strict=True))
            if self._lay_out is None:
                self._lay_out = self._outlet(TF)
            self._send = self._lay_out(parents, children)

    def write(self, snapshot: Snapshot) -> None:
        """Publish the rotors if they are due."""
        if self._send is None:
            return
        angles = self._angles.advance(snapshot.time_ns, snapshot[_SPEEDS])
        if self._rate.due(snapshot.time_ns):
            self._send(self._stamp(snapshot.time_ns), self._rotors.poses(angles)[self._chosen])

    def close(self) -> None:
        """Do nothing: the outlet belongs to its owner."""


def _string(text: str) -> bytes:
    return encode("std_msgs/msg/String", {"data": text})
