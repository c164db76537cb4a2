"""The marks of a bag's time line: lines of logs, and changes of the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread

from sim_node.recording.bag import Bag, BagError
from sim_node.recording.decoding import Decoder, UnreadableMessage
from sim_node.recording.opening import open_bag
from sim_node.text import MAX_LINE, shown
from sim_node.viewing.browser.transport import Mark

LOG = "rcl_interfaces/msg/Log"
# Levels of rcl_interfaces/msg/Log from which on lines are marked; most marks, the first of which are kept.
WARN, ERROR, MAX_MARKS = 30, 40, 500


class BagMarks:
    """Finds the marks of a bag in a thread of its own, as a long log takes a while to read.

    Args:
        path: The bag.
        max_bytes: As for open_bag.
        changes_ns: When the world changed.
        report: Called with messages for the user.
    """

    def __init__(
        self, path: str | Path, max_bytes: int, changes_ns: Sequence[int], report: Callable[[str], None]
    ) -> None:
        self._path, self._max_bytes, self._report = path, max_bytes, report
        self._ended = False
        self._changes = [Mark(at, "note", "the world changed") for at in changes_ns]
        self.found: Sequence[Mark] = tuple(self._changes)
        self._thread = Thread(target=self._run, name="bag marks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the search."""
        self._ended = True
        self._thread.join()

    def _run(self) -> None:
        try:
            bag = open_bag(self._path, self._max_bytes)
            try:
                self.found = tuple(sorted([*self._changes, *self._lines(bag)]))
            finally:
                bag.close()
        except BagError as error:
            self._report(f"the bag's log is not marked: {shown(str(error), MAX_LINE)}")

    def _lines(self, bag: Bag) -> Iterator[Mark]:
        decoders = {row: Decoder(topic) for row, topic in enumerate(bag.topics) if topic.type == LOG}
        if not decoders:
            return
        number = 0
        for message in bag.messages([bag.topics[row].name for row in decoders]):
            if self._ended or number >= MAX_MARKS:
                return
            try:
                line = decoders[message.topic](message.data)
            except UnreadableMessage:
                continue  # reported when the topic is shown
            if line.level >= WARN:
                number += 1
                kind = "error" if line.level >= ERROR else "warning"
                yield Mark(message.time_ns, kind, shown(f"{line.name}: {line.msg}", MAX_LINE))
