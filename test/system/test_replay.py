"""Replaying bags as people do it: the real program on real bags, real subscribers, real services."""

from __future__ import annotations

import os
import pty
import random
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import processes
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from forked_programs import program
from geometry_msgs.msg import PoseStamped
from in_process import exit_code
from listening import Listener, listener
from nightly import only
from on_disk import on_disk
from processes import SIM_NODE, Program, handles, sim_node
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rosbags.rosbag2 import StoragePlugin
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from waiting import PATIENCE, until
from written import LATCHED, T0, TYPES, Row, header, make, pose_stamped, qos, serialised, text, tf_message, write_bag
from written import time as stamp

from sim_node.recording.opening import open_bag
from sim_node.ros.tf2 import Buffer, TransformListener
from sim_node.spatial.tree import TransformTree

MS = 10**6
POSE, TF, STRING = "geometry_msgs/msg/PoseStamped", "tf2_msgs/msg/TFMessage", "std_msgs/msg/String"
RELIABLE = QoSProfile(depth=5000)
BEST_EFFORT = QoSProfile(depth=5000, reliability=ReliabilityPolicy.BEST_EFFORT)
STATIC = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

TOPICS = {
    "/pose": (POSE, [qos()]),
    "/imu": ("sensor_msgs/msg/Imu", [qos(reliable=False)]),
    "/tf": (TF, [qos(depth=100)]),
    "/tf_static": (TF, [LATCHED]),
    "/status": (STRING, [LATCHED]),
}
KINDS = {"/pose": PoseStamped, "/imu": Imu, "/tf": TFMessage, "/tf_static": TFMessage, "/status": String}


def imu(stamp_ns: int, x: float) -> Any:
    zeros = np.zeros(9)
    vector = make("geometry_msgs/msg/Vector3", x, 0.0, 9.81)
    rotation = make("geometry_msgs/msg/Quaternion", 0.0, 0.0, 0.0, 1.0)
    return make("sensor_msgs/msg/Imu", header(stamp_ns, "imu"), rotation, zeros, vector, zeros, vector, zeros)


def rows(count: int, period_ns: int) -> Iterator[Row]:
    """A flight: static transforms and a status, then poses, transforms and imu readings at each period."""
    yield Row("/tf_static", T0, tf_message((T0, "base", "camera", 0.1), (T0, "base", "lidar", 0.2)))
    yield Row("/status", T0, text("ready"))
    for i in range(count):
        now = T0 + period_ns * (i + 1)
        yield Row("/tf", now, tf_message((now, "map", "base", 0.01 * i)))
        yield Row("/pose", now, pose_stamped(now, 0.01 * i))
        yield Row("/imu", now, imu(now, 0.01 * i))


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds at 100 Hz."""
    return write_bag(tmp_path_factory.mktemp("bags") / "flight", TOPICS, rows(200, 10 * MS))


def raw(ears: Listener, topic: str) -> list[bytes]:
    got: list[bytes] = []
    profile = {"/imu": BEST_EFFORT, "/tf_static": STATIC, "/status": STATIC}.get(topic, RELIABLE)
    ears.node.create_subscription(KINDS[topic], topic, got.append, profile, raw=True)
    return got


@contextmanager
def replaying(*arguments: str | Path) -> Iterator[tuple[Program, Listener]]:
    with listener() as ears, program(sim_node("replay", *arguments)) as running:
        yield running, ears


def on_the_wire(row: Row) -> bytes:
    """RTPS pads payloads to 4 bytes (OMG DDSI-RTPS 2.5, section 10.2); what was recorded from a graph is so already."""
    data = serialised(row.data)
    return data + bytes(-len(data) % 4)


def call(ears: Listener, name: str) -> Trigger.Response:
    return ears.call(Trigger, f"/replay/{name}", Trigger.Request())


def set_parameter(ears: Listener, name: str, value: Any) -> Any:
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    return ears.call(SetParameters, "/replay/set_parameters", request).results[0]


def stamps(messages: list[bytes]) -> list[int]:
    """In nanoseconds, by rclpy's own deserialiser."""
    found = [deserialize_message(data, PoseStamped).header.stamp for data in messages]
    return [s.sec * 10**9 + s.nanosec for s in found]


