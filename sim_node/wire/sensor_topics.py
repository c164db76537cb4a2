"""The messages of a world's sensors: their topics, their bytes from readings, and the sink that sends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.sensors import SENSORS, Channels, Message, SensorType, groups_of
from sim_node.simulation import Snapshot
from sim_node.wire import topic
from sim_node.wire.clock import Stamp, simulation_stamp
from sim_node.wire.definitions import UnknownMessage, fields_of
from sim_node.wire.encoding import HEADER, LayoutFault
from sim_node.wire.layout import Layout
from sim_node.wire.topic import Outlet, Send, Topic
from sim_node.world import FrameTable, World

# Gives the bytes for a stamp (ns) and a reading.
Write = Callable[[int, npt.NDArray[Any]], bytes]


class SensorMessage(NamedTuple):
    """A message of one sensor in a world, and its topic with the sensor's name in front."""

    sensor: str
    topic: Topic
    message: Message


def sensor_messages(world: World, prefix: str = "") -> Iterator[SensorMessage]:
    """Yield the messages of all sensors of a world, in the order of its groups; prefix goes before their frames.

    Raises WorldError as groups_of does, and PluginFault.
    """
    for group in groups_of(world):
        for name, sensor in zip(group.names, group.sensors, strict=True):
            yield from messages_of(group.kind, prefix + name, sensor, world.fixed_frame)


def messages_of(kind: str, frame: str, sensor: SensorType, fixed_frame: str) -> tuple[SensorMessage, ...]:
    """Return the messages of one sensor of a type. Raises PluginFault."""
    with SENSORS.blaming(kind):
        return tuple(
            SensorMessage(frame, Topic(topic_of(frame, each.topic), each.type, topic.SENSOR_DATA), each)
            for each in sensor.messages(frame, fixed_frame)
        )


def writers_of(kind: str, frame: str, sensor: SensorType, fixed_frame: str) -> list[tuple[Topic, Write]]:
    """Return the topics of one sensor of a type, with what writes their messages. Raises PluginFault."""
    with SENSORS.blaming(kind):
        said = messages_of(kind, frame, sensor, fixed_frame)
        return [(each.topic, writer(each.message, sensor.shape(), frame)) for each in said]


def lay_out_messages(world: World) -> dict[str, list[Topic]]:
    """Return the topics of each sensor of a world, after laying out their messages.

    Raises WorldError as groups_of does, and PluginFault for messages that cannot be laid out.
    """
    return {
        name: [topic for topic, _ in writers_of(group.kind, name, sensor, world.fixed_frame)]
        for group in groups_of(world)
        for name, sensor in zip(group.names, group.sensors, strict=True)
    }


def writer(message: Message, shape: tuple[int, ...], frame: str) -> Write:
    """Return what writes a message of a sensor at a frame, whose readings are of a shape.

    Raises LayoutFault for fields that the message's type does not have, and for channels that do not fit.
    """
    changing = {path: value for path, value in message.fields.items() if isinstance(value, Channels)}
    try:
        starts = {path: each.start(shape) for path, each in changing.items()}
        found = {path: np.broadcast_to(0.0, shape)[each.of].shape for path, each in changing.items()}
        needed = {path: starts[path][each.at].shape for path, each in changing.items()}
    except (IndexError, TypeError) as fault:
        raise LayoutFault(f"{message.type}: channels do not fit a reading of shape {shape}: {fault}") from None
    for path, each in changing.items():
        if found[path] != needed[path]:
            part = "a reading" if each.of is ... else f"{each.of} of a reading"
            raise LayoutFault(f"{message.type}: {path} needs shape {needed[path]}, {part} {shape} is {found[path]}")
    head = {"header.frame_id": frame} if _has_header(message.type) else {}
    layout = Layout(message.type, {**head, **message.fields, **starts})
    # By each: which part of which view of the message, and of which part of the reading it is told.
    moves = [(layout.at(path, starts[path]), each.at, each.of) for path, each in changing.items()]
    if len(moves) > 1 and len(shape) == 1 and all(layout.has_doubles(view[at]) for view, at, _ in moves):
        # Numbers here and there are written fastest at once.
        to = np.concatenate([layout.places_of(view[at]) for view, at, _ in moves])
        of = np.concatenate([np.arange(*shape)[of] for _, _, of in moves])
        moves = [(layout.doubles, _as_slice(to), _as_slice(of))]

    def write(stamp_ns: int, values: npt.NDArray[Any]) -> bytes:
        for view, at, of in moves:
            view[at] = values[of]
        return layout.write(stamp_ns)

    return write


def _as_slice(places: npt.NDArray[np.intp]) -> slice | npt.NDArray[np.intp]:
    """A slice where it is one: numpy writes it several times faster than picked places."""
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if (np.diff(places) == 1).all() else places


def _has_header(type: str) -> bool:
    try:
        return any(field.name == "header" and field.type == HEADER for field in fields_of(type))
    except UnknownMessage as unknown:
        raise LayoutFault(str(unknown)) from None


def topics_of(world: World, prefix: str) -> list[str]:
    """The names of all topics of a world's sensors, in their order."""
    return [each.topic.name for each in sensor_messages(world, prefix)]


def topic_of(sensor: str, name: str) -> str:
    """`drone/imu_main/data_raw` for the sensor `drone/IMU_MAIN`, in the characters that ROS allows in topics."""
    tokens = []
    for token in f"{sensor.lower()}/{name}".split("/"):
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in token)
        tokens.append(f"_{plain}" if plain[0].isdigit() else plain)
    return "/".join(tokens)


class SensorSink:
    """Sends what sensors told, each on its own topics, in the order in which it came out, best effort.

    prefix goes before every frame id but the fixed frame's, and before the topics, which lie in the outlet's
    namespace. A message's time is when its reading came out: its stamp and the sensor's latency.
    """

    def __init__(self, outlet: Outlet, *, prefix: str = "", stamp: Stamp = simulation_stamp) -> None:
        self._outlet, self._prefix, self._stamp = outlet, prefix, stamp
        # For each batch: its latency (ns), and for each of its sensors who sends what in which layout.
        self._out: list[tuple[int, list[list[tuple[Send, Write]]]]] = []

    def open(self, world: World, frames: FrameTable) -> None:
        """Lays out the messages."""
        self._out = [
            (
                round(group.sensors[0].latency * 1e9),
                [
                    self._lay_out(group.kind, self._prefix + name, sensor, world.fixed_frame)
                    for name, sensor in zip(group.names, group.sensors, strict=True)
                ],
            )
            for group in groups_of(world)
        ]

    def write(self, snapshot: Snapshot) -> None:
        """Sends the readings of a snapshot."""
        for batch, (latency_ns, sensors) in zip(snapshot.measurements.batches, self._out, strict=True):
            for stamp_ns, told in zip(batch.stamps_ns.tolist(), batch.values, strict=True):
                stamp = self._stamp(stamp_ns)
                for values, topics in zip(told, sensors, strict=True):
                    for send, write in topics:
                        send(stamp + latency_ns, write(stamp, values))

    def close(self) -> None:
        """The outlet is its owner's."""

    def _lay_out(self, kind: str, frame: str, sensor: SensorType, fixed: str) -> list[tuple[Send, Write]]:
        return [(self._outlet.advertise(topic), write) for topic, write in writers_of(kind, frame, sensor, fixed)]
