"""The bridge node as people start it: real rclpy on one side, an autopilot on a real socket on the other."""

from __future__ import annotations

import json
import math
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from claims import free_port
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from forked_programs import program
from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3Stamped
from in_process import exit_code
from listening import Listener, listener
from nav_msgs.msg import Odometry
from peer import COPTER_MODES, CoSimulator, peer
from processes import Program, sim_node
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from recordings import DATA, EXCERPT
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu, NavSatFix, Range
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

SENSOR = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=100)
ENU_NED = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])


@contextmanager
def flying(*arguments: str, **what: Any) -> Iterator[tuple[Program, Listener, CoSimulator]]:
    """A bridge, an autopilot that it has found, and somebody on the graph."""
    port = free_port()
    command = sim_node("bridge", "--url", f"udpin:127.0.0.1:{port}", *arguments)
    with peer(port, **what) as autopilot, program(command) as node, listener() as ears:
        node.wait_for("topics below vehicle")
        yield node, ears, autopilot


def call(ears: Listener, name: str) -> Any:
    return ears.call(Trigger, f"/vehicle1/{name}", Trigger.Request())


@contextmanager
def publishing(ears: Listener, kind: Any, topic: str, make: Callable[[], Any], rate: float) -> Iterator[None]:
    """Publishes while the listener spins; the publisher goes at the end."""
    publisher = ears.node.create_publisher(kind, topic, RELIABLE)
    timer = ears.node.create_timer(1.0 / rate, lambda: publisher.publish(make()))
    try:
        yield
    finally:
        ears.node.destroy_timer(timer)
        ears.node.destroy_publisher(publisher)


def pose(xyz: tuple[float, float, float], frame: str = "map") -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.x, message.pose.position.y, message.pose.position.z = xyz
    message.pose.orientation.w = 1.0
    return message


@pytest.mark.usefixtures("ros_domain")
def test_arm_take_off_goto_and_land_from_the_graph() -> None:
    with flying() as (_, ears, autopilot):
        autopilot.speed = 20.0
        results = ears.subscribe(DiagnosticStatus, "/vehicle1/command_result", RELIABLE)
        armed = ears.call(SetBool, "/vehicle1/cmd/arming", SetBool.Request(data=True))
        assert (armed.success, armed.message) == (True, "accepted")
        assert autopilot.armed
        assert call(ears, "cmd/guided").success
        assert call(ears, "cmd/takeoff").success

        goto = ears.node.create_publisher(PoseStamped, "/vehicle1/goto", RELIABLE)
        ears.spin_until(lambda: goto.get_subscription_count() > 0)
        goto.publish(pose((10.0, -5.0, 12.0)))
        ears.spin_until(lambda: any(result.message.startswith("reached") for _, result in results), what="goto's end")
        assert autopilot.position == pytest.approx([-5.0, 10.0, -12.0], abs=0.5)

        autopilot.refuse[176] = (4, "Mode change to LAND failed")
        refused = call(ears, "cmd/land")
        assert (refused.success, refused.message) == (False, "failed: Mode change to LAND failed")
        autopilot.refuse.clear()
        assert call(ears, "cmd/land").success
        assert autopilot.mode == COPTER_MODES["LAND"]


@pytest.mark.usefixtures("ros_domain")
def test_setpoints_are_repeated_and_refused_with_a_reason() -> None:
    with flying() as (_, ears, autopilot):
        results = ears.subscribe(DiagnosticStatus, "/vehicle1/command_result", RELIABLE)
        speed = TwistStamped()
        speed.header.frame_id = "map"
        speed.twist.linear.x = 1.5

        def targets(since: float = 0.0) -> list[Any]:
            return autopilot.of("SET_POSITION_TARGET_LOCAL_NED", since)

        # Five times a second goes in, twenty times goes out.
        with publishing(ears, TwistStamped, "/vehicle1/setpoint_velocity/cmd_vel", lambda: speed, 5.0):
            ears.spin_until(lambda: len(targets()) > 5)
            ears.spin_until(lambda: len(targets()) > 40)
            assert (targets()[-1].vx, targets()[-1].vy) == (0.0, 1.5)
        ears.spin_until(lambda: any("stopped: no message" in result.message for _, result in results), what="the end")
        # Comes to the autopilot behind all that was on its way.
        assert call(ears, "cmd/guided").success
        since = time.monotonic()
        ears.spin_for(0.5)
        assert not targets(since)

        with publishing(ears, PoseStamped, "/vehicle1/setpoint_position/local", lambda: pose((0, 0, 5), "odom"), 10.0):
            ears.spin_until(lambda: any("'odom'; allowed: map" in result.message for _, result in results))
        with publishing(ears, PoseStamped, "/vehicle1/goto", lambda: pose((0.0, 0.0, 500.0)), 10.0):
            ears.spin_until(lambda: any("limit_height is 120 m" in result.message for _, result in results))
        assert not targets(since)


