"""PX4 and ArduPilot themselves, started as processes of a world and flown through the bridge, against ground truth.

They are too large to come with the project: PX4_DIR and ARDUPILOT_DIR name checkouts in which they are built for
software in the loop; without one, what needs it is skipped.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from claims import free_port
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from listening import Listener, listener
from nav_msgs.msg import Odometry
from processes import Program, program, sim_node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import NavSatFix
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from strangers import Client, environment_of
from tf2_msgs.msg import TFMessage
from waiting import PATIENCE

SENSOR = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=100)
TF = QoSProfile(depth=200)

# Of the same field for both kinds, in the world file's axes.
# EGM96 is 19.4 m above the ellipsoid there; ArduPilot's home has its altitude above mean sea level.
ALTITUDE = 603.4
ORIGIN = f"{{latitude: -35.363262, longitude: 149.165238, altitude: {ALTITUDE}}}"
HOME = "-35.363262,149.165238,584,0"
PARAMETERS = "${ARDUPILOT_DIR}/Tools/autotest/default_params"
PX4_BUILD = "${PX4_DIR}/build/px4_sitl_default"

PX4 = """
  px4_{instance}:
    command: ["{build}/bin/px4", -i, {instance}, -d, "{build}/etc"]
    cwd: ${{STATE_DIR}}
    env: {{PX4_SYS_AUTOSTART: 10016, PX4_SIM_MODEL: none_iris}}
"""
ARDUPILOT = """
  ardupilot_{instance}:
    command: ["${{ARDUPILOT_DIR}}/build/sitl/bin/arducopter", --model, JSON:127.0.0.1, -I, {instance}, --wipe,
      --sysid, {system}, --home, "{home}", --defaults, "{parameters}/copter.parm,{parameters}/copter-X.parm"]
    cwd: ${{STATE_DIR}}
"""


@dataclass
class Flown:
    """One vehicle: where it stands in the world, and how the bridge reaches it."""

    kind: str
    instance: int
    system: int
    start: tuple[float, float]
    truth: list[np.ndarray] = field(default_factory=list)
    # Of the last truth, simulated (s).
    time: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.instance}"

    @property
    def topics(self) -> str:
        return f"/vehicle{self.system}"

    @property
    def url(self) -> str:
        if self.kind == "px4":
            return f"udpin:127.0.0.1:{14540 + self.instance}"
        return f"tcp:127.0.0.1:{5760 + 10 * self.instance}"

    @property
    def process(self) -> str:
        text = PX4 if self.kind == "px4" else ARDUPILOT
        return text.format(
            instance=self.instance, system=self.system, home=HOME, parameters=PARAMETERS, build=PX4_BUILD
        )

    @property
    def takeoff_needs_guided(self) -> bool:
        return self.kind == "ardupilot"

    def moved(self) -> np.ndarray:
        """Metres east, north, up of where it stood."""
        return np.asarray(self.truth[-1] - (*self.start, self.truth[0][2]))


def needs(*kinds: str) -> Any:
    missing = [variable for kind in kinds if (variable := f"{kind.upper()}_DIR") not in os.environ]
    return pytest.mark.skipif(bool(missing), reason=f"set {' and '.join(missing)} to a checkout with a SITL build")


@contextmanager
def fleet(
    vehicles: list[Flown], folder: Path, *, use_sim_time: bool = False, speed: float = 1.0
) -> Iterator[tuple[Listener, Program, Program]]:
    """A world with the vehicles, their autopilots, the bridge, and somebody on the graph."""
    lines = [
        "world: fleet", f"origin: {ORIGIN}", "time: {step: 0.001}", "physics: {integrator: euler, timestep: 0.001}",
        "bodies:", "  - {name: ground, geometry: [{plane: true}]}", "vehicles:",
    ]  # fmt: skip
    for one in vehicles:
        pose = f"{{position: [{one.start[0]}, {one.start[1]}, 0.13], rpy_deg: [0, 0, 90]}}"
        autopilot = f"{{type: {one.kind}, instance: {one.instance}}}"
        lines.append(f"  - {{name: {one.name}, model: iris, pose: {pose}, autopilot: {autopilot}}}")
    world = folder / "fleet.yaml"
    world.write_text("\n".join(lines) + "\nprocesses:" + "".join(one.process for one in vehicles), encoding="utf-8")
    plan = folder / "survey.yaml"
    plan.write_text(MISSION, encoding="utf-8")
    urls = [word for one in vehicles for word in ("--url", one.url)]
    parameters = {"mission_file": plan, "use_sim_time": str(use_sim_time).lower()}
    bridge_command = sim_node("bridge", *urls, "--ros-args")
    bridge_command += [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    environment = {"XDG_STATE_HOME": str(folder / "state"), "ROS_LOG_DIR": str(folder / "log")}
    with (
        program(sim_node("run", world, "--processes", "--speed", str(speed)), **environment) as simulation,
        program(bridge_command, **environment) as bridge,
        listener() as ears,
    ):
        places = {f"{one.name}/base_link": one for one in vehicles}

        def see(message: TFMessage) -> None:
            for transform in message.transforms:
                seen = places.get(transform.child_frame_id)
                if seen is not None:
                    at = transform.transform.translation
                    seen.truth.append(np.array([at.x, at.y, at.z]))
                    seen.time = transform.header.stamp.sec + transform.header.stamp.nanosec * 1e-9

        ears.node.create_subscription(TFMessage, "/tf", see, TF)
        try:
            yield ears, simulation, bridge
        except BaseException:
            print(simulation.output, bridge.output, sep="\n")
            for log in sorted((folder / "log").glob("*.log")):
                print(log.name, log.read_text(errors="replace")[-1500:])
            raise
        assert "Traceback" not in simulation.output + bridge.output
        assert "is gone" not in simulation.output


# Where the mission ends, m east and north of home; the largest errors in truth, m.
LANDING = (0.0, 15.0)
GOTO_ERROR, LANDING_ERROR = 1.0, 0.5
# PX4 listens there for ground stations.
GROUND_LINK = "udpout://127.0.0.1:18570"

MISSION = """
frame: enu
items:
  - {type: takeoff, height: 8}
  - {type: speed, speed: 5}
  - {type: waypoint, position: [15, 0, 8]}
  - {type: waypoint, position: [15, 15, 12], radius: 1}
  - {type: land, position: [0, 15, 0]}
