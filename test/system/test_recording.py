"""Recording as people start it: the command and the nodes, beside what is heard on the graph."""

from __future__ import annotations

import itertools
import signal
import struct
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
import rclpy.qos as ros_qos
from forked_programs import finished, program
from listening import listener
from mcap.reader import make_reader
from on_disk import on_disk
from processes import Program, sim_node
from rclpy.serialization import deserialize_message
from recordings import EXCERPT
from rosbags.rosbag2 import Reader
from std_msgs.msg import Int64, String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from sim_node.recording.opening import open_bag

LATCHED = ros_qos.QoSProfile(depth=1, durability=ros_qos.DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = ros_qos.QoSProfile(depth=1000)


def by_topic(folder: Path) -> dict[str, list[bytes]]:
    found = defaultdict(list)
    for path in sorted(folder.glob("*.mcap")):
        with path.open("rb") as stream:
            for _, channel, message in make_reader(stream, validate_crcs=True).iter_messages(log_time_order=False):
                found[channel.topic].append(message.data)
    return found


def ended(running: Program, code: int = 0) -> None:
    assert running.stop() == code, running.output


@pytest.mark.usefixtures("ros_domain")
def test_a_node_and_a_run_without_ros_record_the_same(tmp_path: Path) -> None:
    """The bytes of every message of two simulated seconds, topic by topic."""
    for how, folder in (["--no-ros"], "alone"), ([], "node"):
        command = sim_node("run", "quadrotor", "--speed", "max", "--duration", "2", "--record", tmp_path / folder, *how)
        code, output = finished(command)
        assert code == 0, output
        assert f"messages to {tmp_path / folder}" in output
    alone, node = by_topic(tmp_path / "alone"), by_topic(tmp_path / "node")
    assert {"/clock", "/tf", "/tf_static", "/drone/imu/data_raw", "/drone/truth/odom"} <= set(alone)
    assert alone == node


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("messages", ["serialised", pytest.param("typed", marks=pytest.mark.upstream)])
def test_what_is_received_is_what_is_recorded(tmp_path: Path, messages: str) -> None:
    """Raw /tf as a subscriber gets it is an unbroken part of the bag's."""
    folder = tmp_path / "bag"
    command = sim_node("run", "orbit", "--record", folder, "--ros-args", "-p", f"tf_messages:={messages}")
    with program(command) as node, listener() as ears:
        got: list[bytes] = []
        ears.node.create_subscription(TFMessage, "/tf", got.append, RELIABLE, raw=True)
        ears.spin_until(lambda: len(got) >= 30, what=node.output)
        ended(node)
    # As messages: rclpy pads those that are sent as objects in its own way.
    recorded = [deserialize_message(data, TFMessage) for data in by_topic(folder)["/tf"]]
    received = [deserialize_message(data, TFMessage) for data in got]
    first = recorded.index(received[0])
    assert recorded[first : first + len(received)] == received


@pytest.mark.parametrize("how", [["--no-ros"], []])
@pytest.mark.usefixtures("ros_domain")
def test_a_folder_that_is_there_is_refused(tmp_path: Path, how: list[str]) -> None:
    (tmp_path / "precious").write_text("x")
    command = sim_node("run", "orbit", "--duration", "1", "--record", tmp_path, *how)
    code, output = finished(command)
    assert code == 2
    assert "exists; a recording needs a new folder" in output
    assert "Traceback" not in output
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split-size", "5"], "--split-size requires --record DIR"),
        (["--record", "DIR", "--record-topics", "re:("], "is not a regular expression"),
        (["--record", "DIR", "--max-disk", "-1"], "--max-disk: -1: a number above zero, up to 1e+12, is needed"),
        (["--record", "DIR", "--max-disk", "0.01"], "at least 100000 bytes are needed"),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, arguments: list[str], message: str) -> None:
    given = [str(tmp_path / "bag") if each == "DIR" else each for each in arguments]
    code, output = finished(sim_node("run", "orbit", "--no-ros", *given))
    assert (code, message in output) == (2, True), output
    assert not (tmp_path / "bag").exists()


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("how", [["--no-ros"], []])
def test_a_misspelt_topic_of_a_run_is_refused(tmp_path: Path, how: list[str]) -> None:
    command = sim_node("run", "orbit", "--duration", "1", "--speed", "max", "--record", tmp_path / "bag", *how)
    command += ["--topics", "/tff", "/tf*"]
    code, output = finished(command)
    assert code == 2, output
    assert output.count("no topic matches") == 1
    assert f"{tmp_path / 'bag'}: no topic matches /tff; did you mean /tf?" in output
    assert not (tmp_path / "bag").exists()


