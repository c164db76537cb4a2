"""The command topics of a run, which follow changes of its world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rclpy.node import Node

from sim_node.nodes.orders import Orders
from sim_node.simulation import Loop, Snapshot
from sim_node.world import FrameTable, World

if TYPE_CHECKING:
    from sim_node.nodes.base_commands import BaseTopics
    from sim_node.nodes.command_topics import CommandTopics
    from sim_node.nodes.joint_commands import JointTopics
    from sim_node.nodes.signal_topics import SignalTopics


class CommandSink:
    """Subscribes to the commands of a world's joints, bodies, vehicles, bases and signals.

    It is a sink of the run, so that it follows changes.

    Args:
        node: Whose topics they are.
        prefix: Prefix of topics and frames.
    """

    def __init__(self, node: Node, prefix: str = "") -> None:
        self._node, self._prefix, self._orders = node, prefix, Orders(node)
        self._loop: Loop | None = None
        self._joints: JointTopics | None = None
        self._others: CommandTopics | None = None
        self._bases: BaseTopics | None = None
        self._signals: SignalTopics | None = None
        self._is_open = False

    @property
    def topics(self) -> list[str]:
        """The names of the topics and actions."""
        return [topic for each in self._all() for topic in each.topics]

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
        """Create what applies commands to the run, once its world has some. Most worlds have none."""
        world = loop.simulation.world
        if self._joints is None and world.joint_commands:
            from sim_node.nodes.joint_commands import JointTopics

            self._joints = JointTopics(self._node, loop, self._prefix)
        if self._others is None and (world.body_commands or world.vehicle_commands):
            from sim_node.nodes.command_topics import CommandTopics

            self._others = CommandTopics(self._node, loop, self._prefix)
        if self._bases is None and world.bases:
            from sim_node.nodes.base_commands import BaseTopics

            self._bases = BaseTopics(self._node, loop, self._prefix)
        if self._signals is None and any(signal.input for signal in world.signals):
            from sim_node.nodes.signal_topics import SignalTopics

            self._signals = SignalTopics(self._node, loop, self._prefix)

    def _follow(self, world: World) -> None:
        """Renew the topics. Nobody waits for it, and the executor's thread must go on."""
        try:
            self._renew(world)
        except Exception as error:
            self._node.get_logger().error(f"commands do not follow the change of the world: {error}")

    def _renew(self, world: World) -> None:
        for each in self._all():
            each.renew(world)

    def _all(self) -> list[JointTopics | CommandTopics | BaseTopics | SignalTopics]:
        found = (self._joints, self._others, self._bases, self._signals)
        return [each for each in found if each is not None]
