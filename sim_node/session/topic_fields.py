"""Topics of a run for the viewer: numeric fields for the formulas of a schematic, and drawings for ghosts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import numpy as np

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.messages.topic import Send, Topic, absolute
from sim_node.recording.bag import BagError, BagTopic
from sim_node.recording.decoding import Decoder, UnreadableMessage, value_at
from sim_node.recording.definitions import bag_topic
from sim_node.recording.message_fields import NumericFields, numbers_in
from sim_node.simulation import Sink, Snapshot
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import MAX_LINE, did_you_mean, shown
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.messages.readers import READERS, Read, ReaderContext
from sim_node.viewing.schematic import UnknownName
from sim_node.viewing.schematic.formulas import POSE_LABELS
from sim_node.world import FrameTable, World

Made = TypeVar("Made")


class TopicReader(Generic[Made]):
    """Reads topics. Messages may arrive in several threads.

    Args:
        wanted: The topics.
        report: Called with messages for the user.
        resolve: Makes topic names absolute.
    """

    def __init__(self, wanted: Iterable[str], report: Callable[[str], object], resolve: Callable[[str], str]) -> None:
        self.wanted = tuple(wanted)
        self._report, self._resolve = report, resolve
        self._unreadable = Unreadable(report)
        self._lock = threading.Lock()
        self._decoders: dict[str, Decoder] = {}
        self._fresh: dict[str, Made] = {}

    def taken(self) -> dict[str, Made]:
        """Return the newest results that have not been returned yet, by name."""
        with self._lock:
            taken, self._fresh = self._fresh, {}
            return taken

    def decoded(self, name: str, data: bytes) -> Any:
        """Decode a message of a topic. Return None, and report the problem, if it cannot be read."""
        try:
            return self._decoders[name](data)
        except UnreadableMessage as fault:
            self._unreadable.count(name, fault)
            return None


# Pose message types: their fields, in the order of poses in formulas.
_POSES = {
    "geometry_msgs/msg/Pose": ("orientation", "position"),
    "geometry_msgs/msg/Transform": ("rotation", "translation"),
}


class TopicFields(TopicReader[FloatArray]):
    """Reads the numbers that formulas refer to as `TOPIC.FIELD`. Also an outlet of a run.

    Messages and formulas may be processed in several threads.

    Args:
        wanted: The topics that formulas refer to.
        report: Called with messages for the user.
        resolve: Makes topic names absolute.
        later: Whether topics may appear later. Until then, each of their fields is a single number without a value, and
            errors are reported once instead of raised.
    """

    def __init__(
        self,
        wanted: Iterable[str],
        report: Callable[[str], object],
        resolve: Callable[[str], str] = absolute,
        *,
        later: bool = False,
    ) -> None:
        super().__init__(wanted, report, resolve)
        self._later = later
        self._topics: dict[str, BagTopic] = {}
        # By topic: the numbers of each field used by a formula.
        self._fields: dict[str, dict[str, NumericFields]] = {name: {} for name in self.wanted}
        self._reported: set[str] = set()

    def add(self, topic: BagTopic) -> None:
        """Add a topic."""
        with self._lock:
            self._topics[topic.name] = topic

    def types(self) -> dict[str, str]:
        """Return the types of the wanted topics that are known, by name."""
        with self._lock:
            return {name: self._topics[name].type for name in self.wanted if name in self._topics}

    def advertise(self, topic: Topic) -> Send:
        """Return a function that reads the messages of a topic of a run."""
        name = self._resolve(topic.name)
        if name not in self.wanted:
            self.add(BagTopic(name, topic.type, 0))
            return lambda time_ns, data: None
        self.add(bag_topic(name, topic.type))
        return lambda time_ns, data: self.receive(name, data)

    def receive(self, name: str, data: bytes) -> None:
        """Read a message of a wanted topic."""
        with self._lock:
            fields = self._fields[name]
            if name not in self._decoders or not fields:
                return
            # Senders may reuse their buffers, but nothing of the message is kept.
            message = self.decoded(name, data)
            if message is None:
                return
            for field, numbers in fields.items():
                values = [value_at(message, path) for path in numbers.paths.values()]
                self._fresh[f"{name}.{field}"] = np.array([np.nan if each is None else each for each in values])

    def forget(self) -> None:
        """Reset all numbers to NaN, because the next messages are from another time."""
        with self._lock:
            for topic, fields in self._fields.items():
                for field, numbers in fields.items():
                    self._fresh[f"{topic}.{field}"] = np.full(len(numbers.paths), np.nan)

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the labels of a field's numbers, and start reading the field.

        Args:
            name: The topic, a dot and the field.

        Returns:
            One label per number; for a pose, in the order of formulas.

        Raises:
            UnknownName: The topic or the field does not exist.
        """
        topic, _, field = name.partition(".")
        try:
            with self._lock:
                numbers = self._numbers(topic, field)
                self._fields.setdefault(topic, {})[field] = numbers
        except UnknownName as fault:
            if not self._later:
                raise
            if topic in self.types():  # otherwise the topic may still appear
                self._report_once(str(fault))
            return (field.rpartition(".")[2] or name,)
        return POSE_LABELS if numbers.type in _POSES else tuple(numbers.paths)

    def _numbers(self, topic: str, field: str) -> NumericFields:
        if topic not in self._topics:
            known = ", ".join(list(self._topics)[:20]) or "none"
            raise UnknownName(f"there is no topic {shown(topic)}{did_you_mean(topic, self._topics)} (known: {known})")
        if not field:
            raise UnknownName(f"the field is missing; signals look like {shown(topic)}.pose.position.x")
        try:
            if topic not in self._decoders:
                self._decoders[topic] = Decoder(self._topics[topic])
            numbers = numbers_in(self._decoders[topic], field)
        except BagError as fault:
            prefix = "" if str(fault).startswith(topic) else f"{shown(topic)}: "
            raise UnknownName(shown(f"{prefix}{fault}", MAX_LINE)) from None
        order = _POSES.get(numbers.type)
        if order is None:
            return numbers
        turn = [f"{order[0]}.{axis}" for axis in "xyzw"]
        return NumericFields(
            numbers.type, {key: numbers.paths[key] for key in (*turn, *(f"{order[1]}.{a}" for a in "xyz"))}
        )

    def _report_once(self, why: str) -> None:
        if why not in self._reported:
            self._reported.add(why)
            self._report(f"schematic: {why}")


