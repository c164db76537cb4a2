"""A bag to read: its topics, and its messages in the order of their times."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sim_node.wire.qos import Qos


class BagError(Exception):
    """A bag that cannot be read; the message names the file and says why. A mistake of the user's, exit code 2."""


class RecordingStopped(Exception):
    """A recording that has ended before its run; the message says why."""


@dataclass(frozen=True)
class BagTopic:
    """A topic of a bag.

    type: package/msg/Name; qos: what its publishers offered, empty where the bag does not say; definition: its
    ros2msg text (or IDL) with all that it refers to, or empty; type_hash: RIHS01, or empty; encoding: of its messages,
    cdr in all that ROS 2 writes.
    """

    name: str
    type: str
    count: int
    qos: tuple[Qos, ...] = ()
    definition: str = ""
    type_hash: str = ""
    encoding: str = "cdr"

    @property
    def is_idl(self) -> bool:
        """Whether the definition is IDL, in which rosbag2 keeps what was written as .idl."""
        return "\nIDL: " in self.definition[:200]


class Message(NamedTuple):
    """One message. topic: its place in the bag's topics; time_ns: when it was recorded (log time); data: its CDR."""

    topic: int
    time_ns: int
    data: bytes


class Attachment(NamedTuple):
    """A file kept inside a bag: world files, versions, seeds."""

    name: str
    media_type: str
    time_ns: int
    data: bytes


class Bag(Protocol):
    """An open bag. topics: sorted by name; start_ns, end_ns: times of its first and last message; count: of all."""

    topics: tuple[BagTopic, ...]
    start_ns: int
    end_ns: int
    count: int

    @property
    def damage(self) -> list[str]:
        """What was found broken and is left out, a line each; complete only after all messages were read."""

    def messages(
        self, topics: Collection[str] | None = None, start_ns: int | None = None, stop_ns: int | None = None
    ) -> Iterator[Message]:
        """The messages of some topics (all, unless named) from a time on, up to and without another."""

    def attachments(self) -> Iterator[Attachment]:
        """The files kept inside; none in SQLite bags."""

    def close(self) -> None:
        """Lets go of its files."""

    def __enter__(self) -> Bag: ...

    def __exit__(self, *of: object) -> None: ...
