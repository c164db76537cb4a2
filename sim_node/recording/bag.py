"""A bag to read, and the storages that bags are kept in. A new storage is a new file with one `@storage` entry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from sim_node.registry import Registry
from sim_node.text import did_you_mean
from sim_node.wire.topic import Qos


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


# Opens one file; the number is how many bytes may be decompressed at once. Messages are as they were recorded,
# compressed one by one where the bag says so.
Opener = Callable[[Path, int], Bag]

# By rosbag2's storage_identifier, and by suffix.
STORAGES: Registry[str, Opener] = Registry(
    "storage", shipped=("sim_node.recording.mcap_bag", "sim_node.recording.sqlite_bag"), group="sim_node.storages"
)
# Registers what opens a file of a storage.
storage = STORAGES.add


def opener(name: str, where: Path) -> Opener:
    """What opens files of this identifier or suffix. Raises BagError, which `where` is named in."""
    if name not in STORAGES:
        known = sorted(name for name in STORAGES if not name.startswith("."))
        said = f"storage {name!r}" if not name.startswith(".") else f"{name} files"
        raise BagError(f"{where}: {said} cannot be read{did_you_mean(name, known)} (known: {', '.join(known)})")
    return STORAGES[name]


def suffixes() -> tuple[str, ...]:
    """`.mcap`, `.db3`: what files of bags end with."""
    return tuple(name for name in STORAGES if name.startswith("."))
