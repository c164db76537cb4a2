"""Playing without a graph: the target is a list. Times by arithmetic, stamps by rosbags."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from waiting import PATIENCE
from written import LATCHED, T0, TYPES, Row, make, pose_stamped, qos, serialised, text, tf_message, write_bag
from written import time as stamp

from sim_node.recording.opening import open_bag
from sim_node.recording.playback import Playback
from sim_node.recording.player import GAP_NS, Player
from sim_node.simulation import Refused

MS = 10**6
POSE, TF = "geometry_msgs/msg/PoseStamped", "tf2_msgs/msg/TFMessage"


class Sent(NamedTuple):
    topic: str
    wall: float
    data: bytes


class Target:
    """Keeps what is sent, and tells whoever waits for it."""

    def __init__(self, names: list[str]) -> None:
        self.sends: dict[int, Callable[[bytes], None]] = {row: self._taker(name) for row, name in enumerate(names)}
        self.sent: list[Sent] = []
        self.clocks: list[int] = []
        self.complaints: list[str] = []
        self.is_ready = True
        self._grew = threading.Condition()

    def _taker(self, name: str) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            with self._grew:
                self.sent.append(Sent(name, time.monotonic(), data))
                self._grew.notify_all()

        return take

    def clock(self, time_ns: int) -> None:
        with self._grew:
            self.clocks.append(time_ns)
            self._grew.notify_all()

    def ready(self) -> bool:
        return self.is_ready

    def delivered(self) -> bool:
        return True

    def warn(self, text: str) -> None:
        with self._grew:
            self.complaints.append(text)
            self._grew.notify_all()

    def wait_for(self, done: Callable[[], bool]) -> None:
        with self._grew:
            assert self._grew.wait_for(done, PATIENCE), f"{len(self.sent)} messages, {len(self.clocks)} clocks"

    def of(self, topic: str) -> list[bytes]:
        return [sent.data for sent in self.sent if sent.topic == topic]


def stamp_ns(data: bytes) -> int:
    message: Any = TYPES.deserialize_cdr(data, POSE)
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)


def flight(folder: Path, count: int) -> Path:
    """Poses, 10 ms apart, stamped 1 ms before they were recorded; static transforms by two broadcasters."""
    rows = [
        Row("/tf_static", T0, tf_message((T0, "base", "camera", 0.1))),
        Row("/tf_static", T0, tf_message((T0, "base", "lidar", 0.2))),
    ]
    rows += [Row("/pose", T0 + 10 * MS * i, pose_stamped(T0 + (10 * i - 1) * MS, float(i))) for i in range(count)]
    return write_bag(folder / "bag", {"/pose": (POSE, [qos()]), "/tf_static": (TF, [LATCHED])}, rows)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return flight(tmp_path, 20)


@contextmanager
def playing(path: Path, *, ready: bool = True, **how: Any) -> Iterator[tuple[Player, Target, threading.Event]]:
    """Started, with the event of its end."""
    with open_bag(path) as bag:
        target = Target([topic.name for topic in bag.topics])
        target.is_ready = ready
        player = Player(Playback(bag, topics=[topic.name for topic in bag.topics]), target, **how)
        ended = threading.Event()
        player.start(ended=ended.set)
        try:
            yield player, target, ended
        finally:
            player.stop()


def test_a_long_gap_is_reported_and_can_be_skipped(tmp_path: Path) -> None:
    """As in bags whose latched messages have a simulation's time, and all others that of the wall clock."""
    rows = [Row("/pose", at, pose_stamped(at, 1.0)) for at in (0, T0, T0 + 61 * 10**9)]
    path = write_bag(tmp_path / "bag", {"/pose": (POSE, [qos()])}, rows)
    with playing(path) as (player, target, ended):
        target.wait_for(lambda: len(target.complaints) == 1)
        assert target.complaints == [
            "no message to play from 0 s to 1700000000 s of the bag; seek to 1700000000 s to skip the gap"
        ]
        player.seek(T0)
        target.wait_for(lambda: len(target.complaints) == 2)
        player.seek(T0 + 61 * 10**9)
        assert ended.wait(PATIENCE)
    assert len(target.of("/pose")) == 3


def test_every_message_is_sent_as_it_was_recorded(path: Path) -> None:
    with playing(path, rate=0.0) as (_, target, ended):
        assert ended.wait(PATIENCE)
        assert target.of("/pose") == [serialised(pose_stamped(T0 + (10 * i - 1) * MS, float(i))) for i in range(20)]
        assert target.sent[0].topic == "/tf_static"


@pytest.mark.parametrize("rate", [0.5, 1.0, 4.0])
def test_messages_are_as_far_apart_as_they_were_recorded(path: Path, rate: float) -> None:
    """Never too early; the last is 190 ms after the first, divided by the rate."""
    began = time.monotonic()
    with playing(path, rate=rate) as (_, target, ended):
        assert ended.wait(PATIENCE)
    poses = [sent.wall for sent in target.sent if sent.topic == "/pose"]
    wanted = [0.01 * i / rate for i in range(20)]
    assert all(wall - began >= due for due, wall in zip(wanted, poses, strict=True))