@pytest.mark.usefixtures("ros_domain")
def test_a_misspelt_topic_of_a_graph_is_reported_and_fails_at_the_end(tmp_path: Path) -> None:
    """What has only subscriptions is there, and is not misspelt."""
    with listener("talker") as ears:
        ears.node.create_publisher(String, "/map_name", LATCHED)
        ears.subscribe(String, "/commands", RELIABLE)
        with program(sim_node("record", tmp_path / "bag", "--live", "/map_nam", "/map_*", "/commands")) as node:
            node.wait_for("recording /map_name")
            node.wait_for("recording: no topic matches /map_nam; did you mean /map_name?")
            ended(node, code=1)
    assert node.output.count("no topic matches") == 1
    assert f"{tmp_path / 'bag'}: lacks topics: nothing has matched /map_nam\n" in node.output


# Takes seconds: make test has snapshots in test/recording/test_recorder.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_snapshots_on_a_service_and_on_a_signal(tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    with program(sim_node("run", "orbit", "--record", folder, "--snapshot", "0.5")) as node, listener() as ears:
        received = ears.subscribe(TFMessage, "/tf", RELIABLE)
        ears.spin_until(lambda: len(received) > 60, what=node.output)
        reply = ears.call(Trigger, "/simulation/snapshot", Trigger.Request())
        assert reply.success, reply.message
        assert f"messages to {folder}" in reply.message
        before = len(received)
        ears.spin_until(lambda: len(received) > before + 20, what="what the next snapshot has")
        node.process.send_signal(signal.SIGUSR1)
        node.wait_for("snapshot:")
        ended(node)
    found = by_topic(folder)
    assert len(list(folder.glob("*.mcap"))) == 2
    assert len(found["/tf_static"]) == 2
    assert 30 <= len(found["/tf"]) < 90


@pytest.mark.usefixtures("ros_domain")
def test_a_run_ends_with_its_recording_where_asked(tmp_path: Path) -> None:
    command = sim_node("run", "quadrotor", "--no-ros", "--speed", "max", "--record", tmp_path / "bag")
    command += ["--max-disk", "0.3", "--when-full", "end"]
    code, output = finished(command)
    assert code == 1
    assert output.count("recording stopped: the bag has reached its limit of 300000 bytes") == 1
    assert sum(path.stat().st_size for path in (tmp_path / "bag").iterdir()) <= 300_000
    with Reader(tmp_path / "bag") as reader:
        assert reader.message_count > 100