@pytest.mark.usefixtures("ros_domain")
def test_a_mission_goes_up_from_a_file_and_comes_down(tmp_path: Path) -> None:
    plan = tmp_path / "survey.yaml"
    plan.write_text(
        "frame: enu\nitems:\n  - {type: takeoff, height: 10}\n  - {type: waypoint, position: [20, 0, 10]}\n"
    )
    with flying("--ros-args", "-p", f"mission_file:={plan}") as (_, ears, autopilot):
        results = ears.subscribe(DiagnosticStatus, "/vehicle1/command_result", RELIABLE)
        waypoints = ears.subscribe(String, "/vehicle1/mission/waypoints", LATCHED)
        home = ears.subscribe(NavSatFix, "/vehicle1/home_position/home", LATCHED)
        ears.spin_until(lambda: bool(home), what="home, from which positions count")
        pushed = call(ears, "mission/push")
        assert (pushed.success, pushed.message) == (True, "3 items")
        assert [item.command for item in autopilot.mission] == [16, 22, 16]
        ears.spin_until(lambda: any(result.message == "2 of 3 items" for _, result in results), what="progress")
        assert call(ears, "mission/pull").success
        ears.spin_until(lambda: bool(waypoints))
        pulled = json.loads(waypoints[0][1].data)
        assert [item["type"] for item in pulled["items"]] == ["takeoff", "waypoint"]
        plan.write_text("frame: enu\nitems:\n  - {type: waypont}\n")
        refused = call(ears, "mission/push")
        assert not refused.success
        assert f"{plan}:3:12: items[0].type: found 'waypont'" in refused.message
        assert call(ears, "mission/clear").success
        assert not autopilot.mission


@pytest.mark.usefixtures("ros_domain")
def test_a_recording_on_tf_is_where_the_truth_is() -> None:
    """The stream of poses against the physics' truth, by the offset between boot time and stamps."""
    with listener() as ears:
        moving = ears.subscribe(TFMessage, "/tf", RELIABLE)
        still = ears.subscribe(TFMessage, "/tf_static", STATIC)
        odometry = ears.subscribe(Odometry, "/vehicle1/local_position/odom", SENSOR)
        # Discovery first, so that the flight is heard from its beginning.
        with program(sim_node("bridge", "--tlog", EXCERPT)):
            ears.spin_until(lambda: len(moving) > 500)
        transforms = [message.transforms[0] for _, message in moving]
        stamps = np.array([t.header.stamp.sec + t.header.stamp.nanosec * 1e-9 for t in transforms])
        assert (np.diff(stamps) > 0.0).all()
        assert {(t.header.frame_id, t.child_frame_id) for t in transforms} == {("map", "vehicle1/base_link")}
        positions = np.array([[t.transform.translation.x, t.transform.translation.y, t.transform.translation.z]
                              for t in transforms])  # fmt: skip
        truth = np.genfromtxt(DATA / "ardupilot_flight_truth.csv", delimiter=",", names=True)
        enu = np.stack([truth["y"], truth["x"], -truth["z"]], axis=-1)

        def errors(offset: float) -> np.ndarray:
            """How far each is from where the truth was then, in metres."""
            there = np.stack([np.interp(stamps - offset, truth["t"], column) for column in enu.T], axis=-1)
            return np.asarray(np.linalg.norm(there - positions, axis=-1))

        def error(offset: float) -> float:
            return float(np.sqrt(np.mean(errors(offset) ** 2)))

        # When boot was on the clock of the graph: not known, but one number for the whole flight.
        coarse = min(stamps[0] - np.arange(53.0, 74.0, 0.1), key=error)
        best = min(coarse + np.arange(-0.1, 0.1, 0.005), key=error)
        # What was late on its way is stamped as late, up to a while on a busy machine.
        off = np.min([errors(best + late) for late in np.arange(-0.5, 0.505, 0.01)], axis=0)
        assert np.sqrt(np.mean(off**2)) < 0.06
        names = {(t.header.frame_id, t.child_frame_id): t for _, message in still for t in message.transforms}
        ned, frd = names["map", "map_ned"], names["vehicle1/base_link", "vehicle1/base_link_frd"]
        np.testing.assert_allclose(matrix(ned), ENU_NED, atol=1e-12)
        np.testing.assert_allclose(matrix(frd), np.diag([1, -1, -1]), atol=1e-12)
        assert odometry[-1][1].child_frame_id == "vehicle1/base_link"


