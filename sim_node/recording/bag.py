"""The interface of a bag, and the registry of storages. To add a storage, add a file with one `@storage` entry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sim_node.messages.topic import Qos
from sim_node.registry import Registry
from sim_node.text import MAX_LINE, did_you_mean, shown


class BagError(Exception):
    """A bag cannot be read or written. The message gives the file and the reason. A user error: exit code 2."""

    def __str__(self) -> str:
        """Return the message on one line, because topic and type names from a file may contain anything."""
        return shown(super().__str__(), MAX_LINE)


class RecordingStopped(Exception):
    """A recording ended before its run. The message gives the reason."""


@dataclass(frozen=True)
class BagTopic:
    """A topic of a bag.

    Attributes:
        name: Absolute name.
        type: package/msg/Name.
        count: Number of messages.
        qos: QoS offered by its publishers; empty if the bag does not contain it.
        definition: ros2msg text (or IDL) of the type and all types that it refers to, or empty.
        type_hash: RIHS01 hash of the type, or empty.
        encoding: Encoding of its messages; always cdr in ROS 2.
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
        """Whether the definition is IDL, which rosbag2 stores for types defined in .idl files."""
        return "\nIDL: " in self.definition[:200]


class BagMessage(NamedTuple):
    """One message of a bag.

    Attributes:
        topic: Index of its topic in the bag's topics.
        time_ns: Recording time (log time).
        data: Its CDR.
    """

    topic: int
    time_ns: int
    data: bytes


class DecodedMessage(NamedTuple):
    """One message of a topic, decoded.

    Attributes:
        time_ns: Recording time (log time).
        message: The message, with the fields of its type: numbers, strings, numpy arrays, lists and other messages.
    """

    time_ns: int
    message: Any


class BagAttachment(NamedTuple):
    """A file stored inside a bag: world files, versions, seeds.

    Attributes:
        name: Its path.
        media_type: Its MIME type.
        time_ns: Recording time.
        data: Its content.
    """

    name: str
    media_type: str
    time_ns: int
    data: bytes


class Bag(Protocol):
    """An open bag.

    Attributes:
        topics: The topics, sorted by name.
        start_ns: Time of the first message.
        end_ns: Time of the last message.
        count: Number of messages.
    """

    topics: tuple[BagTopic, ...]
    start_ns: int
    end_ns: int
    count: int

    @property
    def damage(self) -> list[str]:
        """Damage found so far, whose content is left out: one line each. Complete once all messages have been read."""

    def messages(
        self, topics: Collection[str] | None = None, start_ns: int | None = None, stop_ns: int | None = None
    ) -> Iterator[BagMessage]:
        """Yield messages in time order.

        Args:
            topics: Names of topics; None for all.
            start_ns: First time; None for the beginning.
            stop_ns: Time before which to stop; None for the end.

        Yields:
            Each message.
        """

    def attachments(self) -> Iterator[BagAttachment]:
        """Yield the attached files; none for SQLite bags.

        Yields:
            Each file.
        """

    def close(self) -> None:
        """Close the files."""


def no_topic(bag: Bag, name: str) -> BagError:
    """Return the error for a topic that does not exist in a bag."""
    names = [topic.name for topic in bag.topics]
    return BagError(f"no topic {name}{did_you_mean(name, names)} (known: {', '.join(names) or 'none'})")


# Opens one file. The number limits the bytes decompressed at once. Messages are returned as they were recorded, which
# may mean individually compressed.
Opener = Callable[[Path, int], Bag]

# By rosbag2's storage_identifier, and by suffix
STORAGES: Registry[str, Opener] = Registry(
    "storage", shipped=("sim_node.recording.storages",), group="sim_node.storages"
)
# Registers a function that opens files of a storage.
storage = STORAGES.add


def opener(name: str, where: Path) -> Opener:
    """Return the function that opens files with an identifier or suffix. Raises BagError, which mentions `where`."""
    if name not in STORAGES:
        known = sorted(name for name in STORAGES if not name.startswith("."))
        what = f"storage {name!r}" if not name.startswith(".") else f"{name} files"
        raise BagError(f"{where}: {what} cannot be read{did_you_mean(name, known)} (known: {', '.join(known)})")
    return STORAGES[name]


def suffixes() -> tuple[str, ...]:
    """Return the suffixes of bag files: `.mcap`, `.db3`."""
    return tuple(name for name in STORAGES if name.startswith("."))
