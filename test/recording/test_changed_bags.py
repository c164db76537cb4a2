"""Bags of runs whose world changes: recorded by a session, read by others' readers, replayed, looked up and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from changing import yard
from mcap.reader import make_reader
from nightly import rows
from recorded_runs import sinks_into
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from sim_node.assembly import assemble
from sim_node.cli.main import main
from sim_node.messages.tf_message_reader import Unreadable
from sim_node.messages.topic import SENSOR_DATA, Topic
from sim_node.recording.bag import Bag
from sim_node.recording.changes import WorldChanges, change_times, recorded_worlds
from sim_node.recording.frames import BagFrames
from sim_node.recording.opening import open_bag
from sim_node.recording.playback import Playback
from sim_node.recording.recorder import Recorder
from sim_node.recording.settings import RecordingSettings, from_options
from sim_node.recording.worlds import attachments_of
from sim_node.session import Session
from sim_node.session.bag_world import sources_of_bag
from sim_node.simulation import Loop, Simulation
from sim_node.simulation.physics.mujoco_model import compile_model
from sim_node.viewing.shapes import shapes_of
from sim_node.world import World, lay_out, load
from sim_node.world.bodies import Body, Marker
from sim_node.world.locate import shipped_worlds
from sim_node.world.shapes import Geometry

SMALL = RecordingSettings(spare_bytes=0)
# The world from each second on.
STATES = ((), ("table", "table/IMU", "arm", "free load"), ("load on the ball",))
NS = 10**9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second of each state."""
    bag = tmp_path_factory.mktemp("changed") / "bag"
    with Session(yard(*STATES[0]), record=bag, recording=SMALL, real_time_factor=0.0) as session:
        for number, state in enumerate(STATES):
            if number:
                session.loop.change(yard(*state))
            session.run(1.0)
    return bag


@pytest.fixture
def bag(folder: Path) -> Iterator[Bag]:
    with open_bag(folder) as opened:
        yield opened


