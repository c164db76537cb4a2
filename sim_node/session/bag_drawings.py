"""Drawings of the messages of a bag: its drawable topics, and the robots that it describes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.bag import Bag, BagError, BagMessage
from sim_node.recording.decoding import Decoder, UnreadableMessage, decoded
from sim_node.text import MAX_LINE, shown
from sim_node.viewing.markers import ROBOTS, SHAPES
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.messages.readers import ALONE, READERS, Beside, Datum, Lenses, Read, ReaderContext
from sim_node.viewing.messages.robot_descriptions import described, is_description, robot_shapes
from sim_node.viewing.sensor_marks import FIELDS, NAMES
from sim_node.world import FrameTable, World


class BagDrawings:
    """Reads the topics of a bag that can be drawn.

    Args:
        bag: The bag. Read in the caller's thread.
        unreadable: Counts the messages that are skipped.
        report: Called with messages for the user.
        world: The world of the run, if the bag contains it. Its shapes and its sensors' fields of view are then not
            drawn a second time from the recorded markers; the fields of view would dwarf everything else.
        beside: What the other sources on the page provide.

    Attributes:
        types: Types of the topics that are drawn, by topic name.
        frames: The frames named by the first message of each topic.
    """

    def __init__(
        self,
        bag: Bag,
        unreadable: Unreadable,
        report: Callable[[str], None],
        world: World | None,
        beside: Beside = ALONE,
    ) -> None:
        self._bag, self._unreadable, self._report = bag, unreadable, report
        origin = None if world is None else world.origin
        self._datum = Datum(beside.origin if origin is None else (origin.latitude, origin.longitude, origin.altitude))
        self._beside = beside
        self._lenses = Lenses()
        self._left_out = frozenset(() if world is None else (SHAPES, ROBOTS, NAMES, FIELDS))
        self._decoders: dict[int, Decoder] = {}
        self._reads: dict[int, Read] = {}
        self._reported: set[tuple[str, str]] = set()
        self._robots: dict[str, dict[str, tuple[DrawnShape, ...]]] = {}
        self.types: dict[str, str] = {}
        self.frames: dict[str, None] = {}
        for row, topic in enumerate(bag.topics):
            robot = is_description(topic.name, topic.type)
            if not robot and topic.type not in READERS:
                continue
            try:
                decoder = Decoder(topic)
                first = self._first(decoder)
            except BagError as fault:
                self._report(shown(f"{topic.name}: is not shown: {fault}", MAX_LINE))
                continue
            if robot:
                self._describe(topic.name, first)
            elif first is not None:
                self._decoders[row] = decoder
                self.types[topic.name] = topic.type
                drawing = self._drawn(row, first)
                self.frames.update(dict.fromkeys(drawing.frames if drawing is not None else ()))
        self._latched = [
            bag.topics[row].name for row in self._decoders if any(qos.latched for qos in bag.topics[row].qos)
        ]
        self.forget()

    def forget(self) -> None:
        """Reset the readers, because the next messages are from another time."""
        self._reads = {row: self._opened(row) for row in self._decoders}

    def latched_before(self, time_ns: int) -> Iterator[BagMessage]:
        """Yield the messages of latched topics before a time. Each stays valid until the next message on its topic."""
        return iter(self._bag.messages(self._latched, None, time_ns) if self._latched else ())

    def remember(self, row: int, data: bytes) -> None:
        """Feed a message that is not shown itself to its reader, if the reader needs every message."""
        if READERS[self._bag.topics[row].type].every:
            self._decoded(row, data)

    def read(self, row: int, data: bytes, frames: FrameTable) -> Drawing | None:
        """Return the drawing of a message, or None if it cannot be drawn. Each reason is reported once."""
        drawing = self._decoded(row, data)
        if drawing is None:
            return None
        missing = [name for name in drawing.frames if name not in frames.names]
        if missing:
            self._report_once(self._bag.topics[row].name, f"no transform has the frame {missing[0]!r}")
            return None
        return drawing

    def robots(self, frames: FrameTable, drawn: Collection[int]) -> tuple[DrawnShape, ...]:
        """Return the shapes of the described robots, without links on rows that already have shapes."""
        return robot_shapes(self._robots, frames, drawn, self._report_once)

    def _decoded(self, row: int, data: bytes) -> Drawing | None:
        try:
            return self._drawn(row, self._decoders[row](data))
        except UnreadableMessage as fault:
            self._unreadable.count(self._bag.topics[row].name, fault)
            return None

    def _drawn(self, row: int, message: Any) -> Drawing | None:
        if row not in self._reads:
            self._reads[row] = self._opened(row)
        try:
            return self._reads[row](message)
        except ValueError as fault:
            self._report_once(self._bag.topics[row].name, str(fault))
            return None

    def _opened(self, row: int) -> Read:
        topic = self._bag.topics[row]
        own = self._left_out if topic.name.endswith("/markers") else frozenset()
        return READERS[topic.type].open(ReaderContext(topic.name, self._datum, self._lenses, own, self._beside.drawn))

    def _describe(self, topic: str, message: Any) -> None:
        if message is None:
            return
        try:
            found = described(message.data)
        except ValueError as fault:
            self._report_once(topic, str(fault))
            return
        self._robots[topic] = found.links
        for each in found.faults:
            self._report_once(topic, each)

    def _first(self, decoder: Decoder) -> Any:
        """Return the first readable message of a topic, or None."""
        messages = decoded(self._bag.messages([decoder.topic.name]), lambda row: decoder, self._unreadable)
        return next((content for _, content in messages), None)

    def _report_once(self, topic: str, why: str) -> None:
        """Report why a topic is not shown, once for each reason."""
        if (topic, why) not in self._reported:
            self._reported.add((topic, why))
            self._report(shown(f"{topic}: is not shown: {why}", MAX_LINE))
