"""A bag in the viewer: played, paused and sought with a slider."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sim_node.recording.bag import Bag, BagError, Message
from sim_node.recording.decoding import Decoder, UnreadableMessage
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.frames import BagFrames
from sim_node.recording.opening import open_bag
from sim_node.recording.playback import Playback
from sim_node.recording.player import Player
from sim_node.recording.transforms import TYPE
from sim_node.session.bag_world import recorded_shapes
from sim_node.viewing.browser.sensor_topic_views import MESSAGES, SensorTopicView, topic_view_from, values_of
from sim_node.viewing.browser.stream import RATE, Stream, Told
from sim_node.viewing.browser.viewer import Viewer
from sim_node.wire.tf_message_reader import Unreadable
from sim_node.world import WorldError

# How far before a time that is sought transforms and readings are looked for, ns.
LOOK_BACK_NS = 2_000_000_000
# Least wall time between two readings of a topic that are shown, s.
APART_S = 0.05


class BagView:
    """Plays a bag on a viewer's page, again and again; a Transport, and the stage of a Player.

    tell: what the user should know. max_bytes: of a chunk, as open_bag has it. Raises BagError.
    """

    def __init__(
        self, path: str | Path, viewer: Viewer, tell: Callable[[str], None], max_bytes: int = MAX_BYTES
    ) -> None:
        self._viewer, self._tell = viewer, tell
        # One to play, one to look into where it is sought: each is read by a thread of its own.
        self._bag, self._sought = open_bag(path, max_bytes), open_bag(path, max_bytes)
        self._unreadable = Unreadable(tell)
        self._frames = BagFrames(self._bag, self._unreadable)
        self._lock = threading.Lock()
        self._decoders: dict[int, Callable[[bytes], Any]] = {}
        self._due: dict[int, float] = {}
        self._told: Told = {}
        self._speed = 1.0
        topic_views = self._instruments(self._sought)
        self._topics = [topic.name for topic in self._bag.topics if topic.type == TYPE or topic.name in topic_views]
        playback = Playback(self._bag, topics=self._topics)
        self._player = Player(playback, self, loop=True, clock_rate=RATE, step_ns=round(1e9 / RATE), continuous=False)
        viewer.transport = self
        self._stage(topic_views)
        self._stream = Stream(len(self._frames.table), viewer.show, viewer.idle)

    def start(self, *, paused: bool = False) -> None:
        """Begins to play, or to stand at the start."""
        self._player.start()
        if paused:
            self._player.pause()

    def close(self) -> None:
        """Ends the player and the page."""
        self._player.stop()
        self._stream.close()
        self._viewer.close()
        self._bag.close()
        self._sought.close()

    # A Transport

    @property
    def span(self) -> tuple[int, int]:
        """Of the whole bag."""
        return self._bag.start_ns, self._bag.end_ns

    @property
    def playing(self) -> bool:
        """Whether it is not paused."""
        return not self._player.paused

    @property
    def speed(self) -> float:
        """Seconds of the bag per second, as measured."""
        return self._player.pace().real_time_factor

    @property
    def speed_set(self) -> float:
        """As it was set last."""
        return self._speed

    def play(self) -> None:
        """Goes on."""
        self._player.resume()

    def pause(self) -> None:
        """Stops."""
        self._player.pause()

    def step(self) -> None:
        """A sixtieth of a second on; pauses first."""

        def pause_and_step() -> None:
            self._player.pause()
            self._player.step()

        self._player.call(pause_and_step)

    def reset(self) -> None:
        """Back to the start."""
        self.seek(self._bag.start_ns)

    def set_speed(self, speed: float) -> None:
        """Seconds of the bag per second, 0 for as fast as possible."""
        self._player.set_rate(speed)
        self._speed = speed

    def seek(self, time_ns: int) -> None:
        """Goes to a time, and shows what was known then even while paused."""
        self._player.seek(time_ns - self._bag.start_ns)
        with self._lock:
            newest: dict[int, bytes] = {}
            for message in self._sought.messages(self._topics, time_ns - LOOK_BACK_NS, time_ns + 1):
                if self._bag.topics[message.topic].type == TYPE:
                    self._frames.take(message.data)
                else:
                    newest[message.topic] = message.data
            for row, data in newest.items():
                self._due.pop(row, None)
                self._take(row, data)
        self.clock(time_ns)

    # The stage of a Player

    @property
    def sends(self) -> Mapping[int, Callable[[bytes], None]]:
        """Takes each topic in."""
        return {
            row: lambda data, row=row: self._send(row, data)  # type: ignore[misc]
            for row, topic in enumerate(self._bag.topics)
            if topic.name in self._topics
        }

    def clock(self, time_ns: int) -> None:
        """Shows what has come in by now."""
        with self._lock:
            told, self._told = self._told, {}
            self._stream.offer(time_ns, self._frames.poses, told)

    def ready(self) -> bool:
        """A page may come later."""
        return True

    def delivered(self) -> bool:
        """Nobody is waited for."""
        return True

    def complain(self, text: str) -> None:
        """To the user."""
        self._tell(text)

    def _send(self, row: int, data: bytes) -> None:
        with self._lock:
            self._take(row, data)

    def _take(self, row: int, data: bytes) -> None:
        topic = self._bag.topics[row]
        if topic.type == TYPE:
            self._frames.take(data)
            return
        now = time.monotonic()
        if now < self._due.get(row, 0.0):
            return
        self._due[row] = now + APART_S
        try:
            self._told[topic.name] = values_of(self._decoders[row](data)), self._frames.poses.copy()
        except UnreadableMessage as fault:
            self._unreadable.count(topic.name, fault)
        except ValueError as fault:
            self._due[row] = float("inf")
            self._tell(f"{topic.name}: is not shown: {fault}")

    def _instruments(self, bag: Bag) -> dict[str, SensorTopicView]:
        """The topics that can be shown, by their first messages."""
        found = {}
        for row, topic in enumerate(bag.topics):
            if topic.type not in MESSAGES:
                continue
            try:
                decoder = Decoder(topic)
                first = next(self._readable(decoder, bag.messages([topic.name])), None)
            except BagError as fault:
                self._tell(f"{topic.name}: is not shown: {fault}")
                continue
            if first is not None and first.header.frame_id in self._frames.table.names:
                found[topic.name] = topic_view_from(first, topic.type)
                self._decoders[row] = decoder
        return found

    def _readable(self, decoder: Decoder, messages: Iterable[Message]) -> Iterator[Any]:
        for message in messages:
            try:
                yield decoder(message.data)
            except UnreadableMessage as fault:  # noqa: PERF203  each message on its own
                self._unreadable.count(decoder.topic.name, fault)

    def _stage(self, topic_views: Mapping[str, SensorTopicView]) -> None:
        frames, put = self._frames, self._viewer.stage
        try:
            with recorded_shapes(self._bag, frames.table) as shapes:
                put(frames.table, frames.poses, shapes, frames.places, topic_views)
        except WorldError as error:
            self._tell(f"the bag's world is not drawn: {error}")
            put(frames.table, frames.poses, (), frames.places, topic_views)