@pytest.mark.usefixtures("ros_domain")
def test_telemetry_is_recorded_by_the_bridge(tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    command = sim_node("bridge", "--tlog", EXCERPT, "--speed", "max", "--ros-args", "-p", f"record:={folder}")
    code, output = finished(command)
    assert code == 0, output
    with Reader(folder) as reader:
        found = {each.topic: each.msgtype for each in reader.connections if each.msgcount}
    assert found["/vehicle1/imu/data"] == "sensor_msgs/msg/Imu"
    assert found["/tf_static"] == "tf2_msgs/msg/TFMessage"


def numbers_on_disk(folder: Path) -> list[int]:
    """The Int64s that a recording has kept so far."""
    return [struct.unpack_from("<q", data, 4)[0] for data in on_disk(folder) if len(data) == 12]


@pytest.mark.usefixtures("ros_domain")
def test_a_live_graph_is_recorded_as_it_is(tmp_path: Path) -> None:
    """A latched topic from before, one that comes later, best effort; bytes, types and QoS of the publishers."""
    folder = tmp_path / "bag"
    with listener("talker") as ears:
        ears.node.create_publisher(String, "/map_name", LATCHED).publish(String(data="yard"))
        with program(sim_node("record", folder, "--live", "--exclude", "/rosout", "/parameter_events")) as node:
            node.wait_for("recording /map_name")
            profile = ros_qos.QoSProfile(depth=50, reliability=ros_qos.ReliabilityPolicy.BEST_EFFORT)
            numbers = ears.node.create_publisher(Int64, "/later/number", profile)
            node.wait_for("recording /later/number")
            count = itertools.count()
            ears.node.create_timer(0.01, lambda: numbers.publish(Int64(data=next(count))))
            ears.spin_until(lambda: len(numbers_on_disk(folder)) >= 20, what=node.output)
            ended(node)
    found = by_topic(folder)
    assert set(found) == {"/map_name", "/later/number"}
    assert [deserialize_message(data, String).data for data in found["/map_name"]] == ["yard"]
    recorded = [struct.unpack_from("<q", data, 4)[0] for data in found["/later/number"]]
    assert len(recorded) >= 20
    assert all(a < b for a, b in pairwise(recorded)), "best effort may lose some, and has them in order"
    assert recorded[-1] < next(count)
    with Reader(folder) as reader:
        qos = {each.topic: each.ext.offered_qos_profiles for each in reader.connections}
        assert {each.msgtype for each in reader.connections} == {"std_msgs/msg/String", "std_msgs/msg/Int64"}
    assert [each.durability.name for each in qos["/map_name"]] == ["TRANSIENT_LOCAL"]
    assert [each.reliability.name for each in qos["/later/number"]] == ["BEST_EFFORT"]


def test_live_is_asked_for_by_name(tmp_path: Path) -> None:
    code, output = finished(sim_node("record", tmp_path / "bag"))
    assert (code, "record requires --live" in output) == (2, True)


@pytest.mark.usefixtures("ros_domain")
def test_a_live_recording_ends_when_it_is_full(tmp_path: Path) -> None:
    """It has nothing else to do; the bag is complete up to there, and keeps to its size."""
    folder = tmp_path / "bag"
    with listener("talker") as ears:
        publisher = ears.node.create_publisher(String, "/chatter", RELIABLE)
        with program(sim_node("record", folder, "--live", "--max-disk", "0.2", "--compression", "none")) as node:
            ears.spin_until(lambda: publisher.get_subscription_count() == 1, what=node.output)
            ears.node.create_timer(0.01, lambda: publisher.publish(String(data="x" * 10_000)))
            ears.spin_until(lambda: node.process.poll() is not None, what=node.output)
            assert node.wait() == 1
    assert "recording stopped: the bag has reached its limit of 200000 bytes" in node.output
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 200_000
    with Reader(folder) as reader:
        assert reader.message_count > 5


@pytest.mark.usefixtures("ros_domain")
def test_each_publisher_of_a_live_topic_counts(tmp_path: Path) -> None:
    """A reliable and, later, a best-effort one: both are heard, and others find the topic once."""
    folder = tmp_path / "bag"
    effort = ros_qos.QoSProfile(depth=50, reliability=ros_qos.ReliabilityPolicy.BEST_EFFORT)
    with listener("talker") as ears:
        publishers = [ears.node.create_publisher(Int64, "/numbers", RELIABLE)]
        with program(sim_node("record", folder, "--live", "/numbers")) as node:
            node.wait_for("recording /numbers")
            publishers.append(ears.node.create_publisher(Int64, "/numbers", effort))

            def publish() -> None:
                for number, publisher in enumerate(publishers):
                    publisher.publish(Int64(data=number))

            ears.node.create_timer(0.02, publish)
            ears.spin_until(lambda: {0, 1} <= set(numbers_on_disk(folder)), what=node.output)
            ended(node)
    assert {struct.unpack_from("<q", data, 4)[0] for data in by_topic(folder)["/numbers"]} == {0, 1}
    with Reader(folder) as reader:
        [connection] = reader.connections
        # Those that were known when its first message came.
        offered = [each.reliability.name for each in connection.ext.offered_qos_profiles]
        assert offered in (["RELIABLE"], ["RELIABLE", "BEST_EFFORT"])
    with open_bag(folder) as bag:
        assert sorted(each.reliability for each in bag.topics[0].qos) == ["best_effort", "reliable"]


@pytest.mark.usefixtures("ros_domain")
def test_a_live_recording_may_go_by_the_simulation_s_clock(tmp_path: Path) -> None:
    """Log times are simulated seconds, not those since 1970."""
    folder = tmp_path / "bag"

    def begun() -> bool:
        # More than its header: the first messages are handed to the system at once, and a second time soon.
        return any(path.stat().st_size > 4000 for path in folder.glob("*.mcap"))

    with program(sim_node("run", "orbit")) as simulation, listener() as ears:
        simulation.wait_for("Ctrl-C")
        with program(sim_node("record", folder, "--live", "/tf", "/clock", "--use-sim-time")) as node:
            ears.spin_until(begun, what=node.output)
            ended(node)
    with Reader(folder) as reader:
        assert reader.message_count > 1
        assert 0 < reader.start_time < reader.end_time < 100 * 10**9
