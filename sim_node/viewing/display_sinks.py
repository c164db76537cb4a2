"""Sinks for viewers, besides transforms and measurements: robot descriptions, markers, paths."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import numpy as np

from sim_node.messages import topic
from sim_node.messages.cdr import stamp
from sim_node.messages.clock import Stamp, simulation_stamp
from sim_node.messages.encoding import encode
from sim_node.messages.layout import MessageLayout
from sim_node.messages.marker_messages import MarkerArrays
from sim_node.messages.sensor_topics import topic_of
from sim_node.messages.topic import Outlet, Qos, Send, Topic
from sim_node.messages.topic_sink import TopicSink
from sim_node.simulation import Sink, Snapshot
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.markers import markers_of
from sim_node.viewing.robots import Robot, robots_of
from sim_node.viewing.urdf import UrdfWriter
from sim_node.world import FrameTable, World


def description_topic(robot: Robot) -> Topic:
    """Return the topic of a robot's description, relative to the outlet's namespace."""
    return Topic(topic_of(robot.frame_prefix + robot.name, "robot_description"), "std_msgs/msg/String", topic.LATCHED)


class DescriptionSink(TopicSink):
    """Publishes robot descriptions with the first snapshot, and new or changed ones after a change of the world."""

    _published: Mapping[Topic, bytes] = {}
    # A number for each frame, kept as long as the frame exists.
    _numbers: Mapping[str, int] = {}

    def open(self, world: World, frames: FrameTable) -> None:
        """Create the descriptions."""
        robots = robots_of(world, frames, self._prefix)
        self._number(frames)
        writer = UrdfWriter(world, frames, self._numbers) if robots else None
        messages = {
            description_topic(robot): encode("std_msgs/msg/String", {"data": writer.robot(robot)})
            for robot in robots
            if writer is not None
        }
        before, self._published = self._published, messages
        sends = self._topics.renew(messages)
        self._waiting: list[tuple[Send, bytes]] = [
            (send, message)
            for send, (topic, message) in zip(sends, messages.items(), strict=True)
            if message != before.get(topic)
        ]

    def _number(self, frames: FrameTable) -> None:
        """Number new frames and keep existing numbers, so that unchanged robots keep identical descriptions."""
        kept = {name: self._numbers[name] for name in frames.names if name in self._numbers}
        used = set(kept.values())
        free = (number for number in count() if number not in used)
        self._numbers = {name: kept[name] if name in kept else next(free) for name in frames.names}

    def write(self, snapshot: Snapshot) -> None:
        """Publish the pending descriptions."""
        for send, message in self._waiting:
            send(self._stamp(snapshot.time_ns), message)
        self._waiting = []


# Relative to the node name
MARKERS = Topic("~/markers", "visualization_msgs/msg/MarkerArray", topic.LATCHED)


class MarkerSink(Sink):
    """Publishes the markers with the first snapshot, and again after a reset, when viewers discard theirs.

    After a change of the world, removed markers are deleted one by one, and remaining ones keep their ids.
    prefix: prefix of all frame ids except the fixed frame's. stamp: returns the stamp for a simulation time.
    """

    def __init__(self, outlet: Outlet, *, prefix: str = "", stamp: Stamp = simulation_stamp) -> None:
        self._outlet, self._prefix, self._stamp = outlet, prefix, stamp
        self._send: Send | None = None
        self._arrays = MarkerArrays()
        self._published = b""
        self._has_changed = False
        self._last_ns: int | None = None

    def open(self, world: World, frames: FrameTable) -> None:
        """Compose the message."""
        if self._send is None:
            self._send = self._outlet.advertise(MARKERS)
        self._arrays.renew(world.fixed_frame, markers_of(world, frames, self._prefix))
        self._has_changed = True

    def write(self, snapshot: Snapshot) -> None:
        """Publish the markers when they are due."""
        is_first = self._last_ns is None or snapshot.time_ns < self._last_ns
        if self._send and (is_first or self._has_changed):
            message = self._arrays.all() if is_first else self._arrays.changes()
            if is_first or message != self._published:
                self._send(self._stamp(snapshot.time_ns), message)
            self._published = message
        self._has_changed = False
        self._last_ns = snapshot.time_ns


# Poses per simulated second, and maximum number of poses of a path: those of the last minute.
RATE, LENGTH = 5, 300
_PERIOD_NS = 1_000_000_000 // RATE


def path_topic(vehicle: str, prefix: str = "") -> Topic:
    """Return the topic of a vehicle's path, relative to the outlet's namespace."""
    return Topic(topic_of(prefix + vehicle, "path"), "nav_msgs/msg/Path", Qos(depth=1))


class PathMessage:
    """Serialized nav_msgs/Path in one frame with up to `max_poses` poses, the latest last.

    The longest message is laid out once, and shorter messages are prefixes of it.
    """

    def __init__(self, frame_id: str, max_poses: int) -> None:
        row = {"header": {"frame_id": frame_id, "stamp": 0}}
        self._layout = MessageLayout("nav_msgs/msg/Path", {"header.frame_id": frame_id, "poses": [row] * max_poses})
        self._length = self._layout.length("poses")
        # Seconds, nanoseconds and poses: the ring buffer, and its location in the message.
        fields = [self._layout.rows(f"poses[].{path}") for path in ("header.stamp.sec", "header.stamp.nanosec", "pose")]
        self._columns = [(np.zeros(places.shape, memory.dtype), memory, places) for memory, places in fields]
        self._ends = [self._layout.end(f"poses[{row}].pose") for row in range(max_poses)]
        self._count = 0

    def clear(self) -> None:
        """Drop all poses."""
        self._count = 0

    def add(self, stamp_ns: int, pose: FloatArray) -> bytes:
        """Add a pose (7,), dropping the oldest one if there are too many, and return the message.

        Raises OverflowError if the time does not fit into a stamp.
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


