"""Signals of a world on topics: std_msgs/Float64 at every tick."""

from __future__ import annotations

from sim_node.messages.layout import MessageLayout
from sim_node.messages.sensor_topics import ros_name, topic_of
from sim_node.messages.topic import Qos, Topic
from sim_node.messages.topic_sink import TopicSink
from sim_node.simulation import Snapshot
from sim_node.simulation.physics.signal_handles import SIGNAL
from sim_node.world import FrameTable, World
from sim_node.world.signals import NamedSignal

TYPE = "std_msgs/msg/Float64"


def signal_topic(signal: NamedSignal, prefix: str = "") -> str:
    """Return the topic of a signal: its name in valid ROS characters, in lower case except for the last part."""
    above, _, last = f"{prefix}{signal.name}".rpartition("/")
    return topic_of(above, last) if above else ros_name(last)


def output_topics(world: World, prefix: str = "") -> list[Topic]:
    """Return the topics of a world's outputs, in order."""
    outputs = (signal for signal in world.of(NamedSignal) if not signal.input)
    return [Topic(signal_topic(signal, prefix), TYPE, Qos()) for signal in outputs]


class SignalSink(TopicSink):
    """Publishes all outputs of a world at every tick, reliably."""

    def open(self, world: World, frames: FrameTable) -> None:
        """Advertise the topics."""
        rows = [row for row, signal in enumerate(world.of(NamedSignal)) if not signal.input]
        self._pack = MessageLayout(TYPE, {"data": 0.0}).packer("data")
        self._sends = list(zip(rows, self._topics.renew(output_topics(world, self._prefix)), strict=True))

    def refuses(self, world: World) -> str | None:
        """Return why the outputs of a changed world cannot be published, or None."""
        return self._topics.refused(output_topics(world, self._prefix))

    def write(self, snapshot: Snapshot) -> None:
        """Publish the outputs of a snapshot."""
        if not self._sends:
            return
        stamp_ns, values = self._stamp(snapshot.time_ns), snapshot[SIGNAL].tolist()
        for row, send in self._sends:
            send(stamp_ns, self._pack(stamp_ns, (values[row],)))