"""


class Pilot:
    """Flies one vehicle by its services and topics only."""

    def __init__(self, ears: Listener, one: Flown) -> None:
        self.ears, self.one = ears, one
        self.results = ears.subscribe(DiagnosticStatus, f"{one.topics}/command_result", RELIABLE)
        self.armed = ears.subscribe(Bool, f"{one.topics}/armed", LATCHED)
        self.odometry = ears.subscribe(Odometry, f"{one.topics}/local_position/odom", SENSOR)
        self.fixes = ears.subscribe(NavSatFix, f"{one.topics}/global_position/global", SENSOR)
        self.goto_topic = ears.node.create_publisher(PoseStamped, f"{one.topics}/goto", RELIABLE)

    def call(self, name: str) -> Any:
        return self.ears.call(Trigger, f"{self.one.topics}/{name}", Trigger.Request())

    def insist(self, name: str, what: Any = None) -> None:
        """Asks again until the autopilot's checks pass: they take a while to."""
        deadline = time.monotonic() + PATIENCE
        while True:
            kind = Trigger if what is None else SetBool
            request = Trigger.Request() if what is None else SetBool.Request(data=what)
            answer = self.ears.call(kind, f"{self.one.topics}/{name}", request)
            if answer.success:
                return
            assert time.monotonic() < deadline, f"{self.one.name} {name}: {answer.message}"
            self.ears.spin_for(1.0)

    def up(self, height: float) -> None:
        self.ears.spin_until(lambda: self.one.moved()[2] > height, f"{self.one.name} above {height} m")

    def goto(self, target: tuple[float, float, float]) -> None:
        ears, since = self.ears, len(self.results)
        ears.spin_until(lambda: self.goto_topic.get_subscription_count() > 0)
        message = PoseStamped()
        message.header.frame_id = "map"
        message.pose.position.x, message.pose.position.y, message.pose.position.z = target
        message.pose.orientation.w = 1.0
        self.goto_topic.publish(message)

        def ended() -> bool:
            return any(r.name == "goto" and r.values[0].value == "true" for _, r in self.results[since:])

        ears.spin_until(ended, f"{self.one.name}: goto's end")
        last = next(r for _, r in self.results[since:] if r.name == "goto" and r.values[0].value == "true")
        assert last.message.startswith("reached"), last.message

    def take_off(self) -> None:
        """From the ground."""
        self.arm()
        self.insist("cmd/takeoff")

    def arm(self) -> None:
        if self.one.takeoff_needs_guided:
            self.insist("cmd/guided")
        self.insist("cmd/arming", True)

    def begin_mission(self) -> None:
        """From the ground: PX4 does not arm in the mode in which it has landed, ArduCopter not in AUTO."""
        if self.one.kind == "px4":
            self.insist("mission/start")
            self.arm()
        else:
            self.arm()
            self.insist("mission/start")

    def come_to_rest(self) -> None:
        """Until it has stayed within 0.1 m for a second."""
        truth = self.one.truth
        self.ears.spin_until(lambda: np.ptp(truth[-60:], axis=0).max() < 0.1, f"{self.one.name} at rest")

    def missed(self, goal: tuple[float, ...]) -> float:
        """How far it is from a goal, in truth, m."""
        return float(np.linalg.norm(self.one.moved()[: len(goal)] - goal))

    def on_ground(self) -> bool:
        """Disarmed, as it is after a landing."""
        return bool(self.armed) and not self.armed[-1][1].data

    def landed(self) -> None:
        self.ears.spin_until(self.on_ground, f"{self.one.name} disarmed on the ground")


