"""Command topics of signals: std_msgs/Float64 for each input of a world."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Float64

from sim_node.messages.signal_sink import signal_topic
from sim_node.messages.topic import Qos
from sim_node.ros.command_subscriptions import CommandTopics
from sim_node.simulation import Loop
from sim_node.simulation.brought import CommandRefused, Newest, Trials
from sim_node.world import World
from sim_node.world.signals import NamedSignal


class SignalTopics(CommandTopics):
    """Topics of a world's inputs. A command holds until another one comes."""

    def __init__(self, node: Node, loop: Loop, prefix: str = "", clock_ns: Callable[[], int] | None = None) -> None:
        super().__init__(node, loop, prefix, clock_ns)
        self._brought: Newest[float] = Newest()
        self._trials = Trials(loop.simulation, self.subscriptions.undone)

    def subscribe(self, world: World) -> None:
        """Subscribe to the inputs of a world."""
        for signal in world.of(NamedSignal):
            if signal.input:
                topic = signal_topic(signal, self.prefix)
                self.subscriptions.subscribe(Float64, topic, self._setter_of(signal.name), Qos(), 0.0)

    def _setter_of(self, name: str) -> Callable[[Any], None]:
        def act(message: Any) -> None:
            handle = self.loop.simulation.signals.get(name)
            if handle is None:  # a change has removed it
                return
            if (fault := handle.fault(message.data)) is not None:
                raise CommandRefused(fault)
            self._brought.put(name, message.data)

        return act

    def drain(self) -> None:
        """Set the inputs to their newest values."""
        signals = self.loop.simulation.signals
        for name, value in self._brought.take().items():
            if name in signals:
                self._trials.apply(f"the signal {name}", abs(value), partial(setattr, signals[name], "value", value))
