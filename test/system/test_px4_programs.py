"""PX4's names as programs use them: px4_ros_com's offboard example, with the built-in autopilot and PX4 itself."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("px4_msgs", reason="needs sim_node build px4_msgs")

from claims import free_port
from forked_programs import program
from geometry_msgs.msg import PoseStamped
from listening import Listener, listener
from processes import sim_node
from px4_msgs.msg import (
    ArmingCheckReply,
    ArmingCheckRequest,
    OffboardControlMode,
    RegisterExtComponentReply,
    RegisterExtComponentRequest,
    TrajectorySetpoint,
    VehicleCommand,
    VehicleCommandAck,
    VehicleControlMode,
    VehicleLocalPosition,
    VehicleStatus,
)
from px4_msgs.srv import VehicleCommand as VehicleCommandService
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import NavSatFix
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("ros_domain")]
# As the example has it.
PX4 = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)
needs_px4 = pytest.mark.skipif("PX4_DIR" not in os.environ, reason="set PX4_DIR to a checkout with a SITL build")
WORLD = """
world: idle
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {step: 0.004}
physics: {integrator: euler, timestep: 0.001}
bodies:
  - {name: ground, geometry: [{plane: true}]}
vehicles:
  - {name: drone, model: iris, pose: {position: [0, 0, 0.13]}, autopilot: {type: mavlink_builtin}}
"""


@contextmanager
def built_in(folder: Path) -> Iterator[tuple[Any, Listener]]:
    """A run of a drone with the built-in autopilot under PX4's names, and somebody on the graph."""
    world = folder / "idle.yaml"
    world.write_text(WORLD, encoding="utf-8")
    names = ("-p", "names:=px4", "-p", "px4_namespace:=''")
    with program(sim_node("run", str(world), "--no-view", "--ros-args", *names)) as run, listener() as ears:
        run.wait_for("topics below")
        yield run, ears


def test_the_offboard_example_takes_off_holds_and_lands(tmp_path: Path) -> None:
    with built_in(tmp_path) as (_, ears):
        fly_as_the_example(ears)


@needs_px4
@pytest.mark.usefixtures("autopilots")
def test_the_offboard_example_flies_px4_itself() -> None:
    """In lockstep and over MAVLink, without an agent."""
    with program(sim_node("fly", "px4", "--no-view", "--names", "px4")) as run, listener() as ears:
        run.wait_for("in lockstep")
        fly_as_the_example(ears)


@needs_px4
@pytest.mark.usefixtures("autopilots")
@pytest.mark.skipif("PX4_ROS_COM_DIR" not in os.environ, reason="set PX4_ROS_COM_DIR to a checkout of px4_ros_com")
@pytest.mark.parametrize("sim_time", [False, True], ids=["wall time", "simulated time"])
def test_the_program_of_px4_ros_com_takes_px4_off_and_lands_it(sim_time: bool) -> None:
    """Its file as it is: it orders each mode once, so that PX4 has to be ready before."""
    example = Path(os.environ["PX4_ROS_COM_DIR"], "src/examples/offboard_py/offboard_control.py")
    words = ["--ros-args", "-p", "use_sim_time:=true"] if sim_time else []
    with program(sim_node("fly", "px4", "--no-view", "--names", "px4")) as run, listener() as ears:
        places = ears.subscribe(VehicleLocalPosition, "/fmu/out/vehicle_local_position", PX4)
        states = ears.subscribe(VehicleStatus, "/fmu/out/vehicle_status", PX4)
        ears.spin_until(lambda: states and states[-1][1].pre_flight_checks_pass, lambda: f"ready; {run.output}")
        with program([sys.executable, example, *words]) as flown:
            ears.spin_until(lambda: flown.process.poll() is not None, lambda: f"landing; {flown.output}")
            assert "Switching to land mode" in flown.output, flown.output
        modes = [state.nav_state for _, state in states]
        assert VehicleStatus.NAVIGATION_STATE_OFFBOARD in modes
        assert min(place.z for _, place in places) < -4.9, "metres down"
        ears.spin_until(lambda: states[-1][1].arming_state == 1, "landed and disarmed")
        assert abs(places[-1][1].z) < 1.0
        assert VehicleStatus.NAVIGATION_STATE_AUTO_LAND in [state.nav_state for _, state in states]


