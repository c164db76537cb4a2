"""The command topics of a run, which follow changes of its world."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping

from rclpy.node import Node

from sim_node.ros.command_subscriptions import CommandTopics
from sim_node.ros.orders import Orders
from sim_node.simulation import Loop, Snapshot
from sim_node.world import FrameTable, World

# The topics of each kind of parts, and whether a world has such parts. They are imported when the first world has:
# most have none, and the types of the messages take a third of a second.
KINDS: Mapping[str, Callable[[World], bool]] = {
    "sim_node.ros.joint_commands:JointTopics": lambda world: bool(world.joint_commands),
    "sim_node.ros.body_commands:BodyTopics": lambda world: bool(world.body_commands or world.vehicle_commands),
    "sim_node.ros.base_commands:BaseTopics": lambda world: bool(world.bases),
    "sim_node.ros.signal_topics:SignalTopics": lambda world: any(signal.input for signal in world.signals),
}


class CommandSink:
    """Subscribes to the commands of a world's joints, bodies, vehicles, bases and signals.

    It is a sink of the run, so that it follows changes.

    Args:
        node: Whose topics they are.
        prefix: Prefix of topics and frames.
        clock_ns: Returns the time by which the run stamps its messages (ns); None for simulation time.
    """

    def __init__(self, node: Node, prefix: str = "", clock_ns: Callable[[], int] | None = None) -> None:
        self._node, self._prefix, self._clock_ns, self._orders = node, prefix, clock_ns, Orders(node)
        self._loop: Loop | None = None
        self._kinds: dict[str, CommandTopics] = {}
        self._is_open = False

    @property
    def topics(self) -> list[str]:
        """The names of the topics and actions."""
        return [topic for each in self._kinds.values() for topic in each.topics]

    def begin(self, loop: Loop) -> None:
        """Subscribe to the commands of the run's first world. Call it in the executor's thread, or before that starts.

        Args:
            loop: The run.

        Raises:
            WorldError: A body cannot move, or the rotors of a vehicle cannot follow attitudes.
        """
        self._loop = loop
        self._connect(loop)
        self._renew(loop.simulation.world)

    def open(self, world: World, frames: FrameTable) -> None:
        """Follow a change of the world, in the executor's thread."""
        if self._is_open and self._loop is not None:
            self._connect(self._loop)
            self._orders.add(lambda: self._follow(world))
        self._is_open = True

    def write(self, snapshot: Snapshot) -> None:
        """Do nothing: commands come from outside."""

    def close(self) -> None:
        """Do nothing: the topics belong to the node."""

    def _connect(self, loop: Loop) -> None:
        """Create the topics of each kind once the run's world has such parts."""
        for kind, are_in in KINDS.items():
            if kind not in self._kinds and are_in(loop.simulation.world):
                self._kinds[kind] = pkgutil.resolve_name(kind)(self._node, loop, self._prefix, self._clock_ns)

    def _follow(self, world: World) -> None:
        """Renew the topics. Nobody waits for it, and the executor's thread must go on."""
        try:
            self._renew(world)
        except Exception as error:
            self._node.get_logger().error(f"commands do not follow the change of the world: {error}")

    def _renew(self, world: World) -> None:
        for each in self._kinds.values():
            each.renew(world)
