"""The command topics of a run, which follow changes of its world."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from rclpy.node import Node

from sim_node.ros.command_subscriptions import CommandSubscriptions
from sim_node.ros.command_topics import COMMAND_TOPICS, CommandTopic
from sim_node.ros.newest_pair import NewestPair
from sim_node.ros.orders import Orders
from sim_node.ros.publishers import message_class
from sim_node.simulation import Loop, Snapshot
from sim_node.simulation.commander import Commander
from sim_node.simulation.joint_commander import JointCommander
from sim_node.simulation.latest_commands import LatestCommands, Trials
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import FrameTable, JointCommands, World


class CommandSink:
    """Subscribes to the commands of a world's joints, bodies, vehicles, bases and signals.

    It is a sink of the run, so that it follows changes.

    Args:
        node: Whose topics they are.
        prefix: Prefix of topics and frames.
        clock_ns: Returns the time by which the run stamps its messages (ns); None for simulation time.

    Attributes:
        prefix: Prefix of topics and frames.
        loop: The run, from `begin` on.
        newest: The newest command of each base and each signal.
    """

    loop: Loop

    def __init__(self, node: Node, prefix: str = "", clock_ns: Callable[[], int] | None = None) -> None:
        self._node, self.prefix, self._clock_ns, self._orders = node, prefix, clock_ns, Orders(node)
        self.newest: LatestCommands[Callable[[], None]] = LatestCommands()
        self._pairs: dict[str, NewestPair[FloatArray, float]] = {}
        self._is_open = False

    @property
    def topics(self) -> list[str]:
        """The names of the topics and actions."""
        return self._subscriptions.topics

    @cached_property
    def bodies(self) -> Commander:
        """What commands bodies and multirotors. Raises WorldError."""
        commander = Commander(self.loop.simulation, self._subscriptions.undone)
        self.loop.simulation.connect(commander)
        return commander

    @cached_property
    def joints(self) -> JointCommander:
        """What commands joints."""
        simulation = self.loop.simulation
        commander = JointCommander(simulation, simulation.world.joint_commands, self._subscriptions.undone)
        simulation.connect(commander)
        return commander

    @cached_property
    def trials(self) -> Trials:
        """What tries commands of bases and signals."""
        return Trials(self.loop.simulation, self._subscriptions.undone)

    def pair_of(self, vehicle: str) -> NewestPair[FloatArray, float]:
        """Return the newest attitude and thrust of a vehicle."""
        if vehicle not in self._pairs:
            commands = next(each for each in self.loop.simulation.world.vehicle_commands if each.vehicle == vehicle)
            self._pairs[vehicle] = NewestPair(("attitude", "thrust"), commands.timeout)
        return self._pairs[vehicle]

    def begin(self, loop: Loop) -> None:
        """Subscribe to the commands of the run's first world. Call it in the executor's thread, or before that starts.

        Args:
            loop: The run.

        Raises:
            WorldError: A body cannot move, or the rotors of a vehicle cannot follow attitudes.
        """
        self.loop = loop
        now_ns = self._clock_ns or (lambda: loop.simulation.time_ns)
        self._subscriptions = CommandSubscriptions(self._node, loop, self._drain, now_ns)
        self._connect(loop.simulation.world)
        self._subscriptions.renew(lambda: self._subscribe(loop.simulation.world))

    def open(self, world: World, frames: FrameTable) -> None:
        """Follow a change of the world, in the executor's thread."""
        if self._is_open:
            self._connect(world)
            self._orders.add(lambda: self._follow(world))
        self._is_open = True

    def write(self, snapshot: Snapshot) -> None:
        """Do nothing: commands come from outside."""

    def close(self) -> None:
        """Do nothing: the topics belong to the node."""

    def _connect(self, world: World) -> None:
        """Connect what commands the parts of a world, in the loop's thread or before that starts."""
        self._commanders: tuple[JointCommander | Commander, ...] = (
            *([self.joints] if world.joint_commands else []),
            *([self.bodies] if world.body_commands or world.vehicle_commands else []),
        )

    def _drain(self) -> None:
        """Apply what was brought, in the loop's thread."""
        for commander in self._commanders:
            commander.drain()
        for act in self.newest.take().values():
            act()

    def _follow(self, world: World) -> None:
        """Renew the topics. Nobody waits for it, and the executor's thread must go on."""
        try:
            self._subscriptions.renew(lambda: self._subscribe(world))
        except Exception as error:
            self._node.get_logger().error(f"commands do not follow the change of the world: {error}")

    def _subscribe(self, world: World) -> None:
        for row in COMMAND_TOPICS:
            for topic, part, holds_s in row.targets(self, world):
                kind, act = message_class(row.type), partial(self._receive, row, part)
                self._subscriptions.subscribe(kind, topic, act, row.qos, holds_s)
        for group in world.of(JointCommands):
            if "trajectory" in group.accept:
                # Imported here because few worlds have any.
                from sim_node.ros.joint_trajectories import serve_trajectories

                namespace = f"{self.prefix}{group.name}/".lstrip("/")
                serve_trajectories(self._node, self.joints, group, namespace, self._subscriptions, self._run_time_ns)

    def _receive(self, row: CommandTopic, part: Any, message: Any) -> None:
        row.act(self, part, row.convert(self, part, message))

    def _run_time_ns(self, stamp_ns: int) -> int:
        """Return the simulation time of a stamp."""
        wall_ns = self._clock_ns
        return stamp_ns if wall_ns is None else self.loop.simulation.time_ns + stamp_ns - wall_ns()
