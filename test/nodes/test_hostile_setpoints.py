"""Any numbers in messages that command a vehicle: refused, or sent as numbers that MAVLink can hold."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

from pymavlink.dialects.v20 import ardupilotmega as mavlink

from sim_node.mavlink import commands
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.setpoints import SetpointLimits, SetpointRefused, checked_thrust
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Heartbeat, Home, Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.ros.vehicle_commands import ESTIMATES, SETPOINTS, TURNS
from sim_node.spatial.frames import Ned

HOME = Home(47.0, 8.0, 400.0, Ned((3.0, -2.0, 0.5)))
LIMITS = SetpointLimits()
EXTREMES = (
    *(math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 3.5e38, -3.5e38, 1e30, 91.0, 181.0, -1e6, 1e5, 2.0, -0.0),
)
TABLES = {**SETPOINTS, **TURNS, **ESTIMATES}


def vehicle(autopilot: int) -> Telemetry:
    made = Telemetry(1, FrameNames(), lambda topic, data: None)
    made.heartbeat, made.home = Heartbeat(autopilot=autopilot, type=2), HOME
    return made


def numbers_of(message: Any) -> list[tuple[Any, str]]:
    """Every float of a message: its owner and field. Stamps and fields without numbers are left out."""
    found: list[tuple[Any, str]] = []
    for field, kind in message.get_fields_and_field_types().items():
        value = getattr(message, field)
        if kind in ("double", "float") or kind.startswith("double["):
            found.append((message, field))
        elif "/" in kind and kind not in ("std_msgs/Header", "sensor_msgs/NavSatStatus"):
            found += numbers_of(value)
    return found


def valid(topic: str) -> Any:
    message = TABLES[topic][0]()
    message.header.frame_id = {"setpoint_attitude/cmd_vel": "base_link", "setpoint_position/global": ""}.get(
        topic, "map"
    )
    if hasattr(message, "child_frame_id"):
        message.child_frame_id = "base_link"
    if hasattr(message, "latitude"):
        message.latitude, message.longitude, message.altitude = 47.0, 8.0, 460.0
    pose = getattr(message, "pose", None)
    pose = getattr(pose, "pose", pose)
    if pose is not None:
        pose.orientation.w = 1.0
    return message


def third_argument(topic: str) -> Any:
    return LIMITS if topic in SETPOINTS else 0.5 if topic in TURNS else 1_700_000_000_000_000_000


def received(name: str, fields: Any) -> Any:
    """The message as an autopilot reads it."""
    [message] = mavlink.MAVLink(None).parse_buffer(frame_bytes(name, dict(fields), 255, 191, 0))
    return message


def numbers(message: Any) -> list[float]:
    return [
        float(each)
        for field in message.fieldnames
        for each in np.ravel(getattr(message, field))
        if "covariance" not in field
    ]


@pytest.mark.parametrize("autopilot", [ARDUPILOT, PX4])
@pytest.mark.parametrize("topic", TABLES)
@pytest.mark.filterwarnings("error")
def test_any_numbers_are_refused_or_sent(topic: str, autopilot: int) -> None:
    chance, make = random.Random(topic), TABLES[topic][1]
    telemetry = vehicle(autopilot)
    outcomes, longest = {"sent": 0, "refused": 0}, [0]

    def offer(message: Any) -> None:
        try:
            setpoint = make(message, telemetry, third_argument(topic))  # type: ignore[operator]
        except SetpointRefused as refusal:
            outcomes["refused"] += 1
            longest.append(len(str(refusal)))
            return
        outcomes["sent"] += 1
        assert all(map(math.isfinite, numbers(received(setpoint.name, setpoint.fields))))

    offer(valid(topic))
    assert outcomes["sent"] == 1
    count = len(numbers_of(valid(topic)))
    for number in range(count):  # each by itself: no other one hides it
        for extreme in EXTREMES:
            message = valid(topic)
            owner, field = numbers_of(message)[number]
            values = getattr(owner, field)
            setattr(owner, field, extreme if isinstance(values, float) else np.full(len(values), extreme))
            offer(message)
    for _ in range(200):
        message = valid(topic)
        for owner, field in chance.sample(numbers_of(message), chance.randint(1, count)):
            if isinstance(getattr(owner, field), float):
                setattr(owner, field, chance.choice([*EXTREMES, chance.uniform(-1.0, 1.0)]))
        offer(message)
    assert outcomes["refused"]
    assert max(longest) < 400


@pytest.mark.parametrize("topic", TABLES)
def test_a_long_frame_id_does_not_fill_the_log(topic: str) -> None:
    message = valid(topic)
    message.header.frame_id = "x\n" * 500_000
    with pytest.raises(SetpointRefused) as refusal:
        TABLES[topic][1](message, vehicle(PX4), third_argument(topic))  # type: ignore[operator]
    assert len(str(refusal.value)) < 400
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("autopilot", [ARDUPILOT, PX4])
@pytest.mark.parametrize(
    "make",
    [
        lambda value, telemetry: commands.takeoff(value, LIMITS.height, telemetry),
        lambda value, telemetry: commands.set_speed(value, LIMITS.velocity),
    ],
    ids=["cmd/takeoff_to", "cmd/speed"],
)
def test_commands_with_a_number(autopilot: int, make: Callable[[float, Telemetry], Any]) -> None:
    for value in EXTREMES:
        transaction = make(value, vehicle(autopilot))
        if transaction.result is None:
            [(name, fields)] = transaction.start(0)
            sent = received(name, fields)
            assert np.float32(value) in (sent.param2, sent.param7, sent.param7 - HOME.altitude_msl)
            assert 0.0 < value <= 120.0
        else:
            assert "allowed: above 0" in transaction.result.text


def test_a_thrust_is_between_0_and_1() -> None:
    for value in EXTREMES:
        if 0.0 <= value <= 1.0:
            assert checked_thrust(value) == value
        else:
            with pytest.raises(SetpointRefused, match="allowed: 0 to 1"):
                checked_thrust(value)


def test_a_long_name_of_a_mode_is_refused_in_one_line() -> None:
    refused = commands.set_mode("L\n" * 200_000, vehicle(ARDUPILOT)).result
    assert refused is not None
    assert refused.text.startswith("no mode 'L\\nL")
    assert len(refused.text) < 1000
