"""ArduPilot's DDS names as programs use them: its documented calls, with the built-in autopilot in simulated time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from claims import free_instance

pytest.importorskip("ardupilot_msgs", reason="needs sim_node build geographic_msgs, and ardupilot_msgs")

from ardupilot_msgs.msg import GlobalPosition, Status
from ardupilot_msgs.srv import ArmMotors, ModeSwitch, Takeoff
from forked_programs import program
from geographic_msgs.msg import GeoPointStamped, GeoPoseStamped
from geometry_msgs.msg import PoseStamped, TwistStamped
from listening import Listener, listener
from processes import sim_node
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from std_srvs.srv import Trigger

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("ros_domain")]
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ALTITUDE = 47.8  # above the ellipsoid: half a metre above mean sea level
WORLD = f"""
world: idle
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: {ALTITUDE}}}
time: {{step: STEP}}
physics: {{integrator: euler, timestep: 0.001}}
bodies:
  - {{name: ground, geometry: [{{plane: true}}]}}
vehicles:
  - name: drone
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: AUTOPILOT
"""
GUIDED, LAND = 4, 9


def written(tmp_path: Path, step: float, autopilot: str) -> str:
    world = tmp_path / "idle.yaml"
    world.write_text(WORLD.replace("STEP", f"{step}").replace("AUTOPILOT", autopilot), encoding="utf-8")
    return str(world)


@contextmanager
def flying(tmp_path: Path) -> Iterator[Listener]:
    world = written(tmp_path, 0.004, "{type: mavlink_builtin, like: ardupilot}")
    with program(sim_node("run", world, "--no-view", "--ros-args", "-p", "names:=ap")) as run, listener() as ears:
        run.wait_for("topics below")
        yield ears


@contextmanager
def flying_ardupilot(tmp_path: Path) -> Iterator[Listener]:
    """ArduCopter itself, as fast as it can: it needs half a minute of simulated time until it knows where it is."""
    if not os.environ.get("ARDUPILOT_DIR"):
        pytest.skip("needs ArduPilot: set ARDUPILOT_DIR")
    world = written(tmp_path, 0.001, f"{{type: ardupilot, instance: {free_instance()}}}")
    command = sim_node("fly", "ardupilot", world, "--names", "ap", "--no-view", "--speed", "max")
    with program(command) as run, listener() as ears:
        run.wait_for("in lockstep")
        yield ears


@pytest.mark.parametrize("fly", [flying, flying_ardupilot])
def test_a_client_arms_takes_off_and_flies_by_velocity_and_by_place(tmp_path: Path, fly: Any) -> None:
    with fly(tmp_path) as ears:
        poses = ears.subscribe(PoseStamped, "/ap/pose/filtered", qos_profile_sensor_data)
        places = ears.subscribe(GeoPoseStamped, "/ap/geopose/filtered", qos_profile_sensor_data)
        goals = ears.subscribe(GeoPointStamped, "/ap/goal_lla", LATCHED)
        states = ears.subscribe(Status, "/ap/status", LATCHED)
        ears.spin_until(lambda: poses and places, "a pose of home and a place")

        switched = ears.call(ModeSwitch, "/ap/mode_switch", ModeSwitch.Request(mode=GUIDED))
        assert (switched.status, switched.curr_mode) == (True, GUIDED)
        refused = ears.call(ModeSwitch, "/ap/mode_switch", ModeSwitch.Request(mode=199))
        assert (refused.status, refused.curr_mode) == (False, GUIDED)
        ears.spin_until(
            lambda: ears.call(Trigger, "/ap/prearm_check", Trigger.Request()).success, "that it can be armed"
        )
        checked = ears.call(Trigger, "/ap/prearm_check", Trigger.Request())
        assert (checked.success, checked.message) == (True, "Vehicle is Armable")
        ears.spin_until(
            lambda: ears.call(ArmMotors, "/ap/arm_motors", ArmMotors.Request(arm=True)).result, "that it is armed"
        )
        assert not ears.call(Takeoff, "/ap/experimental/takeoff", Takeoff.Request(alt=-1.0)).status
        assert ears.call(Takeoff, "/ap/experimental/takeoff", Takeoff.Request(alt=5.0)).status

        def at() -> Any:
            return poses[-1][1].pose.position

        ears.spin_until(lambda: abs(at().z - 5.0) < 0.3, "five metres above home")
        ears.spin_until(lambda: states[-1][1].flying, "that it flies")
        status = states[-1][1]
        assert (status.vehicle_type, status.armed, status.mode) == (Status.APM_ARDUCOPTER, True, GUIDED)

        velocities = ears.node.create_publisher(TwistStamped, "/ap/cmd_vel", qos_profile_sensor_data)
        east = TwistStamped()
        east.header.frame_id, east.twist.linear.x = "map", 2.0
        timer = ears.node.create_timer(0.1, lambda: velocities.publish(east))
        ears.spin_until(lambda: at().x > 4.0, "four metres east")
        ears.node.destroy_timer(timer)
        assert abs(at().y) < 1.0
        assert abs(at().z - 5.0) < 1.0

        targets = ears.node.create_publisher(GlobalPosition, "/ap/cmd_gps_pose", qos_profile_sensor_data)
        north = GlobalPosition(coordinate_frame=GlobalPosition.FRAME_GLOBAL_REL_ALT, altitude=8.0)
        north.header.frame_id, north.latitude, north.longitude = "map", 47.397742 + 9e-5, 8.545594
        timer = ears.node.create_timer(0.5, lambda: targets.publish(north))
        ears.spin_until(
            lambda: abs(at().y - 10.0) < 0.5 and abs(at().x) < 0.5 and abs(at().z - 8.0) < 0.5, "ten metres north"
        )
        ears.node.destroy_timer(timer)
        place = places[-1][1].pose.position
        assert (place.latitude, place.longitude) == pytest.approx((north.latitude, north.longitude), abs=1e-5)
        assert goals[-1][1].position.latitude == pytest.approx(north.latitude, abs=1e-5)
        assert places[-1][1].header.stamp.sec < 600, "simulated time"

        assert ears.call(ModeSwitch, "/ap/mode_switch", ModeSwitch.Request(mode=LAND)).status
        ears.spin_until(lambda: not states[-1][1].armed, "landed and disarmed")


def test_parameters_are_read_and_set(tmp_path: Path) -> None:
    with flying(tmp_path) as ears:

        def value(name: str) -> Any:
            [found] = ears.call(GetParameters, "/ap/get_parameters", GetParameters.Request(names=[name])).values
            return found

        ears.spin_until(lambda: value("WPNAV_SPEED").type == ParameterType.PARAMETER_DOUBLE, "the parameters")
        assert value("FRAME_CLASS").integer_value == 1
        assert value("NO_SUCH").type == ParameterType.PARAMETER_NOT_SET
        speed = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=321.0)
        request = SetParameters.Request(
            parameters=[Parameter(name="WPNAV_SPEED", value=speed), Parameter(name="NO_SUCH", value=speed)]
        )
        done, unknown = ears.call(SetParameters, "/ap/set_parameters", request).results
        assert (done.successful, done.reason) == (True, "Parameter accepted")
        assert (unknown.successful, unknown.reason) == (False, "Parameter not found")
        assert value("WPNAV_SPEED").double_value == 321.0


@pytest.mark.parametrize("name", ["copter_takeoff.py", "pre_arm_check_service.py"])
def test_ardupilots_own_example_runs_unchanged(tmp_path: Path, name: str) -> None:
    """Its copter_takeoff waits for an altitude above mean sea level: the world is as low as it expects."""
    root = os.environ.get("ARDUPILOT_DIR")
    example = Path(root or "") / "Tools/ros2/ardupilot_dds_tests/ardupilot_dds_tests" / name
    if not root or not example.is_file():
        pytest.skip(f"needs {name} of an ArduPilot checkout: set ARDUPILOT_DIR")
    with flying(tmp_path), program([sys.executable, str(example)]) as client:
        assert client.wait() == 0, client.output