@pytest.mark.usefixtures("ros_domain")
# Readers of all storages and versions are compared in test/recording.
@pytest.mark.parametrize(
    ("storage", "version"),
    only(product((StoragePlugin.MCAP, StoragePlugin.SQLITE3), (8, 9)), 0),
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_at_full_speed_every_message_arrives_byte_for_byte(
    tmp_path: Path, storage: StoragePlugin, version: int
) -> None:
    """More messages than any history holds; a subscriber in Python is much slower than the replay."""
    written = list(rows(800, 10 * MS))
    bag = write_bag(tmp_path / "bag", TOPICS, written, version=version, storage=storage)
    with listener() as ears:
        got = {topic: raw(ears, topic) for topic in TOPICS}
        with program(sim_node("replay", bag, "--rate", "max", "--wait", *TOPICS)) as running:
            ears.spin_until(lambda: running.process.poll() is not None, what=running.output)
            assert running.wait() == 0, running.output
        reliable = [topic for topic in TOPICS if topic != "/imu"]
        wanted = {topic: [on_the_wire(row) for row in written if row.topic == topic] for topic in TOPICS}
        ears.spin_until(lambda: all(len(got[topic]) >= len(wanted[topic]) for topic in reliable), what="the last ones")
        for topic in reliable:
            assert got[topic] == wanted[topic], topic
        # What best effort may lose, it loses; what comes is as it was recorded, and in order.
        assert got["/imu"]
        remaining = iter(wanted["/imu"])
        assert all(data in remaining for data in got["/imu"])


@pytest.mark.usefixtures("ros_domain")
def test_a_recording_of_a_replay_is_the_recording(tmp_path: Path, flight: Path) -> None:
    """Recorded from the graph by `sim_node record --live`, replayed at full speed and recorded again."""
    reliable = [topic for topic in TOPICS if topic != "/imu"]

    def again(played: Path, folder: Path) -> dict[str, list[bytes]]:
        with program(sim_node("record", folder, "--live", *reliable)) as recorder:
            recorder.wait_for("recording to")
            replay = sim_node("replay", played, "--rate", "max", "--topics", *reliable, "--wait", *reliable)
            with program(replay) as running:
                assert running.wait() == 0, running.output
            # What has arrived there may still wait to be taken.
            until(lambda: len(on_disk(folder)) >= 402, recorder.output)
            assert recorder.stop() == 0, recorder.output
        with open_bag(folder) as bag:
            found: dict[str, list[bytes]] = {topic.name: [] for topic in bag.topics}
            for message in bag.messages():
                found[bag.topics[message.topic].name].append(message.data)
        return found

    first = again(flight, tmp_path / "first")
    assert {topic: len(messages) for topic, messages in first.items()} == {
        "/pose": 200, "/tf": 200, "/tf_static": 1, "/status": 1,
    }  # fmt: skip
    assert again(tmp_path / "first", tmp_path / "second") == first


@pytest.mark.usefixtures("ros_domain")
def test_best_effort_arrives_too_at_the_pace_of_the_recording(flight: Path) -> None:
    """Some may be lost, as best effort has it: those come with the next loop. None comes that was not recorded."""
    with replaying(flight, "--wait", "/imu", "--loop", "--recorded-time") as (running, ears):
        got = raw(ears, "/imu")
        wanted = {on_the_wire(row) for row in rows(200, 10 * MS) if row.topic == "/imu"}
        ears.spin_until(lambda: wanted <= set(got), what=running.output)
        assert set(got) == wanted


@pytest.mark.usefixtures("ros_domain")
def test_a_late_subscriber_of_depth_one_gets_all_static_transforms(tmp_path: Path) -> None:
    """ros2/rosbag2#1049: three broadcasters were recorded, one of them volatile by mistake."""
    frames = ("camera", "lidar", "gps")
    written = [Row("/tf_static", T0 + i, tf_message((T0, "base", frame, float(i)))) for i, frame in enumerate(frames)]
    topics = {"/tf_static": (TF, [LATCHED, LATCHED, qos()]), "/status": (STRING, [LATCHED])}
    bag = write_bag(tmp_path / "bag", topics, [*written, Row("/status", T0 + 60 * 10**9, text("late"))])
    with replaying(bag, "--clock") as (running, ears):
        clock = ears.subscribe(Clock, "/clock", RELIABLE)
        ears.spin_until(lambda: len(clock) > 10, what=f"the replay\n{running.output}")
        late = ears.subscribe(TFMessage, "/tf_static", STATIC)
        ears.spin_until(lambda: bool(late), what="static transforms")
        assert {t.child_frame_id for t in late[-1][1].transforms} == set(frames)
        assert running.stop() == 0


@pytest.mark.usefixtures("ros_domain")
def test_over_loops_time_goes_on_and_nothing_is_old(flight: Path) -> None:
    """A tree that drops what it knows where time jumps back is the judge; ros2/geometry2#606."""
    with replaying(flight, "--loop", "--rate", "4", "--clock") as (running, ears):
        tree = TransformTree()
        seen: list[int] = []
        tf = TransformListener(
            Buffer(tree=tree),
            ears.node,
            spin_thread=False,
            on_batch=lambda batch, static: None if static else seen.extend(batch.stamps_ns.tolist()),
        )
        poses, clock = raw(ears, "/pose"), ears.subscribe(Clock, "/clock", RELIABLE)
        ears.spin_until(lambda: len(seen) > 600, what=f"three loops\n{running.output}")
        assert all(a < b for a, b in pairwise(seen))
        assert seen[-1] > T0 + 5 * 10**9
        tf.unregister()
        stamped = stamps(poses)
        assert all(a < b for a, b in pairwise(stamped))

        def times() -> list[int]:
            return [m.clock.sec * 10**9 + m.clock.nanosec for _, m in clock]

        ears.spin_until(lambda: times()[-1] >= stamped[-1], what="the clock to be where the messages are")
        assert all(a <= b for a, b in pairwise(times()))
        assert running.stop() == 0


@pytest.mark.upstream("tf2_py", "tf2_ros")
@pytest.mark.usefixtures("ros_domain")
def test_tf2_ros_sees_no_old_data_over_loops(flight: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import tf2_ros

    with replaying(flight, "--loop", "--rate", "4") as (running, ears):
        buffer = tf2_ros.Buffer(node=ears.node)
        tf2_ros.TransformListener(buffer, ears.node)
        poses = raw(ears, "/pose")
        ears.spin_until(lambda: len(poses) > 600, what=f"three loops\n{running.output}")
    captured = capfd.readouterr()
    assert "TF_OLD_DATA" not in captured.err + captured.out
    assert "TF_REPEATED_DATA" not in captured.err + captured.out


@pytest.mark.usefixtures("ros_domain")
def test_pause_step_seek_and_stop_over_services(flight: Path) -> None:
    with replaying(flight, "--step", "--topics", "/pose", "/tf_static", "--wait", "/pose") as (running, ears):
        poses, statics = raw(ears, "/pose"), raw(ears, "/tf_static")
        reported = ears.subscribe(Float64, "/replay/position", RELIABLE)
        health = ears.subscribe(DiagnosticArray, "/diagnostics", RELIABLE)
        # Whoever asks before the subscribers are there is told so.
        ears.spin_until(lambda: call(ears, "step").success, what="the first step")
        ears.spin_until(lambda: len(poses) == 1)
        reply = call(ears, "step")
        assert (reply.success, reply.message) == (True, "paused at 0.02 s")
        ears.spin_until(lambda: len(poses) == 2)
        assert stamps(poses) == [T0 + 10 * MS, T0 + 20 * MS]

        assert set_parameter(ears, "position", 1.0).successful
        assert call(ears, "step").message == "paused at 1 s"
        ears.spin_until(lambda: len(poses) == 3 and len(statics) == 2, what="statics come again after a seek")
        assert stamps(poses)[-1] == T0 + 1000 * MS
        ears.spin_until(lambda: reported[-1][1].data == 1.0, what="the position")
        refused = set_parameter(ears, "position", 7.0)
        assert not refused.successful
        assert "7 s is outside of the played range, 0 to 2 s" in refused.reason

        assert set_parameter(ears, "step_size", 0.1).successful
        assert call(ears, "step").message == "paused at 1.1 s"
        ears.spin_until(lambda: len(poses) == 13)
        assert call(ears, "seek").message == "paused at 1 s"

        assert set_parameter(ears, "rate", 0.02).successful
        assert call(ears, "resume").message.startswith("playing at 1")
        count = len(poses)
        ears.spin_until(lambda: len(poses) > count + 2, what="the replay to go on")
        assert not call(ears, "step").success
        assert call(ears, "toggle").message.startswith("paused at 1.")
        ears.spin_until(
            lambda: any("paused" in array.status[0].message for _, array in health), what="a diagnosis of the pause"
        )
        stop = ears.node.create_client(Trigger, "/replay/stop")
        ears.spin_until(stop.service_is_ready, what="the service")
        reply = stop.call_async(Trigger.Request())
        ears.spin_until(lambda: running.process.poll() is not None, what=running.output)
        # Whom it had not found yet when it ended, it has not answered.
        assert not reply.done() or reply.result().success
        assert running.wait() == 0
        assert "Traceback" not in running.output


@pytest.mark.usefixtures("ros_domain")
def test_our_clock_instead_of_the_recorded_one(tmp_path: Path) -> None:
    """The recorded clock is another one than the bag's: a simulation's, that began at zero."""
    topics = {"/clock": ("rosgraph_msgs/msg/Clock", [qos()]), "/status": (STRING, [qos()])}
    written = [Row("/clock", T0 + 10 * MS * i, make("rosgraph_msgs/msg/Clock", stamp(10 * MS * i))) for i in range(200)]
    bag = write_bag(tmp_path / "bag", topics, [*written, Row("/status", T0 + 2000 * MS, text("end"))])

    health: list[int] = []

    def received(*arguments: str) -> list[int]:
        with replaying(bag, "--wait", "/clock", *arguments) as (running, ears):
            diagnoses = ears.subscribe(DiagnosticArray, "/diagnostics", RELIABLE)
            clock = ears.subscribe(Clock, "/clock", RELIABLE)
            ears.spin_until(lambda: running.process.poll() is not None, what=running.output)
            stamps = [m.header.stamp for _, m in diagnoses]
            health[:] = [stamp.sec * 10**9 + stamp.nanosec for stamp in stamps]
            return [m.clock.sec * 10**9 + m.clock.nanosec for _, m in clock]

    assert received() == [10 * MS * i for i in range(200)]
    ours = received("--clock", "--clock-rate", "20")
    assert all(T0 <= time_ns <= T0 + 2000 * MS for time_ns in ours)
    # 20 a second for 2 s, not the 100 a second of the default; fewer on a busy machine.
    assert 2 <= len(ours) < 100
    # Diagnoses are stamped by our clock as soon as it runs.
    assert any(T0 <= time_ns <= T0 + 2000 * MS for time_ns in health)


@pytest.mark.usefixtures("ros_domain")
def test_topics_under_other_names_and_a_part_of_the_time(flight: Path) -> None:
    arguments = ["--topics", "/po*", "--remap", "/pose:=/old/pose", "--start", "0.5", "--duration", "0.25"]
    with replaying(flight, *arguments, "--wait") as (running, ears):
        got: list[bytes] = []
        ears.node.create_subscription(PoseStamped, "/old/pose", got.append, RELIABLE, raw=True)
        ears.spin_until(lambda: running.process.poll() is not None, what=running.output)
        ears.spin_until(lambda: len(got) >= 26)
        assert stamps(got) == [T0 + 10 * MS * i for i in range(50, 76)]


# Takes seconds: make test has a replay at full speed and one that is controlled.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_types_that_are_not_installed_are_left_out_and_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for kind in ("acme_msgs/msg/Anvil", "antigravity/msg/String"):
        TYPES.fielddefs.setdefault(kind, ([], TYPES.fielddefs[STRING][1]))
    topics: dict[str, tuple[str, list[Any]]] = {
        "/anvil": ("acme_msgs/msg/Anvil", []),
        "/hammer": ("acme_msgs/msg/Anvil", []),
        "/import": ("antigravity/msg/String", []),  # a module that does something when it is imported
        "/no name": (STRING, []),
        "/status": (STRING, []),
    }
    written = [Row(topic, T0 + i, serialised(text("x"))) for i, topic in enumerate(topics)]
    bag = write_bag(tmp_path / "bag", topics, written)
    ran = subprocess.run([SIM_NODE, "replay", bag], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (ran.stdout + ran.stderr).count("acme_msgs is not installed: skipping /anvil, /hammer") == 1
    assert "antigravity is not installed: skipping /import" in ran.stderr
    assert "skipping /no name" in ran.stderr
    assert exit_code(["replay", str(bag), "--topics", "/anvil"]) == 2
    assert "there is nothing to play" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["BAG", "--speed", "fast"], "--speed"),
        (["BAG", "--rate", "-1"], "a number above zero, up to 1000, or max, is needed"),
        (["BAG", "--start", "-1"], "zero or more"),
        (["BAG", "--start", "9"], "9 s is after the bag's end at 2 s"),
        (["BAG", "--duration", "0"], "above zero"),
        (["BAG", "--clock-rate", "10"], "requires --clock"),
        (["BAG", "--remap", "/pose"], "FROM:=TO is needed"),
        (["BAG", "--topics", "/poses"], "the bag has no /poses; did you mean /pose?"),
        (["BAG", "--wait", "/poze"], "/poze is not played; did you mean /pose?"),
        (["BAG", "--ros-args", "-p", "rate:=-3.0"], "rate"),
        (["no_bag"], "no_bag: does not exist"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("ros_domain")
def test_a_mistake_is_one_clear_message_and_exit_code_2(
    flight: Path, arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["replay", *(str(flight) if word == "BAG" else word for word in arguments)]) == 2
    out, error = capfd.readouterr()
    assert words in error
    assert "Traceback" not in error
    assert out == ""


# Seeded, so that a failure can be looked at again.
MOMENTS = random.Random(11)


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("number", only([signal.SIGINT, signal.SIGTERM], 0), ids=lambda number: number.name)
# The same handlers end all ways of playing.
@pytest.mark.parametrize(
    "how", only([["--loop"], ["--loop", "--rate", "max"], ["--step", "--clock"], ["--wait", "/pose"]], 2), ids=" ".join
)
def test_a_signal_at_any_moment_ends_it(flight: Path, how: list[str], number: int) -> None:
    with processes.program(sim_node("replay", flight, *how)) as running:
        until(lambda: handles(running.process.pid, number), "Python has started, and our handlers are there")
        time.sleep(MOMENTS.uniform(0.0, 2.75))  # the moment is the point of the test
        code = running.stop(number)
        assert code == 0, running.output
        assert "Traceback" not in running.output


@pytest.mark.usefixtures("ros_domain")
def test_a_subscriber_that_stands_still_does_not_keep_it_from_ending(flight: Path) -> None:
    """Full speed waits for those who asked for reliability; this one is there and takes nothing."""
    with listener() as ears:
        ears.node.create_subscription(PoseStamped, "/pose", lambda message: None, QoSProfile(depth=1000))
        with program(sim_node("replay", flight, "--loop", "--rate", "max", "--wait", "/pose")) as running:
            running.wait_for("Ctrl-C")
            time.sleep(3.0)
            code = running.stop()
            assert code == 0, running.output


# Takes seconds: make test has a replay at full speed and one that is controlled.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_keys_on_a_terminal(flight: Path) -> None:
    """Space resumes, space pauses; the terminal is afterwards as it was."""
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    with listener() as ears:
        poses = raw(ears, "/pose")
        command = sim_node("replay", flight, "--step", "--wait", "/pose", "--rate", "0.05")
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        running = subprocess.Popen(
            [str(part) for part in command], stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=environment,
        )  # fmt: skip
        try:
            health = ears.subscribe(DiagnosticArray, "/diagnostics", RELIABLE)
            ears.spin_until(
                lambda: bool(health) and "paused" in health[-1][1].status[0].message, what="the replay to stand"
            )
            assert not poses
            os.write(master, 3 * b"\x1b[C")  # /status, /tf, /pose
            ears.spin_until(lambda: len(poses) == 1, what="three steps")
            os.write(master, b" ")
            ears.spin_until(lambda: len(poses) > 5, what="space to resume")
            os.write(master, b" ")
            ears.spin_until(lambda: "paused" in health[-1][1].status[0].message, what="space to pause")
            running.send_signal(signal.SIGINT)
            assert running.wait(PATIENCE) == 0
            assert termios.tcgetattr(slave) == before
        finally:
            running.kill()
            running.wait()
            os.close(master)
            os.close(slave)
