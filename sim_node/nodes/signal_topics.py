"""Command topics of signals: std_msgs/Float64 for each input of a world."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Float64

from sim_node.nodes.command_subscriptions import CommandSubscriptions
from sim_node.simulation import Loop
from sim_node.simulation.commander import CommandRefused
from sim_node.wire.signal_sink import signal_topic
from sim_node.wire.topic import Qos
from sim_node.world import World
from sim_node.world.signals import NamedSignal


class SignalTopics:
    """Subscriptions of a world's inputs. A command acts before the next step of the run, and until another one comes.

    Args:
        node: Whose topics they are.
        loop: The run.
        prefix: Prefix of the topics.
    """

    def __init__(self, node: Node, loop: Loop, prefix: str = "") -> None:
        self._loop, self._prefix = loop, prefix
        self._subscriptions = CommandSubscriptions(node, loop, self._drain)
        self._lock = threading.Lock()
        self._waiting: dict[str, float] = {}

    @property
    def topics(self) -> list[str]:
        """The names of the topics."""
        return self._subscriptions.topics

    def renew(self, world: World) -> None:
        """Subscribe to the inputs of a world, and to no others. Call it in the executor's thread.

        Args:
            world: The world.
        """
        self._subscriptions.renew(lambda: self._subscribe(world))

    def _subscribe(self, world: World) -> None:
        for signal in world.of(NamedSignal):
            if signal.input:
                topic = signal_topic(signal, self._prefix)
                self._subscriptions.subscribe(Float64, topic, self._setter_of(signal.name), Qos())

    def _setter_of(self, name: str) -> Callable[[Any], None]:
        def act(message: Any) -> None:
            handle = self._loop.simulation.signals.get(name)
            if handle is None:  # a change has removed it
                return
            if (fault := handle.fault(message.data)) is not None:
                raise CommandRefused(fault)
            with self._lock:
                self._waiting[name] = message.data

        return act

    def _drain(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        signals = self._loop.simulation.signals
        for name, value in waiting.items():
            if name in signals:
                signals[name].value = value
