"""Recordings: files, latched messages, limits, snapshots; read by other libraries."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcap.reader import make_reader
from mcap.writer import Writer
from recorded_runs import Read, files, messages, record, run, sinks_into
from rosbags.rosbag2 import Reader
from waiting import PATIENCE

from sim_node.cli.recording import snapshots_on_signal
from sim_node.interrupt import Interrupt
from sim_node.messages.topic import LATCHED, Qos, Topic
from sim_node.recording.bag import BagError, RecordingStopped
from sim_node.recording.channels import MAX_NOTES, RecordedTopic
from sim_node.recording.definitions import definition_of
from sim_node.recording.metadata import BagInformation, FileInformation, TopicInformation, channel_metadata
from sim_node.recording.metadata import write as write_metadata
from sim_node.recording.opening import open_bag
from sim_node.recording.qos import OFFERED
from sim_node.recording.recorder import Recorder
from sim_node.recording.repair import repair
from sim_node.recording.settings import RecordingSettings
from sim_node.recording.writer import BagWriter
from sim_node.session.publishing import Publishing, published
from sim_node.simulation import Loop, Simulation
from sim_node.world import load
from sim_node.world.locate import shipped_worlds

SECOND = 1_000_000_000
NUMBERS = Topic("/numbers", "std_msgs/msg/Float64", Qos())
MAP = Topic("map", "std_msgs/msg/String", LATCHED)


def recorder(folder: Path, **settings: Any) -> tuple[Recorder, list[str]]:
    reported: list[str] = []
    made = Recorder(folder, RecordingSettings(**{"spare_bytes": 0, **settings}), warn=reported.append)
    return made, reported


def filled(folder: Path, times_ns: Sequence[int] | range, size: int = 100, **settings: Any) -> list[str]:
    """A bag of a latched message and one number at each time."""
    made, reported = recorder(folder, **settings)
    send_map, send = made.advertise(MAP), made.advertise(NUMBERS)
    made.open()
    for row, time_ns in enumerate(times_ns):
        send(time_ns, os.urandom(size))
        if row == 0:
            send_map(time_ns, b"the map")
        made.commit(time_ns)
    made.close()
    return reported


def test_each_file_begins_with_what_is_latched(tmp_path: Path) -> None:
    filled(tmp_path / "bag", range(0, 10 * SECOND, SECOND // 10), split_ns=3 * SECOND)
    parts = [messages(path) for path in files(tmp_path / "bag")]
    assert [part[0] for part in parts] == [Read("/map", begin * SECOND, b"the map") for begin in (0, 3, 6, 9)]
    numbers = [message.time_ns for part in parts for message in part if message.topic == "/numbers"]
    assert numbers == list(range(0, 10 * SECOND, SECOND // 10))


def test_each_publisher_of_a_latched_topic_is_received_in_each_file(tmp_path: Path) -> None:
    """As /tf_static of several vehicles: one topic, depth 1 each."""
    made, _ = recorder(tmp_path / "bag", split_ns=SECOND)
    sends = [made.advertise(MAP) for _ in range(3)]
    numbers = made.advertise(NUMBERS)
    made.open()
    for row, send in enumerate(sends):
        send(0, b"map %d" % row)
    made.commit(0)
    numbers(SECOND, b"")
    made.commit(SECOND)
    made.close()
    second = messages(files(tmp_path / "bag")[1])
    assert [message.data for message in second if message.topic == "/map"] == [b"map 0", b"map 1", b"map 2"]


def test_patterns_without_a_match_are_reported_once_and_fail_at_the_end(tmp_path: Path) -> None:
    """Names, globs and expressions; excluded topics match, and so does one that comes after the first report."""
    patterns = ("/numbrs", "/num*", "re:/ma.", "/drone/*", "/later")
    made, reported = recorder(tmp_path / "bag", topics=patterns, exclude=("/numbers", "/mapp"))
    made.advertise(MAP), made.advertise(NUMBERS)
    made.open()
    assert reported == []
    made.advertise(Topic("/later", NUMBERS.type, Qos()))
    made.report_unmatched()
    made.report_unmatched()
    lacking = f"{tmp_path / 'bag'}: lacks topics: nothing has matched /numbrs /drone/*"
    with pytest.raises(RecordingStopped) as stopped:
        made.close()
    assert str(stopped.value) == lacking
    assert reported == [
        "recording: no topic matches /numbrs; did you mean /numbers?",
        "recording: no topic matches /drone/*; there are /later, /map, /numbers",
        "recording: no topic to exclude matches /mapp; did you mean /map?",
        lacking,
    ]


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"topics": ("/tf", "/tff")}, "no topic matches /tff; did you mean /tf?"),
        ({"topics": ("/nothing/*", "re:/none.*")}, "no topic matches /nothing/*; there are /clock, "),
        ({"exclude": ("/*",)}, "--exclude leaves no topic to record; there are /clock, "),
        ({"topics": ("/tf",), "exclude": ("/tf",)}, "--exclude leaves no topic to record; there are /clock, "),
    ],
)
def test_a_run_without_the_topics_that_it_is_asked_for_is_refused(
    settings: dict[str, Any], line: str, tmp_path: Path
) -> None:
    with pytest.raises(BagError, match=re.escape(line)):
        record("orbit", tmp_path / "bag", RecordingSettings(spare_bytes=0, **settings))
    assert not (tmp_path / "bag").exists()


def test_a_pattern_of_a_run_may_match_what_comes_later(tmp_path: Path) -> None:
    """Its bag is complete, and its end tells of the pattern that nothing has matched."""
    with pytest.raises(RecordingStopped, match=r"nothing has matched /later/\*$"):
        record("orbit", tmp_path / "bag", RecordingSettings(spare_bytes=0, topics=("/tf*", "/later/*")))
    with Reader(tmp_path / "bag") as reader:
        assert set(reader.topics) == {"/tf", "/tf_static"}


def test_a_snapshot_that_is_asked_for_early_is_written_once_it_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIGUSR1 would end the process where nothing handles it."""
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGUSR1)
        made, _ = recorder(tmp_path / "bag", snapshot_ns=SECOND)
        send = made.advertise(NUMBERS)
        made.open()
        send(0, b"12345678")
        made.commit(0)
        with snapshots_on_signal(made, interrupt):
            for thread in threading.enumerate():
                if thread.name == "snapshot":
                    thread.join(PATIENCE)
        made.close()
    assert capsys.readouterr().out == f"snapshot: 1 messages to {tmp_path / 'bag'}\n"
    assert made.kept == 1


