"""Writes batches of a recording to the files of a bag."""

from __future__ import annotations

import shutil
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sim_node.recording import metadata
from sim_node.recording.bag import BagError
from sim_node.recording.definitions import Definition
from sim_node.recording.mcap_file import Entry, McapFile
from sim_node.recording.metadata import BagInformation, FileInformation, TopicInformation, qos_text
from sim_node.recording.settings import Settings
from sim_node.recording.worlds import Attached, library
from sim_node.wire.topic import Qos

# What a message takes beside its bytes, about.
_OVERHEAD = 120


class Batch(NamedTuple):
    """What was sent before a commit.

    progress_ns: how far time had gone forward by then, resets left out. size: what it takes of memory, about.
    """

    time_ns: int
    entries: list[Entry]
    progress_ns: int
    size: int


def size_of(entries: list[Entry]) -> int:
    """What entries take of memory, about."""
    return sum([len(data) for _, _, data in entries]) + _OVERHEAD * len(entries)


# How often, in the bag's time, everything is handed to the system.
FLUSH_NS = 500_000_000
# What metadata.yaml takes of the disk: per topic, per file.
_METADATA_BYTES = 1500
# What a message takes of a file beside its bytes, at most.
_ENTRY_BYTES = 50


class BagFull(Exception):
    """The bag may not grow any more; the message says why."""


@dataclass(frozen=True)
class RecordedTopic:
    """A topic of the bag. type: package/msg/Name; offered: the QoS of each of its publishers."""

    name: str
    type: str
    definition: Definition
    offered: tuple[Qos, ...]

    @property
    def latched(self) -> int:
        """How many of its messages late subscribers get."""
        return sum(qos.depth for qos in self.offered if qos.latched)


