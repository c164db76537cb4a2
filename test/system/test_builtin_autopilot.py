"""The whole loop as people start it: a world, its autopilot's process, and the bridge, flown from the graph alone."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from claims import can_be_bound, free_instance
from diagnostic_msgs.msg import DiagnosticStatus
from forked_programs import program
from geometry_msgs.msg import PoseStamped
from listening import Listener, listener
from nav_msgs.msg import Odometry
from processes import Program, sim_node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import Imu
from std_msgs.msg import Bool, Float64, String
from std_srvs.srv import SetBool, Trigger
from waiting import until_ended

from sim_node.assembly import assemble
from sim_node.session.graph_names import graph_names
from sim_node.world import load

SENSOR = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=100)
WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.002}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: drone
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, instance: {instance}}}
sensors: [{{name: drone/TRUTH, type: ground_truth, rate: 50}}]
"""
MISSION = """\
frame: enu
items:
  - {type: takeoff, height: 3}
  - {type: waypoint, position: [4, 0, 3], radius: 0.3, hold: 1}
  - {type: waypoint, position: [4, 4, 4], radius: 0.3, hold: 1}
  - {type: land}
"""
# Home lies where the vehicle stood, a hand above the ground.
STANDS = 0.13


class Drone:
    """What the graph knows of the vehicle: topics of the bridge, and the simulation's own truth."""

    def __init__(self, ears: Listener) -> None:
        self.ears = ears
        self.truth = ears.subscribe(Odometry, "/drone/truth/odom", SENSOR)
        self.reported = ears.subscribe(PoseStamped, "/drone/local_position/pose", SENSOR)
        self.results = ears.subscribe(DiagnosticStatus, "/drone/command_result", RELIABLE)
        self.armed = ears.subscribe(Bool, "/drone/armed", LATCHED)
        self.mode = ears.subscribe(String, "/drone/mode", LATCHED)

    @property
    def place(self) -> np.ndarray:
        position = self.truth[-1][1].pose.pose.position
        return np.array([position.x, position.y, position.z])

    def path(self) -> np.ndarray:
        positions = [message.pose.pose.position for _, message in self.truth]
        return np.array([[p.x, p.y, p.z] for p in positions])

    def call(self, name: str) -> Trigger.Response:
        return self.ears.call(Trigger, f"/drone/{name}", Trigger.Request())

    def say(self, kind: type, topic: str, message: object) -> None:
        publisher = self.ears.node.create_publisher(kind, topic, RELIABLE)
        self.ears.spin_until(lambda: publisher.get_subscription_count() > 0, what=f"a listener of {topic}")
        publisher.publish(message)
        self.ears.spin_until(lambda: publisher.wait_for_all_acked(), what=f"{topic} taken")

    def ended(self, name: str) -> list[DiagnosticStatus]:
        done = [status for _, status in self.results if status.values and status.values[0].value == "true"]
        return [status for status in done if status.name == name]


def recorded_path(bag: Path, begin_ns: int) -> np.ndarray:
    """Where the drone was from then on (M, 3), as another library reads it."""
    with AnyReader([bag]) as reader:
        connections = [each for each in reader.connections if each.topic == "/drone/truth/odom"]
        messages = [
            reader.deserialize(data, connection.msgtype)
            for connection, _, data in reader.messages(connections, start=begin_ns)
        ]
    positions: list[Any] = [message.pose.pose.position for message in messages]
    return np.array([[p.x, p.y, p.z] for p in positions])


@contextmanager
def drone(tmp_path: Path, *options: str) -> Iterator[tuple[Program, Drone, int]]:
    instance = free_instance()
    world = tmp_path / "w.yaml"
    world.write_text(WORLD.format(instance=instance))
    with listener() as ears, program(sim_node("run", world, *options)) as node:
        made = Drone(ears)
        ears.spin_until(lambda: bool(made.truth and made.reported), what="truth and telemetry")
        yield node, made, instance