def matrix(transform: Any) -> np.ndarray:
    q = transform.transform.rotation
    return np.asarray(Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix())


@pytest.mark.usefixtures("ros_domain")
def test_a_distance_sensor_is_in_the_tree_and_imu_has_its_deviations() -> None:
    with flying("--ros-args", "-p", "angular_velocity_stdev:=0.02") as (_, ears, autopilot):
        ranges = ears.subscribe(Range, "/vehicle1/distance_sensor", SENSOR)
        imu = ears.subscribe(Imu, "/vehicle1/imu/data", SENSOR)
        ears.call(SetBool, "/vehicle1/cmd/arming", SetBool.Request(data=False))

        def arrived() -> bool:
            autopilot.send(autopilot.mav.distance_sensor_encode(autopilot.boot_ms(), 20, 4000, 150, 0, 0, 25, 0))
            return bool(ranges and imu)

        ears.spin_until(arrived, what="a range")
        assert ranges[0][1].header.frame_id == "vehicle1/base_link_distance_down"
        np.testing.assert_allclose(imu[0][1].angular_velocity_covariance, 4e-4 * np.eye(3).ravel())
        # Latched: for those who come later, too.
        static = ears.subscribe(TFMessage, "/tf_static", STATIC)
        children = {"vehicle1/base_link_frd", "vehicle1/base_link_distance_down"}

        def found() -> dict[str, Any]:
            return {each.child_frame_id: each for _, message in static for each in message.transforms}

        ears.spin_until(lambda: children <= found().keys(), what="static frames")
        down = found()["vehicle1/base_link_distance_down"]
        assert down.header.frame_id == "vehicle1/base_link"
        np.testing.assert_allclose(matrix(down) @ [1.0, 0.0, 0.0], [0.0, 0.0, -1.0], atol=1e-9)


# Takes seconds: make test has what commands import, in test/cli/test_command_line.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_nothing_is_imported_or_compiled_while_it_runs(tmp_path: Path) -> None:
    """An import takes as long as the disk likes, and a kernel a second: PX4's failsafes take half of that."""
    plan = tmp_path / "survey.yaml"
    plan.write_text(
        "frame: enu\nitems:\n  - {type: takeoff, height: 10}\n  - {type: waypoint, position: [20, 0, 10]}\n"
    )
    port = free_port()
    parameters = ["-p", f"urls:=['udpin:127.0.0.1:{port}']", "-p", f"mission_file:={plan}"]
    command = [sys.executable, str(Path(__file__).with_name("prepared_bridge.py")), "--ros-args", *parameters]
    with program(command) as node, listener() as ears:
        with peer(port) as autopilot:
            assert ears.call(SetBool, "/vehicle1/cmd/arming", SetBool.Request(data=True)).success
            for message in autopilot_messages(autopilot):
                autopilot.send(message)
            for name in ("mission/push", "mission/pull", "mission/start", "mission/clear", "cmd/guided", "cmd/takeoff"):
                call(ears, name)
            half = partial(Float64, data=0.5)
            with publishing(ears, Float64, "/vehicle1/setpoint_attitude/thrust", half, 20.0):
                for topic, message, sent in setpoint_messages():
                    since = time.monotonic()
                    with publishing(ears, type(message), f"/vehicle1/{topic}", partial(copy, message), 20.0):
                        ears.spin_until(partial(autopilot.of, sent, since), what=topic)
            ears.call(ListParameters, "/bridge/list_parameters", ListParameters.Request())
            ears.call(GetParameters, "/bridge/get_parameters", GetParameters.Request(names=["mission_file"]))
        node.stop()
    report = json.loads(next(line for line in node.lines if line.startswith('{"modules"')))
    assert report == {"modules": [], "events": []}