def test_a_call_gives_its_result_and_may_call_again(path: Path) -> None:
    """Nothing is sent between the seek and the steps of one call."""
    with playing(path, rate=0.0, paused=True) as (player, target, _):
        target.wait_for(lambda: bool(target.sent))

        def seek_and_step() -> tuple[int, int]:
            player.seek(100 * MS)
            before = player.sent
            player.step()
            return player.position_ns, player.sent - before

        assert player.call(seek_and_step) == (100 * MS, 1)


def test_a_target_that_asks_while_it_is_sent_to_is_refused(path: Path) -> None:
    """A seek would pull the messages from under the burst that is being sent."""
    with playing(path, rate=0.0, paused=True) as (player, target, ended):
        target.wait_for(lambda: bool(target.sent))
        pose = [topic.name for topic in player.playback.bag.topics].index("/pose")
        target.sends[pose] = lambda data: player.seek(0)
        player.resume()
        assert ended.wait(PATIENCE)
        with pytest.raises(Refused, match="the playback target cannot do this"):
            player.stop()


def test_stamps_and_clock_go_on_over_loops(path: Path) -> None:
    """Each loop is later by its length and the gap, inside every message; the clock never goes back."""
    length = 190 * MS + GAP_NS
    with playing(path, rate=0.0, loop=True, clock_rate=1000.0) as (player, target, _):
        target.wait_for(lambda: len(target.of("/pose")) >= 60)
        player.stop()
        stamps = [stamp_ns(data) for data in target.of("/pose")[:60]]
        assert stamps == [T0 + (10 * i - 1) * MS + loop * length for loop in range(3) for i in range(20)]
        assert target.of("/tf_static")[0] != target.of("/tf_static")[2]
        assert all(a <= b for a, b in pairwise(target.clocks))
        first = [sent.topic for sent in target.sent].index("/pose")
        assert [sent.topic for sent in target.sent[:first]] == ["/tf_static"] * first
        assert not target.complaints


def test_a_clock_that_began_at_zero_goes_on_too(tmp_path: Path) -> None:
    """A simulation's bag: zero is its first time. In what was recorded later, zero means "the newest" and stays."""
    topics: dict[str, tuple[str, list[Any]]] = {"/clock": ("rosgraph_msgs/msg/Clock", []), "/pose": (POSE, [])}
    clocks = [Row("/clock", 500 * MS * i, make("rosgraph_msgs/msg/Clock", stamp(500 * MS * i))) for i in range(5)]
    poses = [Row("/pose", 500 * MS * i, pose_stamped(0, 1.0)) for i in range(5)]
    bag = write_bag(tmp_path / "bag", topics, sorted([*clocks, *poses], key=lambda row: row.time_ns))
    with playing(bag, rate=0.0, loop=True) as (player, target, _):
        target.wait_for(lambda: len(target.sent) >= 20)
        player.stop()
    length = 2000 * MS + GAP_NS
    again = [serialised(make("rosgraph_msgs/msg/Clock", stamp(length + 500 * MS * i))) for i in range(5)]
    assert target.of("/clock")[5:10] == again
    assert [stamp_ns(data) for data in target.of("/pose")[5:10]] == [length, length, 0, 0, 0]


def test_time_as_recorded_goes_back(path: Path) -> None:
    with playing(path, rate=0.0, loop=True, continuous=False, clock_rate=1000.0) as (player, target, _):
        target.wait_for(lambda: len(target.of("/pose")) >= 40)
        player.stop()
        poses = target.of("/pose")
        assert poses[20:40] == poses[:20]


def test_after_a_seek_statics_come_first_and_stamps_go_on(path: Path) -> None:
    with playing(path, paused=True) as (player, target, _):
        target.wait_for(lambda: bool(target.sent))
        for _ in range(5):
            player.step()
        before = len(target.sent)
        player.seek(100 * MS)
        assert [sent.topic for sent in target.sent[before:]] == ["/tf_static"]
        assert player.position_ns == 100 * MS
        player.step()
        assert target.of("/pose")[-1] == serialised(pose_stamped(T0 + 99 * MS, 10.0)), "forwards, nothing is moved"
        player.seek(0)
        player.step()
        assert stamp_ns(target.of("/pose")[-1]) == T0 + (100 - 1) * MS + GAP_NS


def test_a_seek_outside_of_the_range_is_refused(path: Path) -> None:
    with playing(path, paused=True) as (player, target, _):
        target.wait_for(lambda: bool(target.sent))
        with pytest.raises(Refused, match=r"0.2 s is outside of the played range, 0 to 0.19 s"):
            player.seek(200 * MS)
        assert player.position_ns == 0