def test_all_messages_of_a_bag_have_times_of_the_clock_that_stamps_are_of(tmp_path: Path) -> None:
    """Where that is not the simulation's: also latched messages, markers, paths, scene graphs, rotors."""
    year_2033 = 2_000_000_000 * SECOND
    how = Publishing(stamp=lambda at_ns: year_2033 + at_ns, clock=False, scene_graph_rate=10.0, rotor_frame_rate=10.0)
    published_types: set[str] = set()
    for world in ("quadrotor", "sensor_rig"):
        made, _ = recorder(tmp_path / world)
        simulation = Simulation(load(world))
        run(Loop(simulation, published(how, made).sinks, real_time_factor=0.0, duration_ns=SECOND))
        simulation.close()
        with Reader(tmp_path / world) as reader:
            assert year_2033 <= reader.start_time < reader.end_time <= year_2033 + 2 * SECOND
            published_types |= {each.msgtype for each in reader.connections}
    assert {"nav_msgs/msg/Path", "visualization_msgs/msg/MarkerArray", "std_msgs/msg/String"} <= published_types


RELIABLE, EFFORT = Qos(), Qos(reliability="best_effort")


def recorded(*offered: Qos, name: str = "/numbers") -> RecordedTopic:
    return RecordedTopic(name, NUMBERS.type, definition_of(NUMBERS.type), offered)


def with_late_publishers(folder: Path) -> list[tuple[int, bytes]]:
    """A bag of two files, in whose first two publishers of a topic come late; what was sent on it."""
    writer = BagWriter(folder, RecordingSettings(spare_bytes=0, split_ns=20 * SECOND))
    writer.open()
    offers = {0: (RELIABLE,), 2: (RELIABLE, RELIABLE), 4: (RELIABLE, EFFORT, RELIABLE), 6: (EFFORT, RELIABLE, RELIABLE)}
    writer.topics = [recorded(RELIABLE), recorded(RELIABLE, name="/other")]
    sent = [(row * SECOND, b"%08d" % row) for row in range(40)]
    for row, (time_ns, data) in enumerate(sent):
        if row in offers:
            writer.topics[0] = recorded(*offers[row])
        entries = [(1, time_ns, data), (2, time_ns, b"other")]
        if row == 5:
            writer.topics.append(recorded(RELIABLE, name="/later"))
            entries.append((3, time_ns, b"later"))
        writer.write(time_ns, entries)
    writer.close()
    return sent