def test_other_readers_find_the_topics_of_each_world_while_it_lasted(folder: Path) -> None:
    with AnyReader([folder], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        times: dict[str, list[float]] = {}
        for connection, time_ns, data in reader.messages():
            times.setdefault(connection.topic, []).append(time_ns / NS)
            reader.deserialize(data, connection.msgtype)
        assert times["/ball/imu/data_raw"] == pytest.approx(np.arange(301) / 100)
        assert len(times["/table/imu/data_raw"]) in (50, 51)
        assert all(1.0 <= each <= 2.0 for each in times["/table/imu/data_raw"])
        assert times["/arm/robot_description"] == [1.0]
        assert times["/tf_static"] == times["/simulation/markers"] == [0.0, 1.0, 2.0]
        qos = {each.topic: each.ext.offered_qos_profiles for each in reader.connections}
        assert len(qos["/tf_static"]) == 1
    with (folder / "bag_0.mcap").open("rb") as file:
        attached = {each.name: each.log_time for each in make_reader(file).iter_attachments()}
    assert {name: at for name, at in attached.items() if name.endswith(".yaml")} == {
        "world/yard.yaml": 0,
        "changes/1.yaml": NS,
        "changes/2.yaml": 2 * NS,
    }


def test_each_world_is_in_the_bag_with_its_time(bag: Bag) -> None:
    assert change_times(bag) == (NS, 2 * NS)
    with recorded_worlds(bag) as worlds:
        assert worlds.times_ns == (0, NS, 2 * NS)
        for place, state in enumerate(STATES):
            expected = Simulation(yard(*state)).world
            again = worlds[place]
            assert again is not None
            assert lay_out(again).frames.names == lay_out(expected).frames.names
            assert lay_out(again).poses == pytest.approx(lay_out(expected).poses)
            assert len(shapes_of(again, lay_out(again).frames)) == len(shapes_of(expected, lay_out(expected).frames))


def test_the_frames_of_a_time_are_those_of_its_world(bag: Bag) -> None:
    eras = BagFrames(bag, Unreadable(pytest.fail))
    for seconds, state in ((0.5, STATES[0]), (1.0, STATES[1]), (1.9, STATES[1]), (2.5, STATES[2])):
        table, expected = eras.era_at(round(seconds * NS)).table, lay_out(yard(*state)).frames
        assert set(table.names) == set(expected.names)
        assert {name: table.parent_path(name) for name in table.names} == {
            name: expected.parent_path(name) for name in expected.names
        }


def test_a_lookup_finds_a_load_where_it_was_at_the_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for at, target, expected in (("1.5", "map", [0.0, 5.0, 20.0 - 0.5 * 9.81 * 0.25]), ("2.5", "ball", [0, 0, -0.3])):
        assert main(["lookup", str(folder), target, "load", "--at", at, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        # Euler's method with steps of 10 ms.
        assert found["translation"] == pytest.approx(expected, abs=0.03)
    assert main(["lookup", str(folder), "map", "arm", "--at", "2.5"]) == 2
    assert "arm" in capsys.readouterr().err


def test_the_tree_of_a_time_has_the_frames_of_its_world(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for at, state in ((0.5, STATES[0]), (1.5, STATES[1]), (2.5, STATES[2])):
        assert main(["tree", str(folder), "--at", str(at), "--json"]) == 0
        assert set(json.loads(capsys.readouterr().out)) == set(lay_out(yard(*state)).frames.names)


def test_a_replay_from_any_time_begins_with_what_late_subscribers_need(bag: Bag) -> None:
    playback = Playback(bag, topics=[topic.name for topic in bag.topics])
    recorded = {(bag.topics[each.topic].name, each.time_ns): each.data for each in bag.messages()}
    for seconds in (0.5, 1.5, 2.5):
        before = {bag.topics[each.topic].name: each.data for each in playback.before(round(seconds * NS))}
        assert before["/simulation/markers"] == recorded["/simulation/markers", int(seconds) * NS]
        assert ("/arm/robot_description" in before) == (seconds > 1.0)
    sent = [bag.topics[each.topic].name for each in playback.after(0)]
    assert sent.count("/simulation/markers") == 3


def test_rendered_poses_change_over_to_the_next_world(bag: Bag) -> None:
    with sources_of_bag(bag, lambda topics: bag.messages(topics), Unreadable(pytest.fail)) as sources:
        assert [(source.start_ns, source.end_ns) for source in sources] == [
            (0, NS - 1),
            (NS, 2 * NS - 1),
            (2 * NS, 3 * NS),
        ]
        for source, state in zip(sources, STATES, strict=True):
            names = lay_out(source.world).frames.names
            assert set(names) == set(lay_out(yard(*state)).frames.names)
            (poses,) = source.poses([source.start_ns + NS // 2])
            if "load" in names:
                expected = -0.3 if "load on the ball" in state else 20.0 - 0.5 * 9.81 * 0.25
                assert poses[names.index("load"), 2] + (
                    poses[names.index("load/joint"), 2] if "load/joint" in names else 0
                ) == pytest.approx(expected, abs=0.03)


def test_a_reset_returns_to_the_first_world_in_the_bag_too(tmp_path: Path) -> None:
    with Session(yard(), record=tmp_path / "bag", recording=SMALL, real_time_factor=0.0) as session:
        session.run(0.5)
        session.loop.change(yard("table"))
        session.run(0.5)
        session.loop.reset()
    with open_bag(tmp_path / "bag") as bag, recorded_worlds(bag) as worlds:
        assert worlds.times_ns == (0, 0, NS // 2)
        assert [[body.name for body in (worlds[k] or yard()).bodies] for k in range(3)][1] == ["floor", "ball"]


# Takes seconds: make test has split bags in test_recorder.py.
@pytest.mark.nightly
def test_a_split_bag_and_one_in_snapshot_mode_keep_their_worlds(tmp_path: Path) -> None:
    for options in ({"split_duration": 0.4}, {"snapshot": 0.3}):
        folder = tmp_path / "_".join(options)
        recorder = Recorder(folder, from_options(options), attachments_of(yard(), 0, False), warn=pytest.fail)
        loop = Loop(Simulation(yard()), sinks_into(recorder), paused=True)
        loop.start()
        loop.step(50)
        loop.change(yard("arm"))
        loop.step(50)
        loop.change(yard())
        loop.step(50)
        if "snapshot" in options:
            recorder.snapshot()
        loop.stop()
        with open_bag(folder) as bag, recorded_worlds(bag) as worlds:
            assert worlds.times_ns[1:] == (NS // 2, NS)
            assert all(worlds[place] is not None for place in range(3))
        files = yaml.safe_load((folder / "metadata.yaml").read_text())["rosbag2_bagfile_information"]["files"]
        last = folder / files[-1]["path"]
        with last.open("rb") as file:
            latched = [channel.topic for _, channel, _ in make_reader(file).iter_messages(["/arm/robot_description"])]
        assert not latched, "its publisher has ended"


def test_publishers_of_a_topic_one_after_the_other_are_one(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "bag", SMALL, warn=pytest.fail)
    sinks = sinks_into(recorder)
    worlds = [Simulation(yard("table", "table/IMU")), Simulation(yard())]
    for number in range(12):
        for sink in sinks:
            sink.open(worlds[number % 2].world, worlds[number % 2].frames)
        snapshot = worlds[number % 2].snapshot()
        for sink in sinks:
            sink.write(type(snapshot)(number * NS, snapshot.poses, snapshot.measurements, snapshot.columns))
    recorder.close()
    with open_bag(tmp_path / "bag") as bag:
        (topic,) = [topic for topic in bag.topics if topic.name == "/table/imu/data_raw"]
        assert len(topic.qos) == 1
        assert len(change_times(bag)) == 11
    with (tmp_path / "bag" / "bag_0.mcap").open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    assert len(summary.channels) == len({channel.topic for channel in summary.channels.values()})


def test_a_topic_of_another_type_is_refused_beforehand(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "bag", SMALL, warn=pytest.fail)
    recorder.advertise(Topic("range", "sensor_msgs/msg/Range", SENSOR_DATA))
    assert recorder.refuses(Topic("range", "sensor_msgs/msg/Range", SENSOR_DATA)) is None
    reason = "the recording cannot follow: /range is sensor_msgs/msg/Range, and cannot be sensor_msgs/msg/Imu too"
    assert recorder.refuses(Topic("range", "sensor_msgs/msg/Imu", SENSOR_DATA)) == reason


URDF = (
    '<robot name="r"><link name="base"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
)
MJCF = '<mujoco model="m"><worldbody><body name="box"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'


def test_a_world_with_loops_and_spawned_texts_is_in_its_bag(tmp_path: Path) -> None:
    """MuJoCo's model of it has what four_bar has, the loop's constraint and the pairs that do not touch, and boxes."""
    warned: list[str] = []
    bag_path = tmp_path / "bag"
    with Session("four_bar", record=bag_path, recording=SMALL, real_time_factor=0.0, warn=warned.append) as session:
        began = session.simulation.world
        for place, text in enumerate((URDF, MJCF, MJCF)):
            session.run(0.1)
            session.structure.spawn(f"spawned{place}", text=text, pose=((0.0, 9.0 + place, 9.0), (0.0, 0.0, 0.0, 1.0)))
        session.run(0.1)
        ended = lay_out(session.simulation.world).frames.names
    assert warned == []
    with open_bag(tmp_path / "bag") as bag, recorded_worlds(bag) as worlds:
        assert len(worlds) == 4
        last = worlds[3]
        assert last is not None
        assert lay_out(last).frames.names == ended
        one, other = (compile_model(each, lay_out(each)).model for each in (began, last))
        assert (one.neq, one.nexclude) == (other.neq, other.nexclude) != (0, 0)
        assert other.nbody == one.nbody + 3
        assert other.eq_data == pytest.approx(one.eq_data)
        assert len({each.name for each in bag.attachments() if each.name.endswith(".xml")}) == 2


@pytest.mark.parametrize("name", rows(shipped_worlds(), ("all_joints", "formation", "lidar_room")))
def test_every_shipped_world_could_be_recorded_as_a_change(name: str, tmp_path: Path) -> None:
    world = assemble(load(name))
    attached, notes = WorldChanges().attachments(world)
    assert not any("is not recorded" in note for note in notes)
    for each in attached:
        (tmp_path / each.name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each.name).write_bytes(each.data)
    again = load(tmp_path / "changes" / "1.yaml")
    assert again.loop_closures == world.loop_closures
    assert again.contact_exclusions == world.contact_exclusions
    assert lay_out(again).frames.names == lay_out(world).frames.names
    assert lay_out(again).poses == pytest.approx(lay_out(world).poses, abs=1e-9)


def test_what_a_later_world_is_recorded_without_is_told_once() -> None:
    """x_xy's markers, colours of outlines and ranges of positions have no words in world files."""
    ball = Geometry("sphere", np.array([0.1]), mass=1.0, edge_colour="black")
    plain = Body("b", "map", "free", geometry=(replace(ball, edge_colour=None),))
    full = replace(
        plain,
        geometry=(ball,),
        marker=Marker("m", 1),
        position_range=np.array([[0.0, 0, 0], [1, 1, 1]]),
        draws_axes=True,
    )
    changes = WorldChanges()
    assert changes.attachments(World("w", bodies=(plain,)))[1] == []
    attached, notes = changes.attachments(World("w", bodies=(full,)))
    left_out = ["ranges of positions", "the drawing of axes", "markers", "colours of outlines"]
    assert notes == [f"is recorded without {', '.join(left_out)}, which no run uses"]
    assert json.loads(attached[0].data)["left_out"] == left_out
    assert [each.name for each in attached] == ["changes/2.json", "changes/2.yaml"]
    again, silent = changes.attachments(World("w", bodies=(full,)))
    assert silent == []
    assert json.loads(again[0].data)["left_out"] == left_out
