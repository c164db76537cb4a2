"""Messages of a world's sensors: their topics, their serialization, and the sink that publishes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.messages import topic
from sim_node.messages.definitions import UnknownMessage, fields_of
from sim_node.messages.encoding import HEADER, LayoutFault, encode
from sim_node.messages.layout import MessageLayout
from sim_node.messages.topic import Send, Topic
from sim_node.messages.topic_sink import TopicSink
from sim_node.simulation import Snapshot
from sim_node.simulation.sensors import SENSORS, Channels, Encoded, Message, SensorType, groups_of
from sim_node.world import FrameTable, World

# Returns the bytes for a stamp (ns) and a measurement.
Write = Callable[[int, npt.NDArray[Any]], bytes]


class SensorMessage(NamedTuple):
    """A message of a sensor in a world, and its topic, which includes the sensor's name."""

    sensor: str
    topic: Topic
    message: Message


def sensor_messages(world: World, prefix: str = "") -> Iterator[SensorMessage]:
    """Yield the messages of all sensors of a world, in the order of its groups.

    Args:
        world: The assembled world.
        prefix: Prefix of their frames.

    Yields:
        Each message with its topic.

    Raises:
        WorldError: A sensor is invalid.
        PluginFault: A plug-in's sensor declares invalid messages.
    """
    for group in groups_of(world):
        for name, sensor in zip(group.names, group.sensors, strict=True):
            yield from messages_of(group.kind, prefix + name, sensor, world.fixed_frame, prefix)


def messages_of(
    kind: str, frame: str, sensor: SensorType, fixed_frame: str, prefix: str = ""
) -> tuple[SensorMessage, ...]:
    """Return the messages of one sensor of a type. Raises PluginFault.

    prefix: prefix of the frame, and of topics given for the sensor.
    """
    with SENSORS.blaming(kind):
        messages = sensor.messages(frame, fixed_frame)
        given = {each.topic: name for each, name in zip(messages, sensor.topics, strict=False)}
        return tuple(
            SensorMessage(frame, Topic(_name_of(frame, each.topic, given, prefix), each.type, topic.SENSOR_DATA), each)
            for each in messages
        )


def _name_of(frame: str, name: str, given: Mapping[str, str], prefix: str) -> str:
    """Return the topic of a message: as given, below a given image_raw for image_raw/compressed, or the sensor's."""
    above, _, last = name.partition("/")
    wanted = given.get(name) or (f"{given[above]}/{last}" if last and above in given else "")
    if not wanted:
        return topic_of(frame, name)
    return f"/{ros_name(wanted)}" if wanted.startswith("/") else ros_name(prefix + wanted)


def writers_of(
    kind: str, frame: str, sensor: SensorType, fixed_frame: str, prefix: str = ""
) -> list[tuple[Topic, Write]]:
    """Return the topics of a sensor of a type, as in `messages_of`, with functions that write their messages."""
    with SENSORS.blaming(kind):
        found = messages_of(kind, frame, sensor, fixed_frame, prefix)
        return [(each.topic, writer(each.message, sensor.shape(), frame)) for each in found]


def lay_out_messages(world: World) -> dict[str, list[Topic]]:
    """Return the topics of each sensor of a world, after laying out their messages.

    Raises WorldError for invalid sensors, and PluginFault for messages that cannot be laid out.
    """
    return {
        name: [topic for topic, _ in writers_of(group.kind, name, sensor, world.fixed_frame)]
        for group in groups_of(world)
        for name, sensor in zip(group.names, group.sensors, strict=True)
    }


def writer(message: Message, shape: tuple[int, ...], frame: str) -> Write:
    """Return a function that writes a sensor message from a measurement.

    Raises LayoutFault for fields that the message type does not have, and for channels that do not fit.

    Args:
        message: The message, with its channels.
        shape: Shape of a measurement.
        frame: Frame of the sensor.
    """
    encoded = {path: value.encode for path, value in message.fields.items() if isinstance(value, Encoded)}
    if encoded:
        return _encoder(message, encoded)
    changing = {path: value for path, value in message.fields.items() if isinstance(value, Channels)}
    try:
        starts = {path: each.start(shape) for path, each in changing.items()}
        found = {path: np.broadcast_to(0.0, shape)[each.of].shape for path, each in changing.items()}
        needed = {path: starts[path][each.at].shape for path, each in changing.items()}
    except (IndexError, TypeError) as fault:
        raise LayoutFault(f"{message.type}: channels do not fit a measurement of shape {shape}: {fault}") from None
    for path, each in changing.items():
        if found[path] != needed[path]:
            part = "a measurement" if each.of is ... else f"{each.of} of a measurement"
            raise LayoutFault(f"{message.type}: {path} needs shape {needed[path]}, {part} {shape} is {found[path]}")
    head = {"header.frame_id": frame} if _has_header(message.type) else {}
    layout = MessageLayout(message.type, {**head, **message.fields, **starts})
    # For each channel: the part of the message's view to write, and the part of the measurement to read.
    moves = [(layout.at(path, starts[path]), each.at, each.of) for path, each in changing.items()]
    if len(moves) > 1 and len(shape) == 1 and all(layout.has_doubles(view[at]) for view, at, _ in moves):
        # Scattered numbers are written fastest in a single operation.
        to = np.concatenate([layout.places_of(view[at]) for view, at, _ in moves])
        of = np.concatenate([np.arange(*shape)[of] for _, _, of in moves])
        moves = [(layout.doubles, _as_slice(to), _as_slice(of))]

    def write(stamp_ns: int, values: npt.NDArray[Any]) -> bytes:
        for view, at, of in moves:
            view[at] = values[of]
        return layout.write(stamp_ns)

    return write