FLEETS = {
    "px4": [("px4", 0, 1)],
    "ardupilot": [("ardupilot", 0, 1)],
    "several of several kinds": [("px4", 0, 1), ("px4", 1, 2), ("ardupilot", 0, 3), ("ardupilot", 1, 4)],
}


@pytest.mark.peers
@pytest.mark.usefixtures("ros_domain", "autopilots")
@pytest.mark.parametrize(
    "members",
    [pytest.param(members, marks=needs(*{kind for kind, *_ in members}), id=name) for name, members in FLEETS.items()],
)
def test_goto_mission_and_landing_through_the_bridge(members: list[tuple[str, int, int]], tmp_path: Path) -> None:
    vehicles = [Flown(*member, start=(4.0 * number, 0.0)) for number, member in enumerate(members)]
    with fleet(vehicles, tmp_path) as (ears, _, _):
        diagnostics = ears.subscribe(DiagnosticArray, "/diagnostics", RELIABLE)
        pilots = [Pilot(ears, one) for one in vehicles]
        ears.spin_until(lambda: all(pilot.odometry for pilot in pilots), "local positions of all")
        for pilot in pilots:
            pilot.take_off()
        for pilot in pilots:
            pilot.up(9.0)
        for number, pilot in enumerate(pilots):
            target = (10.0, -8.0 - 3.0 * number, 12.0)
            pilot.goto(target)
            pilot.come_to_rest()
            print(f"{pilot.one.name}: goto {target} ended {pilot.missed(target):.2f} m from there")
            assert pilot.missed(target) < GOTO_ERROR
            altitude = ALTITUDE + target[2]
            assert pilot.fixes[-1][1].altitude == pytest.approx(altitude, abs=3.0), "above the ellipsoid"
            assert abs(attitude_yaw(pilot.odometry[-1][1]) - 0.0) < math.radians(8.0), "looks east, as asked"
        # A mission counts from home, which PX4 moves to where it has landed: here it is the same place.
        for pilot in pilots:
            pilot.goto((0.0, 0.0, 10.0))
            pilot.come_to_rest()
            assert pilot.call("cmd/land").success
        for pilot in pilots:
            pilot.landed()
        for pilot in pilots:
            assert pilot.call("mission/push").success
            down = ears.subscribe(String, f"{pilot.one.topics}/mission/waypoints", LATCHED)
            assert pilot.call("mission/pull").success
            ears.spin_until(partial(bool, down))
            kinds = [entry["type"] for entry in json.loads(down[0][1].data)["items"]]
            assert kinds == ["takeoff", "speed", "waypoint", "waypoint", "land"]
        # From the ground, one right after the other, and in the air all at once.
        for pilot in pilots:
            pilot.begin_mission()
        for pilot in pilots:
            pilot.up(5.0)
        for pilot in pilots:
            pilot.landed()
            missed_by = pilot.missed(LANDING)
            there = pilot.one.moved().round(2)
            print(f"{pilot.one.name}: mission ended at {there}, {missed_by:.2f} m from where it was to land")
            assert missed_by < LANDING_ERROR
        pace = [s for _, array in diagnostics for s in array.status if s.name == "/simulation: pace"][-1]
        print({value.key: value.value for value in pace.values})


