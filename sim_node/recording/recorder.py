"""A recording: an outlet whose messages go to a bag, written by a thread of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sim_node.recording.bag import BagError, RecordingStopped
from sim_node.recording.definitions import Definition, definition_of
from sim_node.recording.mcap_file import Entry
from sim_node.recording.provenance import Attached
from sim_node.recording.settings import Settings
from sim_node.recording.writer import BagFull, BagTopicWritten, BagWriter
from sim_node.wire.qos import Qos
from sim_node.wire.topic import Send, Topic

# Bytes that may wait for the disk.
MOST_WAITING = 64 * 1024 * 1024
# What a message takes beside its bytes, about.
_OVERHEAD = 120

Batch = tuple[int, list[Entry]]


def absolute(name: str) -> str:
    """A topic's name where there is no namespace."""
    return name if name.startswith("/") else f"/{name}"


class Recorder:
    """Records what is sent on its topics: `open`, then any number of messages and `commit`s, then `close`.

    Messages and commits come from one thread. What was sent before a commit is one batch, and in the bag within a
    second of commits' time. tell: called once, from any thread, with why a recording stopped. resolve: gives topics
    their absolute names. patient: whether a commit waits for a slow disk, or the batch is dropped and counted.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings | None = None,
        attached: Sequence[Attached] = (),
        custom: Mapping[str, str] | None = None,
        *,
        tell: Callable[[str], None],
        resolve: Callable[[str], str] = absolute,
        patient: bool = True,
    ) -> None:
        self.folder = folder
        self.settings = settings or Settings()
        self.dropped = 0
        self._writer = BagWriter(folder, self.settings, attached, custom)
        self._tell, self._resolve, self._patient = tell, resolve, patient
        self._topics: list[BagTopicWritten] = []
        self._declared = 0
        self._pending: list[Entry] = []
        self._changed = threading.Condition()
        self._waiting: deque[Batch | Callable[[], None]] = deque()
        self._waiting_bytes = 0
        self._closing = False
        self._stopped = ""
        self._fault: Exception | None = None
        # The batches of the last while, in snapshot mode, and what is latched from before them.
        self._recent: deque[Batch] = deque()
        self._latched: dict[int, deque[Entry]] = {}
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)

    @property
    def count(self) -> int:
        """Messages in the bag."""
        return self._writer.count

    def advertise(
        self, topic: Topic, definition: Definition | None = None, offered: tuple[Qos, ...] | None = None
    ) -> Send:
        """What records a topic, or nothing for one that settings leave out. Raises UnknownType.

        definition: of its type, sim_node's own otherwise; offered: the QoS of each of its publishers.
        """
        name = self._resolve(topic.name)
        if not self.settings.wants(name):
            return lambda time_ns, data: None
        named = Topic(name, topic.type, topic.qos)
        written = BagTopicWritten(
            named, definition or definition_of(topic.type), (topic.qos,) if offered is None else offered
        )
        with self._changed:
            self._topics.append(written)
            number = len(self._topics)

        def send(time_ns: int, data: bytes) -> None:
            self._pending.append((number, time_ns, data))

        return send

    def open(self) -> None:
        """Makes the bag's folder. Raises BagError."""
        self._writer.open()
        self._thread.start()

    def commit(self, time_ns: int) -> None:
        """Ends a batch. Raises RecordingStopped where the recording has, and settings say that the run ends then."""
        if not self._pending:
            return
        entries, self._pending = self._pending, []
        if self._stopped:
            if self.settings.when_full == "end":
                raise RecordingStopped(self._stopped)
            return
        size = sum(len(data) + _OVERHEAD for _, _, data in entries)
        with self._changed:
            if self._waiting_bytes > MOST_WAITING:
                if not self._patient:
                    self.dropped += len(entries)
                    return
                self._changed.wait_for(lambda: self._waiting_bytes <= MOST_WAITING or bool(self._stopped))
            self._waiting.append((time_ns, entries))
            self._waiting_bytes += size
            self._changed.notify_all()

    def snapshot(self) -> int:
        """Writes what is kept in memory; returns how many messages. May be called from any thread.

        Raises RecordingStopped where the recording is not in snapshot mode, or over.
        """
        if not self.settings.snapshot_ns:
            raise RecordingStopped("everything is written already: the recording is not in snapshot mode")
        done = threading.Event()
        written = 0

        def write() -> None:
            nonlocal written
            try:
                written = self._write_recent()
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
        """Writes what still waits and ends the bag."""
        if not self._thread.is_alive():
            return
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        if self._fault is not None:
            raise self._fault

    # In the thread

    def _run(self) -> None:
        while (work := self._next()) is not None:
            if not self._stopped:
                self._guarded(work)
        if not self._stopped:
            self._guarded(self._writer.close)

    def _next(self) -> Batch | Callable[[], None] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            if not self._waiting:
                return None
            work = self._waiting.popleft()
            if not callable(work):
                self._waiting_bytes -= sum(len(data) + _OVERHEAD for _, _, data in work[1])
            self._changed.notify_all()
            return work

    def _guarded(self, work: Batch | Callable[[], None]) -> None:
        try:
            if callable(work):
                work()
            elif self.settings.snapshot_ns:
                self._keep(*work)
            else:
                self._write(*work)
        except BagFull as full:
            self._end(str(full), self._writer.close)
        except BagError as error:
            self._end(str(error), self._writer.close)
        except OSError as error:
            self._end(f"{self.folder}: {error.strerror}", self._writer.abandon)
        except Exception as fault:  # of ours; a run that waits for this thread has to go on
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
        self._tell(self._stopped)

    def _write(self, time_ns: int, entries: list[Entry]) -> None:
        while self._declared < len(self._topics):
            self._writer.add(self._topics[self._declared])
            self._declared += 1
        self._writer.write(time_ns, entries)

    def _keep(self, time_ns: int, entries: list[Entry]) -> None:
        """Takes a batch into memory and lets go of those that are too old, but for what is latched."""
        went_back = bool(self._recent) and time_ns < self._recent[-1][0]
        while self._recent and (went_back or self._recent[0][0] < time_ns - self.settings.snapshot_ns):
            for entry in self._recent.popleft()[1]:
                qos = self._topics[entry[0] - 1].topic.qos
                if qos.latched:
                    self._latched.setdefault(entry[0], deque(maxlen=qos.depth)).append(entry)
        self._recent.append((time_ns, entries))

    def _write_recent(self) -> int:
        """Puts what is in memory into a file of its own."""
        if not self._recent:
            return 0
        before = self._writer.count
        start_ns, first = self._recent[0]
        latched = [(number, first[0][1], data) for kept in self._latched.values() for number, _, data in kept]
        self._latched.clear()
        batches = [(start_ns, [*latched, *first]), *list(self._recent)[1:]]
        self._recent.clear()
        self._writer.split()
        for batch in batches:
            self._write(*batch)
        self._writer.split()
        return self._writer.count - before
