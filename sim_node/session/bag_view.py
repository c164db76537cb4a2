"""A bag in the viewer: play, pause and seek on a slider that marks log messages and changes of the world."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.bag import Bag, BagError, BagMessage
from sim_node.recording.changes import RecordedWorlds, recorded_worlds
from sim_node.recording.decoding import Decoder, UnreadableMessage
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.frames import BagEra, BagFrames
from sim_node.recording.opening import open_bag
from sim_node.recording.playback import Playback
from sim_node.recording.player import PlaybackTarget, Player
from sim_node.recording.transforms import TYPE
from sim_node.session.bag_drawings import BagDrawings
from sim_node.session.bag_world import shapes_on
from sim_node.session.message_text import BagMessages
from sim_node.session.topic_fields import TopicFields
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import MAX_LINE, shown
from sim_node.viewing.browser.layers import Layer
from sim_node.viewing.browser.stream import RATE, Instant, Latest, Stream
from sim_node.viewing.browser.transport import Mark
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.frames import without_transforms
from sim_node.world import World, WorldError

LOG = "rcl_interfaces/msg/Log"
# Levels of rcl_interfaces/msg/Log that are marked, and the maximum number of marks (the first ones are kept).
WARN, ERROR, MAX_MARKS = 30, 40, 500


class BagMarks:
    """Finds the marks of a bag in a separate thread, because a long log takes a while to read.

    Args:
        path: The bag.
        max_bytes: As in open_bag.
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
        """Stop the search."""
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


# How far before a seek time to search for transforms and measurements, ns.
LOOK_BACK_NS = 2_000_000_000
# Minimum wall time between two shown measurements of a topic, s.
APART_S = 0.05
# Maximum number of poses kept on the way to a seek time, for trails.
MAX_PASSED = 300


