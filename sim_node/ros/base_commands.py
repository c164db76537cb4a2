"""Command topics of wheeled bases: geometry_msgs/Twist and TwistStamped on cmd_vel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
from rclpy.node import Node

from sim_node.messages.sensor_topics import topic_of
from sim_node.messages.topic import SENSOR_DATA
from sim_node.ros.command_subscriptions import CommandTopics
from sim_node.simulation import Loop
from sim_node.simulation.brought import CommandRefused, Newest, Trials
from sim_node.text import shown
from sim_node.world import World
from sim_node.world.bases import Base
from sim_node.world.bounds import fault

CMD_VEL = "cmd_vel"
# The other of the two types, for programs that send that one.
BESIDE = {"twist": (TwistStamped, "cmd_vel_stamped"), "twist_stamped": (Twist, "cmd_vel_unstamped")}


class BaseTopics(CommandTopics):
    """Topics of a world's bases. A command holds for the base's time-out."""

    def __init__(self, node: Node, loop: Loop, prefix: str = "", clock_ns: Callable[[], int] | None = None) -> None:
        super().__init__(node, loop, prefix, clock_ns)
        self._brought: Newest[tuple[float, float, float]] = Newest()
        self._trials = Trials(loop.simulation, self.subscriptions.undone)

    def subscribe(self, world: World) -> None:
        """Subscribe to the twists of a world's bases."""
        for base in world.of(Base):
            if base.cmd_vel == "none":
                continue
            own = Twist if base.cmd_vel == "twist" else TwistStamped
            for kind, topic in ((own, CMD_VEL), BESIDE[base.cmd_vel]):
                act = self._twist_of(base) if kind is Twist else self._stamped_of(base)
                name = topic_of(self.prefix + base.name, topic)
                self.subscriptions.subscribe(kind, name, act, SENSOR_DATA, base.timeout)

    def _twist_of(self, base: Base) -> Callable[[Any], None]:
        return lambda message: self._bring(base.name, message)

    def _stamped_of(self, base: Base) -> Callable[[Any], None]:
        allowed = ("", base.body, self.prefix + base.body)

        def act(message: Any) -> None:
            frame = message.header.frame_id
            if frame not in allowed:
                raise CommandRefused(f"the frame is {shown(frame)}; a twist is along the axes of {allowed[-1]}")
            self._bring(base.name, message.twist)

        return act

    def _bring(self, base: str, twist: Any) -> None:
        command = twist.linear.x, twist.linear.y, twist.angular.z
        if wrong := fault("cmd_vel", command):
            raise CommandRefused(f"the twist {list(command)} {wrong}")
        self._brought.put(base, command)

    def drain(self) -> None:
        """Apply the newest twist of each base."""
        vehicles = self.loop.simulation.vehicles
        for base, command in self._brought.take().items():
            if base in vehicles:  # else a change has removed it
                self._trials.apply(base, max(map(abs, command)), partial(vehicles[base].cmd_vel, *command))
