"""What a simulation sends for viewers beside transforms and measurements: robot descriptions, markers, paths."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.simulation import Sink, Snapshot
from sim_node.viewing.markers import markers_of
from sim_node.viewing.robots import Robot, robots_of
from sim_node.viewing.urdf import UrdfWriter
from sim_node.wire import topic
from sim_node.wire.cdr import stamp
from sim_node.wire.clock import Stamp, simulation_stamp
from sim_node.wire.encoding import encode
from sim_node.wire.layout import Layout
from sim_node.wire.marker_messages import marker_array
from sim_node.wire.sensor_topics import topic_of
from sim_node.wire.topic import Outlet, Qos, Send, Topic
from sim_node.world import FrameTable, World


def description_topic(robot: Robot) -> Topic:
    """Where the description of a robot goes, below the outlet's namespace."""
    return Topic(topic_of(robot.frame_prefix + robot.name, "robot_description"), "std_msgs/msg/String", topic.LATCHED)


class DescriptionSink:
    """Sends descriptions with the first snapshot. prefix: before every frame's name, and before the topics."""

    def __init__(self, outlet: Outlet, *, prefix: str = "") -> None:
        self._outlet, self._prefix = outlet, prefix
        self._waiting: list[tuple[Send, bytes]] = []

    def open(self, world: World, frames: FrameTable) -> None:
        """Writes the descriptions."""
        robots = robots_of(world, frames, self._prefix)
        if robots:
            writer = UrdfWriter(world, frames)
            self._waiting = [
                (
                    self._outlet.advertise(description_topic(robot)),
                    encode("std_msgs/msg/String", {"data": writer.robot(robot)}),
                )
                for robot in robots
            ]

    def write(self, snapshot: Snapshot) -> None:
        """Sends them, the first time."""
        for send, message in self._waiting:
            send(snapshot.time_ns, message)
        self._waiting = []

    def close(self) -> None:
        """The outlet is its owner's."""


# Below the name of the node, whatever that is.
MARKERS = Topic("~/markers", "visualization_msgs/msg/MarkerArray", topic.LATCHED)


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


# Poses per simulated second, and how many of them a path has: those of the last minute.
RATE, LENGTH = 5, 300
_PERIOD_NS = 1_000_000_000 // RATE


def path_topic(vehicle: str, prefix: str = "") -> Topic:
    """Where the path of a vehicle goes, below the outlet's namespace."""
    return Topic(topic_of(prefix + vehicle, "path"), "nav_msgs/msg/Path", Qos(depth=1))


class PathMessage:
    """The CDR of a nav_msgs/Path in one frame with up to `most` poses, the newest last.

    The messages of fewer poses are the beginnings of the longest one, which is laid out here.
    """

    def __init__(self, frame_id: str, most: int) -> None:
        row = {"header": {"frame_id": frame_id, "stamp": 0}}
        self._layout = Layout("nav_msgs/msg/Path", {"header.frame_id": frame_id, "poses": [row] * most})
        self._length = self._layout.length("poses")
        # Seconds, nanoseconds and poses: what is kept, and where it goes in the message.
        fields = [self._layout.rows(f"poses[].{path}") for path in ("header.stamp.sec", "header.stamp.nanosec", "pose")]
        self._columns = [(np.zeros(places.shape, memory.dtype), memory, places) for memory, places in fields]
        self._ends = [self._layout.end(f"poses[{row}].pose") for row in range(most)]
        self._count = 0

    def clear(self) -> None:
        """Forget all poses."""
        self._count = 0

    def add(self, stamp_ns: int, pose: FloatArray) -> bytes:
        """Return the message with one more pose (7,), the oldest left out where there are too many.

        Raises OverflowError for a time that stamps do not hold.
        """
        newest = (*stamp(stamp_ns), pose)
        full = self._count == len(self._ends)
        self._count += not full
        self._length[0] = count = self._count
        for (kept, memory, places), value in zip(self._columns, newest, strict=True):
            if full:
                kept[:-1] = kept[1:]
            kept[count - 1] = value
            memory[places[:count]] = kept[:count]
        return self._layout.write(stamp_ns)[: self._ends[count - 1]]


class PathSink:
    """Sends a path per vehicle in the fixed frame, with the first snapshot of each fifth of a second.

    prefix: before the topics. A reset begins new paths.
    """

    def __init__(self, outlet: Outlet, *, prefix: str = "", stamp: Stamp = simulation_stamp) -> None:
        self._outlet, self._prefix, self._stamp = outlet, prefix, stamp
        self._paths: list[tuple[Send, PathMessage, list[int]]] = []
        self._next_ns: int | None = None
        self._last_ns = 0

    def open(self, world: World, frames: FrameTable) -> None:
        """Lays out the messages."""
        self._paths = [
            (
                self._outlet.advertise(path_topic(vehicle.name, self._prefix)),
                PathMessage(world.fixed_frame, LENGTH),
                frames.chain(frames.index(vehicle.body)),
            )
            for vehicle in world.vehicles
        ]

    def write(self, snapshot: Snapshot) -> None:
        """Adds to the paths and sends them, where that is due."""
        time_ns = snapshot.time_ns
        if time_ns < self._last_ns:
            self._next_ns = None
        self._last_ns = time_ns
        if self._next_ns is None:
            for _, path, _ in self._paths:
                path.clear()
        elif time_ns < self._next_ns:
            return
        self._next_ns = time_ns - time_ns % _PERIOD_NS + _PERIOD_NS
        if self._paths:
            stamp_ns = self._stamp(time_ns)
            for send, path, chain in self._paths:
                send(time_ns, path.add(stamp_ns, _rooted(snapshot.poses, chain)))

    def close(self) -> None:
        """The outlet is its owner's."""


def _rooted(frame_poses: FloatArray, chain: list[int]) -> FloatArray:
    """The pose (7,) in the fixed frame of the first frame of a chain that leads up to it."""
    pose: FloatArray = frame_poses[chain[0]]
    for row in chain[1:-1]:
        pose = poses.compose(frame_poses[row], pose)
    return pose


EVERYTHING = {"markers": True, "robot_descriptions": True, "paths": True}


def display_sinks(
    outlet: Outlet, wanted: Mapping[str, bool] = EVERYTHING, *, prefix: str = "", stamp: Stamp = simulation_stamp
) -> tuple[Sink, ...]:
    """The sinks that `wanted` has by name, as the node's parameters do."""
    sinks: dict[str, Sink] = {
        "markers": MarkerSink(outlet, prefix=prefix),
        "robot_descriptions": DescriptionSink(outlet, prefix=prefix),
        "paths": PathSink(outlet, prefix=prefix, stamp=stamp),
    }
    return tuple(sink for name, sink in sinks.items() if wanted[name])