class BagView(PlaybackTarget):
    """Plays a bag in a viewer, in a loop. It is a Transport, and the PlaybackTarget of a Player.

    Args:
        path: The bag.
        viewer: The page, or the layer of the bag on a page of several sources.
        report: Called with messages for the user.
        max_bytes: Limit of a chunk in memory, as in open_bag.
        stream: Creates the Stream that passes instants to the page.
        wall: Returns wall time, s. Limits how often each topic is redrawn.

    Raises:
        BagError: The bag cannot be read.
    """

    def __init__(
        self,
        path: str | Path,
        viewer: Viewer | Layer,
        report: Callable[[str], None],
        max_bytes: int = MAX_BYTES,
        *,
        stream: Callable[..., Any] = Stream,
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        self._viewer, self._report, self._wall = viewer, report, wall
        # One for playing and one for seeking, since each is read by its own thread.
        self._bag, self._sought = open_bag(path, max_bytes), open_bag(path, max_bytes)
        self._unreadable = Unreadable(report)
        self._reported: set[str] = set()
        self._files = ExitStack()
        self._worlds = self._recorded_worlds()
        self._drawings = BagDrawings(self._sought, self._unreadable, report, self._first_world(), viewer.beside)
        self._frames = BagFrames(self._bag, self._unreadable, self._place)
        viewer.first_stamp_ns = self._frames.first_ns
        self._era = self._frames.eras[0]
        self._lock = threading.Lock()
        self._due: dict[int, float] = {}
        self._measurements: Latest = {}
        self._passed: Sequence[Instant] | None = None
        self._speed = 1.0
        viewer.transport = self
        if viewer.schematic is None and (world := self._first_world()) is not None:
            viewer.schematic = world.schematic
        wanted = () if viewer.schematic is None else viewer.schematic.topics()
        self._fields = viewer.fields = TopicFields(wanted, report)
        for topic in self._bag.topics:
            self._fields.add(topic)
        self._messages = viewer.texts = BagMessages(self._bag)
        self._topics = [topic.name for topic in self._bag.topics]
        playback = Playback(self._bag, topics=self._topics)
        self._player = Player(playback, self, loop=True, clock_rate=RATE, step_ns=round(1e9 / RATE), continuous=False)
        self._marks = BagMarks(path, max_bytes, [era.start_ns for era in self._frames.eras[1:]], report)
        self._set_scene(self._era)
        self._stream: Stream = stream(len(self._era.table), viewer.show, viewer.idle)

    def start(self, *, paused: bool = False) -> None:
        """Start playing, or stay paused at the start and show its messages."""
        if paused:
            self._player.pause()
        self._player.start()
        if paused:
            self.reset()

    def close(self) -> None:
        """Stop the player and close the page."""
        self._player.stop()
        self._marks.close()
        self._stream.close()
        self._viewer.close()
        self._bag.close()
        self._sought.close()
        self._files.close()

    # Transport interface

    @property
    def span(self) -> tuple[int, int]:
        """First and last time of the bag, ns."""
        return self._bag.start_ns, self._bag.end_ns

    @property
    def playing(self) -> bool:
        """Whether it is not paused."""
        return not self._player.paused

    @property
    def live(self) -> bool | None:
        """None, because this is a recording."""
        return None

    @property
    def why(self) -> str:
        """The reason if playback is slower than requested."""
        return "the bag is not read as fast"

    @property
    def loops(self) -> bool | None:
        """Whether playback restarts at the end."""
        return self._player.loop

    @loops.setter
    def loops(self, loops: bool) -> None:
        self._player.loop = loops

    def marks(self) -> Sequence[Mark]:
        """Return the log messages of level WARN and above, and the changes of the world."""
        return self._marks.found

    def to_live(self) -> None:
        """Do nothing, because this is a recording."""

    @property
    def speed(self) -> float:
        """Measured playback speed, as bag seconds per wall second."""
        return self._player.pace().real_time_factor

    @property
    def speed_set(self) -> float:
        """Requested playback speed, as bag seconds per wall second."""
        return self._speed

    def play(self) -> None:
        """Continue to play."""
        self._player.resume()

    def pause(self) -> None:
        """Pause."""
        self._player.pause()

    def step(self) -> None:
        """Pause, then advance by a sixtieth of a second."""

        def pause_and_step() -> None:
            self._player.pause()
            self._player.step()

        self._player.call(pause_and_step)

    def reset(self) -> None:
        """Go back to the start."""
        self.seek(self._bag.start_ns)

    def set_speed(self, speed: float) -> None:
        """Set the playback speed, in bag seconds per wall second; 0 for as fast as possible."""
        self._player.set_rate(speed)
        self._speed = speed

    def seek(self, time_ns: int) -> None:
        """Seek to a time and show the state at that time, even while paused."""
        self._player.seek(time_ns - self._bag.start_ns)
        with self._lock:
            self._enter(time_ns)
            newest: dict[int, bytes] = {}
            ghosts = {name for name in self._drawings.types if self._viewer.moves_ghost(name)}
            moving: list[BagMessage] = []
            self._drawings.forget()
            self._fields.forget()
            for message in self._drawings.latched_before(time_ns - LOOK_BACK_NS):
                newest[message.topic] = message.data
                self._drawings.remember(message.topic, message.data)
            for message in self._sought.messages(self._topics, time_ns - LOOK_BACK_NS, time_ns + 1):
                topic = self._bag.topics[message.topic]
                if topic.type == TYPE or topic.name in ghosts:
                    moving.append(message)
                elif topic.name in self._drawings.types:
                    self._drawings.remember(message.topic, message.data)
                newest[message.topic] = message.data
            self._passed = self._through(moving)
            for row, data in newest.items():
                self._due.pop(row, None)
                self._receive(row, data)
        self.clock(time_ns)

    # PlaybackTarget interface

    @property
    def sends(self) -> Mapping[int, Callable[[bytes], None]]:
        """A receiver for each topic."""
        return {
            row: lambda data, row=row: self._send(row, data)  # type: ignore[misc]
            for row in range(len(self._bag.topics))
        }

    def clock(self, time_ns: int) -> None:
        """Show everything received so far."""
        with self._lock:
            self._enter(time_ns)
            measurements, self._measurements = self._measurements, {}
            for name, values in self._fields.taken().items():
                measurements[name] = values, self._era.poses
            passed, self._passed = self._passed, None
            self._stream.offer(time_ns, self._era.poses, measurements, self._era.stamp_ns, passed)

    def warn(self, text: str) -> None:
        """Report a message to the user."""
        self._report(text)

    def _send(self, row: int, data: bytes) -> None:
        with self._lock:
            self._receive(row, data)

    def _receive(self, row: int, data: bytes) -> None:
        topic = self._bag.topics[row]
        self._messages.receive(topic.name, data)
        if topic.name in self._fields.wanted:
            self._fields.receive(topic.name, data)
        if topic.type == TYPE:
            self._era.update(data)
        if topic.name not in self._drawings.types:
            return
        now = self._wall()
        if now < self._due.get(row, 0.0):
            self._drawings.remember(row, data)
            return
        self._due[row] = now + APART_S
        drawing = self._drawings.read(row, data, self._era.table)
        if drawing is not None:
            self._measurements[topic.name] = drawing, self._era.poses.copy()

    def _place(self, parents: Mapping[str, str], fixed: str) -> Mapping[str, tuple[str, FloatArray]]:
        """Place frames that messages use but that have no transform. Each is reported once."""
        placed = without_transforms(self._drawings.frames, parents, fixed)
        self._viewer.placed = (*self._viewer.placed, *placed)
        for name, each in placed.items():
            if name not in self._reported and name not in self._viewer.beside.frames:
                self._reported.add(name)
                self._report(shown(each.remark, MAX_LINE))
        return {name: (each.parent, each.pose) for name, each in placed.items()}

    def _first_world(self) -> World | None:
        try:
            return self._worlds[0] if self._worlds is not None else None
        except WorldError:  # reported when its shapes are needed
            return None

    def _recorded_worlds(self) -> RecordedWorlds | None:
        try:
            return self._files.enter_context(recorded_worlds(self._bag))
        except WorldError as error:
            self._report(f"the bag's worlds are not shown: {shown(str(error), MAX_LINE)}")
            return None

    def _through(self, moving: Sequence[BagMessage]) -> Sequence[Instant]:
        """Apply the moves of frames and ghosts in order. Return some of the instants on the way, for trails."""
        era, topics = self._era, self._bag.topics
        moves = [era.moves(each.data) if topics[each.topic].type == TYPE else None for each in moving]
        for each in reversed(moves):  # start each frame at its first recorded pose, not at the pose before the seek
            if each is not None:
                era.move(each)
        found, step = [], len(moving) // MAX_PASSED + 1
        measured: Latest = {}
        for number, (message, each) in enumerate(zip(moving, moves, strict=True)):
            if each is not None:
                era.move(each)
            elif drawing := self._drawings.read(message.topic, message.data, era.table):
                measured[topics[message.topic].name] = drawing, era.poses.copy()
            if number % step == 0:
                found.append(Instant(message.time_ns, era.poses.copy(), measured, era.stamp_ns))
                measured = {}
        return found

    def _enter(self, time_ns: int) -> None:
        """Show the frames and the world at a time, if they differ from those on the page."""
        era = self._frames.era_at(time_ns)
        if era is not self._era:
            self._era = era
            era.rewind()
            self._measurements, self._passed = {}, None
            self._stream.change(len(era.table), lambda: self._set_scene(era))

    def _set_scene(self, era: BagEra) -> None:
        shapes: tuple[DrawnShape, ...] = ()
        look = None
        try:
            if self._worlds is not None:
                look = self._worlds[self._worlds.place_at(era.start_ns)]
                shapes = shapes_on(look, era.table)
        except WorldError as error:
            self._report(f"the bag's world is not shown: {shown(str(error), MAX_LINE)}")
        shapes += self._drawings.robots(era.table, {shape.row for shape in shapes})
        places, types = self._frames.places, self._drawings.types
        self._viewer.set_scene(era.table, era.first, shapes, places, sources=types, look=look)
