"""Command topics of joints: sensor_msgs/JointState, std_msgs/Float64 and trajectories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from sim_node.nodes.command_subscriptions import CommandSubscriptions
from sim_node.nodes.joint_trajectories import serve_trajectories
from sim_node.simulation import Loop
from sim_node.simulation.joint_commander import JointCommander
from sim_node.simulation.joint_setpoints import Joints, Setpoint, setpoints_of
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
        commander = JointCommander(loop.simulation, groups)
        loop.simulation.connect(commander)
        subscriptions = CommandSubscriptions(node, loop, commander.drain)
        self.topics = subscriptions.topics

        def subscribe(kind: Any, topic: str, convert: Callable[[Any], list[Setpoint]], qos: Qos) -> None:
            subscriptions.subscribe(kind, topic, lambda message: commander.post(convert(message)), qos)

        for group in groups:
            joints, namespace = commander.groups[group.name], f"{prefix}{group.name}/".lstrip("/")
            if "joint_state" in group.accept:
                subscribe(JointState, namespace + JOINT_COMMANDS, _of_joint_state(joints), SENSOR_DATA)
            if "float64" in group.accept:
                for joint, types in joints.items():
                    for kind in sorted(types):
                        name = topic_of(prefix + joint, FLOAT_TOPICS[kind])
                        subscribe(Float64, name, _of_float(joints, joint, kind), Qos())
            if "trajectory" in group.accept:
                serve_trajectories(node, commander, group, namespace, subscriptions)


def _of_joint_state(joints: Joints) -> Callable[[Any], list[Setpoint]]:
    def convert(message: Any) -> list[Setpoint]:
        given = {"position": message.position, "velocity": message.velocity, "effort": message.effort}
        return setpoints_of(joints, message.name, given)

    return convert


def _of_float(joints: Joints, joint: str, kind: str) -> Callable[[Any], list[Setpoint]]:
    return lambda message: setpoints_of(joints, [joint], {kind: [message.data]})