def _encoder(message: Message, encoded: dict[str, Callable[[npt.NDArray[Any]], bytes]]) -> Write:
    """Return a function that encodes a message from each measurement, for fields of variable length."""
    constants = {path: value for path, value in message.fields.items() if path not in encoded}
    MessageLayout(message.type, {**constants, **dict.fromkeys(encoded, b"")})  # raises errors early

    def write(stamp_ns: int, values: npt.NDArray[Any]) -> bytes:
        fields = {path: make(values) for path, make in encoded.items()}
        return encode(message.type, {**constants, **fields, "header.stamp": stamp_ns})

    return write


def _as_slice(places: npt.NDArray[np.intp]) -> slice | npt.NDArray[np.intp]:
    """Return indices as a slice if possible: numpy writes slices several times faster."""
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if (np.diff(places) == 1).all() else places


def _has_header(type: str) -> bool:
    try:
        return any(field.name == "header" and field.type == HEADER for field in fields_of(type))
    except UnknownMessage as unknown:
        raise LayoutFault(str(unknown)) from None


def topics_of(world: World, prefix: str) -> list[str]:
    """Return the names of all topics of a world's sensors, in order."""
    return [each.topic.name for each in sensor_messages(world, prefix)]


def topic_of(sensor: str, name: str) -> str:
    """Return a topic for a sensor, in valid ROS characters: `drone/imu_main/data_raw` for `drone/IMU_MAIN`."""
    return ros_name(f"{sensor.lower()}/{name}")


def ros_name(name: str) -> str:
    """Convert a name to valid ROS characters, without empty parts between slashes."""
    tokens = []
    for token in filter(None, name.split("/")):
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in token)
        tokens.append(f"_{plain}" if plain[0].isdigit() else plain)
    return "/".join(tokens) or "_"


class SensorSink(TopicSink):
    """Publishes measurements, each on its own topics, in the order of publication, best effort.

    The time of a message is the publication time of its measurement: its stamp plus the sensor's latency.
    """

    def open(self, world: World, frames: FrameTable) -> None:
        """Lay out the messages. Sensors that remain in a changed world keep their publishers."""
        found = [
            (name, sensor, writers_of(group.kind, self._prefix + name, sensor, world.fixed_frame, self._prefix))
            for group in groups_of(world)
            for name, sensor in zip(group.names, group.sensors, strict=True)
        ]
        sends = iter(self._topics.renew(topic for *_, topics in found for topic, _ in topics))
        # Latency (ns) of each sensor, with senders and writers of its messages; and the same for each batch, by names.
        self._sensors = {
            name: (round(sensor.latency * 1e9), [(next(sends), write) for _, write in topics])
            for name, sensor, topics in found
        }
        self._batches: dict[tuple[str, ...], tuple[int, list[list[tuple[Send, Write]]]]] = {}

    def refuses(self, world: World) -> str | None:
        """Return why the sensors of a changed world cannot be published, or None."""
        return self._topics.refused(each.topic for each in sensor_messages(world, self._prefix))

    def write(self, snapshot: Snapshot) -> None:
        """Publish the measurements of a snapshot."""
        for batch in snapshot.measurements.batches:
            latency_ns, sensors = self._batches.get(batch.names) or self._arrange(batch.names)
            for stamp_ns, values_of_instant in zip(batch.stamps_ns.tolist(), batch.values, strict=True):
                stamp = self._stamp(stamp_ns)
                for values, topics in zip(values_of_instant, sensors, strict=True):
                    for send, write in topics:
                        send(stamp + latency_ns, write(stamp, values))

    def _arrange(self, names: tuple[str, ...]) -> tuple[int, list[list[tuple[Send, Write]]]]:
        """Return the latency of the sensors in a batch, and the senders and writers of their messages."""
        found = [self._sensors[name] for name in names]
        self._batches[names] = found[0][0], [topics for _, topics in found]
        return self._batches[names]
