"""A recording: an outlet whose messages are written to a bag by a separate thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from sim_node.messages.topic import Qos, Send, Topic, absolute
from sim_node.recording.bag import BagError, RecordingStopped
from sim_node.recording.changes import WorldChanges
from sim_node.recording.channels import LatchedMessages, RecordedTopic, TopicNumbers
from sim_node.recording.definitions import MessageDefinition
from sim_node.recording.mcap_file import Entry
from sim_node.recording.opening import kept_in
from sim_node.recording.settings import RecordingSettings, is_name, unmatched
from sim_node.recording.worlds import Attached
from sim_node.recording.writer import BagFull, BagWriter, WriteBatch, size_of
from sim_node.text import MAX_LINE, did_you_mean, shown
from sim_node.world import World


class RecentBatches:
    """Keeps recent batches for snapshots, and the latched messages before them.

    Args:
        topics: The topics of the bag, numbered from 1.
        duration_ns: Bag time to keep.
    """

    def __init__(self, topics: Sequence[RecordedTopic], duration_ns: int) -> None:
        self._topics, self._duration_ns = topics, duration_ns
        self._batches: deque[WriteBatch] = deque()
        self._latched = LatchedMessages(topics)

    def keep(self, batch: WriteBatch) -> None:
        """Add a batch and drop batches that are too old, except for latched messages."""
        batches = self._batches
        went_back = bool(batches) and batch.time_ns < batches[-1].time_ns
        while batches and (went_back or batches[0].time_ns < batch.time_ns - self._duration_ns):
            self._latched.keep(batches.popleft().entries)
        if batch.entries:
            batches.append(batch)

    def end_topics(self, numbers: Sequence[int]) -> None:
        """End topics and drop their latched messages."""
        self._latched.end(numbers)

    def write(self, writer: BagWriter) -> int:
        """Write all batches to a separate file, and drop them.

        Args:
            writer: The bag.

        Returns:
            The number of messages.

        Raises:
            BagFull, BagError, OSError: As in `BagWriter.write`.
        """
        if not self._batches:
            return 0
        before = writer.count
        first = self._batches[0]
        latched = self._latched.entries(first.entries[0][1])
        self._latched = LatchedMessages(self._topics)
        batches = [first._replace(entries=[*latched, *first.entries]), *list(self._batches)[1:]]
        self._batches.clear()
        writer.split()
        for batch in batches:
            writer.write(batch.time_ns, batch.entries)
        writer.split()
        return writer.count - before


# Maximum number of bytes waiting for the disk
MAX_WAITING = 64 * 1024 * 1024
# Maximum bag time that may be lost if the process dies, ns
MAX_BEHIND_NS = 1_000_000_000


def _shown_near(pattern: str, names: Collection[str]) -> str:
    return f"{shown(pattern)}{did_you_mean(pattern, names) or _among(names)}"


def _among(names: Collection[str]) -> str:
    return f"; there are {shown(', '.join(names) or 'no topics', MAX_LINE)}"


class Recorder:
    """Records the messages of its topics: `open`, then messages and `commit`s, then `close`.

    Messages and commits come from one thread. The messages before a commit form a batch.

    Args:
        folder: The new folder of the bag.
        settings: How to record.
        attached: Files to store in the bag.
        custom: Custom data for metadata.yaml.
        warn: Called from any thread with the reason why a recording stopped, once if messages are dropped, and for each
            pattern of the settings without a matching topic.
        resolve: Makes topic names absolute.
        patient: Whether commits wait for a slow disk, so that at most the last second is not yet with the operating
            system. Otherwise, batches are dropped and counted when too many bytes are waiting.

    Attributes:
        kept: After `close`, the number of messages that a reader finds in the bag.
        dropped: Number of dropped messages.
    """

    def __init__(
        self,
        folder: Path,
        settings: RecordingSettings | None = None,
        attached: Sequence[Attached] = (),
        custom: Mapping[str, str] | None = None,
        *,
        warn: Callable[[str], None],
        resolve: Callable[[str], str] = absolute,
        patient: bool = True,
    ) -> None:
        self.folder = folder
        self.settings = settings or RecordingSettings()
        self.dropped = 0
        self.kept = 0
        self._writer = BagWriter(folder, self.settings, attached, custom)
        self._warn, self._resolve, self._patient = warn, resolve, patient
        self._topics = self._writer.topics
        self._numbers = TopicNumbers(self._topics)
        # Names of all topics, recorded or not, and the patterns that were reported as unmatched.
        self._seen: set[str] = set()
        self._reported: set[tuple[str, str]] = set()
        # For the next batch: ended topics, and a changed world.
        self._ending: list[int] = []
        self._changed_world: World | None = None
        self._changes = WorldChanges()
        self._pending: list[Entry] = []
        self._changed = threading.Condition()
        self._waiting: deque[WriteBatch | Callable[[], None]] = deque()
        self._waiting_bytes = 0
        self._closing = False
        # Elapsed time: of commits, of the last message, and of what the operating system has.
        self._last_ns: int | None = None
        self._progress_ns = 0
        self._sent_ns: int | None = None
        self._safe_ns: int | None = None
        self._stopped = ""
        self._fault: Exception | None = None
        # For snapshot mode
        self._recent = RecentBatches(self._topics, self.settings.snapshot_ns)
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)

    def advertise(
        self, topic: Topic, definition: MessageDefinition | None = None, offered: tuple[Qos, ...] | None = None
    ) -> Send:
        """Return a function that records messages of a topic, or drops them if the settings exclude it.

        Advertising a topic again, with the same type, adds a publisher.

        Args:
            topic: The topic.
            definition: Definition of its type; by default that of ROS 2 Jazzy.
            offered: QoS of all its publishers, if there are others.

        Returns:
            A function that records one message, given its time (ns) and CDR.

        Raises:
            UnknownMessageType: The definition of the type is not known.
            ValueError: The topic already has another type.
        """
        name = self._resolve(topic.name)
        self._seen.add(name)
        if not self.settings.wants(name):
            return lambda time_ns, data: None
        with self._changed:
            number = self._numbers.begin(name, topic, definition, offered)

        def send(time_ns: int, data: bytes) -> None:
            self._pending.append((number, time_ns, data))

        if self._patient:  # a run, whose ticks go back as a whole
            return send
        newest_ns = -1

        def send_forward(time_ns: int, data: bytes) -> None:
            nonlocal newest_ns
            if time_ns < newest_ns:
                self._end_batch()
            newest_ns = time_ns
            send(time_ns, data)

        return send_forward

    def see(self, name: str) -> None:
        """Note a topic that may never be advertised, so that a pattern that matches it is not reported.

        Args:
            name: Absolute name.
        """
        self._seen.add(name)

    def refuse_unmatched(self) -> None:
        """Reject settings that cannot be satisfied, once the topics of a run are known.

        A pattern with wildcards may match later topics. If another topic is recorded, it only causes a warning.

        Raises:
            BagError: A name in `topics` is not a topic, or no topic at all is recorded.
        """
        settings, seen = self.settings, sorted(self._seen)
        missing = unmatched(settings.topics, seen)
        refused = [pattern for pattern in missing if is_name(pattern)]
        if (settings.topics or settings.exclude) and not any(map(settings.wants, seen)):
            refused += [pattern for pattern in missing if not is_name(pattern)]
            if not refused:
                raise BagError(f"{self.folder}: --exclude leaves no topic to record{_among(seen)}")
        if refused:
            lines = (f"{self.folder}: no topic matches {_shown_near(pattern, seen)}" for pattern in refused)
            raise BagError("; ".join(lines))
        self.report_unmatched()

    def report_unmatched(self) -> None:
        """Warn about each pattern of the settings that has matched no topic so far, once."""
        seen = sorted(self._seen)  # a copy: other threads may advertise topics meanwhile
        for what, patterns in (
            ("recording: no topic matches", unmatched(self.settings.topics, seen)),
            ("recording: no topic to exclude matches", unmatched(self.settings.exclude, seen)),
        ):
            for pattern in patterns:
                if (what, pattern) not in self._reported:
                    self._reported.add((what, pattern))
                    self._warn(f"{what} {_shown_near(pattern, seen)}")

    def withdraw(self, topic: Topic) -> None:
        """End a publisher of a topic. Its latched messages are not repeated in later files.

        Args:
            topic: The topic, as it was advertised.
        """
        number = self._numbers.end(self._resolve(topic.name), topic.qos)
        if number is not None:
            self._ending.append(number)

    def refuses(self, topic: Topic) -> str | None:
        """Check a topic before it is advertised.

        Args:
            topic: The topic.

        Returns:
            An error if it already has another type in the bag; None otherwise.
        """
        reason = self._numbers.refuses(self._resolve(topic.name), topic.type)
        return reason and f"the recording cannot follow: {reason}"

    def change(self, world: World) -> None:
        """Store the changed world of a run, with the time of the next batch.

        Args:
            world: The assembled world.
        """
        self._changed_world = world

    def _end_batch(self) -> None:
        """End the batch after a clock was set back. Later messages go into another batch, and thus another file."""
        if self._pending:
            with suppress(RecordingStopped):  # raised again by the next commit
                self.commit(max(time_ns for _, time_ns, _ in self._pending))

    def open(self) -> None:
        """Create the bag's folder.

        Raises:
            BagError: The folder exists or cannot be created.
        """
        self._writer.open()
        self._thread.start()

    def commit(self, time_ns: int) -> None:
        """End a batch.

        Args:
            time_ns: Time of the batch.

        Raises:
            RecordingStopped: The recording has stopped, and the settings end the run in that case.
        """
        if self._pending and not self._patient:  # the clock may have been set back in between
            time_ns = max(at_ns for _, at_ns, _ in self._pending)
        with self._changed:
            entries, self._pending = self._pending, []
            if self._last_ns is not None:
                self._progress_ns += max(time_ns - self._last_ns, 0)
            self._last_ns = time_ns
            if self._stopped:
                if self.settings.when_full == "end":
                    raise RecordingStopped(self._stopped)
                return
            if entries:
                self._sent_ns = self._progress_ns
                self._note_changes(max(at_ns for _, at_ns, _ in entries) if self._changed_world else time_ns)
            elif self._sent_ns is None or (self._safe_ns is not None and self._safe_ns >= self._sent_ns):
                return  # nothing is pending either
            if not self._patient and self._waiting_bytes > MAX_WAITING:
                if not self.dropped:
                    self._warn("recording: the disk is too slow, messages are being dropped")
                self.dropped += len(entries)
                return
            batch = WriteBatch(time_ns, entries, self._progress_ns, size_of(entries))
            self._waiting.append(batch)
            self._waiting_bytes += batch.size
            self._changed.notify_all()
            if self._patient:
                self._changed.wait_for(lambda: self._keeps_up() or bool(self._stopped))

    def _note_changes(self, time_ns: int) -> None:
        """Schedule storing a changed world and ending topics before the next batch."""
        if self._changed_world is not None:
            self._waiting.append(partial(self._store, self._changed_world, time_ns))
            self._changed_world = None
        if self._ending:
            self._waiting.append(partial(self._end_topics, self._ending))
            self._ending = []

    def snapshot(self) -> int:
        """Write the messages kept in memory. May be called from any thread.

        Returns:
            The number of messages.

        Raises:
            RecordingStopped: The recording is not in snapshot mode, or has ended.
        """
        if not self.settings.snapshot_ns:
            raise RecordingStopped("the recording is not in snapshot mode: everything is written already")
        done = threading.Event()
        written = 0

        def write() -> None:
            nonlocal written
            try:
                if not self._stopped:
                    written = self._recent.write(self._writer)
            finally:
                done.set()

        with self._changed:
            if self._closing or self._stopped:
                raise RecordingStopped(self._stopped or "the recording is over")
            self._waiting.append(write)
            self._changed.notify_all()
        done.wait()
        if self._stopped:
            raise RecordingStopped(self._stopped)
        return written

    def close(self) -> None:
        """Write pending messages, complete the bag, and report unmatched patterns.

        Raises:
            RecordingStopped: A reader finds fewer messages in the bag than were written, or a pattern of `topics` has
                matched no topic; the reason was passed to `warn`.
        """
        if not self._thread.is_alive():
            return
        self._end_batch()
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self.report_unmatched()
        self._count_kept()
        if self._fault is not None:
            raise self._fault
        if missing := unmatched(self.settings.topics, self._seen):
            lacking = f"{self.folder}: lacks topics: nothing has matched {shown(' '.join(missing), MAX_LINE)}"
            self._warn(lacking)
            raise RecordingStopped(lacking)

    def _count_kept(self) -> None:
        """Count messages by reading the bag, because writes may fail late, and files may have been deleted."""
        self.kept, why = kept_in(self.folder)
        if self.kept < self._writer.count:
            lost = f"{self.folder}: {self.kept} of {self._writer.count} messages are in the bag"
            self._stopped = f"{lost} ({why})" if why else lost
            self._warn(self._stopped)
            raise RecordingStopped(self._stopped)

    def _keeps_up(self) -> bool:
        if self._waiting_bytes > MAX_WAITING:
            return False
        if self.settings.snapshot_ns:
            return True
        return self._safe_ns is not None and self._progress_ns - self._safe_ns <= MAX_BEHIND_NS

    # In the writer thread

    def _store(self, world: World, time_ns: int) -> None:
        if self._stopped:
            return
        attached, notes = self._changes.attachments(world)
        for note in notes:
            self._warn(f"recording: the world from {time_ns / 1e9:g} s on {note}")
        self._writer.attach(attached, time_ns)

    def _end_topics(self, numbers: Sequence[int]) -> None:
        self._writer.end_topics(numbers)
        self._recent.end_topics(numbers)

    def _run(self) -> None:
        while (work := self._next()) is not None:
            if not (self._stopped and isinstance(work, WriteBatch)):
                self._guarded(work)
        if not self._stopped:
            self._guarded(self._writer.close)

    def _next(self) -> WriteBatch | Callable[[], None] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            if not self._waiting:
                return None
            work = self._waiting.popleft()
            if isinstance(work, WriteBatch):
                self._waiting_bytes -= work.size
            self._changed.notify_all()
            return work

    def _guarded(self, work: WriteBatch | Callable[[], None]) -> None:
        try:
            if not isinstance(work, WriteBatch):
                work()
            elif self.settings.snapshot_ns:
                self._recent.keep(work)
            elif self._writer.write(work.time_ns, work.entries):
                with self._changed:
                    self._safe_ns = work.progress_ns
                    self._changed.notify_all()
        except BagFull as full:
            self._end(str(full), self._writer.close)
        except BagError as error:
            self._end(str(error), self._writer.close)
        except OSError as error:
            self._end(f"{self.folder}: {error.strerror}", self._writer.abandon)
        except Exception as fault:  # internal errors, so that a run waiting for this thread continues
            self._fault = fault
            self._end(f"{self.folder}: {fault!r}", self._writer.abandon)

    def _end(self, why: str, end: Callable[[], None]) -> None:
        try:
            end()
        except OSError:
            self._writer.abandon()
        with self._changed:
            self._stopped = f"recording stopped: {why}"
            self._changed.notify_all()
        self._warn(self._stopped)
