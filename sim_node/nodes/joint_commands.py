"""Command topics of joints: sensor_msgs/JointState, std_msgs/Float64 and trajectories."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from sim_node.nodes.joint_trajectories import serve_trajectories
from sim_node.nodes.publishers import profile, publishers_of
from sim_node.rate_limit import RateLimit
from sim_node.simulation import Loop
from sim_node.simulation.joint_commander import JointCommander
from sim_node.simulation.joint_setpoints import CommandRefused, Joints, Setpoint, setpoints_of
from sim_node.text import shown
from sim_node.wire.sensor_topics import topic_of
from sim_node.wire.topic import SENSOR_DATA, Qos
from sim_node.world import JointCommands

# Topics of a joint's Float64 commands, by type.
FLOAT_TOPICS = {"position": "cmd_pos", "velocity": "cmd_vel", "effort": "cmd_effort"}
JOINT_COMMANDS = "joint_commands"


class JointTopics:
    """Subscriptions of the commands of a world's joints. Belongs to the executor's thread.

    Args:
        node: Whose topics they are.
        loop: The run. A command acts before its next step.
        groups: The groups of commanded joints.
        prefix: Prefix of the topics.

    Attributes:
        topics: The names of the topics and actions.
    """

    def __init__(self, node: Node, loop: Loop, groups: tuple[JointCommands, ...], prefix: str = "") -> None:
        self._node, self._loop = node, loop
        self._commander = JointCommander(loop.simulation, groups)
        loop.simulation.attach(self._commander)
        self._limit = RateLimit()
        self._woken = False
        self.topics: list[str] = []
        for group in groups:
            joints, namespace = self._commander.groups[group.name], f"{prefix}{group.name}/".lstrip("/")
            if "joint_state" in group.accept:
                self._subscribe(JointState, namespace + JOINT_COMMANDS, SENSOR_DATA, _of_joint_state(joints))
            if "float64" in group.accept:
                for joint, types in joints.items():
                    for kind in sorted(types):
                        name = topic_of(prefix + joint, FLOAT_TOPICS[kind])
                        self._subscribe(Float64, name, Qos(), _of_float(joints, joint, kind))
            if "trajectory" in group.accept:
                self.topics += serve_trajectories(node, self._commander, group, namespace, self.wake, self.refuse)

    def wake(self) -> None:
        """Let the loop apply what the commander was brought before the next step."""
        if not self._woken:
            self._woken = True
            self._loop.post(self._drain)

    def refuse(self, topic: str, reason: str) -> None:
        """Warn about a command that was refused, once in a while for each topic and its publishers."""
        publishers = publishers_of(self._node, topic)
        line = f"{topic}: a command is refused: {shown(reason, 300)}{publishers}"
        if admitted := self._limit.admit(topic + publishers, line, time.monotonic_ns()):
            self._node.get_logger().warning(admitted)

    def _drain(self) -> None:
        self._woken = False
        self._commander.drain()

    def _subscribe(self, kind: Any, topic: str, qos: Any, convert: Callable[[Any], list[Setpoint]]) -> None:
        def receive(message: Any) -> None:
            try:
                setpoints = convert(message)
            except CommandRefused as refusal:
                self.refuse(topic, str(refusal))
                return
            self._commander.post(setpoints)
            self.wake()

        self.topics.append(topic)
        self._node.create_subscription(kind, topic, receive, profile(qos))


def _of_joint_state(joints: Joints) -> Callable[[Any], list[Setpoint]]:
    def convert(message: Any) -> list[Setpoint]:
        given = {"position": message.position, "velocity": message.velocity, "effort": message.effort}
        return setpoints_of(joints, message.name, given)

    return convert


def _of_float(joints: Joints, joint: str, kind: str) -> Callable[[Any], list[Setpoint]]:
    return lambda message: setpoints_of(joints, [joint], {kind: [message.data]})
