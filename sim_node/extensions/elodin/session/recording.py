"""Recording of a world in Python to a rosbag2 folder, in whole chunks of ticks, without an object per message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.component_topics import (
    ComponentTopic,
    tables_of,
    topic_name,
    topics_of_tables,
    world_frame,
)
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.frame_names import WORLD_POS, Reference, frame_name, reference_of
from sim_node.extensions.elodin.sensor_cameras import FORMATS, Pixels, SensorCamera
from sim_node.extensions.elodin.session.attachment import custom_data, described, with_script
from sim_node.extensions.elodin.structure import ComponentStructure
from sim_node.messages.clock import CLOCK, ClockRows
from sim_node.messages.encoding import encode
from sim_node.messages.topic import SENSOR_DATA, Topic
from sim_node.recording.bag import BagError, RecordingStopped
from sim_node.recording.channels import RecordedTopic
from sim_node.recording.definitions import definition_of
from sim_node.recording.mcap_file import CHUNK_BYTES
from sim_node.recording.mcap_rows import MessageRecords, RecordRows, joined
from sim_node.recording.opening import kept_in
from sim_node.recording.settings import RecordingSettings
from sim_node.recording.writer import BagFull, BagWriter

_ENCODINGS = {"rgba": "rgba8", "gray": "mono8"}
_TYPE = "sensor_msgs/msg/Image"


def image_topic(camera: SensorCamera) -> Topic:
    """Return the topic of a camera's frames: /ENTITY/CAMERA."""
    return Topic(topic_name(camera.name.rpartition(".")[2], camera.entity), _TYPE, SENSOR_DATA)


def image_message(camera: SensorCamera, stamp_ns: int, frame: Pixels) -> bytes:
    """Return the CDR encoding of a camera's frame as an Image, in the TF frame of the camera's entity."""
    width, height = camera.size
    return encode(
        _TYPE,
        {
            "header.stamp": stamp_ns,
            "header.frame_id": frame_name(camera.entity),
            "height": height,
            "width": width,
            "encoding": _ENCODINGS[camera.format],
            "step": width * FORMATS[camera.format],
            "data": frame,
        },
    )


# A chunk has the messages of one second, but at least this many bytes, and at most about CHUNK_BYTES.
MIN_CHUNK_BYTES = 128 * 1024

Array = npt.NDArray[Any]


