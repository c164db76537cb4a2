"""Command topics of joints: sensor_msgs/JointState, std_msgs/Float64 and trajectories."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from sim_node.messages.sensor_topics import topic_of
from sim_node.messages.topic import SENSOR_DATA, Qos
from sim_node.ros.command_subscriptions import CommandTopics
from sim_node.ros.joint_trajectories import serve_trajectories
from sim_node.simulation import Loop
from sim_node.simulation.joint_commander import JointCommander
from sim_node.simulation.joint_setpoints import Joints, Setpoint, setpoints_of
from sim_node.world import JointCommands, World

# Topics of a joint's Float64 commands, by type.
FLOAT_TOPICS = {"position": "cmd_pos", "velocity": "cmd_vel", "effort": "cmd_effort"}
JOINT_COMMANDS = "joint_commands"


class JointTopics(CommandTopics):
    """Topics and actions of a world's joints."""

    def __init__(self, node: Node, loop: Loop, prefix: str = "", clock_ns: Callable[[], int] | None = None) -> None:
        super().__init__(node, loop, prefix, clock_ns)
        groups = loop.simulation.world.joint_commands
        self._commander = JointCommander(loop.simulation, groups, self.subscriptions.undone)
        loop.simulation.connect(self._commander)

    def drain(self) -> None:
        """Apply the commands that were brought."""
        self._commander.drain()

    def subscribe(self, world: World) -> None:
        """Subscribe to the commands of a world's joints, and serve their trajectories."""
        commander, subscriptions = self._commander, self.subscriptions

        def subscribe(
            kind: Any, topic: str, convert: Callable[[Any], list[Setpoint]], qos: Qos, holds_s: float
        ) -> None:
            subscriptions.subscribe(kind, topic, lambda message: commander.post(convert(message)), qos, holds_s)

        for group in world.of(JointCommands):
            joints, namespace = partial(_joints_of, commander, group.name), f"{self.prefix}{group.name}/".lstrip("/")
            if "joint_state" in group.accept:
                subscribe(JointState, namespace + JOINT_COMMANDS, _of_joint_state(joints), SENSOR_DATA, group.timeout)
            if "float64" in group.accept:
                for joint, types in joints().items():
                    for kind in sorted(types):
                        name = topic_of(self.prefix + joint, FLOAT_TOPICS[kind])
                        subscribe(Float64, name, _of_float(joints, joint, kind), Qos(), group.timeout)
            if "trajectory" in group.accept:
                serve_trajectories(self.node, commander, group, namespace, subscriptions, self.run_time_ns)


def _joints_of(commander: JointCommander, group: str) -> Joints:
    """Return the joints of a group as they are now, because a change of the world may add and remove some."""
    return commander.groups.get(group, {})


def _of_joint_state(joints: Callable[[], Joints]) -> Callable[[Any], list[Setpoint]]:
    def convert(message: Any) -> list[Setpoint]:
        given = {"position": message.position, "velocity": message.velocity, "effort": message.effort}
        return setpoints_of(joints(), message.name, given)

    return convert


def _of_float(joints: Callable[[], Joints], joint: str, kind: str) -> Callable[[Any], list[Setpoint]]:
    return lambda message: setpoints_of(joints(), [joint], {kind: [message.data]})
