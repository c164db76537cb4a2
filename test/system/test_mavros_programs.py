"""MAVROS' names as programs use them: its messages and services on the real graph, an autopilot on a real socket."""

from __future__ import annotations

import math
import os
from typing import Any

import pytest

pytest.importorskip("mavros_msgs", reason="needs sim_node build geographic_msgs, and mavros_msgs")

from forked_programs import program
from geometry_msgs.msg import PoseStamped
from listening import listener
from mavros_msgs.msg import PositionTarget, State, Waypoint, WaypointList
from mavros_msgs.srv import CommandBool, CommandTOL, SetMode, WaypointPull, WaypointPush
from peer import COPTER_MODES
from processes import sim_node
from rcl_interfaces.srv import ListParameters
from rclpy.qos import qos_profile_sensor_data
from test_bridge_node import LATCHED, flying

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("ros_domain")]
SQUARE = ((20.0, 0.0), (20.0, 20.0), (0.0, 20.0), (0.0, 0.0))


def test_arm_take_off_and_follow_setpoints() -> None:
    with flying("--names", "mavros") as (_, ears, autopilot):
        states = ears.subscribe(State, "/mavros/state", 10)
        poses = ears.subscribe(PoseStamped, "/mavros/local_position/pose", qos_profile_sensor_data)
        assert ears.call(CommandBool, "/mavros/cmd/arming", CommandBool.Request(value=True)).success
        assert autopilot.armed
        assert ears.call(SetMode, "/mavros/set_mode", SetMode.Request(custom_mode="GUIDED")).mode_sent
        assert not ears.call(SetMode, "/mavros/set_mode", SetMode.Request(custom_mode="GUDED")).mode_sent
        ears.spin_until(lambda: states and states[-1][1].armed and states[-1][1].mode == "GUIDED", "state")
        taken = ears.call(CommandTOL, "/mavros/cmd/takeoff", CommandTOL.Request(altitude=5.0))
        assert (taken.success, taken.result) == (True, 0)
        autopilot.refuse[21] = (4, "no")
        refused = ears.call(CommandTOL, "/mavros/cmd/land", CommandTOL.Request())
        assert (refused.success, refused.result) == (False, 4)

        local = ears.node.create_publisher(PoseStamped, "/mavros/setpoint_position/local", 10)
        target = PoseStamped()  # without a frame and a stamp, as in MAVROS' own examples
        target.pose.position.x, target.pose.position.y, target.pose.position.z = 10.0, -5.0, 12.0
        ears.spin_until(lambda: local.get_subscription_count() > 0)
        timer = ears.node.create_timer(0.1, lambda: local.publish(target))
        ears.spin_until(lambda: autopilot.of("SET_POSITION_TARGET_LOCAL_NED"), "a setpoint")
        sent = autopilot.of("SET_POSITION_TARGET_LOCAL_NED")[-1]
        assert (sent.x, sent.y, sent.z, sent.type_mask) == (-5.0, 10.0, -12.0, 2552)
        assert sent.yaw == pytest.approx(math.pi / 2), "east"
        ears.node.destroy_timer(timer)

        raw = ears.node.create_publisher(PositionTarget, "/mavros/setpoint_raw/local", 10)
        ears.spin_until(lambda: raw.get_subscription_count() > 0)
        message = PositionTarget(coordinate_frame=PositionTarget.FRAME_LOCAL_NED, type_mask=0b0000_1101_1100_0111)
        message.velocity.x = 1.5
        timer = ears.node.create_timer(0.1, lambda: raw.publish(message))
        ears.spin_until(lambda: autopilot.of("SET_POSITION_TARGET_LOCAL_NED")[-1].vy == 1.5, "a velocity")
        ears.node.destroy_timer(timer)
        ears.spin_until(lambda: bool(poses), "a pose")
        assert poses[-1][1].header.frame_id == "map"
        names = {name for name, _ in ears.node.get_topic_names_and_types()}
        assert not any(name.startswith("/vehicle1/local_position") for name in names), "mavros alone"


