"""Command topics of bodies and multirotors without an autopilot: wrenches, rotor speeds, attitudes with thrust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from std_msgs.msg import Float64, Float64MultiArray

from sim_node.messages.sensor_topics import topic_of
from sim_node.messages.topic import SENSOR_DATA, Qos
from sim_node.ros.command_subscriptions import CommandTopics
from sim_node.ros.newest_pair import NewestPair
from sim_node.simulation import Loop
from sim_node.simulation.brought import CommandRefused
from sim_node.simulation.commander import Commander, checked_attitude, checked_thrust
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import shown
from sim_node.world import World

WRENCH = "wrench"
ROTOR_SPEEDS = "command/motor_speed"
# None of a few wrenches may be lost. Setpoints are streams, for which publishers may be best effort or reliable.
ONE_BY_ONE, STREAM = Qos(), SENSOR_DATA
ATTITUDE, THRUST = "setpoint_attitude/attitude", "setpoint_attitude/thrust"


class BodyTopics(CommandTopics):
    """Topics of a world's commanded bodies and multirotors."""

    def __init__(self, node: Node, loop: Loop, prefix: str = "", clock_ns: Callable[[], int] | None = None) -> None:
        super().__init__(node, loop, prefix, clock_ns)
        self._commander = Commander(loop.simulation, self.subscriptions.undone)
        loop.simulation.connect(self._commander)
        # The newest attitude and thrust of each vehicle.
        self._pairs: dict[str, NewestPair[FloatArray, float]] = {}

    def drain(self) -> None:
        """Apply the commands that were brought."""
        self._commander.drain()

    def subscribe(self, world: World) -> None:
        """Subscribe to the commands of a world's bodies and multirotors."""
        prefix, subscriptions = self.prefix, self.subscriptions
        for body in world.body_commands:
            act = self._wrench_on(body.body)
            name = topic_of(prefix + body.body, WRENCH)
            subscriptions.subscribe(WrenchStamped, name, act, ONE_BY_ONE, body.duration)
        for vehicle in world.vehicle_commands:
            name, holds_s = vehicle.vehicle, vehicle.timeout
            topics: dict[str, tuple[Any, Callable[[Any], None]]] = {}
            if "rotor_speeds" in vehicle.accept:
                topics[ROTOR_SPEEDS] = Float64MultiArray, self._speeds_of(name)
            if "attitude" in vehicle.accept:
                self._pairs.setdefault(name, NewestPair(("attitude", "thrust"), holds_s))
                topics |= {ATTITUDE: (PoseStamped, self._attitude_of(name)), THRUST: (Float64, self._thrust_of(name))}
            for topic, (kind, act) in topics.items():
                subscriptions.subscribe(kind, topic_of(prefix + name, topic), act, STREAM, holds_s)

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
            self._pairs[vehicle].put_second(checked_thrust(message.data), self.loop.simulation.time_ns)
            self._turn(vehicle)

        return act

    def _attitude_of(self, vehicle: str) -> Callable[[Any], None]:
        def act(message: Any) -> None:
            frame, fixed = self._frame(message), self.loop.simulation.world.fixed_frame
            if frame not in ("", fixed):
                raise CommandRefused(f"the frame is {shown(frame)}; an attitude is in the fixed frame {fixed}")
            q = message.pose.orientation
            attitude = checked_attitude(np.array([q.x, q.y, q.z, q.w]))
            self._pairs[vehicle].put_first(attitude, self.loop.simulation.time_ns)
            self._turn(vehicle)

        return act

    def _turn(self, vehicle: str) -> None:
        """Follow the newest attitude with the newest thrust. Raises CommandRefused."""
        try:
            attitude, thrust, age_s = self._pairs[vehicle].complete(self.loop.simulation.time_ns)
        except ValueError as missing:
            raise CommandRefused(str(missing)) from None
        self._commander.turn(vehicle, attitude, thrust, age_s)