def reliabilities(path: Path) -> list[list[str]]:
    """Of each channel of /numbers: what its publishers offer, as any reader of MCAP finds it."""
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    texts = [each.metadata["offered_qos_profiles"] for each in summary.channels.values() if each.topic == "/numbers"]
    return [[profile["reliability"] for profile in yaml.safe_load(text)] for text in texts]


def test_publishers_that_come_late_are_noted_in_the_file(tmp_path: Path) -> None:
    """A channel is never written again: it has the first publisher in all files, and our own record has the others."""
    with_late_publishers(tmp_path / "bag")
    first, second = files(tmp_path / "bag")
    assert reliabilities(first) == reliabilities(second) == [["reliable"]]
    for path, count in ((first, 20), (second, 20), (tmp_path / "bag", 40)):
        with open_bag(path) as bag:
            [topic] = [topic for topic in bag.topics if topic.name == "/numbers"]
            assert Counter(topic.qos) == {RELIABLE: 2, EFFORT: 1}
            assert topic.count == count
            assert not bag.damage


def test_publishers_of_a_file_without_an_end_are_known(tmp_path: Path) -> None:
    """As after a kill: the record is in the file as soon as a message of the publisher is."""
    with_late_publishers(tmp_path / "bag")
    whole = files(tmp_path / "bag")[0]
    (tmp_path / "cut.mcap").write_bytes(whole.read_bytes()[:-100])
    with open_bag(tmp_path / "cut.mcap") as bag:
        [topic] = [topic for topic in bag.topics if topic.name == "/numbers"]
        assert Counter(topic.qos) == {RELIABLE: 2, EFFORT: 1}


