"""What reads some topics of a run, for the viewer: the newest of each is kept until it is taken."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.decoding import Decoder, UnreadableMessage

Made = TypeVar("Made")


class TopicReader(Generic[Made]):
    """Reads topics. Messages may come from several threads.

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
        """Return what is newest and has not been taken yet, by its name."""
        with self._lock:
            taken, self._fresh = self._fresh, {}
            return taken

    def decoded(self, name: str, data: bytes) -> Any:
        """Return a message of a topic that has a decoder; None for one that cannot be read, which is reported."""
        try:
            return self._decoders[name](data)
        except UnreadableMessage as fault:
            self._unreadable.count(name, fault)
            return None
