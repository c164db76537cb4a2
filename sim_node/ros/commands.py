"""The command topics of a run, which follow changes of its world."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node

from sim_node.ros.command_subscriptions import CommandSubscriptions
from sim_node.ros.command_topics import COMMAND_TOPICS, CommandTopic
from sim_node.ros.commanders import Commanders
from sim_node.ros.orders import Orders
from sim_node.ros.publishers import message_class
from sim_node.simulation import Loop, Sink
from sim_node.world import FrameTable, JointCommands, World


class CommandSink(Sink):
    """Subscribes to the commands of a world's joints, bodies, vehicles, bases and signals.

    It is a sink of the run, so that it follows changes.

    Args:
        node: Whose topics they are.
        prefix: Prefix of topics and frames.
        clock_ns: Returns the time by which the run stamps its messages (ns); None for simulation time.
    """

    def __init__(self, node: Node, prefix: str = "", clock_ns: Callable[[], int] | None = None) -> None:
        self._node, self._prefix, self._clock_ns, self._orders = node, prefix, clock_ns, Orders(node)
        self._is_open = False

    @property
    def topics(self) -> list[str]:
        """The names of the topics and actions."""
        return self._subscriptions.topics

    def begin(self, loop: Loop) -> None:
        """Subscribe to the commands of the run's first world. Call it in the executor's thread, or before that starts.

        Args:
            loop: The run.

        Raises:
            WorldError: A body cannot move, or the rotors of a vehicle cannot follow attitudes.
        """
        now_ns = self._clock_ns or (lambda: loop.simulation.time_ns)
        self._subscriptions = CommandSubscriptions(self._node, loop, self._drain, now_ns)
        self._commanders = Commanders(self._prefix, loop, self._subscriptions.undone)
        self._followed = self._commanders.of(loop.simulation.world)
        self._subscriptions.renew(lambda: self._subscribe(loop.simulation.world))

    def open(self, world: World, frames: FrameTable) -> None:
        """Follow a change of the world, in the executor's thread."""
        if self._is_open:
            self._followed = self._commanders.of(world)
            self._orders.add(lambda: self._follow(world))
        self._is_open = True

    def _drain(self) -> None:
        """Apply what was brought, in the loop's thread."""
        for commander in self._followed:
            commander.drain()
        for act in self._commanders.newest.take().values():
            act()

    def _follow(self, world: World) -> None:
        """Renew the topics. Nobody waits for it, and the executor's thread must go on."""
        try:
            self._subscriptions.renew(lambda: self._subscribe(world))
        except Exception as error:
            self._node.get_logger().error(f"commands do not follow the change of the world: {error}")

    def _subscribe(self, world: World) -> None:
        for row in COMMAND_TOPICS:
            for topic, part, holds_s in row.targets(self._commanders, world):
                kind, act = message_class(row.type), partial(self._receive, row, part)
                self._subscriptions.subscribe(kind, topic, act, row.qos, holds_s)
        for group in world.of(JointCommands):
            if "trajectory" in group.accept:
                # Imported here because few worlds have any.
                from sim_node.ros.joint_trajectories import serve_trajectories

                namespace = f"{self._prefix}{group.name}/".lstrip("/")
                serve_trajectories(
                    self._node, self._commanders.joints, group, namespace, self._subscriptions, self._run_time_ns
                )

    def _receive(self, row: CommandTopic, part: Any, message: Any) -> None:
        row.act(self._commanders, part, row.convert(self._commanders, part, message))

    def _run_time_ns(self, stamp_ns: int) -> int:
        """Return the simulation time of a stamp."""
        wall_ns = self._clock_ns
        return stamp_ns if wall_ns is None else self._commanders.loop.simulation.time_ns + stamp_ns - wall_ns()