def fly_as_the_example(ears: Listener) -> None:
    """px4_ros_com's offboard_control, to a place beside, with its orders until they are taken; then land."""
    modes, setpoints, commands = (
        ears.node.create_publisher(type, f"/fmu/in/{name}", PX4)
        for type, name in (
            (OffboardControlMode, "offboard_control_mode"),
            (TrajectorySetpoint, "trajectory_setpoint"),
            (VehicleCommand, "vehicle_command"),
        )
    )
    places = ears.subscribe(VehicleLocalPosition, "/fmu/out/vehicle_local_position_v1", PX4)
    states = ears.subscribe(VehicleStatus, "/fmu/out/vehicle_status", PX4)
    acks = ears.subscribe(VehicleCommandAck, "/fmu/out/vehicle_command_ack", PX4)
    ears.spin_until(lambda: all(each.get_subscription_count() for each in (modes, setpoints, commands)))
    ears.spin_until(lambda: places and places[-1][1].xy_global, "a position with its origin")
    assert (places[-1][1].ref_lat, places[-1][1].ref_lon) == pytest.approx((47.397742, 8.545594), abs=3e-5), "by GPS"

    def order(command: int, **params: float) -> None:
        """As the example, but until it is answered: the topic is best effort."""
        message = VehicleCommand(command=command, target_system=1, target_component=1, **params)
        timer = ears.node.create_timer(0.5, lambda: commands.publish(message))
        ears.spin_until(lambda: any((ack.command, ack.result) == (command, 0) for _, ack in acks), f"command {command}")
        ears.node.destroy_timer(timer)

    def fly() -> None:
        modes.publish(OffboardControlMode(position=True))
        if states and states[-1][1].nav_state == VehicleStatus.NAVIGATION_STATE_OFFBOARD:
            setpoints.publish(TrajectorySetpoint(position=[3.0, 0.0, -5.0], yaw=1.57079))

    timer = ears.node.create_timer(0.1, fly)
    try:
        order(VehicleCommand.VEHICLE_CMD_DO_SET_MODE, param1=1.0, param2=6.0)
        order(VehicleCommand.VEHICLE_CMD_COMPONENT_ARM_DISARM, param1=1.0)
        ears.spin_until(lambda: abs(places[-1][1].z + 5.0) < 0.2 and abs(places[-1][1].x - 3.0) < 0.3, "the place")
        status: Any = states[-1][1]
        assert (status.arming_state, status.nav_state) == (2, VehicleStatus.NAVIGATION_STATE_OFFBOARD)
        assert places[-1][1].timestamp < 600e6, "simulated time"
    finally:
        ears.node.destroy_timer(timer)
    request = VehicleCommandService.Request()
    request.request.command = VehicleCommand.VEHICLE_CMD_NAV_LAND
    reply = ears.call(VehicleCommandService, "/fmu/vehicle_command", request).reply
    assert (reply.command, reply.result) == (21, 0)
    ears.spin_until(lambda: states[-1][1].arming_state == 1, "landed and disarmed")


def test_our_names_serve_a_px4_that_has_an_agent(tmp_path: Path) -> None:
    """By the topics of a run's built-in autopilot, which stand for those of the agent."""
    world = tmp_path / "idle.yaml"
    world.write_text(WORLD, encoding="utf-8")
    names = ("-p", "names:=px4", "-p", "px4_namespace:=px4_7")
    with program(sim_node("run", str(world), "--no-view", "--ros-args", *names)) as run, listener() as ears:
        run.wait_for("topics below")
        fly_behind_an_agent(ears, "px4_7")


needs_agent = pytest.mark.skipif("PX4_AGENT" not in os.environ, reason="set PX4_AGENT to eProsima's MicroXRCEAgent")


@contextmanager
def px4_behind_an_agent(namespace: str) -> Iterator[Listener]:
    """PX4 in lockstep with a world, its topics on the graph, with px4_msgs of that PX4."""
    port = str(free_port())
    behind = {"PX4_UXRCE_DDS_PORT": port, "PX4_UXRCE_DDS_NS": namespace}
    with (
        program([os.environ["PX4_AGENT"], "udp4", "-p", port]),
        program(sim_node("fly", "px4", "--no-view", "--names", "enu"), **behind) as run,
        listener() as ears,
    ):
        run.wait_for("in lockstep")
        yield ears


