"""Topics of a run as drawings, for ghosts of the viewer: what an estimator believes, beside what is true."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sim_node.messages.topic import Send, Topic, absolute
from sim_node.recording.decoding import Decoder
from sim_node.recording.definitions import bag_topic
from sim_node.session.topic_reader import TopicReader
from sim_node.simulation import Sink, Snapshot
from sim_node.text import did_you_mean
from sim_node.viewing.messages.drawing import Drawing
from sim_node.viewing.messages.readers import READERS, Read, ReaderContext
from sim_node.world import FrameTable, World


class TopicDrawings(TopicReader[Drawing], Sink):
    """Reads some topics of a run as drawings: an outlet of what it publishes. Others come through `receive`.

    Messages may come from several threads. As a sink it tells which topics there are not, if the run is alone.

    Args:
        wanted: The topics.
        report: Called with messages for the user.
        resolve: Makes topic names absolute.
        alone: Whether no topics come from elsewhere.
    """

    def __init__(
        self,
        wanted: Iterable[str],
        report: Callable[[str], object],
        resolve: Callable[[str], str] = absolute,
        *,
        alone: bool = True,
    ) -> None:
        super().__init__(wanted, report, resolve)
        self._alone = alone
        self._known: dict[str, str] = {}
        self._reads: dict[str, Read] = {}

    def advertise(self, topic: Topic) -> Send:
        """Return a function that reads the messages of a topic of the run."""
        name = self._resolve(topic.name)
        self._known[name] = topic.type
        if name not in self.wanted or topic.type not in READERS:
            return lambda time_ns, data: None
        self._decoders[name] = Decoder(bag_topic(name, topic.type))
        return lambda time_ns, data: self._decoded(name, topic.type, data)

    def open(self, world: World, frames: FrameTable) -> None:
        """Tell what is wrong with the topics, once those of the run are known."""
        if self._alone:
            for name in self.missing():
                self._report(f"--ghost: the run has no topic {name}{did_you_mean(name, self._known)}")
        for name in self.wanted:
            if self._known.get(name) not in (None, *READERS):
                self._report(f"--ghost: {name}: a {self._known[name]} has no pose")
        self._alone = False

    def write(self, snapshot: Snapshot) -> None:
        """Do nothing."""

    def missing(self) -> list[str]:
        """Return the topics that the run does not publish."""
        return [name for name in self.wanted if name not in self._known]

    def receive(self, name: str, kind: str, message: Any) -> None:
        """Read a message of a wanted topic."""
        if name not in self._reads:
            self._reads[name] = READERS[kind].open(ReaderContext(name))
        try:
            drawing = self._reads[name](message)
        except ValueError as fault:
            self._report(f"{name}: is not shown: {fault}")
            return
        with self._lock:
            self._fresh[name] = drawing

    def _decoded(self, name: str, kind: str, data: bytes) -> None:
        message = self.decoded(name, data)
        if message is not None:
            self.receive(name, kind, message)