class TopicDrawings(TopicReader[Drawing], Sink):
    """Reads topics of a run as drawings. It is an outlet of the run; other topics arrive through `receive`.

    Messages may arrive in several threads. As a sink, it reports missing topics if the run is the only source.

    Args:
        wanted: The topics.
        report: Called with messages for the user.
        resolve: Makes topic names absolute.
        alone: Whether the run is the only source of topics.
    """

    def __init__(
        self,
        wanted: Iterable[str],
        report: Callable[[str], object],
        resolve: Callable[[str], str] = absolute,
        *,
        alone: bool = True,
    ) -> None:
        super().__init__(wanted, report, resolve)
        self._alone = alone
        self._known: dict[str, str] = {}
        self._reads: dict[str, Read] = {}

    def advertise(self, topic: Topic) -> Send:
        """Return a function that reads the messages of a topic of the run."""
        name = self._resolve(topic.name)
        self._known[name] = topic.type
        if name not in self.wanted or topic.type not in READERS:
            return lambda time_ns, data: None
        self._decoders[name] = Decoder(bag_topic(name, topic.type))
        return lambda time_ns, data: self._decoded(name, topic.type, data)

    def open(self, world: World, frames: FrameTable) -> None:
        """Report problems with the wanted topics, once the run's topics are known."""
        if self._alone:
            for name in self.missing():
                self._report(f"--ghost: the run has no topic {name}{did_you_mean(name, self._known)}")
        for name in self.wanted:
            if self._known.get(name) not in (None, *READERS):
                self._report(f"--ghost: {name}: a {self._known[name]} has no pose")
        self._alone = False

    def write(self, snapshot: Snapshot) -> None:
        """Do nothing."""

    def missing(self) -> list[str]:
        """Return the topics that the run does not publish."""
        return [name for name in self.wanted if name not in self._known]

    def receive(self, name: str, kind: str, message: Any) -> None:
        """Read a message of a wanted topic."""
        if name not in self._reads:
            self._reads[name] = READERS[kind].open(ReaderContext(name))
        try:
            drawing = self._reads[name](message)
        except ValueError as fault:
            self._report(f"{name}: is not shown: {fault}")
            return
        with self._lock:
            self._fresh[name] = drawing

    def _decoded(self, name: str, kind: str, data: bytes) -> None:
        message = self.decoded(name, data)
        if message is not None:
            self.receive(name, kind, message)