@needs_px4
@needs_agent
@pytest.mark.usefixtures("autopilots")
def test_our_names_serve_px4_itself_behind_its_agent() -> None:
    """No MAVLink is between PX4 and the bridge."""
    with px4_behind_an_agent("px4_7") as ears:
        fly_behind_an_agent(ears, "px4_7")


@needs_px4
@needs_agent
@pytest.mark.usefixtures("autopilots")
def test_a_mode_of_a_program_flies_px4_itself() -> None:
    with px4_behind_an_agent("px4_7") as ears:
        fly_by_a_mode(ears, "/px4_7")


def test_a_mode_of_a_program_flies_the_built_in_autopilot(tmp_path: Path) -> None:
    with built_in(tmp_path) as (_, ears):
        fly_by_a_mode(ears, "")


@needs_px4
@pytest.mark.usefixtures("autopilots")
def test_a_mode_of_a_program_flies_px4_without_an_agent() -> None:
    with program(sim_node("fly", "px4", "--no-view", "--names", "px4")) as run, listener() as ears:
        run.wait_for("in lockstep")
        fly_by_a_mode(ears, "")


def test_a_mode_that_cannot_be_flown_is_refused(tmp_path: Path) -> None:
    """One whose program is silent, and what is PX4's own: the executor of a mode, a mode in place of PX4's."""
    with built_in(tmp_path) as (run, ears):
        replies = ears.subscribe(RegisterExtComponentReply, "/fmu/out/register_ext_component_reply", PX4)
        states = ears.subscribe(VehicleStatus, "/fmu/out/vehicle_status", PX4)
        acks = ears.subscribe(VehicleCommandAck, "/fmu/out/vehicle_command_ack", PX4)
        requests = ears.node.create_publisher(
            RegisterExtComponentRequest, "/fmu/in/register_ext_component_request", PX4
        )
        commands = ears.node.create_publisher(VehicleCommand, "/fmu/in/vehicle_command", PX4)

        def reply_to(number: int, **more: Any) -> RegisterExtComponentReply:
            request = RegisterExtComponentRequest(request_id=number, register_arming_check=True, register_mode=True)
            request.px4_ros2_api_version = RegisterExtComponentRequest.LATEST_PX4_ROS2_API_VERSION
            for field, value in more.items():
                setattr(request, field, value)

            def replied() -> bool:
                requests.publish(request)
                ears.spin_for(0.1)
                return bool(replies) and replies[-1][1].request_id == number

            ears.spin_until(replied, f"a reply to {more}")
            return replies[-1][1]

        assert not reply_to(1, register_mode_executor=True).success
        assert not reply_to(2, enable_replace_internal_mode=True, replace_internal_mode=5).success
        assert not reply_to(3, px4_ros2_api_version=0).success
        run.wait_for("only PX4 itself has that")
        silent = reply_to(4)
        assert (silent.success, silent.mode_id) == (True, VehicleStatus.NAVIGATION_STATE_EXTERNAL1)
        select = VehicleCommand(command=VehicleCommand.VEHICLE_CMD_SET_NAV_STATE, param1=float(silent.mode_id))

        def answered() -> bool:
            commands.publish(select)
            ears.spin_for(0.1)
            return any(ack.command == select.command for _, ack in acks)

        ears.spin_until(answered, "an answer to the selection")
        rejected = VehicleCommandAck.VEHICLE_CMD_RESULT_TEMPORARILY_REJECTED
        assert {ack.result for _, ack in acks if ack.command == select.command} == {rejected}
        assert states[-1][1].nav_state < VehicleStatus.NAVIGATION_STATE_EXTERNAL1


