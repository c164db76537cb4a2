"""A run recorded, replayed and recorded again: the same messages, and time that goes forward on each topic."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from nightly import rows
from recorded_runs import record
from waiting import PATIENCE

from sim_node.messages.topic import Topic
from sim_node.recording.bag import Bag
from sim_node.recording.decoding import Decoder
from sim_node.recording.definitions import MessageDefinition
from sim_node.recording.opening import open_bag
from sim_node.recording.playback import Playback
from sim_node.recording.player import Player
from sim_node.recording.recorder import Recorder
from sim_node.recording.settings import RecordingSettings
from sim_node.world.locate import shipped_worlds

SECONDS = 0.5


class Again:
    """The target of a player that records what it is sent, at the time that the clock last told."""

    def __init__(self, bag: Bag, folder: Path) -> None:
        self.recorder = Recorder(folder, RecordingSettings(spare_bytes=0), warn=pytest.fail)
        self.sends: dict[int, Callable[[bytes], None]] = {}
        self._now_ns = bag.start_ns
        for row, topic in enumerate(bag.topics):
            definition = MessageDefinition(topic.definition, topic.type_hash)
            send = self.recorder.advertise(Topic(topic.name, topic.type, topic.qos[0]), definition, topic.qos)
            self.sends[row] = lambda data, send=send: send(self._now_ns, data)  # type: ignore[misc]

    def clock(self, time_ns: int) -> None:
        self._now_ns = time_ns
        self.recorder.commit(time_ns)

    def ready(self) -> bool:
        return True

    def delivered(self) -> bool:
        return True

    def warn(self, text: str) -> None:
        pytest.fail(text)


def replayed(bag: Bag, folder: Path) -> None:
    target = Again(bag, folder)
    target.recorder.open()
    player = Player(Playback(bag, topics=[topic.name for topic in bag.topics]), target, rate=0.0, clock_rate=1000.0)
    ended = threading.Event()
    player.start(ended=ended.set)
    assert ended.wait(PATIENCE)
    player.stop()
    target.recorder.close()


def data_of(bag: Bag) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for message in bag.messages():
        found[bag.topics[message.topic].name].append(message.data)
    return found


def stamps(message: Any) -> Iterable[tuple[str, int]]:
    """Each frame's stamp, or that of the whole."""
    for each in getattr(message, "transforms", [message]):
        if hasattr(each, "header"):
            yield getattr(each, "child_frame_id", ""), each.header.stamp.sec * 10**9 + each.header.stamp.nanosec
        if hasattr(each, "clock"):
            yield "", each.clock.sec * 10**9 + each.clock.nanosec


# Worlds differ in their topics: these have all kinds of sensors, joints, telemetry of none.
@pytest.mark.parametrize("world", rows(shipped_worlds(), usual=("orbit", "sensor_rig")))
def test_a_replay_of_each_shipped_world_is_recorded_as_it_was(world: str, tmp_path: Path) -> None:
    assert record(world, tmp_path / "one", seconds=SECONDS) == []
    with open_bag(tmp_path / "one") as one:
        replayed(one, tmp_path / "two")
        with open_bag(tmp_path / "two") as two:
            assert one.count == two.count > 0
            assert [(topic.name, topic.type, topic.qos, topic.count) for topic in one.topics] == [
                (topic.name, topic.type, topic.qos, topic.count) for topic in two.topics
            ]
            assert data_of(one) == data_of(two)
            for bag in (one, two):
                assert_forward(bag)


def assert_forward(bag: Bag) -> None:
    """As the messages lie in time, and as they are stamped."""
    reported: dict[tuple[str, str], list[int]] = defaultdict(list)
    decoders = [Decoder(topic) for topic in bag.topics]
    for message in bag.messages():
        name = bag.topics[message.topic].name
        reported[name, "time"].append(message.time_ns)
        if bag.topics[message.topic].type.rpartition("/")[2] == "MarkerArray":
            continue
        for frame, stamp in stamps(decoders[message.topic](message.data)):
            reported[name, f"stamp {frame}"].append(stamp)
    for what, times in reported.items():
        assert all(before <= after for before, after in pairwise(times)), what