def test_a_square_as_a_mission() -> None:
    with flying("--names", "enu,mavros") as (_, ears, autopilot):
        lists = ears.subscribe(WaypointList, "/mavros/mission/waypoints", LATCHED)

        def waypoint(east: float, north: float) -> Waypoint:
            place = {"x_lat": 47.0 + north * 1e-5, "y_long": 8.0 + east * 1e-5, "z_alt": 10.0}
            return Waypoint(frame=3, command=16, autocontinue=True, **place)

        points = [waypoint(0.0, 0.0), *(waypoint(*corner) for corner in SQUARE)]
        pushed = ears.call(WaypointPush, "/mavros/mission/push", WaypointPush.Request(waypoints=points))
        assert (pushed.success, pushed.wp_transfered) == (True, 5)
        assert [item.x for item in autopilot.mission] == [round(point.x_lat * 1e7) for point in points]
        pulled = ears.call(WaypointPull, "/mavros/mission/pull", WaypointPull.Request())
        assert (pulled.success, pulled.wp_received) == (True, 5)
        ears.spin_until(lambda: lists and len(lists[-1][1].waypoints) == 5, "the mission")
        found: Any = lists[-1][1].waypoints
        assert [point.y_long for point in found] == pytest.approx([point.y_long for point in points], abs=1e-7)
        assert ears.call(ListParameters, "/mavros/param/list_parameters", ListParameters.Request()) is not None
        # Ours are there, too.
        poses = ears.subscribe(PoseStamped, "/vehicle1/local_position/pose", qos_profile_sensor_data)
        ears.spin_until(lambda: bool(poses), "our pose")
        assert poses[-1][1].header.frame_id == "map"


def test_modes_are_those_of_the_autopilot() -> None:
    with flying("--names", "mavros") as (_, ears, autopilot):
        assert ears.call(SetMode, "/mavros/set_mode", SetMode.Request(custom_mode="land")).mode_sent
        assert autopilot.mode == COPTER_MODES["LAND"]


@pytest.mark.parametrize("kind", ["px4", "ardupilot"])
@pytest.mark.usefixtures("autopilots")
def test_an_autopilot_itself_flies_a_square_by_mavros_names(kind: str) -> None:
    """As the offboard examples of MAVROS do: PX4 takes off by its setpoints, ArduPilot by a command."""
    variable = f"{kind.upper()}_DIR"
    if not os.environ.get(variable):
        pytest.skip(f"set {variable} to a checkout with a SITL build")
    guided, land = ("OFFBOARD", "AUTO.LAND") if kind == "px4" else ("GUIDED", "LAND")
    with program(sim_node("fly", kind, "--no-view", "--names", "mavros")) as run, listener() as ears:
        states = ears.subscribe(State, "/mavros/state", 10)
        poses = ears.subscribe(PoseStamped, "/mavros/local_position/pose", qos_profile_sensor_data)
        local = ears.node.create_publisher(PoseStamped, "/mavros/setpoint_position/local", 10)
        target = PoseStamped()
        target.pose.position.z = 5.0
        timer = ears.node.create_timer(0.05, lambda: local.publish(target))
        if kind == "ardupilot":  # a setpoint ends its take-off
            timer.cancel()
        ears.spin_until(lambda: poses and states and states[-1][1].connected, lambda: f"connected; {run.output}")

        def flies() -> bool:
            if states[-1][1].mode != guided:
                ears.call(SetMode, "/mavros/set_mode", SetMode.Request(custom_mode=guided))
            elif not states[-1][1].armed:
                ears.call(CommandBool, "/mavros/cmd/arming", CommandBool.Request(value=True))
            elif kind == "ardupilot":
                return bool(ears.call(CommandTOL, "/mavros/cmd/takeoff", CommandTOL.Request(altitude=5.0)).success)
            return bool(kind == "px4" and states[-1][1].armed and states[-1][1].mode == guided)

        def is_there() -> bool:
            """For the last thirty poses."""
            to, recent = target.pose.position, [each.pose.position for _, each in poses[-30:]]
            return all(math.dist((at.x, at.y, at.z), (to.x, to.y, to.z)) < 0.5 for at in recent)

        ears.spin_until(flies, lambda: f"armed in {guided}; {run.output}")
        ears.spin_until(lambda: poses[-1][1].pose.position.z > 4.0, lambda: f"taken off; {run.output}")
        timer.reset()
        # The height of ArduPilot's estimate above its origin is not that above its home.
        target.pose.position.z = 8.0
        for east, north in ((0.0, 0.0), (6.0, 0.0), (6.0, 6.0), (0.0, 6.0), (0.0, 0.0)):
            target.pose.position.x, target.pose.position.y = east, north
            ears.spin_until(is_there, lambda: f"a corner; {target}; at {poses[-1][1]}; {run.output}")
        assert ears.call(SetMode, "/mavros/set_mode", SetMode.Request(custom_mode=land)).mode_sent
        ears.spin_until(lambda: not states[-1][1].armed, lambda: f"landed and disarmed; {run.output}")
        ears.node.destroy_timer(timer)
        at = poses[-1][1].pose.position
        assert math.hypot(at.x, at.y) < 1.0
