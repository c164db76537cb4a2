"""Fields of topics for the formulas of a schematic: `/drone/odom.pose.pose.position.z` of a run, a bag or the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from sim_node.messages.topic import Send, Topic, absolute
from sim_node.recording.bag import BagError, BagTopic
from sim_node.recording.decoding import Decoder, value_at
from sim_node.recording.definitions import bag_topic
from sim_node.recording.message_fields import NumericFields, numbers_in
from sim_node.session.topic_reader import TopicReader
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import MAX_LINE, did_you_mean, shown
from sim_node.viewing.schematic import UnknownName
from sim_node.viewing.schematic.formulas import POSE_LABELS

# Messages that are poses: their fields, in the order of poses in formulas.
_POSES = {
    "geometry_msgs/msg/Pose": ("orientation", "position"),
    "geometry_msgs/msg/Transform": ("rotation", "translation"),
}


class TopicFields(TopicReader[FloatArray]):
    """Reads the numbers that formulas name from the messages of topics, by `TOPIC.FIELD`. Also an outlet, of a run.

    Messages and formulas may come from several threads.

    Args:
        wanted: The topics that formulas name.
        report: Called with messages for the user.
        resolve: Makes topic names absolute.
        later: Whether topics may come later. Until then their fields are single numbers without a value, and what is
            wrong is reported once instead of raised.
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
        # By topic: the numbers of each field that a formula names.
        self._fields: dict[str, dict[str, NumericFields]] = {name: {} for name in self.wanted}
        self._told: set[str] = set()

    def add(self, topic: BagTopic) -> None:
        """Make a topic known."""
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
            # Senders may rewrite their bytes, but nothing of the message is kept.
            message = self.decoded(name, data)
            if message is None:
                return
            for field, numbers in fields.items():
                values = [value_at(message, path) for path in numbers.paths.values()]
                self._fresh[f"{name}.{field}"] = np.array([np.nan if each is None else each for each in values])

    def forget(self) -> None:
        """Forget all numbers: the next messages are of another time."""
        with self._lock:
            for topic, fields in self._fields.items():
                for field, numbers in fields.items():
                    self._fresh[f"{topic}.{field}"] = np.full(len(numbers.paths), np.nan)

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the labels of a field's numbers, which are read from now on.

        Args:
            name: The topic, a dot and the field.

        Returns:
            A label of each number; those of a pose are in the order of formulas.

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
            if topic in self.types():  # else it may come
                self._tell(str(fault))
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

    def _tell(self, why: str) -> None:
        if why not in self._told:
            self._told.add(why)
            self._report(f"schematic: {why}")