def with_channels(folder: Path) -> list[tuple[int, bytes]]:
    """A bag of two files whose topic has a channel for each set of publishers, as earlier versions wrote it."""
    folder.mkdir()
    sent = [(row * SECOND, b"%08d" % row) for row in range(40)]
    text, type_hash = definition_of(NUMBERS.type)
    listed = []
    offered_in: tuple[list[tuple[Qos, ...]], ...] = ([(RELIABLE,), (RELIABLE, EFFORT)], [(EFFORT, RELIABLE)])
    for number, offers in enumerate(offered_in):
        with (folder / f"bag_{number}.mcap").open("wb") as stream:
            writer = Writer(stream)
            writer.start("ros2")
            schema = writer.register_schema(NUMBERS.type, "ros2msg", text.encode())
            abouts = [TopicInformation("/numbers", NUMBERS.type, offered, type_hash) for offered in offers]
            channels = [writer.register_channel("/numbers", "cdr", schema, channel_metadata(each)) for each in abouts]
            for row, (time_ns, data) in enumerate(sent[20 * number : 20 * number + 20]):
                writer.add_message(channels[row * len(channels) // 20], time_ns, data, time_ns)
            writer.finish()
        listed += [(about, 20 // len(abouts)) for about in abouts]
    names = [FileInformation(f"bag_{number}.mcap", 0, 0, 20) for number in range(2)]
    write_metadata(folder, BagInformation(names, listed))
    return sent


@pytest.mark.parametrize("made", [with_late_publishers, with_channels])
@pytest.mark.parametrize("repaired", [False, True])
def test_readers_of_others_find_each_topic_once(
    made: Callable[[Path], list[tuple[int, bytes]]], repaired: bool, tmp_path: Path
) -> None:
    """`ros2 bag info` prints a line for each entry of metadata.yaml; for rosbags, channels need an entry equal to them.

    Bags of earlier versions had an entry for each set of publishers: `repair` makes it one.
    """
    folder = tmp_path / "bag"
    sent = made(folder)
    if repaired:
        folder = tmp_path / "again"
        repair(tmp_path / "bag", folder)
    about = yaml.safe_load((folder / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    names = [each["topic_metadata"]["name"] for each in about["topics_with_message_count"]]
    assert (len(names) == len(set(names))) == (repaired or made is with_late_publishers)
    with Reader(folder) as reader:
        assert [(at, data) for one, at, data in reader.messages() if one.topic == "/numbers"] == sent
        assert reader.topics["/numbers"].msgcount == 40
    with open_bag(folder) as bag:
        [topic] = [topic for topic in bag.topics if topic.name == "/numbers"]
        assert Counter(topic.qos) == {RELIABLE: 2 if made is with_late_publishers else 1, EFFORT: 1}
        assert topic.count == 40


def test_publishers_without_end_take_few_records(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", RecordingSettings(spare_bytes=0))
    writer.open()
    for row in range(3 * MAX_NOTES):
        writer.topics = [recorded(Qos(depth=row + 1))]
        writer.write(row, [(1, row, b"%08d" % row)])
    writer.close()
    [path] = files(tmp_path / "bag")
    with path.open("rb") as stream:
        names = Counter(record.name for record in make_reader(stream).iter_metadata())
    assert names == {"rosbag2": 1, OFFERED: MAX_NOTES}
    assert [message.data for message in messages(path)] == [b"%08d" % row for row in range(3 * MAX_NOTES)]


def test_files_are_split_by_size(tmp_path: Path) -> None:
    filled(tmp_path / "bag", range(0, SECOND, SECOND // 1000), size=1000, split_bytes=200_000, compression="none")
    sizes = [path.stat().st_size for path in files(tmp_path / "bag")]
    assert len(sizes) >= 5
    assert all(195_000 < size < 260_000 for size in sizes[:-1])


def test_time_that_goes_back_begins_a_file(tmp_path: Path) -> None:
    """A reset: in each file time only goes forward."""
    filled(tmp_path / "bag", [0, SECOND, 2 * SECOND, 0, SECOND])
    parts = [[m.time_ns for m in messages(path) if m.topic == "/numbers"] for path in files(tmp_path / "bag")]
    assert parts == [[0, SECOND, 2 * SECOND], [0, SECOND]]


def test_metadata_is_what_rosbag2_writes(tmp_path: Path) -> None:
    """Version 9, a file and its counts each; rosbags takes it, and finds what the files hold."""
    folder = tmp_path / "bag"
    filled(folder, range(0, 4 * SECOND, SECOND // 2), split_ns=2 * SECOND)
    about = yaml.safe_load((folder / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert (about["version"], about["storage_identifier"], about["message_count"]) == (9, "mcap", 10)
    assert about["relative_file_paths"] == ["bag_0.mcap", "bag_1.mcap"]
    assert [each["message_count"] for each in about["files"]] == [5, 5]
    assert [each["starting_time"]["nanoseconds_since_epoch"] for each in about["files"]] == [0, 2 * SECOND]
    assert about["duration"]["nanoseconds"] == 7 * SECOND // 2
    with Reader(folder) as reader:
        found = {each.topic: each for each in reader.connections}
        assert {name: each.msgcount for name, each in found.items()} == {"/map": 2, "/numbers": 8}
        [qos] = found["/map"].ext.offered_qos_profiles
        assert (qos.durability.name, qos.reliability.name, qos.depth) == ("TRANSIENT_LOCAL", "RELIABLE", 1)
        assert sum(1 for _ in reader.messages()) == 10


def test_the_record_in_a_file_tells_of_that_file(tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    filled(folder, range(0, 4 * SECOND, SECOND // 2), split_ns=2 * SECOND)
    with files(folder)[1].open("rb") as stream:
        [found] = [each for each in make_reader(stream).iter_metadata() if each.name == "rosbag2"]
    about = yaml.safe_load(found.metadata["serialized_metadata"])
    assert (about["version"], about["message_count"], about["relative_file_paths"]) == (9, 5, ["bag_1.mcap"])


def test_a_folder_that_is_there_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "precious").write_text("x")
    with pytest.raises(BagError, match="exists; a recording needs a new folder"):
        recorder(tmp_path / "bag")
    assert [path.name for path in (tmp_path / "bag").iterdir()] == ["precious"]


def test_nothing_is_made_before_it_opens(tmp_path: Path) -> None:
    made, _ = recorder(tmp_path / "bag")
    made.advertise(NUMBERS)
    assert not (tmp_path / "bag").exists()


def test_a_full_disk_stops_before_it_begins(tmp_path: Path) -> None:
    made, _ = recorder(tmp_path / "bag", spare_bytes=2**62)
    with pytest.raises(BagError, match=r"MB are free on the disk; .* MB must stay free"):
        made.open()
    assert not (tmp_path / "bag").exists()


# Takes seconds: make test has the world that goes with its bag, and files of a size.
@pytest.mark.nightly
def test_a_bag_keeps_to_its_size_and_is_whole(tmp_path: Path) -> None:
    """It stops before the limit, says so once, and is a bag like any other; the run goes on."""
    folder = tmp_path / "bag"
    reported = filled(
        folder, range(0, 100 * SECOND, SECOND // 100), size=400, max_bytes=1_000_000, split_ns=SECOND // 2
    )
    assert reported == ["recording stopped: the bag has reached its limit of 1000000 bytes (max_bytes)"]
    used = sum(path.stat().st_size for path in folder.iterdir())
    assert 800_000 < used <= 1_000_000
    with Reader(folder) as reader:
        numbers = [time_ns for connection, time_ns, _ in reader.messages() if connection.topic == "/numbers"]
    assert numbers == list(range(0, len(numbers) * SECOND // 100, SECOND // 100))


def test_of_a_batch_that_is_too_large_the_beginning_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    made, reported = recorder(folder, max_bytes=200_000, compression="none")
    send = made.advertise(NUMBERS)
    made.open()
    for time_ns in range(50):
        send(time_ns, bytes(10_000))
    made.commit(50)
    made.close()
    assert len(reported) == 1
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 200_000
    kept = [message.time_ns for message in messages(files(folder)[0])]
    assert kept == list(range(len(kept)))
    assert len(kept) >= 17


def test_a_run_may_end_with_its_recording(tmp_path: Path) -> None:
    full = threading.Event()
    settings = RecordingSettings(max_bytes=1_000_000, when_full="end", spare_bytes=0)
    made = Recorder(tmp_path / "bag", settings, warn=lambda why: full.set())
    send = made.advertise(NUMBERS)
    made.open()
    send(0, bytes(2_000_000))
    made.commit(0)
    assert full.wait(PATIENCE)
    send(1, b"")
    with pytest.raises(RecordingStopped, match="1000000 bytes"):
        made.commit(1)
    made.close()
    assert messages(files(tmp_path / "bag")[0]) == []


def test_a_disk_that_fails_is_reported_and_the_bag_stays_readable(tmp_path: Path) -> None:
    """A file system of 1 MB, made full by others."""
    mount = tmp_path / "small"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        with pytest.raises(RecordingStopped, match="messages are in the bag"):
            filled(mount / "bag", range(0, 40 * SECOND, SECOND // 100), size=1000, compression="none")
        assert len(messages(files(mount / "bag")[0])) > 500
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_snapshots_hold_the_last_seconds(tmp_path: Path) -> None:
    made, _ = recorder(tmp_path / "bag", snapshot_ns=2 * SECOND)
    send_map, send = made.advertise(MAP), made.advertise(NUMBERS)
    made.open()
    send_map(0, b"the map")
    for time_ns in range(0, 10 * SECOND, SECOND // 10):
        send(time_ns, b"early")
        made.commit(time_ns)
    assert files(tmp_path / "bag") == []
    assert made.snapshot() == 22
    assert made.snapshot() == 0
    for time_ns in range(10 * SECOND, 11 * SECOND, SECOND // 10):
        send(time_ns, b"late")
        made.commit(time_ns)
    made.snapshot()
    made.close()
    first, second = (messages(path) for path in files(tmp_path / "bag"))
    start = 79 * SECOND // 10
    assert first == [Read("/map", start, b"the map")] + [
        Read("/numbers", time_ns, b"early") for time_ns in range(start, 10 * SECOND, SECOND // 10)
    ]
    assert second == [Read("/map", 10 * SECOND, b"the map")] + [
        Read("/numbers", time_ns, b"late") for time_ns in range(10 * SECOND, 11 * SECOND, SECOND // 10)
    ]


def test_a_quiet_topic_is_with_the_system_within_a_second(tmp_path: Path) -> None:
    """Commits without messages: time goes on, and what came before is safe."""
    made, _ = recorder(tmp_path / "bag", compression="none")
    send = made.advertise(NUMBERS)
    made.open()
    send(0, b"first")
    made.commit(0)
    send(SECOND // 10, b"a message")
    made.commit(SECOND // 10)
    for row in range(2, 12):
        made.commit(row * SECOND // 10)
    assert b"a message" in files(tmp_path / "bag")[0].read_bytes()
    made.close()


def test_only_a_recording_in_snapshot_mode_gives_snapshots(tmp_path: Path) -> None:
    made, _ = recorder(tmp_path / "bag")
    made.open()
    with pytest.raises(RecordingStopped, match="not in snapshot mode"):
        made.snapshot()
    made.close()


def test_topics_that_are_left_out_are_not_there(tmp_path: Path) -> None:
    record("sensor_rig", tmp_path / "bag", RecordingSettings(topics=("/tf*",), exclude=("/tf_static",), spare_bytes=0))
    assert {message.topic for message in messages(files(tmp_path / "bag")[0])} == {"/tf"}


def test_times_before_zero_are_reported(tmp_path: Path) -> None:
    [line] = filled(tmp_path / "bag", [-SECOND])
    assert line.endswith("bag times must not be negative, found -1 s")


def test_the_world_goes_with_its_bag(tmp_path: Path) -> None:
    """All its files as they are, the seed, and what it ran on."""
    record("quadrotor", tmp_path / "bag", seed=7)
    with files(tmp_path / "bag")[0].open("rb") as stream:
        found = {each.name: each.data for each in make_reader(stream, validate_crcs=True).iter_attachments()}
    folder = shipped_worlds()["quadrotor"].parent
    assert set(found) == {"run.json", "world/quadrotor.yaml", "world/iris.yaml"}
    assert found["world/quadrotor.yaml"] == (folder / "quadrotor.yaml").read_bytes()
    about = json.loads(found["run.json"])
    assert (about["world"], about["seed"], about["randomised"]) == ("quadrotor", 7, False)
    assert set(about["files"]) == {"world/quadrotor.yaml", "world/iris.yaml"}
    assert "numpy" in about["versions"]


# Takes seconds: make test has the world that goes with its bag, and files of a size.
@pytest.mark.nightly
def test_a_recorded_world_runs_again_from_its_bag(tmp_path: Path) -> None:
    """What is attached gives the same bag."""
    record("formation", tmp_path / "bag")
    again = tmp_path / "again"
    with files(tmp_path / "bag")[0].open("rb") as stream:
        for each in make_reader(stream).iter_attachments():
            path = again / each.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(each.data)
    record(again / "world" / "formation.yaml", tmp_path / "second" / "bag")
    assert files(tmp_path / "bag")[0].read_bytes() == files(tmp_path / "second" / "bag")[0].read_bytes()


def test_a_reset_of_a_run_begins_a_file(tmp_path: Path) -> None:
    simulation = Simulation(load("orbit"))
    made, _ = recorder(tmp_path / "bag")
    loop = Loop(simulation, sinks_into(made), real_time_factor=0.0, paused=True)
    loop.start()
    loop.step(100)
    loop.reset()
    loop.step(50)
    loop.stop()
    clocks = [[m.time_ns for m in messages(path) if m.topic == "/clock"] for path in files(tmp_path / "bag")]
    assert [times[0] for times in clocks] == [0, 0]
    assert [len(times) for times in clocks] == [2, 2]


def test_a_slow_disk_holds_up_a_patient_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost: commits wait once much is on its way."""
    from sim_node.recording import recorder as module

    monkeypatch.setattr(module, "MAX_WAITING", 10_000)
    filled(tmp_path / "bag", range(0, 5 * SECOND, SECOND // 1000), size=1000)
    with Reader(tmp_path / "bag") as reader:
        assert sum(1 for _ in reader.messages()) == 5001


def test_what_an_impatient_recording_drops_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sim_node.recording import recorder as module

    monkeypatch.setattr(module, "MAX_WAITING", 10_000)
    made = Recorder(tmp_path / "bag", RecordingSettings(spare_bytes=0), warn=print, patient=False)
    send = made.advertise(NUMBERS)
    made.open()
    gate = threading.Event()
    made._waiting.append(lambda: gate.wait())  # type: ignore[arg-type]
    for time_ns in range(100):
        send(time_ns, bytes(1000))
        made.commit(time_ns)
    gate.set()
    made.close()
    assert made.dropped > 0
    assert made.kept + made.dropped == 100
    assert len(messages(files(tmp_path / "bag")[0])) == made.kept


def test_a_run_in_several_files_is_the_same_each_time(tmp_path: Path) -> None:
    """The same folder, whatever its threads did meanwhile."""
    for name in ("a", "b"):
        record("two_vehicles", tmp_path / name / "bag", RecordingSettings(split_ns=SECOND // 4, spare_bytes=0))
    first, second = (sorted((tmp_path / name / "bag").iterdir()) for name in ("a", "b"))
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