class Recording:
    """Records ticks of a compiled world: /clock, /tf with all poses, and the given components.

    Data is passed to the operating system as soon as a chunk is full: after one second of simulated time, or 128 KiB if
    that is more. Chunks do not depend on how many ticks are given at once, so equal runs give equal bags.

    Args:
        path: The folder, which must not exist.
        structure: The compiled world.
        start_us: Start time, microseconds since 1970.
        step: Time between two ticks, s.
        record_every: Record only the ticks whose number is a multiple of this.
        script: The file that defines the world, stored in the bag.
        constant: Components that no system changes. Late subscribers receive their last values in a replay.
        cameras: Cameras, whose frames are recorded as sensor_msgs/Image.
        reference: The frame in which the poses of entities are expressed; None for the root.

    Attributes:
        path: The folder.
        count: The number of messages in the files so far.

    Raises:
        BagError: The folder exists.
        EcsError: Names of entities or components clash as topics or frames.
        ValueError: `record_every` is less than 1.
    """

    def __init__(
        self,
        path: str | Path,
        structure: ComponentStructure,
        start_us: int,
        step: float,
        record_every: int = 1,
        script: str | Path | None = None,
        *,
        constant: Collection[str] = (),
        cameras: Collection[SensorCamera] = (),
        reference: Reference | None = None,
    ) -> None:
        reference = reference or reference_of("ENU")
        if record_every < 1:
            raise ValueError(f"record_every: found {record_every}; 1 or more is needed")
        self.path = Path(path)
        self._every, self._constant = record_every, tuple(constant)
        self._chunk_ticks = max(round(1.0 / (step * record_every)), 1)
        tables = tables_of(structure, reference.name)
        self._topics = topics_of_tables(tables, self._constant)
        self._root = world_frame(tables, reference.name)
        self._root_pose = np.concatenate([reference.pose[3:], reference.pose[:3]])  # in Elodin's order of poses
        self._rooted = False
        self._repeated = {table.name for table in tables if table.name == WORLD_POS and not table.external}
        self._known = {table.name: (len(table.entities), *table.shape) for table in tables}
        self._dtypes = {table.name: np.dtype(table.dtype) for table in tables}
        components = described(tables, self._constant, start_us, step, record_every)
        attached, name = with_script(script, components, start_us)
        self._writer = BagWriter(self.path, RecordingSettings(), attached, custom_data(name), "zstd_fast")
        self._pictures = {camera.name: image_topic(camera) for camera in cameras}
        self._channels = self._declared()
        self._clock = ClockRows()
        self._layouts: dict[tuple[str, ...], tuple[RecordRows, list[ComponentTopic]]] = {}
        self._opened = False
        # The ticks to be written: the latest, with the same set of components, as arrays, and earlier ones as records.
        self._names: tuple[str, ...] | None = None
        self._arrays: dict[str, Array] = {}
        self._stamps = np.empty(0, np.int64)
        self._held, self._room = 0, 0
        self._records: list[MessageRecords] = []
        # Topics of a single entity, by its name and by its row, and the values written to them at their own times.
        self._own: dict[tuple[str, str | int], ComponentTopic] = {}
        for topic in self._topics:
            if len(topic.entities) == 1:
                self._own[topic.component, topic.entities[0]] = self._own[topic.component, topic.rows.start] = topic
        self._writes: dict[ComponentTopic, list[tuple[int, Array]]] = {}
        self._write_bytes = 0
        self._poses: Array | None = None

    @property
    def count(self) -> int:
        """The number of messages in the files of the bag so far."""
        return self._writer.count

    def open(self) -> None:
        """Create the folder, unless it was already created. Raises BagError."""
        if not self._opened:
            self._writer.open()
            self._opened = True

    def write(self, first_tick: int, stamps_ns: npt.NDArray[np.int64], arrays: Mapping[str, Array]) -> None:
        """Record ticks.

        Args:
            first_tick: Number of the first tick; the initial state has number 0.
            stamps_ns: Times (T,) of the ticks, ns.
            arrays: Components (T, n, *shape) by name: those that may change at each tick, and any others that changed.
                Components of earlier calls keep their values.

        Raises:
            ValueError: A component is unknown, or its array does not fit.
            BagError: The folder cannot be created, or a time is negative.
            RecordingStopped: The disk is full or failed. The bag has everything up to this point.
        """
        self.open()
        stamps = np.asarray(stamps_ns, np.int64)
        self._check(stamps, arrays)
        first = -first_tick % self._every
        chosen = slice(first, None, self._every)
        stamps = stamps[chosen]
        if len(stamps) == 0:
            return
        if self._root is not None and not self._rooted:
            self._record(self._root, stamps[:1], self._root_pose[None, None])
            self._rooted = True
        arrays = {name: np.asarray(array)[chosen] for name, array in arrays.items()}
        if self._poses is not None and WORLD_POS not in arrays:
            arrays[WORLD_POS] = np.broadcast_to(self._poses, (len(stamps), *self._poses.shape))
        names = tuple(name for name in self._known if name in arrays)
        if names != self._names:
            self._begin_segment(names)
        at = 0
        while at < len(stamps):
            taken = min(len(stamps) - at, self._room - self._held)
            to, of = slice(self._held, self._held + taken), slice(at, at + taken)
            self._stamps[to] = stamps[of]
            for name, array in arrays.items():
                self._arrays[name][to] = array[of]
            self._held += taken
            at += taken
            if self._held == self._room:
                self.flush()
        if WORLD_POS in self._repeated and WORLD_POS in arrays:
            self._poses = np.array(arrays[WORLD_POS][-1])

    def write_at(self, component: str, entity: str | int, value: Any, stamp_ns: int) -> None:
        """Record the value of one entity's component at a separate time, which may be in the past.

        Args:
            component: The component, whose metadata has `external_control`.
            entity: The name of the entity, or its row in the component's array.
            value: The value (*shape).
            stamp_ns: The time, ns.

        Raises:
            ValueError: The entity has no such component, or shares its topic.
            BagError, RecordingStopped: As for `write`.
        """
        self.open()
        topic = self._own.get((component, entity))
        if topic is None:
            raise ValueError(f"{entity}.{component} has no topic of its own; give it metadata with external_control")
        if stamp_ns < 0:
            raise BagError(f"{self.path}: bag times must not be negative, found {stamp_ns / 1e9:g} s")
        values = np.array(value, self._dtypes[component]).reshape(1, *self._known[component][1:])
        self._writes.setdefault(topic, []).append((stamp_ns, values))
        self._write_bytes += topic.size
        if self._write_bytes > CHUNK_BYTES:
            self.flush()

    def write_frame(self, camera: SensorCamera, stamp_ns: int, frame: Pixels) -> None:
        """Record a frame of a camera. Raises BagError, RecordingStopped."""
        self.open()
        channel, message = self._channels[self._pictures[camera.name].name], image_message(camera, stamp_ns, frame)
        row = np.frombuffer(message, np.uint8)[None]
        self._records.append(RecordRows([(channel, len(message))]).records([row], np.array([stamp_ns], np.uint64)))
        self._write_bytes += len(message)
        if self._write_bytes > CHUNK_BYTES:
            self.flush()

    def truncate(self) -> None:
        """Delete everything recorded so far and restart the bag with the next write. Raises RecordingStopped."""
        self._held, self._names, self._poses, self._rooted = 0, None, None, False
        self._records.clear()
        self._writes.clear()
        if self._opened:
            self._safely(self._writer.discard)

    def flush(self) -> None:
        """Hand everything to the operating system, so that it survives the end of this process.

        Raises RecordingStopped.
        """
        self._end_segment()
        for topic, writes in self._writes.items():
            stamps = np.array([stamp for stamp, _ in writes], np.int64)
            self._record(topic, stamps, np.stack([value for _, value in writes]))
        self._writes, self._write_bytes = {}, 0
        records, self._records = self._records, []
        if records:
            self._safely(partial(self._writer.write_chunk, joined(records)))
        if self._names is not None:
            self._begin_segment(self._names)

    def close(self) -> None:
        """Complete the bag.

        Raises:
            RecordingStopped: The disk is full or failed, or a reader finds fewer messages than were written.
        """
        if not self._opened:
            self.open()
        self.flush()
        self._safely(self._writer.close)
        kept, why = kept_in(self.path)
        if kept < self.count:
            lost = f"{self.path}: {kept} of {self.count} messages are in the bag"
            raise RecordingStopped(f"{lost} ({why})" if why else lost)

    def _check(self, stamps: npt.NDArray[np.int64], arrays: Mapping[str, Array]) -> None:
        if len(stamps) and stamps.min() < 0:
            raise BagError(f"{self.path}: bag times must not be negative, found {stamps.min() / 1e9:g} s")
        for name, array in arrays.items():
            if name not in self._known:
                raise ValueError(f"there is no component {name!r}; known: {', '.join(self._known)}")
            needed = (len(stamps), *self._known[name])
            if np.shape(array) != needed or array.dtype != self._dtypes[name]:
                found = f"{array.dtype} {np.shape(array)}"
                raise ValueError(f"component {name!r}: found {found}; {self._dtypes[name]} {needed} is needed")

    def _declared(self) -> dict[str, int]:
        """Declare the topics. Return their channel numbers, from 1."""
        every = [*([] if self._root is None else [self._root]), *self._topics]
        topics: dict[str, Topic] = {CLOCK.name: CLOCK} | {each.topic.name: each.topic for each in every}
        for camera, picture in self._pictures.items():
            if picture.name in topics:
                raise EcsError(f"its topic {picture.name} is that of a component, too", key=camera)
            topics[picture.name] = picture
        for topic in topics.values():
            self._writer.topics.append(RecordedTopic(topic.name, topic.type, definition_of(topic.type), (topic.qos,)))
        if len(topics) >= 2**16:
            raise EcsError(f"a bag has at most {2**16 - 1} topics; this world needs {len(topics)}", key="topics")
        return {name: number for number, name in enumerate(topics, 1)}

    def _begin_segment(self, names: tuple[str, ...]) -> None:
        """Begin a segment of ticks with the same set of components."""
        self._end_segment()
        if names not in self._layouts:
            topics = [topic for topic in self._topics if topic.component in names]
            sizes = [(self._channels[topic.topic.name], topic.size) for topic in topics]
            self._layouts[names] = RecordRows([(self._channels[CLOCK.name], self._clock.size), *sizes]), topics
        size = self._layouts[names][0].size
        target = min(max(self._chunk_ticks * size, MIN_CHUNK_BYTES), CHUNK_BYTES)
        pending = sum(len(each.data) for each in self._records)
        self._room = max((target - pending) // size, 1)
        if names != self._names or len(self._stamps) < self._room:
            self._names = names
            self._stamps = np.empty(self._room, np.int64)
            self._arrays = {name: np.empty((self._room, *self._known[name]), self._dtypes[name]) for name in names}

    def _end_segment(self) -> None:
        """Convert the buffered ticks to records."""
        if not self._held or self._names is None:
            return
        rows, topics = self._layouts[self._names]
        held, self._held = slice(0, self._held), 0
        stamps = self._stamps[held]
        messages = [topic.encode(self._arrays[topic.component][held, topic.rows], stamps) for topic in topics]
        self._records.append(rows.records([self._clock.encode(stamps), *messages], stamps.astype(np.uint64)))

    def _record(self, topic: ComponentTopic, stamps: npt.NDArray[np.int64], values: Array) -> None:
        """Add messages of a topic at separate times."""
        rows = RecordRows([(self._channels[topic.topic.name], topic.size)])
        self._records.append(rows.records([topic.encode(values, stamps)], stamps.astype(np.uint64)))

    def _safely(self, write: Callable[[], None]) -> None:
        try:
            write()
        except BagFull as full:
            self._writer.close()
            raise RecordingStopped(f"recording stopped: {full}") from None
        except OSError as error:
            self._writer.abandon()
            raise RecordingStopped(f"recording stopped: {self.path}: {error.strerror}") from None