class BagWriter:
    """Writes one bag. Messages come in batches, each of one instant, of the `topics` so far, which count from 1.

    Topics may be added and replaced at any time, from any thread; their names and types stay. A batch earlier than the
    last begins another file, as settings may ask for too; each file begins with the latched messages so far. Raises
    BagError for a folder that is there already or cannot be made.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        attached: Sequence[Attached] = (),
        custom: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.topics: list[RecordedTopic] = []
        self.count = 0
        self._settings = settings
        self._attached = attached
        self._custom = custom or {}
        self._latched: dict[int, deque[bytes]] = {}
        self._done: list[FileInformation] = []
        self._done_bytes = 0
        self._totals: dict[int, int] = {}
        self._file: McapFile | None = None
        self._file_start_ns = 0
        self._flushed_ns: int | None = None
        self._last_ns: int | None = None
        refuse_existing(folder)

    def open(self) -> None:
        """Makes the folder, with the metadata of a bag without files so far. Raises BagError."""
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError:
            refuse_existing(self.folder)
        except OSError as error:
            raise BagError(f"{self.folder}: cannot be made: {error.strerror}") from None
        free = shutil.disk_usage(self.folder).free
        if free < self._settings.spare_bytes:
            self.folder.rmdir()
            raise BagError(f"{self.folder}: {_too_little(free, self._settings)}")
        self._tell()

    def write(self, time_ns: int, entries: list[Entry]) -> bool:
        """One batch, and whatever is due then: another file, a flush. Returns whether all is with the system now.

        Raises BagFull, BagError, OSError.
        """
        if entries:
            self._take(time_ns, entries)
        if self._flushed_ns is not None and 0 <= time_ns - self._flushed_ns < FLUSH_NS:
            return False
        if self._file is not None:
            self._file.flush()
        self._flushed_ns = time_ns
        free = shutil.disk_usage(self.folder).free
        if free < self._settings.spare_bytes:
            raise BagFull(_too_little(free, self._settings))
        return True

    def _take(self, time_ns: int, entries: list[Entry]) -> None:
        went_back = self._last_ns is not None and time_ns < self._last_ns
        self._last_ns = time_ns
        if self._file is None:
            self._begin(time_ns, entries)
        elif went_back or self._split_due(self._file, time_ns):
            self._end()
            self._begin(time_ns, entries)
        else:
            self._put(entries)

    def split(self) -> None:
        """Ends the file; what comes next goes into another."""
        if self._file is not None:
            self._end()

    def close(self) -> None:
        """Ends the bag, which has a file even if there was no message."""
        if self._file is None and not self._done:
            self._begin(0, [])
        self.split()

    def abandon(self) -> None:
        """Ends the bag after the disk failed: as much of it as there is room for."""
        file, self._file = self._file, None
        if file is None:
            return
        with suppress(OSError):
            file.abandon()
        self._done.append(_information(file))
        with suppress(OSError):
            self._tell()

    def _split_due(self, file: McapFile, time_ns: int) -> bool:
        settings = self._settings
        if settings.split_ns and time_ns - self._file_start_ns >= settings.split_ns:
            return True
        return bool(settings.split_bytes) and file.size + file.pending >= settings.split_bytes

    def _begin(self, time_ns: int, entries: list[Entry]) -> None:
        name = f"{self.folder.resolve().name}_{len(self._done)}.mcap"
        file = self._file = McapFile(
            self.folder / name, self._settings.compression, library(), durable=self._settings.durable
        )
        self._file_start_ns = time_ns
        start_ns = entries[0][1] if entries else time_ns
        attached = [each for each in self._attached if each.everywhere or not self._done]
        if self._settings.max_bytes and sum(len(each.data) for each in attached) > self._room(file):
            raise self._full()
        for each in attached:
            file.attach(each.name, each.media_type, each.data, start_ns)
        self._declare(file)
        self._tell()
        latched = [(number, start_ns, data) for number, kept in self._latched.items() for data in kept]
        # Whoever reads the file from its start has the latched messages before any other.
        self._put([*latched, *sorted(entries, key=lambda entry: not self.topics[entry[0] - 1].latched)])

    def _declare(self, file: McapFile) -> None:
        """Topics that the file does not have yet."""
        for topic in self.topics[len(file.counts) :]:
            text, type_hash = topic.definition
            schema = file.schema(topic.type, "ros2msg", text.encode())
            offered = qos_text(topic.offered)
            file.channel(topic.name, schema, {"offered_qos_profiles": offered, "topic_type_hash": type_hash})

    def _put(self, entries: list[Entry]) -> None:
        assert self._file is not None
        fitting = self._fitting(self._file, entries) if self._settings.max_bytes else entries
        self._declare(self._file)
        self._remember(fitting)
        try:
            self._file.write(fitting)
        except struct.error:
            early = min(time_ns for _, time_ns, _ in fitting)
            raise BagError(f"{self.folder}: bags have no times before 0, found {early / 1e9:g} s") from None
        self.count += len(fitting)
        if len(fitting) < len(entries):
            raise self._full()

    def _remember(self, entries: list[Entry]) -> None:
        """What is latched, for the files to come."""
        latched = {number for number, topic in enumerate(self.topics, 1) if topic.latched}
        if not latched:
            return
        for number, _, data in entries:
            if number in latched:
                kept = self._latched.setdefault(number, deque())
                kept.append(data)
                while len(kept) > self.topics[number - 1].latched:
                    kept.popleft()

    def _fitting(self, file: McapFile, entries: list[Entry]) -> list[Entry]:
        """The first of them, as many as there is room for."""
        room = self._room(file)
        for place, (_, _, data) in enumerate(entries):
            room -= len(data) + _ENTRY_BYTES
            if room < 0:
                return entries[:place]
        return entries

    def _room(self, file: McapFile) -> int:
        """What the bag may still take, its end left aside."""
        descriptions = _METADATA_BYTES * (len(self.topics) + len(self._done) + 1)
        return self._settings.max_bytes - (self._done_bytes + file.size + file.closing_bytes + 2 * descriptions)

    def _full(self) -> BagFull:
        return BagFull(f"the bag has reached the {self._settings.max_bytes} bytes that it may have (max_bytes)")

    def _end(self) -> None:
        file = self._file
        assert file is not None
        file.flush()
        about = BagInformation([_information(file)], self._topics_with(file.counts), self._custom)
        file.metadata("rosbag2", {"serialized_metadata": about.record()})
        file.finish()
        self._file = None
        self._done.append(_information(file))
        self._done_bytes += file.size
        for number, count in file.counts.items():
            self._totals[number] = self._totals.get(number, 0) + count
        self._tell()

    def _tell(self) -> None:
        """metadata.yaml as it stands."""
        files = self._done if self._file is None else [*self._done, _information(self._file)]
        metadata.write(self.folder, BagInformation(files, self._topics_with(self._totals), self._custom))

    def _topics_with(self, counts: Mapping[int, int]) -> list[tuple[TopicInformation, int]]:
        return [
            (TopicInformation(topic.name, topic.type, topic.offered, topic.definition.type_hash), counts.get(number, 0))
            for number, topic in enumerate(self.topics, 1)
        ]


def refuse_existing(folder: Path) -> None:
    """Raises BagError for a bag that would be written over something."""
    if folder.exists() or folder.is_symlink():
        raise BagError(f"{folder}: is there already; a recording goes into a new folder")


def _information(file: McapFile) -> FileInformation:
    return FileInformation(file.path.name, file.start_ns, file.end_ns, file.count)


def _too_little(free: int, settings: Settings) -> str:
    return f"{free // 1_000_000} MB are free on the disk; {settings.spare_bytes // 1_000_000} MB are to stay so"
