"""Write batches of a recording to the files of a bag."""

from __future__ import annotations

import shutil
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sim_node.recording import metadata
from sim_node.recording.bag import BagError
from sim_node.recording.channels import LatchedMessages, RecordedTopic, RecordingChannels
from sim_node.recording.mcap_file import Entry, McapFile
from sim_node.recording.mcap_rows import MessageRecords
from sim_node.recording.metadata import BagInformation, FileInformation, TopicInformation
from sim_node.recording.settings import RecordingSettings
from sim_node.recording.worlds import Attached, library

# Approximate memory overhead of a message, bytes.
_OVERHEAD = 120


class WriteBatch(NamedTuple):
    """The messages before a commit.

    Attributes:
        time_ns: Time of the commit.
        entries: The messages.
        progress_ns: Elapsed time up to then, not counting resets.
        size: Approximate memory use, bytes.
    """

    time_ns: int
    entries: list[Entry]
    progress_ns: int
    size: int


def size_of(entries: list[Entry]) -> int:
    """Return the approximate memory use of entries, bytes."""
    return sum([len(data) for _, _, data in entries]) + _OVERHEAD * len(entries)


# Bag time after which everything is flushed, ns.
FLUSH_NS = 500_000_000
# Size of metadata.yaml per topic and per file, bytes.
_METADATA_BYTES = 1500
# Maximum file overhead of a message, bytes.
_ENTRY_BYTES = 50


class BagFull(Exception):
    """The bag has reached its size limit. The message gives the reason."""


