"""The messages of a run's sensors as text, for the viewer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import NamedTuple

from sim_node.messages.sensor_topics import Write, writers_of
from sim_node.messages.topic import absolute
from sim_node.recording.definitions import bag_topic
from sim_node.session.message_text import MessageReader
from sim_node.simulation import Sink, Snapshot
from sim_node.simulation.sensors import groups_of
from sim_node.world import FrameTable, World


class _Source(NamedTuple):
    """The topic of a sensor, its type, and what writes its messages."""

    sensor: str
    type: str
    write: Write


class RunMessages(Sink):
    """A sink that lays out the messages of one sensor's topic: of the one that is chosen.

    Args:
        resolve: Makes topic names absolute.
    """

    def __init__(self, resolve: Callable[[str], str] = absolute) -> None:
        self._resolve = resolve
        self._lock = Lock()
        self._sources: dict[str, _Source] = {}
        self._chosen: str | None = None
        self._reader = MessageReader()

    def open(self, world: World, frames: FrameTable) -> None:
        """Find the topics of a world."""
        sources = {
            self._resolve(topic.name): _Source(name, topic.type, write)
            for group in groups_of(world)
            for name, sensor in zip(group.names, group.sensors, strict=True)
            for topic, write in writers_of(group.kind, name, sensor, world.fixed_frame)
        }
        with self._lock:
            self._sources = sources

    def write(self, snapshot: Snapshot) -> None:
        """Lay out the chosen message, if there is a new measurement."""
        with self._lock:
            source = None if self._chosen is None else self._sources.get(self._chosen)
            if source is None:
                return
            for batch in snapshot.measurements.batches:
                if len(batch.values) and source.sensor in batch.names:
                    values = batch.values[-1, batch.names.index(source.sensor)]
                    self._reader.receive(source.write(int(batch.stamps_ns[-1]), values))

    def topics(self) -> Mapping[str, str]:
        """Return the types of the topics, by name."""
        with self._lock:
            return {name: source.type for name, source in sorted(self._sources.items())}

    def choose(self, topic: str | None) -> None:
        """Read the messages of a topic from now on, or of none."""
        with self._lock:
            self._chosen = topic
            source = None if topic is None else self._sources.get(topic)
            if topic is None or source is None:
                self._reader.choose(None)
                return
            self._reader.choose(bag_topic(topic, source.type))

    def text(self) -> str | None:
        """Return the newest message of the chosen topic, or why it cannot be read; None before the first one."""
        with self._lock:
            return self._reader.text()
