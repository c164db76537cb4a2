"""The sink that publishes the components of a world in Python on topics, at every tick of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sim_node.messages.tf_sink import TF
from sim_node.messages.topic import Send, Topic
from sim_node.messages.topic_sink import TopicSink
from sim_node.names import prefixed
from sim_node.simulation import Snapshot
from sim_node.world import FrameTable, World

if TYPE_CHECKING:
    from sim_node.extensions.elodin.component_topics import ComponentTable, ComponentTopic


def component_topics(world: World, prefix: str = "") -> list[ComponentTopic]:
    """Return the topics of a world's components; none unless the world is in Python.

    Poses are published on /tf instead, and what systems read from a world file on the topics of its sensors.

    Constant components are latched: those that no system writes, in a world without callbacks.

    Args:
        world: The world.
        prefix: Prefix of the names of all frames and topics.

    Raises:
        EcsError: Two topics would have one name, or a name is too long.
    """
    if world.python is None:
        return []
    # Imported here because other worlds do not need it.
    from sim_node.extensions.elodin.component_topics import topics_of_tables

    tables, constant = published_tables(world, prefix)
    return [each for each in topics_of_tables(tables, constant) if each.topic.name != TF.name]


def published_tables(world: World, prefix: str = "") -> tuple[list[ComponentTable], list[str]]:
    """Return the published components of a world in Python, and the names of those that are constant.

    Args:
        world: The world; it must be in Python.
        prefix: Prefix of the names of all frames and topics.
    """
    from sim_node.extensions.elodin.component_topics import tables_of

    captured = world.python.captured
    program, calls = captured.program, (captured.pre_step, captured.post_step)
    reference = captured.reference
    frame = reference.name if reference.is_root else prefixed(prefix, reference.name)
    tables = [
        replace(table, entities=tuple(prefixed(prefix, name) for name in table.entities))
        for table in tables_of(program.structure, frame)
        if table.name not in captured.mirrored
    ]
    return tables, [] if any(calls) else [table.name for table in tables if table.name not in program.changing]


class ComponentSink(TopicSink):
    """Publishes the components of a world in Python: at every tick, or once if they never change."""

    def open(self, world: World, frames: FrameTable) -> None:
        """Lay out the messages."""
        self._once: list[tuple[Send, ComponentTopic]] = []
        self._always: list[tuple[Send, ComponentTopic]] = []
        found = component_topics(world, self._prefix)
        sends = self._topics.renew(in_namespace(each.topic) for each in found)
        for send, each in zip(sends, found, strict=True):
            (self._once if each.topic.qos.latched else self._always).append((send, each))

    def refuses(self, world: World) -> str | None:
        """Return why the components of a changed world cannot be published, or None if they can."""
        return self._topics.refused(in_namespace(each.topic) for each in component_topics(world, self._prefix))

    def write(self, snapshot: Snapshot) -> None:
        """Publish the components of a snapshot."""
        if not self._always and not self._once:
            return
        stamp_ns = self._stamp(snapshot.time_ns)
        stamps = np.array([stamp_ns])
        for send, topic in self._due():
            values = snapshot[f"component/{topic.component}"][None, topic.rows]
            send(stamp_ns, topic.encode(values, stamps)[0].tobytes())

    def _due(self) -> Iterator[tuple[Send, ComponentTopic]]:
        once, self._once = self._once, []
        yield from once
        yield from self._always


def in_namespace(topic: Topic) -> Topic:
    """Return a topic with a relative name, in the namespace of its outlet like the topics of sensors."""
    return replace(topic, name=topic.name.lstrip("/"))
