"""Command topics of wheeled bases: geometry_msgs/Twist and TwistStamped on cmd_vel."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
from rclpy.node import Node

from sim_node.nodes.command_subscriptions import CommandSubscriptions
from sim_node.simulation import Loop
from sim_node.simulation.commander import CommandRefused
from sim_node.text import shown
from sim_node.wire.sensor_topics import topic_of
from sim_node.wire.topic import SENSOR_DATA
from sim_node.world import World
from sim_node.world.bases import Base

CMD_VEL = "cmd_vel"
# The other of the two types, for programs that send that one.
BESIDE = {"twist": (TwistStamped, "cmd_vel_stamped"), "twist_stamped": (Twist, "cmd_vel_unstamped")}


class BaseTopics:
    """Subscriptions of a world's bases. A command acts before the next step of the run, for the base's time-out.

    Args:
        node: Whose topics they are.
        loop: The run.
        prefix: Prefix of topics and frames.
    """

    def __init__(self, node: Node, loop: Loop, prefix: str = "") -> None:
        self._loop, self._prefix = loop, prefix
        self._subscriptions = CommandSubscriptions(node, loop, self._drain)
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[float, float, float]] = {}

    @property
    def topics(self) -> list[str]:
        """The names of the topics."""
        return self._subscriptions.topics

    def renew(self, world: World) -> None:
        """Subscribe to the commands of a world's bases, and to no others. Call it in the executor's thread.

        Args:
            world: The world.
        """
        self._subscriptions.renew(lambda: self._subscribe(world))

    def _subscribe(self, world: World) -> None:
        for base in world.of(Base):
            if base.cmd_vel == "none":
                continue
            own = Twist if base.cmd_vel == "twist" else TwistStamped
            for kind, topic in ((own, CMD_VEL), BESIDE[base.cmd_vel]):
                act = self._twist_of(base) if kind is Twist else self._stamped_of(base)
                self._subscriptions.subscribe(kind, topic_of(self._prefix + base.name, topic), act, SENSOR_DATA)

    def _twist_of(self, base: Base) -> Callable[[Any], None]:
        return lambda message: self._bring(base.name, message)

    def _stamped_of(self, base: Base) -> Callable[[Any], None]:
        allowed = ("", base.body, self._prefix + base.body)

        def act(message: Any) -> None:
            frame, stamp = message.header.frame_id, message.header.stamp
            if frame not in allowed:
                raise CommandRefused(f"the frame is {shown(frame)}; a twist is along the axes of {allowed[-1]}")
            stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
            age = (self._loop.simulation.time_ns - stamp_ns) * 1e-9
            if stamp_ns and base.timeout and age > base.timeout:
                raise CommandRefused(f"its stamp is {age:.3g} s old; the time-out is {base.timeout:g} s")
            self._bring(base.name, message.twist)

        return act

    def _bring(self, base: str, twist: Any) -> None:
        command = twist.linear.x, twist.linear.y, twist.angular.z
        if not all(map(math.isfinite, command)):
            raise CommandRefused(f"the twist {list(command)} is not finite")
        with self._lock:
            self._waiting[base] = command

    def _drain(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        vehicles = self._loop.simulation.vehicles
        for base, (x, y, turn) in waiting.items():
            if base in vehicles:  # else a change has removed it
                vehicles[base].cmd_vel(x, y, turn)