def test_steps_are_messages_or_times(path: Path) -> None:
    with playing(path, paused=True, clock_rate=100.0) as (player, target, _):
        target.wait_for(lambda: bool(target.sent))
        for count in range(1, 4):
            player.step()
            assert len(target.of("/pose")) == count
            assert target.clocks[-1] == T0 + 10 * MS * (count - 1)
        player.step_ns = 55 * MS
        player.step()
        assert player.position_ns == 75 * MS
        assert len(target.of("/pose")) == 8, "at 0, 10 ... 70 ms"
        for _ in range(3):
            player.step()
        assert len(target.of("/pose")) == 20
        with pytest.raises(Refused, match="at the end"):
            player.step()
        player.seek(0)
        player.step()
        player.resume()
        with pytest.raises(Refused, match="pause it to step"):
            player.step()


def test_a_pause_stops_time_and_a_resume_goes_on_from_there(tmp_path: Path) -> None:
    """A bag of a hundred seconds: it is not over before the pause comes."""
    with playing(flight(tmp_path, 10_000)) as (player, target, ended):
        target.wait_for(lambda: len(target.of("/pose")) >= 3)
        player.pause()
        position, sent = player.position_ns, len(target.sent)
        assert not ended.wait(0.1), "time stands"
        assert (player.position_ns, len(target.sent)) == (position, sent)
        player.resume()
        target.wait_for(lambda: len(target.sent) >= sent + 3)
        player.set_rate(0.0)
        assert ended.wait(PATIENCE)
        assert target.of("/pose") == [serialised(pose_stamped(T0 + (10 * i - 1) * MS, float(i))) for i in range(10_000)]


def test_the_clock_ticks_at_its_rate_and_is_never_ahead(tmp_path: Path) -> None:
    began = time.monotonic()
    with playing(flight(tmp_path, 10_000), clock_rate=50.0) as (player, target, _):
        target.wait_for(lambda: len(target.clocks) > 10)
        player.stop()
        passed = time.monotonic() - began
    assert target.clocks[0] == T0
    assert all(a <= b for a, b in pairwise(target.clocks))
    assert target.clocks[-1] <= T0 + passed * 1e9
    # Fewer on a busy machine, and one more where it has fallen behind by a period.
    assert len(target.clocks) <= passed * 50.0 + 2


def test_the_clock_does_not_go_back_after_a_delay_that_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that stood still goes on from where it stood: the clock has not been told the time in between."""
    monkeypatch.setattr("sim_node.simulation.pacing.MAX_BEHIND_S", 0.05)
    with open_bag(flight(tmp_path, 10_000)) as bag:
        target = Target([topic.name for topic in bag.topics])
        (row,) = (row for row, topic in enumerate(bag.topics) if topic.name == "/pose")
        take = target.sends[row]

        def slow(data: bytes) -> None:
            take(data)
            if len(target.of("/pose")) in (3, 6):
                time.sleep(0.3)

        target.sends[row] = slow
        player = Player(Playback(bag, topics=["/pose"]), target, clock_rate=1000.0)
        player.start()
        target.wait_for(lambda: len(target.of("/pose")) > 10)
        player.stop()
        assert player.pace().behind > 0.0
    assert all(a <= b for a, b in pairwise(target.clocks))


def test_it_waits_until_its_subscribers_are_there(path: Path) -> None:
    with playing(path, ready=False, rate=0.0) as (player, target, ended):
        with pytest.raises(Refused, match="has not started yet"):
            player.seek(0)
        assert not target.sent
        target.is_ready = True
        assert ended.wait(PATIENCE)
        assert len(target.of("/pose")) == 20


def test_the_rate_changes_while_it_plays(path: Path) -> None:
    with playing(path, rate=0.001) as (player, target, ended):
        target.wait_for(lambda: bool(target.of("/pose")))
        player.set_rate(0.0)
        assert ended.wait(PATIENCE)
        assert len(target.of("/pose")) == 20
        with pytest.raises(Refused, match="has ended"):
            player.set_rate(1.0)


def test_stamps_of_unknown_types_stay_and_are_reported_once(tmp_path: Path) -> None:
    """The bytes are no PoseStamped: they end inside the stamp."""
    rows = [Row("/pose", T0 + i, b"\0\1\0\0\1") for i in range(3)] + [Row("/chatter", T0 + 3, text("a"))]
    topics = {"/pose": (POSE, [qos()]), "/chatter": ("std_msgs/msg/String", [qos()])}
    with playing(write_bag(tmp_path / "bag", topics, rows), rate=0.0, loop=True) as (player, target, _):
        target.wait_for(lambda: len(target.sent) >= 12)
        player.stop()
        assert set(target.of("/pose")) == {b"\0\1\0\0\1"}
        assert set(target.of("/chatter")) == {serialised(text("a"))}
        (warning,) = target.complaints
        assert warning.startswith(f"/pose ({POSE}): its stamps are not shifted")


def test_a_target_that_breaks_ends_it_and_is_reported(path: Path) -> None:
    def broken(data: bytes) -> None:
        raise OSError("no way")

    with open_bag(path) as bag:
        target = Target([topic.name for topic in bag.topics])
        target.sends[0] = broken
        player = Player(Playback(bag, topics=["/pose"]), target, rate=0.0)
        ended = threading.Event()
        player.start(ended=ended.set)
        assert ended.wait(PATIENCE)
        with pytest.raises(OSError, match="no way"):
            player.stop()
