"""Sensor messages of a run in Python, without a ROS graph: the same messages as on their topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from sim_node.messages.sensor_topics import Write, writers_of
from sim_node.messages.topic import absolute
from sim_node.recording.decoding import Decoder
from sim_node.recording.definitions import bag_topic
from sim_node.session.message_text import MessageTexts
from sim_node.simulation import Simulation, Sink, Snapshot
from sim_node.simulation.sensors import groups_of
from sim_node.world import FrameTable, World


class RunMessages(MessageTexts, Sink):
    """A sink that composes the messages of the selected sensor topic.

    Args:
        resolve: Makes topic names absolute.
    """

    def __init__(self, resolve: Callable[[str], str] = absolute) -> None:
        super().__init__()
        self._resolve = resolve
        # For each topic, its sensor and the function that writes its messages.
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
        """Compose the selected message if there is a new measurement."""
        with self._lock:
            if self._chosen is None or self._chosen not in self._sources:
                return
            name, write = self._sources[self._chosen]
            for batch in snapshot.measurements.batches:
                if len(batch.values) and name in batch.names:
                    values = batch.values[-1, batch.names.index(name)]
                    self.receive(self._chosen, write(int(batch.stamps_ns[-1]), values))


class SensorMessages(Mapping[str, Mapping[str, Any]]):
    """The newest sensor messages of a run: a mapping from sensor names to messages by topic, often only one.

    Messages have the fields of their ROS type, like those of `open_bag`. A sensor has no messages before its first
    measurement.

    Args:
        simulation: The run.
        prefix: Prefix of topics and frames, like the node parameter `frame_prefix`.
    """

    def __init__(self, simulation: Simulation, prefix: str = "") -> None:
        self._simulation, self._prefix = simulation, prefix
        # With the sensor that they were created for, since a change of the world may replace it.
        self._topics: dict[str, tuple[object, list[_Written]]] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Return the newest messages of a sensor by topic.

        Args:
            name: The sensor's name.

        Returns:
            The messages.

        Raises:
            KeyError: There is no such sensor; the message names the nearest.
            BagError: The definition of a message's type is not known.
        """
        handle = self._simulation.sensors[name]
        stamp_ns, values = handle.stamp_ns, handle.values
        if stamp_ns is None or values is None:
            return {}
        if name not in self._topics or self._topics[name][0] is not handle.sensor:
            found = writers_of(handle.type, self._prefix + name, handle.sensor, self._simulation.world.fixed_frame)
            written = [
                _Written(topic.name, write, Decoder(bag_topic(topic.name, topic.type))) for topic, write in found
            ]
            self._topics[name] = handle.sensor, written
        return {each.topic: each.decode(each.write(stamp_ns, values)) for each in self._topics[name][1]}

    def __iter__(self) -> Iterator[str]:
        """Return the names of the sensors."""
        return iter(self._simulation.sensors)

    def __len__(self) -> int:
        """Return the number of sensors."""
        return len(self._simulation.sensors)


class _Written(NamedTuple):
    topic: str
    write: Write
    decode: Callable[[bytes], Any]