@pytest.mark.peers
@pytest.mark.usefixtures("ros_domain", "autopilots")
@pytest.mark.parametrize("kind", [pytest.param("px4", marks=needs("px4"))])
def test_mavsdk_flies_beside_the_bridge(kind: str, tmp_path: Path) -> None:
    """Over a link of its own: each sees what the other one does, and neither takes the other's answers."""
    python = environment_of("mavsdk")
    one = Flown(kind, 0, 1, start=(0.0, 0.0))
    with fleet([one], tmp_path) as (ears, _, bridge):
        pilot = Pilot(ears, one)
        ears.spin_until(lambda: bool(pilot.odometry), "its local position")
        client = Client(python, "mavsdk_beside.py", GROUND_LINK, str(free_port()))
        try:

            def done(what: str) -> None:
                """What the client has done, while ROS goes on."""
                ears.spin_until(client.has_done, f"MAVSDK: {what}")
                client.next(what)

            done("takeoff")
            ears.spin_until(lambda: one.moved()[2] > 3.0 and pilot.armed[-1][1].data, "in the air, as the bridge says")
            pilot.goto((6.0, 4.0, 6.0))
            pilot.come_to_rest()
            assert pilot.missed((6.0, 4.0, 6.0)) < GOTO_ERROR
            client.go_on()
            done("position")
            client.go_on()
            done("land")
            pilot.landed()
            assert pilot.missed((6.0, 4.0)) < GOTO_ERROR
            client.go_on()
            assert client.end() == 0
        finally:
            client.close()
        assert "timed out" not in bridge.output


# A program that somebody else wrote: it sends a velocity east, 5 m/s, 20 times a second.
SENDER = """
import sys, time, rclpy
from geometry_msgs.msg import TwistStamped
rclpy.init()
node = rclpy.create_node("sender")
publisher = node.create_publisher(TwistStamped, sys.argv[1], 10)
message = TwistStamped()
message.header.frame_id, message.twist.linear.x = "map", 5.0
print("sends", flush=True)
while True:
    message.header.stamp = node.get_clock().now().to_msg()
    publisher.publish(message)
    time.sleep(0.05)
"""
# How far it flies on at most, m: half a second of repeated setpoints, and until the autopilot misses them (PX4's
# COM_OF_LOSS_T is 1 s, ArduCopter's GUID_TIMEOUT 3 s), at 5 m/s; then the way to brake, which takes PX4 5 m, and 2 m
# for what a busy machine delivers late. With a setpoint that is repeated as long as DDS believes in its publisher,
# 20 s, it is 100 m.
FLIES_ON = {"px4": 5.0 * 1.5 + 5.0 + 2.0, "ardupilot": 5.0 * 3.5 + 7.0 + 2.0}


@pytest.mark.peers
@pytest.mark.usefixtures("ros_domain", "autopilots")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@pytest.mark.parametrize("kind", [pytest.param(each, marks=needs(each)) for each in ("px4", "ardupilot")])
def test_a_vehicle_stops_whose_program_is_gone(kind: str, number: int, tmp_path: Path) -> None:
    """In simulated time, and between two steps: it flew on for as long as DDS believed in the publisher."""
    one = Flown(kind, 0, 1, start=(0.0, 0.0))
    # Slowly: programs that a busy machine holds up for a second miss half a second of the flight.
    with fleet([one], tmp_path, use_sim_time=True, speed=0.5) as (ears, _, _):
        pilot = Pilot(ears, one)
        ears.spin_until(lambda: pilot.odometry, "its local position")
        pilot.take_off()
        pilot.up(9.0)
        topic = f"{one.topics}/setpoint_velocity/cmd_vel"
        with program([sys.executable, "-c", SENDER, topic, "--ros-args", "-p", "use_sim_time:=true"]) as sender:
            sender.wait_for("sends")
            pilot.insist("cmd/guided")
            ears.spin_until(lambda: one.moved()[0] > 5.0, "under way")
            paused = ears.call(Trigger, "/simulation/pause", Trigger.Request()).message
            at = float(paused.removeprefix("paused at ").removesuffix(" s"))
            ears.spin_until(lambda: one.time > at - 0.02, f"the truth of {paused}")
            gone = one.moved()[0]
            sender.process.send_signal(number)
            assert ears.call(Trigger, "/simulation/resume", Trigger.Request()).success
            pilot.come_to_rest()
            # PX4 returns home then, if no remote control is there to take over.
            on = max(place[0] for place in one.truth) - one.start[0] - gone
            print(f"{kind}: flew on for {on:.1f} m, and rests {one.moved()[0]:.1f} m from its start")
            assert 0.0 < on < FLIES_ON[kind]


def attitude_yaw(odometry: Any) -> float:
    """Yaw (rad) counterclockwise from east."""
    q = odometry.pose.pose.orientation
    return math.atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z))
