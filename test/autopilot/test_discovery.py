"""Several senders with one system id: which of them is the vehicle, and what is published of the others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from nav_msgs.msg import Odometry
from pymavlink.dialects.v20 import all as mavlink
from rclpy.serialization import deserialize_message
from running import Running
from sensor_msgs.msg import Range

from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.links import Address
from sim_node.mavlink.parser import Parser

AUTOPILOT, COMPANION, CAMERA = 1, 191, 100
PX4, GENERIC, NONE = 12, 0, 8
QUADROTOR, COMPUTER, CAMERA_TYPE = 2, 18, 30
S, MS = 1_000_000_000, 1_000_000
GRAPH = 1_700_000_000 * S


class Link:
    """A bridge that is given messages, in this thread, and a clock that goes on by 10 ms with each."""

    accepts_commands = True
    name = "link"

    def __init__(self) -> None:
        self.running = Running()
        self.now_ns = time.monotonic_ns()
        self.begin_ns = self.now_ns

    def lost(self, system: int) -> int:
        return 0

    def send(self, name: str, fields: object, to: Address, now_ns: int) -> None:
        pass

    def hear(self, component: int, message: Any, port: int = 1, *, system: int = 1) -> None:
        self.now_ns += 10 * MS
        mav = mavlink.MAVLink(None, system, component)
        [parsed] = Parser(datagrams=True).feed(message.pack(mav))
        self.process(parsed, ("127.0.0.1", port))

    def process(self, message: MavlinkMessage, address: Address) -> None:
        graph_ns = GRAPH + self.now_ns - self.begin_ns
        self.running.bridge._process(message, self, address, self.now_ns, graph_ns)

    def dropped(self) -> dict[str, int]:
        return dict(self.running.bridge.vehicles[1].telemetry.dropped)

    def last(self, topic: str, type: Any) -> Any:
        return deserialize_message(self.running.messages[1, topic][-1][1], type)


@pytest.fixture
def link() -> Iterator[Link]:
    made = Link()
    yield made
    made.running.bridge._selector.close()
    made.running.bridge._wake_read.close()
    made.running.bridge._wake_write.close()


def heartbeat(type: int, autopilot: int) -> Any:
    return mavlink.MAVLink_heartbeat_message(type, autopilot, 1, 0, 4, 3)


@pytest.mark.parametrize("companion", [heartbeat(COMPUTER, GENERIC), heartbeat(QUADROTOR, GENERIC)])
@pytest.mark.parametrize("first", [AUTOPILOT, COMPANION])
@pytest.mark.parametrize("port", [1, 2])
def test_an_autopilot_and_a_companion_that_begin_together(link: Link, companion: Any, first: int, port: int) -> None:
    """They took each other's place as a candidate, so that there never was a vehicle."""
    beats = {AUTOPILOT: (heartbeat(QUADROTOR, PX4), 1), COMPANION: (companion, port)}
    order = [first, AUTOPILOT + COMPANION - first] * 5
    for component in order:
        link.hear(component, *beats[component])
    vehicle = link.running.bridge.vehicles[1]
    assert vehicle.component == AUTOPILOT
    assert vehicle.telemetry.autopilot == PX4
    assert list(vehicle.others.listed) == [COMPANION]
    assert any("component 191 (" in line for line in link.running.news)


def test_a_companion_that_was_first_is_replaced_by_the_autopilot(link: Link) -> None:
    """It was the vehicle for good. Its heartbeat may look like an autopilot's, but its component does not."""
    for _ in range(3):
        link.hear(COMPANION, heartbeat(QUADROTOR, GENERIC))
    assert link.running.bridge.vehicles[1].component == COMPANION
    link.hear(AUTOPILOT, heartbeat(QUADROTOR, PX4))
    assert link.running.bridge.vehicles[1].component == COMPANION, "a single packet may be anybody's"
    for component, beat in [(COMPANION, heartbeat(QUADROTOR, GENERIC)), (AUTOPILOT, heartbeat(QUADROTOR, PX4))] * 3:
        link.hear(component, beat)
    vehicle = link.running.bridge.vehicles[1]
    assert (vehicle.component, vehicle.telemetry.autopilot) == (AUTOPILOT, PX4)
    assert list(vehicle.others.listed) == [COMPANION]
    [line] = [line for line in link.running.news if "is its autopilot" in line]
    assert line == "system 1: component 1 (quadrotor, autopilot px4) is its autopilot, and component 191 is not"


def test_a_companion_alone_is_no_vehicle_and_is_told_of_once(link: Link) -> None:
    for _ in range(20):
        link.hear(COMPANION, heartbeat(COMPUTER, GENERIC))
        link.hear(190, heartbeat(6, NONE), system=254)
    assert not link.running.bridge.vehicles
    assert link.running.news == [
        "system 1: component 191 (onboard_controller, autopilot generic) is no vehicle; waiting for an autopilot of "
        "this system"
    ]


