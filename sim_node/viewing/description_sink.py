"""The robot_description of each robot of a world to its topic, once."""

from __future__ import annotations

from sim_node.simulation import Snapshot
from sim_node.viewing.robots import Robot, robots_of
from sim_node.viewing.urdf import UrdfWriter
from sim_node.wire import qos
from sim_node.wire.encoding import encode
from sim_node.wire.sensor_topics import topic_of
from sim_node.wire.topic import Outlet, Send, Topic
from sim_node.world import FrameTable, World


def description_topic(robot: Robot) -> Topic:
    """Where the description of a robot goes, below the outlet's namespace."""
    return Topic(topic_of(robot.frame_prefix + robot.name, "robot_description"), "std_msgs/msg/String", qos.LATCHED)


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