class BagWriter:
    """Writes a bag in batches, each of a single instant. `topics` are numbered from 1.

    Topics may be added and replaced at any time, from any thread; their names and types are fixed. A batch earlier than
    the previous one starts a new file, as settings may also do. Each file starts with the latched messages so far.
    `compression` is one of McapFile's; by default that of the settings. Raises BagError if the folder exists or cannot
    be created.
    """

    def __init__(
        self,
        folder: Path,
        settings: RecordingSettings,
        attached: Sequence[Attached] = (),
        custom: Mapping[str, str] | None = None,
        compression: str = "",
    ) -> None:
        self.folder = folder
        self.topics: list[RecordedTopic] = []
        self.count = 0
        self._settings = settings
        self._compression = compression or settings.compression
        self._attached = attached
        # Later attachments, with their time (ns), waiting for a file of the bag
        self._waiting: list[tuple[Attached, int]] = []
        self._custom = custom or {}
        self._latched = LatchedMessages(self.topics)
        self._done: list[FileInformation] = []
        self._done_bytes = 0
        # Number of files in metadata.yaml
        self._listed = 0
        # Information about each topic with its initial publishers, the same in all files and in metadata.yaml
        self._stated: list[TopicInformation] = []
        # Number of messages by topic number
        self._totals: Counter[int] = Counter()
        self._file: McapFile | None = None
        self._channels: RecordingChannels | None = None
        self._file_start_ns = 0
        self._flushed_ns: int | None = None
        self._last_ns: int | None = None
        refuse_existing(folder)

    def open(self) -> None:
        """Create the folder, with the metadata of a bag without files. Raises BagError."""
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError:
            refuse_existing(self.folder)
        except OSError as error:
            raise BagError(f"{self.folder}: cannot be created: {error.strerror}") from None
        free = shutil.disk_usage(self.folder).free
        if free < self._settings.spare_bytes:
            self.folder.rmdir()
            raise BagError(f"{self.folder}: {_too_little(free, self._settings)}")
        self._write_metadata()

    def write(self, time_ns: int, entries: list[Entry]) -> bool:
        """Write a batch, and start a new file or flush if due. Return whether the operating system has all data.

        Raises BagFull, BagError, OSError.
        """
        if entries:
            self._append(time_ns, entries)
        if self._flushed_ns is not None and 0 <= time_ns - self._flushed_ns < FLUSH_NS:
            return False
        if self._file is not None:
            self._file.flush()
        self._flushed_ns = time_ns
        self._check_disk()
        return True

    def _check_disk(self) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < self._settings.spare_bytes:
            raise BagFull(_too_little(free, self._settings))

    def _append(self, time_ns: int, entries: list[Entry]) -> None:
        went_back = self._last_ns is not None and time_ns < self._last_ns
        self._last_ns = time_ns
        if self._file is None:
            self._begin(time_ns, entries)
        elif went_back or self._split_due(self._file, time_ns):
            self._end()
            self._begin(time_ns, entries)
        else:
            self._put(entries)

    def attach(self, attached: Sequence[Attached], time_ns: int) -> None:
        """Store additional files in the bag.

        Args:
            attached: The files.
            time_ns: Their time, ns.

        Raises:
            BagFull: There is not enough room.
            OSError: The disk failed.
        """
        self._waiting += [(each, time_ns) for each in attached]
        if self._file is not None:
            self._attach_waiting(self._file)

    def end_topics(self, numbers: Sequence[int]) -> None:
        """End topics, whose latched messages are then not repeated in later files."""
        self._latched.end(numbers)

    def write_chunk(self, records: MessageRecords) -> None:
        """Write messages of topics with one publisher as one chunk, passed to the operating system at once.

        Their channels are the topic numbers. Times may go back. Raises BagFull, OSError.
        """
        if self._file is None:
            self._begin(int(records.times[0]), [])
        assert self._file is not None
        self._file.write_chunk(records)
        self.count += len(records.times)
        self._check_disk()

    def discard(self) -> None:
        """Delete all files of the bag. The next write starts it again. Raises OSError."""
        if self._file is not None:
            self._file.abandon()
            self._file.path.unlink()
        for file in self._done:
            (self.folder / file.name).unlink()
        self._file, self._channels = None, None
        self._done, self._done_bytes, self._totals = [], 0, Counter()
        self._latched = LatchedMessages(self.topics)
        self._flushed_ns, self._last_ns, self.count = None, None, 0
        self._write_metadata()

    def split(self) -> None:
        """End the current file."""
        if self._file is not None:
            self._end()
            self._note_file()

    def close(self) -> None:
        """Complete the bag, which then has at least one file."""
        if self._file is None and not self._done:
            self._begin(0, [])
        self.split()
        self._write_metadata()

    def abandon(self) -> None:
        """End the bag after a disk error, writing as much as fits."""
        file, self._file = self._file, None
        if file is None:
            return
        with suppress(OSError):
            file.abandon()
        self._done.append(_information(file))
        with suppress(OSError):
            self._write_metadata()

    def _split_due(self, file: McapFile, time_ns: int) -> bool:
        settings = self._settings
        if settings.split_ns and time_ns - self._file_start_ns >= settings.split_ns:
            return True
        return bool(settings.split_bytes) and file.size + file.pending >= settings.split_bytes

    def _begin(self, time_ns: int, entries: list[Entry]) -> None:
        name = f"{self.folder.resolve().name}_{len(self._done)}.mcap"
        file = self._file = McapFile(self.folder / name, self._compression, library(), durable=self._settings.durable)
        self._channels = RecordingChannels(file)
        self._file_start_ns = time_ns
        start_ns = entries[0][1] if entries else time_ns
        self._waiting[:0] = [(each, start_ns) for each in self._attached if each.everywhere or not self._done]
        self._attach_waiting(file)
        self._declare(self._channels)
        self._note_file()
        # A reader of the file receives the latched messages before any others.
        rest = sorted(entries, key=lambda entry: not self.topics[entry[0] - 1].latched)
        self._put([*self._latched.entries(start_ns), *rest])

    def _attach_waiting(self, file: McapFile) -> None:
        waiting, self._waiting = self._waiting, []
        if self._settings.max_bytes and sum(len(each.data) for each, _ in waiting) > self._room(file):
            raise self._full()
        for each, time_ns in waiting:
            file.attach(each.name, each.media_type, each.data, time_ns)

    def _put(self, entries: list[Entry]) -> None:
        assert self._file is not None
        assert self._channels is not None
        self._declare(self._channels)
        fitting = self._fitting(self._file, entries) if self._settings.max_bytes else entries
        self._latched.keep(fitting)
        try:
            self._file.write(fitting)
        except struct.error:
            early = min(time_ns for _, time_ns, _ in fitting)
            raise BagError(f"{self.folder}: bag times must not be negative, found {early / 1e9:g} s") from None
        self.count += len(fitting)
        if len(fitting) < len(entries):
            raise self._full()

    def _declare(self, channels: RecordingChannels) -> None:
        self._state_topics()
        channels.declare(self.topics, self._stated)

    def _state_topics(self) -> None:
        for topic in self.topics[len(self._stated) :]:
            about = TopicInformation(topic.name, topic.type, topic.offered, topic.definition.type_hash)
            self._stated.append(about)

    def _fitting(self, file: McapFile, entries: list[Entry]) -> list[Entry]:
        """Return the leading messages that fit."""
        room = self._room(file)
        for place, (_, _, data) in enumerate(entries):
            room -= len(data) + _ENTRY_BYTES
            if room < 0:
                return entries[:place]
        return entries

    def _room(self, file: McapFile) -> int:
        """Return the bytes that the bag may still take, excluding its end."""
        descriptions = _METADATA_BYTES * (len(self.topics) + len(self._done) + 1)
        return self._settings.max_bytes - (self._done_bytes + file.size + file.closing_bytes + 2 * descriptions)

    def _full(self) -> BagFull:
        return BagFull(f"the bag has reached its limit of {self._settings.max_bytes} bytes (max_bytes)")

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
        self._totals.update(file.counts)

    def _note_file(self) -> None:
        """Write metadata.yaml if it lacks more than a small fraction of the files, since it is fully rewritten."""
        if len(self._done) + 1 >= self._listed + max(self._listed // 32, 1):
            self._write_metadata()

    def _write_metadata(self) -> None:
        """Write metadata.yaml."""
        files = self._done if self._file is None else [*self._done, _information(self._file)]
        self._listed = len(files)
        metadata.write(self.folder, BagInformation(files, self._topics_with(self._totals), self._custom))

    def _topics_with(self, counts: Mapping[int, int]) -> list[tuple[TopicInformation, int]]:
        """Return one entry per topic, because readers list a topic once per entry."""
        self._state_topics()
        return [(about, counts.get(number, 0)) for number, about in enumerate(self._stated, 1)]


def refuse_existing(folder: Path) -> None:
    """Raise BagError if the folder already exists."""
    if folder.exists() or folder.is_symlink():
        raise BagError(f"{folder}: exists; a recording needs a new folder")


def _information(file: McapFile) -> FileInformation:
    return FileInformation(file.path.name, file.start_ns, file.end_ns, file.count)


def _too_little(free: int, settings: RecordingSettings) -> str:
    return f"{free // 1_000_000} MB are free on the disk; {settings.spare_bytes // 1_000_000} MB must stay free"