def test_an_autopilot_with_another_component_id_is_found_as_before(link: Link) -> None:
    for _ in range(2):
        link.hear(50, heartbeat(QUADROTOR, PX4))
    assert link.running.bridge.vehicles[1].component == 50


def test_two_autopilots_that_begin_together_are_told_apart(link: Link) -> None:
    """Neither was ever found, and nothing was said."""
    for _ in range(3):
        for port in (1, 2):
            link.hear(AUTOPILOT, heartbeat(QUADROTOR, PX4), port)
    assert link.running.bridge.vehicles[1].address == ("127.0.0.1", 1)
    assert "two autopilots have system id 1" in link.running.complaints[0]


def odometry(time_us: int, x: float) -> Any:
    unknown = [float("nan"), *[0.0] * 20]
    return mavlink.MAVLink_odometry_message(
        time_us, 20, 12, x, 0, 0, [1, 0, 0, 0], 1, 0, 0, 0, 0, 0, unknown, unknown, 0, 2, 50
    )


def distance(boot_ms: int, orientation: int = 25, cm: int = 150) -> Any:
    return mavlink.MAVLink_distance_sensor_message(boot_ms, 20, 4000, cm, 0, 0, orientation, 255)


@pytest.fixture
def flying(link: Link) -> Link:
    """A vehicle whose autopilot has been up for ten minutes."""
    for _ in range(2):
        link.hear(AUTOPILOT, heartbeat(QUADROTOR, PX4))
    link.hear(AUTOPILOT, mavlink.MAVLink_attitude_quaternion_message(600_000, 1, 0, 0, 0, 0, 0, 0))
    return link


def test_odometry_and_distances_of_other_components_are_published_by_their_own_clocks(flying: Link) -> None:
    """MAVROS reads them of the whole system (SystemAndOk). The companion was started 595 s after the autopilot."""
    for step in range(20):
        flying.hear(COMPANION, odometry(5_000_000 + step * 20_000, float(step)), 2)
        flying.hear(COMPANION, distance(5_010 + step * 20), 2)
    assert flying.last("odometry/in", Odometry).pose.pose.position.x == 19.0
    assert flying.last("distance_sensor", Range).range == pytest.approx(1.5)
    stamp = flying.last("odometry/in", Odometry).header.stamp
    now = GRAPH + flying.now_ns - flying.begin_ns
    assert now - 100 * MS <= stamp.sec * S + stamp.nanosec <= now
    events = flying.running.bridge.vehicles[1].telemetry.clock.events
    assert (events.reboots, events.jumps) == (0, 0)
    assert not flying.running.complaints
    assert not flying.dropped()


def test_the_autopilots_own_odometry_is_preferred_and_the_other_is_counted(flying: Link) -> None:
    for step in range(20):
        flying.hear(AUTOPILOT, odometry(600_000_000 + step * 20_000, 1.0))
        flying.hear(COMPANION, odometry(5_000_000 + step * 20_000, 2.0), 2)
    received = [deserialize_message(data, Odometry) for _, data in flying.running.messages[1, "odometry/in"]]
    assert {message.pose.pose.position.x for message in received} == {1.0}
    assert flying.dropped() == {"ODOMETRY: another source is better": 20}


def test_all_else_of_other_components_is_counted(flying: Link) -> None:
    flying.hear(CAMERA, heartbeat(CAMERA_TYPE, NONE))
    for _ in range(3):
        flying.hear(CAMERA, mavlink.MAVLink_attitude_message(1, 0, 0, 0, 0, 0, 0))
    flying.hear(COMPANION, odometry(5_000_000, 1.0), 2)
    flying.hear(COMPANION, odometry(9_000_000, 2.0), 3)
    assert flying.dropped() == {
        "component 100: not read": 3,
        "component 191: a second one with this id": 1,
    }
    assert flying.running.bridge.vehicles[1].others.listed == {CAMERA: "component 100 (camera)"}


def test_messages_that_were_overtaken_do_not_turn_back_time(flying: Link) -> None:
    """Positions removed the newer ones from the pose on /tf."""
    for boot_ms in (600_010, 600_030, 600_020, 600_040):
        message = mavlink.MAVLink_local_position_ned_message(boot_ms, boot_ms - 600_000, 0, 0, 0, 0, 0)
        flying.hear(AUTOPILOT, message)
    vehicle = flying.running.bridge.vehicles[1]
    assert [value[1] for value in vehicle.telemetry.poses.positions.values] == [10.0, 30.0, 40.0]
    assert flying.dropped() == {"LOCAL_POSITION_NED: late": 1}
    assert flying.running.count("local_position/pose") == 3