def fly_by_a_mode(ears: Listener, namespace: str) -> None:
    """By the messages that px4-ros2-interface-lib exchanges with PX4: registered, checked before arming, selected."""

    def topic(way: str, name: str, kind: Any) -> str:
        version = kind.MESSAGE_VERSION
        return f"{namespace}/fmu/{way}/{name}" + (f"_v{version}" if version else "")

    def publisher(name: str, kind: Any) -> Any:
        return ears.node.create_publisher(kind, topic("in", name, kind), PX4)

    states = ears.subscribe(VehicleStatus, topic("out", "vehicle_status", VehicleStatus), PX4)
    places = ears.subscribe(VehicleLocalPosition, topic("out", "vehicle_local_position", VehicleLocalPosition), PX4)
    acks = ears.subscribe(VehicleCommandAck, topic("out", "vehicle_command_ack", VehicleCommandAck), PX4)
    replies = ears.subscribe(
        RegisterExtComponentReply, topic("out", "register_ext_component_reply", RegisterExtComponentReply), PX4
    )
    requests = publisher("register_ext_component_request", RegisterExtComponentRequest)
    answers = publisher("arming_check_reply", ArmingCheckReply)
    controls = publisher("config_control_setpoints", VehicleControlMode)
    setpoints = publisher("trajectory_setpoint", TrajectorySetpoint)
    commands = publisher("vehicle_command", VehicleCommand)
    ears.spin_until(lambda: states and states[-1][1].pre_flight_checks_pass, "PX4 to be ready")

    request = RegisterExtComponentRequest(request_id=4711, register_arming_check=True, register_mode=True)
    request.name[:8] = np.frombuffer(b"Our mode", dtype=request.name.dtype)
    request.px4_ros2_api_version = RegisterExtComponentRequest.LATEST_PX4_ROS2_API_VERSION
    requests.publish(request)
    ears.spin_until(lambda: replies and replies[-1][1].request_id == 4711, "a reply to the registration")
    reply = replies[-1][1]
    assert reply.success
    assert reply.mode_id >= VehicleStatus.NAVIGATION_STATE_EXTERNAL1

    def check(asked: ArmingCheckRequest) -> None:
        answer = ArmingCheckReply(request_id=asked.request_id, registration_id=reply.arming_check_id)
        answer.can_arm_and_run = answer.mode_req_local_position = True
        answers.publish(answer)

    ears.node.create_subscription(
        ArmingCheckRequest, topic("out", "arming_check_request", ArmingCheckRequest), check, PX4
    )
    control = VehicleControlMode(source_id=reply.mode_id, flag_multicopter_position_control_enabled=True)
    for flag in (
        "position",
        "velocity",
        "altitude",
        "climb_rate",
        "acceleration",
        "attitude",
        "rates",
        "allocation",
    ):
        setattr(control, f"flag_control_{flag}_enabled", True)
    controls.publish(control)
    unset = [math.nan] * 3
    target = TrajectorySetpoint(position=[2.0, -3.0, -6.0], velocity=unset, acceleration=unset, jerk=unset)
    target.yaw, target.yawspeed = 0.0, math.nan
    timer = ears.node.create_timer(0.05, lambda: setpoints.publish(target))

    def order(command: int, **params: float) -> None:
        message = VehicleCommand(command=command, target_system=states[-1][1].system_id, target_component=1)
        for name, value in params.items():
            setattr(message, name, value)

        def accepted() -> bool:
            controls.publish(control)
            commands.publish(message)
            ears.spin_for(0.2)
            return any((ack.command, ack.result) == (command, 0) for _, ack in acks)

        ears.spin_until(accepted, lambda: f"command {command}; {[(a.command, a.result) for _, a in acks]}")

    # PX4 leaves the ground by its own modes only, and by offboard setpoints.
    order(VehicleCommand.VEHICLE_CMD_SET_NAV_STATE, param1=float(VehicleStatus.NAVIGATION_STATE_AUTO_TAKEOFF))
    order(VehicleCommand.VEHICLE_CMD_COMPONENT_ARM_DISARM, param1=1.0)
    ears.spin_until(lambda: places[-1][1].z < -2.0, "in the air")
    acks.clear()
    order(VehicleCommand.VEHICLE_CMD_SET_NAV_STATE, param1=float(reply.mode_id))
    ears.spin_until(
        lambda: np.allclose([getattr(places[-1][1], axis) for axis in "xyz"], target.position, atol=0.3),
        lambda: f"the place; at {places[-1][1]}, {states[-1][1]}",
    )
    assert states[-1][1].nav_state == reply.mode_id
    ears.node.destroy_timer(timer)
    order(VehicleCommand.VEHICLE_CMD_NAV_LAND)
    ears.spin_until(lambda: states[-1][1].arming_state == 1, "landed and disarmed")


