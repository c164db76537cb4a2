"""Command topics of bodies and multirotors without an autopilot: wrenches, rotor speeds, attitudes with thrust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from std_msgs.msg import Float64, Float64MultiArray

from sim_node.nodes.command_subscriptions import CommandTopics
from sim_node.simulation import Loop
from sim_node.simulation.brought import CommandRefused
from sim_node.simulation.commander import Commander
from sim_node.text import shown
from sim_node.wire.sensor_topics import topic_of
from sim_node.wire.topic import SENSOR_DATA, Qos
from sim_node.world import World
from sim_node.world.bounds import fault

WRENCH = "wrench"
ROTOR_SPEEDS = "command/motor_speed"
# None of a few wrenches may be lost. Setpoints are streams, for which publishers may be best effort or reliable.
ONE_BY_ONE, STREAM = Qos(), SENSOR_DATA
ATTITUDE, THRUST = "setpoint_attitude/attitude", "setpoint_attitude/thrust"


class BodyTopics(CommandTopics):
    """Topics of a world's commanded bodies and multirotors."""

    def __init__(self, node: Node, loop: Loop, prefix: str = "") -> None:
        super().__init__(node, loop, prefix)
        self._commander = Commander(loop.simulation, self.subscriptions.undone)
        loop.simulation.connect(self._commander)
        self._thrusts: dict[str, float] = {}

    def drain(self) -> None:
        """Apply the commands that were brought."""
        self._commander.drain()

    def subscribe(self, world: World) -> None:
        """Subscribe to the commands of a world's bodies and multirotors."""
        prefix, subscriptions = self.prefix, self.subscriptions
        for body in world.body_commands:
            act = self._wrench_on(body.body)
            subscriptions.subscribe(WrenchStamped, topic_of(prefix + body.body, WRENCH), act, ONE_BY_ONE)
        for vehicle in world.vehicle_commands:
            name = vehicle.vehicle
            if "rotor_speeds" in vehicle.accept:
                act = self._speeds_of(name)
                subscriptions.subscribe(Float64MultiArray, topic_of(prefix + name, ROTOR_SPEEDS), act, STREAM)
            if "attitude" in vehicle.accept:
                act = self._attitude_of(name)
                subscriptions.subscribe(PoseStamped, topic_of(prefix + name, ATTITUDE), act, STREAM)
                subscriptions.subscribe(Float64, topic_of(prefix + name, THRUST), self._thrust_of(name), STREAM)

    def _frame(self, message: Any) -> str:
        """Return the name in the world of a message's frame."""
        name: str = message.header.frame_id
        known = self.loop.simulation.frames.names
        return name if name in known else name.removeprefix(self.prefix)

    def _wrench_on(self, body: str) -> Callable[[Any], None]:
        def act(message: Any) -> None:
            force, torque = message.wrench.force, message.wrench.torque
            wrench = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
            self._commander.push(body, self._frame(message), wrench)

        return act

    def _speeds_of(self, vehicle: str) -> Callable[[Any], None]:
        return lambda message: self._commander.spin(vehicle, np.array(message.data))

    def _thrust_of(self, vehicle: str) -> Callable[[Any], None]:
        def act(message: Any) -> None:
            if wrong := fault("thrust", message.data):
                raise CommandRefused(f"the thrust {message.data:g} {wrong}")
            self._thrusts[vehicle] = message.data

        return act

    def _attitude_of(self, vehicle: str) -> Callable[[Any], None]:
        def act(message: Any) -> None:
            frame, fixed = self._frame(message), self.loop.simulation.world.fixed_frame
            if frame not in ("", fixed):
                raise CommandRefused(f"the frame is {shown(frame)}; an attitude is in the fixed frame {fixed}")
            q = message.pose.orientation
            self._commander.turn(vehicle, np.array([q.x, q.y, q.z, q.w]), self._thrusts.get(vehicle, 0.0))

        return act