class PathSink(TopicSink):
    """Publishes a path per vehicle in the fixed frame, five times per simulated second.

    A reset starts new paths.
    """

    _messages: Mapping[str, PathMessage] = {}
    _next_ns: int | None = None
    _last_ns = 0

    def open(self, world: World, frames: FrameTable) -> None:
        """Compose the messages. Vehicles that remain in a changed world keep their paths."""
        self._messages = {
            vehicle.name: self._messages.get(vehicle.name) or PathMessage(world.fixed_frame, LENGTH)
            for vehicle in world.vehicles
        }
        self._paths = [
            (send, self._messages[vehicle.name], frames.chain(frames.index(vehicle.body)))
            for send, vehicle in zip(self._topics.renew(self._topics_of(world)), world.vehicles, strict=True)
        ]

    def refuses(self, world: World) -> str | None:
        """Return why the paths of a changed world's vehicles cannot be published, or None."""
        return self._topics.refused(self._topics_of(world))

    def _topics_of(self, world: World) -> list[Topic]:
        return [path_topic(vehicle.name, self._prefix) for vehicle in world.vehicles]

    def write(self, snapshot: Snapshot) -> None:
        """Extend and publish the paths when they are due."""
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
                send(stamp_ns, path.add(stamp_ns, _rooted(snapshot.poses, chain)))


def _rooted(frame_poses: FloatArray, chain: list[int]) -> FloatArray:
    """Return the pose (7,) in the fixed frame of the first frame of a chain that leads up to the fixed frame."""
    pose: FloatArray = frame_poses[chain[0]]
    for row in chain[1:-1]:
        pose = poses.compose(frame_poses[row], pose)
    return pose


EVERYTHING = {"markers": True, "robot_descriptions": True, "paths": True}


def display_sinks(
    outlet: Outlet, wanted: Mapping[str, bool] = EVERYTHING, *, prefix: str = "", stamp: Stamp = simulation_stamp
) -> tuple[Sink, ...]:
    """Return the sinks that are enabled by name in `wanted`, as in the node's parameters."""
    sinks: dict[str, Sink] = {
        "markers": MarkerSink(outlet, prefix=prefix, stamp=stamp),
        "robot_descriptions": DescriptionSink(outlet, prefix=prefix, stamp=stamp),
        "paths": PathSink(outlet, prefix=prefix, stamp=stamp),
    }
    return tuple(sink for name, sink in sinks.items() if wanted[name])