def autopilot_messages(autopilot: CoSimulator) -> list[Any]:
    """One of each that is translated, and a parameter, which is not."""
    boot, mav = autopilot.boot_ms(), autopilot.mav
    return [
        mavlink.MAVLink_param_value_message(b"A", 1.0, 9, 1, 0),
        mav.attitude_encode(boot, 0, 0, 0, 0, 0, 0),
        mav.highres_imu_encode(boot * 1000, 0, 0, -9.8, 0, 0, 0, 0.2, 0, 0.4, 955, 0, 400, 20, 0x1FFF),
        mav.local_position_ned_cov_encode(boot * 1000, 0, *[0.0] * 9, [0.01] * 45),
        mav.odometry_encode(boot * 1000, 1, 12, 0, 0, 0, [1, 0, 0, 0], *[0] * 6, [0.01] * 21, [0.01] * 21),
        mav.global_position_int_encode(boot, 473977420, 85455940, 488000, 0, 0, 0, 0, 0),
        mav.gps_raw_int_encode(boot * 1000, 3, 473977420, 85455940, 488000, 121, 200, 0, 0, 10),
        mav.battery_status_encode(0, 0, 1, 2000, [3900] * 4 + [65535] * 6, 100, 0, 0, 80),
        mav.distance_sensor_encode(boot, 20, 4000, 150, 0, 0, 25, 0),
        mav.rc_channels_encode(boot, 4, *[1500] * 18, 100),
        mav.servo_output_raw_encode(boot, 0, *[1500] * 8),
        mav.vfr_hud_encode(0, 0, 0, 0, 0, 0),
        mav.wind_cov_encode(boot * 1000, 1, 1, 0, 0, 0, 0, 0, 0),
        mav.extended_sys_state_encode(0, 1),
        mav.statustext_encode(4, b"text"),
        mav.mission_current_encode(1),
        mav.mission_item_reached_encode(1),
        mav.system_time_encode(1_700_000_000_000_000, boot),
    ]


def setpoint_messages() -> list[tuple[str, Any, str]]:
    """Topic, message, and what it becomes."""
    at = NavSatFix(latitude=47.397742, longitude=8.545594, altitude=540.0)
    speed = TwistStamped()
    speed.header.frame_id = "map"
    push = Vector3Stamped()
    push.header.frame_id = "map"
    estimate = Odometry(child_frame_id="vehicle1/base_link")
    estimate.header.frame_id = "map"
    estimate.pose.pose.orientation.w = 1.0
    local = "SET_POSITION_TARGET_LOCAL_NED"
    return [
        ("setpoint_position/local", pose((1.0, 0.0, 5.0)), local),
        ("setpoint_position/global", at, "SET_POSITION_TARGET_GLOBAL_INT"),
        ("setpoint_velocity/cmd_vel", speed, local),
        ("setpoint_accel/accel", push, local),
        ("setpoint_attitude/attitude", pose((0.0, 0.0, 0.0)), "SET_ATTITUDE_TARGET"),
        ("goto", pose((1.0, 0.0, 5.0)), local),
        ("vision_pose/pose", pose((1.0, 0.0, 5.0)), "VISION_POSITION_ESTIMATE"),
        ("odometry/out", estimate, "ODOMETRY"),
    ]


