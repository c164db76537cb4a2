"""The messages of a run's sensors as text, for the viewer."""

from __future__ import annotations

from collections.abc import Callable

from sim_node.messages.sensor_topics import Write, writers_of
from sim_node.messages.topic import absolute
from sim_node.session.message_text import MessageTexts
from sim_node.simulation import Sink, Snapshot
from sim_node.simulation.sensors import groups_of
from sim_node.world import FrameTable, World


class RunMessages(MessageTexts, Sink):
    """A sink that lays out the messages of one sensor's topic: of the one that is chosen.

    Args:
        resolve: Makes topic names absolute.
    """

    def __init__(self, resolve: Callable[[str], str] = absolute) -> None:
        super().__init__()
        self._resolve = resolve
        # The sensor of each topic, and what writes its messages.
        self._sources: dict[str, tuple[str, Write]] = {}

    def open(self, world: World, frames: FrameTable) -> None:
        """Find the topics of a world."""
        found = [
            (topic, name, write)
            for group in groups_of(world)
            for name, sensor in zip(group.names, group.sensors, strict=True)
            for topic, write in writers_of(group.kind, name, sensor, world.fixed_frame)
        ]
        with self._lock:
            self._types = {self._resolve(topic.name): topic.type for topic, *_ in found}
            self._sources = {self._resolve(topic.name): (name, write) for topic, name, write in found}

    def write(self, snapshot: Snapshot) -> None:
        """Lay out the chosen message, if there is a new measurement."""
        with self._lock:
            if self._chosen is None or self._chosen not in self._sources:
                return
            name, write = self._sources[self._chosen]
            for batch in snapshot.measurements.batches:
                if len(batch.values) and name in batch.names:
                    values = batch.values[-1, batch.names.index(name)]
                    self.receive(self._chosen, write(int(batch.stamps_ns[-1]), values))