@pytest.mark.usefixtures("ros_domain")
def test_it_flies_goto_mission_and_land_through_the_bridge_alone(tmp_path: Path) -> None:
    bag = tmp_path / "flight"
    with drone(tmp_path, "--speed", "4", "--record", str(bag)) as (node, flown, _instance):
        ears = flown.ears
        refused = flown.call("cmd/land")
        assert not refused.success
        assert refused.message.startswith("temporarily rejected: do set mode: Switching to AUTO.LAND")

        assert ears.call(SetBool, "/drone/cmd/arming", SetBool.Request(data=True)).success
        flown.say(Float64, "/drone/cmd/takeoff_to", Float64(data=3.0))
        ears.spin_until(lambda: flown.place[2] > STANDS + 2.8, what="takeoff")

        goal = PoseStamped()
        goal.header.frame_id = "map"
        goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = 3.0, -2.0, 4.0
        goal.pose.orientation.w = 1.0
        flown.say(PoseStamped, "/drone/goto", goal)
        ears.spin_until(lambda: bool(flown.ended("goto")), what="goto's end")
        assert flown.ended("goto")[0].message.startswith("reached")
        ears.spin_until(
            lambda: bool(np.linalg.norm(flown.place - [3.0, -2.0, STANDS + 4.0]) < 0.15), what="where it was sent"
        )

        flown.say(String, "/drone/mission/upload", String(data=MISSION))
        ears.spin_until(lambda: bool(flown.ended("mission upload")), what="the upload")
        assert flown.ended("mission upload")[0].message == "4 items"
        waypoints = ears.subscribe(String, "/drone/mission/waypoints", LATCHED)
        assert flown.call("mission/pull").success
        ears.spin_until(lambda: bool(waypoints))
        assert waypoints[0][1].data.count('"waypoint"') == 2
        stamp = flown.truth[-1][1].header.stamp
        began = stamp.sec * 10**9 + stamp.nanosec
        assert flown.call("mission/start").success
        ears.spin_until(lambda: not flown.armed[-1][1].data, what="the mission's landing")

        np.testing.assert_allclose(flown.place, [4.0, 4.0, STANDS], atol=0.3)

        # What the bridge tells is where the vehicle is, in the world's own frame.
        reported = flown.reported[-1][1]
        assert reported.header.frame_id == "map"
        position = reported.pose.position
        np.testing.assert_allclose([position.x, position.y, position.z], flown.place, atol=0.05)
        assert node.stop() == 0

    # From the bag: a subscriber of sensor data misses messages on a busy machine, a recording does not.
    path = recorded_path(bag, began)
    for place in ([4.0, 0.0, STANDS + 3.0], [4.0, 4.0, STANDS + 4.0]):
        assert np.linalg.norm(path - place, axis=1).min() < 0.3


@pytest.mark.usefixtures("ros_domain")
def test_every_topic_has_one_publisher_and_is_known_from_the_world_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    with drone(tmp_path) as (node, flown, instance):
        ears = flown.ears
        simulated = ears.subscribe(Imu, "/drone/imu/data_raw", SENSOR)
        measured = ears.subscribe(Imu, "/drone/autopilot/imu/data_raw", SENSOR)
        ears.call(SetBool, "/drone/cmd/arming", SetBool.Request(data=False))
        ears.spin_until(lambda: simulated and measured, what="both topics")
        assert {message.header.frame_id for _, message in simulated} == {"drone/IMU"}
        assert {message.header.frame_id for _, message in measured} == {"drone/base_link"}
        known = list(graph_names(assemble(load(tmp_path / "w.yaml"))))
        topics = {name for name, _ in ears.node.get_topic_names_and_types() if name.startswith("/drone/")}
        publishers = {name: ears.node.count_publishers(name) for name in topics}
        assert {name: count for name, count in publishers.items() if count > 1} == {}
        published = {name for name, count in publishers.items() if count}
        assert published <= {each.name for each in known if each.kind == "topic"}
        offered = {e.name for e in known if e.kind == "service" and e.owner == "the bridge of vehicle drone"}

        def services() -> set[str]:
            return {name for name, _ in ears.node.get_service_names_and_types() if name.startswith("/drone/")}

        # They are discovered one after the other.
        ears.spin_until(lambda: offered <= services(), what=f"the services {offered}")
        assert services() == offered

        # Ctrl-C leaves no process and no port.
        children = psutil.Process(node.process.pid).children(recursive=True)
        assert children
        assert node.stop() == 0
        until_ended(*children)
        for kind, port in ((socket.SOCK_STREAM, 4560 + instance), (socket.SOCK_DGRAM, 14540 + instance)):
            assert can_be_bound(kind, port)


@pytest.mark.usefixtures("ros_domain")
def test_killed_in_flight_it_is_back_and_lands(tmp_path: Path) -> None:
    with drone(tmp_path, "--speed", "4") as (node, flown, _):
        ears = flown.ears
        assert ears.call(SetBool, "/drone/cmd/arming", SetBool.Request(data=True)).success
        flown.say(Float64, "/drone/cmd/takeoff_to", Float64(data=3.0))
        ears.spin_until(lambda: flown.place[2] > STANDS + 2.5, what="takeoff")
        began = len(flown.truth)
        (autopilot,) = [p for p in psutil.Process(node.process.pid).children() if "autopilot" in p.cmdline()]
        autopilot.send_signal(signal.SIGKILL)
        node.wait_for("is gone")
        received = len(flown.truth)
        ears.spin_until(lambda: len(flown.truth) > received + 100, what="the simulation goes on")
        assert flown.path()[began:, 2].min() > STANDS + 2.0
        assert flown.call("cmd/land").success
        ears.spin_until(lambda: not flown.armed[-1][1].data, what="landing")
        assert abs(flown.place[2] - STANDS) < 0.05