@pytest.mark.usefixtures("ros_domain")
def test_several_vehicles_have_namespaces_and_frames_of_their_own() -> None:
    with flying(system=1) as (node, ears, first):
        port = first.address[1]
        with peer(port, system=2) as second:
            first.position, second.position = [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]
            node.wait_for("topics below vehicle2")
            poses = {n: ears.subscribe(PoseStamped, f"/vehicle{n}/local_position/pose", SENSOR) for n in (1, 2)}
            ears.spin_until(lambda: all(len(got) > 20 for got in poses.values()))
            for number, got in poses.items():
                assert got[-1][1].pose.position.y == float(number)
            armed = ears.call(SetBool, "/vehicle2/cmd/arming", SetBool.Request(data=True))
            assert armed.success
            assert (first.armed, second.armed) == (False, True)


@pytest.mark.usefixtures("ros_domain")
def test_diagnostics_tell_of_links_and_vehicles() -> None:
    with flying() as (_, ears, autopilot):
        received = ears.subscribe(DiagnosticArray, "/diagnostics", RELIABLE)

        def statuses() -> dict[str, DiagnosticStatus]:
            return {status.name.partition(": ")[2]: status for _, array in received[-1:] for status in array.status}

        ears.spin_until(
            lambda: any(key.value == "by TIMESYNC" for key in statuses().get("vehicle 1", DiagnosticStatus()).values)
        )
        link = next(status for name, status in statuses().items() if name.startswith("udpin"))
        values = {pair.key: pair.value for pair in link.values}
        assert link.message == "up"
        # 50 Hz of two messages, and a few slow ones; on a busy machine fewer.
        assert 0.0 < float(values["rate (messages/s)"]) < 230.0
        assert values["lost"] == "0"
        camera = mavlink.MAVLink(None, 1, mavlink.MAV_COMP_ID_CAMERA)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for message in (camera.heartbeat_encode(30, 8, 0, 0, 4), camera.attitude_encode(1, *[0.0] * 6)):
                sender.sendto(message.pack(camera), autopilot.address)
        wanted = {("also", "component 100 (camera)"), ("not published: component 100: not read", "1")}
        ears.spin_until(lambda: wanted <= {(pair.key, pair.value) for pair in statuses()["vehicle 1"].values})
        autopilot.send(mavlink.MAVLink_hwstatus_message(4400, 0))
        ears.spin_until(lambda: "vehicle 1 board" in statuses())
        board = statuses()["vehicle 1 board"]
        assert (board.level, board.message) == (DiagnosticStatus.WARN, "low voltage")
        autopilot.stop()
        ears.spin_until(lambda: statuses()["vehicle 1"].message == "silent")


@pytest.mark.usefixtures("ros_domain")
def test_external_vision_reaches_the_autopilot_in_its_own_axes() -> None:
    with flying() as (_, ears, autopilot):
        vision = pose((1.0, 2.0, 3.0))
        with publishing(ears, PoseStamped, "/vehicle1/vision_pose/pose", lambda: vision, 20.0):
            ears.spin_until(lambda: bool(autopilot.of("VISION_POSITION_ESTIMATE")))
        got = autopilot.of("VISION_POSITION_ESTIMATE")[0]
        assert (got.x, got.y, got.z) == (2.0, 1.0, -3.0)
        assert got.yaw == pytest.approx(math.pi / 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--url", "udpim:14540"], "unknown kind 'udpim'; did you mean udpin?"),
        (["--url", "udpin:14540", "--tlog", "x"], "--tlog does not support --url"),
        (["--tlog", "nowhere.tlog"], "no such file"),
        (["--speed", "2"], "--speed requires --tlog"),
        (["--ros-args", "-p", "tf_rate:=fast"], "'fast' has the wrong type; a number is needed"),
        (["--ros-args", "-p", "signing_key:=/nowhere/key"], "No such file"),
        (["--ros-args", "-p", "tf_parent:=world"], "allowed: map, odom, none"),
        (["--ros-args", "-p", "map_frame:=/map"], "map_frame"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("ros_domain")
def test_a_mistake_is_one_clear_message_and_exit_code_2(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["bridge", *arguments]) == 2
    error = capfd.readouterr().err
    assert words in error
    assert "Traceback" not in error


@pytest.mark.usefixtures("ros_domain")
def test_ctrl_c_ends_it() -> None:
    with flying() as (node, _, _autopilot):
        code = node.stop()
        assert code == 0, node.output
        assert "Traceback" not in node.output
