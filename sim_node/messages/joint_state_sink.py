"""States of commanded joints on topics: sensor_msgs/JointState, without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_node.messages.layout import MessageLayout, Pack
from sim_node.messages.topic import Qos, Send, Topic
from sim_node.messages.topic_sink import TopicSink
from sim_node.names import prefixed
from sim_node.simulation import Snapshot
from sim_node.simulation.physics.joint_states import JOINT_STATE
from sim_node.world import FrameTable, World
from sim_node.world.joint_commands import JointCommands
from sim_node.world.layout import joints_below

TYPE = "sensor_msgs/msg/JointState"
_ENCODERS = "joint_states"  # the type of sensors that measure joints


def stated_groups(world: World) -> list[tuple[JointCommands, tuple[str, ...]]]:
    """Return the groups of commanded joints whose states are published, with their joints.

    These are the named joints, or all joints below the namespace, including those without actuators. If a sensor of
    type joint_states reads a joint of a group, the group has that sensor's topic instead.

    Args:
        world: The world.

    Returns:
        The groups, in world order.
    """
    groups = [group for group in world.of(JointCommands) if group.states]
    if not groups:
        return []
    every, measured = joints_below(world, world.fixed_frame), set[str]()
    for sensor in world.sensors:
        if sensor.type == _ENCODERS:
            named = sensor.parameters.get("joints") or joints_below(world, sensor.parent)
            above = sensor.name.rpartition("/")[0]
            measured |= {each for name in named for each in (name, prefixed(above, name))}
    found = [(group, tuple(filter(group.covers, every))) for group in groups]
    return [(group, joints) for group, joints in found if joints and measured.isdisjoint(joints)]


def joint_state_topic(group: JointCommands, prefix: str = "") -> Topic:
    """Return the topic of a group of `stated_groups`. It is reliable, so that readers of both kinds match."""
    return Topic(f"{prefix}{group.name}/joint_states".lstrip("/"), TYPE, Qos())


def joint_state_topics(world: World, prefix: str = "") -> list[Topic]:
    """Return the topic of each group of `stated_groups`, in order."""
    return [joint_state_topic(group, prefix) for group, _ in stated_groups(world)]


@dataclass
class _Group:
    """A group of joints: its sender, its rate (Hz), its rows of the column, and the last period that was sent."""

    send: Send
    rate: float
    rows: list[int]
    pack: Pack
    period: int = -1


class JointStateSink(TopicSink):
    """Publishes the joint states of each group at its rate, at the first tick of each period."""

    _last_ns = 0

    def open(self, world: World, frames: FrameTable) -> None:
        """Lay out the messages."""
        every, groups = joints_below(world, world.fixed_frame), stated_groups(world)
        sends = self._topics.renew([joint_state_topic(group, self._prefix) for group, _ in groups])
        self._groups = [
            _Group(send, group.states, [every.index(name) for name in joints], _packer(joints))
            for send, (group, joints) in zip(sends, groups, strict=True)
        ]

    def refuses(self, world: World) -> str | None:
        """Return why the states of a changed world cannot be published, or None."""
        return self._topics.refused(joint_state_topics(world, self._prefix))

    def write(self, snapshot: Snapshot) -> None:
        """Publish the states that are due. After a reset, the first state is due."""
        is_earlier, self._last_ns = snapshot.time_ns < self._last_ns, snapshot.time_ns
        for group in self._groups:
            period = int(snapshot.time_ns * group.rate // 1e9)
            if period != group.period or is_earlier:
                group.period = period
                stamp_ns = self._stamp(snapshot.time_ns)
                group.send(stamp_ns, group.pack(stamp_ns, snapshot[JOINT_STATE][group.rows].T.ravel().tolist()))


def _packer(joints: tuple[str, ...]) -> Pack:
    paths = ("position", "velocity", "effort")
    zeros = {path: np.zeros(len(joints)) for path in paths}
    return MessageLayout(TYPE, {"name": joints, **zeros}).packer(*paths)
