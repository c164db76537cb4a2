"""A rover as people start it: its world, its autopilot's process and the bridge, driven from the graph alone."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from claims import free_instance
from diagnostic_msgs.msg import DiagnosticStatus
from forked_programs import program
from geometry_msgs.msg import PoseStamped, TwistStamped
from listening import listener
from nav_msgs.msg import Odometry
from processes import sim_node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

SENSOR = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=100)
WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: implicitfast, timestep: 0.004}}
ground: {{friction: 0.9}}
bases:
  - name: rover
    model: rover
    drive: kinematic
    transforms: truth
    autopilot: {{type: mavlink_builtin, instance: {instance}}}
"""
MISSION = """\
frame: enu
items:
  - {type: waypoint, position: [2, 0, 0], radius: 0.3}
  - {type: waypoint, position: [2, 2, 0], radius: 0.3, hold: 1}
  - {type: return}
"""


# Takes seconds: make test has this drive without a bridge in test/autopilot/test_builtin_rover.py, and a flight
# through the bridge.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_it_drives_goto_setpoints_and_a_mission_through_the_bridge_alone(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WORLD.format(instance=free_instance()))
    with listener() as ears, program(sim_node("run", tmp_path / "w.yaml", "--speed", "4")) as node:
        truth = ears.subscribe(Odometry, "/rover/truth/odom", SENSOR)
        reported = ears.subscribe(PoseStamped, "/rover/local_position/pose", SENSOR)
        results = ears.subscribe(DiagnosticStatus, "/rover/command_result", RELIABLE)
        mode = ears.subscribe(String, "/rover/mode", LATCHED)

        def place() -> list[float]:
            at = truth[-1][1].pose.pose.position
            return [at.x, at.y]

        def near(x: float, y: float) -> None:
            ears.spin_until(lambda: math.dist(place(), (x, y)) < 0.3, what=f"({x:g}, {y:g})")

        def call(name: str) -> Trigger.Response:
            return ears.call(Trigger, f"/rover/{name}", Trigger.Request())

        def ended(name: str) -> list[str]:
            done = [status for _, status in results if status.values and status.values[0].value == "true"]
            return [status.message for status in done if status.name == name]

        ears.spin_until(lambda: bool(truth and reported and mode), what="truth and telemetry")
        assert ears.call(SetBool, "/rover/cmd/arming", SetBool.Request(data=True)).success
        refused = call("cmd/land")
        assert not refused.success
        assert "a rover stays on the ground" in refused.message
        assert "a rover cannot take off" in call("cmd/takeoff").message

        goal = PoseStamped()
        goal.header.frame_id = "map"
        goal.pose.position.x, goal.pose.position.y, goal.pose.orientation.w = 2.0, -1.5, 1.0
        send = ears.node.create_publisher(PoseStamped, "/rover/goto", RELIABLE)
        ears.spin_until(lambda: send.get_subscription_count() > 0)
        send.publish(goal)
        ears.spin_until(lambda: bool(ended("goto")), what="goto's end")
        assert ended("goto")[0].startswith("reached")
        near(2.0, -1.5)

        # An arc of 2 m: 1 m/s ahead and 0.5 rad/s to the left, along its own axes.
        drive = ears.node.create_publisher(TwistStamped, "/rover/setpoint_velocity/cmd_vel", SENSOR)
        arc = TwistStamped()
        arc.header.frame_id = "rover/base_link"
        arc.twist.linear.x, arc.twist.angular.z = 1.0, 0.5

        def on_the_arc() -> bool:
            drive.publish(arc)
            twist = truth[-1][1].twist.twist
            return math.hypot(twist.linear.x - 1.0, twist.angular.z - 0.5) < 0.02

        ears.spin_until(on_the_arc, what="the arc")
        assert mode[-1][1].data == "OFFBOARD"

        upload = ears.node.create_publisher(String, "/rover/mission/upload", RELIABLE)
        ears.spin_until(lambda: upload.get_subscription_count() > 0)
        upload.publish(String(data=MISSION))
        ears.spin_until(lambda: bool(ended("mission upload")), what="the upload")
        assert ended("mission upload") == ["3 items"]
        assert call("mission/start").success
        for x, y in ((2.0, 0.0), (2.0, 2.0), (0.0, 0.0)):
            near(x, y)
        ears.spin_until(lambda: mode[-1][1].data == "AUTO.RTL", what="the return")
        assert ears.call(SetBool, "/rover/cmd/arming", SetBool.Request(data=False)).success
        ears.spin_until(lambda: abs(truth[-1][1].twist.twist.linear.x) < 0.01, what="a stop")
        at = reported[-1][1].pose.position
        np.testing.assert_allclose([at.x, at.y], place(), atol=0.3)
        assert node.stop() == 0
