"""Outputs of FMUs on topics: a number or a boolean at every tick."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sim_node.extensions.fmu.description import TYPES, Variable
from sim_node.extensions.fmu.part import OUTPUT, Fmu, Fmus, descriptions
from sim_node.messages.layout import MessageLayout
from sim_node.messages.sensor_topics import topic_of
from sim_node.messages.topic import Qos, Send, Topic
from sim_node.messages.topic_sink import TopicSink
from sim_node.simulation import Snapshot
from sim_node.world import FrameTable, World

# The message for each type of value.
_MESSAGES: dict[type, str] = {
    float: "std_msgs/msg/Float64",
    int: "std_msgs/msg/Int64",
    bool: "std_msgs/msg/Bool",
}


class PublishedOutput(NamedTuple):
    """An output on a topic.

    Attributes:
        fmu: The FMU.
        variable: The output.
        topic: The topic, in the namespace of an outlet.
    """

    fmu: Fmu
    variable: Variable
    topic: Topic


def published_outputs(world: World, prefix: str = "") -> Iterator[PublishedOutput]:
    """Yield the outputs of a world's FMUs that are numbers or booleans, in the order of the column `fmu/output`.

    Args:
        world: The world.
        prefix: Prefix of the topics.
    """
    known, used = descriptions(world), set[str]()
    for fmu in Fmus.of(world):
        for each in known[fmu.name].outputs if fmu.name in known else ():
            message = None if each.size is not None else _MESSAGES.get(TYPES[each.type])
            if message is None:
                continue
            name = plain = topic_of(f"{prefix}{fmu.name}", each.name)
            # Different characters that ROS does not allow may map to the same name.
            while name in used:
                name = f"{plain}_{len(used)}"
            used.add(name)
            yield PublishedOutput(fmu, each, Topic(name, message, Qos()))


class FmuOutputSink(TopicSink):
    """Publishes outputs of FMUs reliably at every tick after their start."""

    def open(self, world: World, frames: FrameTable) -> None:
        """Advertise the topics."""
        found = list(published_outputs(world, self._prefix))
        sends = self._topics.renew(each.topic for each in found)
        self._sends: list[tuple[Send, type, Callable[..., Any]]] = []
        for send, each in zip(sends, found, strict=True):
            of = TYPES[each.variable.type]
            self._sends.append((send, of, MessageLayout(each.topic.type, {"data": of()}).packer("data")))

    def refuses(self, world: World) -> str | None:
        """Return why the outputs of a changed world cannot be published, or None if they can."""
        return self._topics.refused(each.topic for each in published_outputs(world, self._prefix))

    def write(self, snapshot: Snapshot) -> None:
        """Publish the outputs of a snapshot, except NaN, the value of an FMU that has not started."""
        if not self._sends:
            return
        stamp_ns, values = self._stamp(snapshot.time_ns), snapshot[OUTPUT].tolist()
        for value, (send, of, pack) in zip(values, self._sends, strict=True):
            if not math.isnan(value):
                send(stamp_ns, pack(stamp_ns, (of(value),)))