def fly_behind_an_agent(ears: Listener, namespace: str) -> None:
    """A drone of the world that is vehicle1 of a bridge to a PX4's topics: to a place by setpoints, and land."""
    words = ("--url", f"fmu:{namespace}", "--ros-args", "-p", "use_sim_time:=true", "-p", "tf_parent:=none")
    with program(sim_node("bridge", *words)) as node:
        node.wait_for("topics below vehicle1")
        poses = ears.subscribe(PoseStamped, "/vehicle1/local_position/pose", qos_profile_sensor_data)
        fixes = ears.subscribe(NavSatFix, "/vehicle1/global_position/raw/fix", qos_profile_sensor_data)
        places = ears.subscribe(VehicleLocalPosition, f"/{namespace}/fmu/out/vehicle_local_position_v1", PX4)
        truths = ears.subscribe(TFMessage, "/tf", 100)

        def ask(name: str) -> None:
            def accepted() -> bool:
                answer = ears.call(Trigger, f"/vehicle1/{name}", Trigger.Request())
                return bool(answer.success)

            ears.spin_until(accepted, lambda: f"{name}; {node.output}")

        ears.spin_until(lambda: poses and fixes and places, lambda: f"telemetry; {node.output}")
        fix = fixes[-1][1]
        assert (fix.latitude, fix.longitude) == pytest.approx((47.397742, 8.545594), abs=3e-5), "by GPS"
        ears.spin_until(
            lambda: ears.call(SetBool, "/vehicle1/cmd/arming", SetBool.Request(data=True)).success,
            lambda: f"armed; {node.output}",
        )
        ask("cmd/takeoff")
        ears.spin_until(lambda: poses[-1][1].pose.position.z > 2.0, lambda: f"in the air; {node.output}")
        target = PoseStamped()
        target.header.frame_id = "map"
        target.pose.position.x, target.pose.position.y, target.pose.position.z = 4.0, -2.0, 5.0
        local = ears.node.create_publisher(PoseStamped, "/vehicle1/setpoint_position/local", 10)
        timer = ears.node.create_timer(0.1, lambda: local.publish(target))
        ask("cmd/guided")

        def is_there() -> bool:
            at = poses[-1][1].pose.position
            return bool(abs(at.x - 4.0) < 0.3 and abs(at.y + 2.0) < 0.3 and abs(at.z - 5.0) < 0.3)

        ears.spin_until(is_there, lambda: f"the place; at {poses[-1][1].pose.position}; {node.output}")
        place = places[-1][1]
        assert (place.y, place.x, -place.z) == pytest.approx((4.0, -2.0, 5.0), abs=0.5), "the same in NED"
        (truth,) = (each for each in truths[-1][1].transforms if each.child_frame_id == "drone/base_link")
        at = truth.transform.translation
        assert (at.x, at.y) == pytest.approx((4.0, -2.0), abs=1.5), "as in the world, but for the error of its GPS"
        ears.node.destroy_timer(timer)
        ask("cmd/land")
        ears.spin_until(lambda: poses[-1][1].pose.position.z < 0.3, lambda: f"landed; {node.output}")


def test_a_px4_of_another_version_is_not_passed_over_in_silence() -> None:
    bridge = sim_node("bridge", "--url", "fmu:px4_8")
    with program(bridge) as node, listener() as ears:
        ears.node.create_publisher(VehicleStatus, "/px4_8/fmu/out/vehicle_status_v77", PX4)
        node.wait_for(
            "/px4_8/fmu/out/vehicle_status_v77 is published, and px4_msgs has /px4_8/fmu/out/vehicle_status_v1"
        )


def test_names_of_px4_are_not_served_from_px4_names() -> None:
    with program(sim_node("bridge", "--url", "fmu:", "--names", "enu,px4")) as node:
        assert node.wait() == 2
        assert "px4 would publish what fmu: reads" in node.output
