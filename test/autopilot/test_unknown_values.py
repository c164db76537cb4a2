"""Every message that is translated, with each of its fields unknown or impossible in turn.

Which numbers mean unknown is read from the texts of MAVLink's definitions, as pymavlink has them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from nightly import only
from pymavlink.dialects.v20 import all as mavlink
from rclpy.serialization import deserialize_message
from rosidl_parser.definition import AbstractSequence, Array

from sim_node.mavlink.codec import kind_named
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Heartbeat, Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.mavlink.translation import TRANSLATIONS
from sim_node.ros.publishers import message_class

ARRIVAL = 1_700_000_000_000_000_000
UPPER_6, UPPER_9 = (0.5,) * 21, (0.5,) * 45
# Values with which a message is published whole, where 1 would not do.
PLAIN: dict[str, dict[str, Any]] = {
    "ATTITUDE_QUATERNION": {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 0.0},
    "BATTERY_STATUS": {
        **{"temperature": 2000, "voltages": (4001,) * 10, "voltages_ext": (4003,) * 4},
        **{"current_battery": 1250, "battery_remaining": 76},
    },
    "DISTANCE_SENSOR": {"orientation": 25, "current_distance": 150, "max_distance": 4000, "signal_quality": 90},
    "GLOBAL_POSITION_INT": {"lat": 473977420, "lon": 85455940, "hdg": 9000},
    "GPS_GLOBAL_ORIGIN": {"latitude": 473977420, "longitude": 85455940},
    "GPS_RAW_INT": {
        **{"fix_type": 3, "lat": 473977420, "lon": 85455940, "alt": 488_000, "cog": 9000, "vel": 500},
        **{"eph": 121, "epv": 200, "h_acc": 0, "v_acc": 0},
    },
    "HEARTBEAT": {"type": 2, "autopilot": PX4},
    "HIGHRES_IMU": {"fields_updated": 0x1FFF, "id": 0},
    "HOME_POSITION": {"latitude": 473977420, "longitude": 85455940},
    "LANDING_TARGET": {"frame": 1, "position_valid": 1, "q": (1.0, 0.0, 0.0, 0.0)},
    "LOCAL_POSITION_NED_COV": {"covariance": UPPER_9},
    "ODOMETRY": {
        **{"frame_id": 1, "child_frame_id": 1, "q": (1.0, 0.0, 0.0, 0.0), "quality": 50},
        **{"pose_covariance": UPPER_6, "velocity_covariance": UPPER_6},
    },
    "MAG_CAL_PROGRESS": {"compass_id": 0},
    "POSITION_TARGET_GLOBAL_INT": {"type_mask": 0, "lat_int": 473977420, "lon_int": 85455940},
    "RAW_IMU": {"id": 0},
    "RC_CHANNELS": {"chancount": 18},
    "RC_CHANNELS_RAW": {"port": 0},
    "SERVO_OUTPUT_RAW": {"port": 0},
    "STATUSTEXT": {"id": 0, "text": "text"},
    "SYS_STATUS": {"voltage_battery": 15200, "current_battery": 1250, "battery_remaining": 76},
    "SYSTEM_TIME": {"time_unix_usec": 1_700_000_000_000_000},
}
# Where ROS has NaN for what is unknown: BatteryState.msg, NavSatFix.msg (no fix), REP 117.
NAN_MEANS_UNKNOWN = ("sensor_msgs/BatteryState", "sensor_msgs/NavSatFix", "sensor_msgs/Range")
IMPOSSIBLE = (math.nan, math.inf, -math.inf, 1e30)
TIMES = ("time_boot_ms", "time_usec", "time_unix_usec")
LARGEST = {"UINT8_MAX": 2**8 - 1, "UINT16_MAX": 2**16 - 1, "INT16_MAX": 2**15 - 1, "UINT32_MAX": 2**32 - 1}


class Vehicle:
    """Telemetry, and the messages that came of what it was given. It has an attitude and an origin, and no force."""

    def __init__(self, autopilot: int) -> None:
        self.messages: dict[str, list[Any]] = {}
        self.telemetry = Telemetry(1, FrameNames(), self._publish)
        self.telemetry.heartbeat = Heartbeat(autopilot=autopilot, type=2)
        self.telemetry.arrival_ns = ARRIVAL
        level = kind_named("ATTITUDE").fields(1000, *[0.0] * 6)
        TRANSLATIONS["ATTITUDE"](level, self.telemetry)
        self.telemetry.origin = 47.39, 8.54, 488.0
        self.telemetry._sources.clear()
        self.messages.clear()

    def _publish(self, topic: Any, data: bytes) -> None:
        self.messages.setdefault(topic.name, []).append((topic, deserialize_message(data, message_class(topic.type))))

    def give(self, name: str, fields: Any) -> None:
        self.telemetry.arrival_ns += 20_000_000
        if not self.telemetry.is_late(fields):
            TRANSLATIONS[name](fields, self.telemetry)


def plain(name: str) -> Any:
    """The fields of a message without anything unusual."""
    table = next(table for table in mavlink.mavlink_map.values() if table.msgname == name)
    values: dict[str, Any] = {}
    for field, length in zip(table.ordered_fieldnames, table.array_lengths, strict=True):
        values[field] = (1,) * length if length else 1
    values |= {field: 1_100 * (1000 if field == "time_usec" else 1) for field in TIMES if field in values}
    return kind_named(name).fields(**{**values, **PLAIN.get(name, {})})


def documented(name: str) -> dict[str, tuple[str, str]]:
    """The type and the text of each field."""
    text = getattr(mavlink.MAVLink, f"{name.lower()}_encode").__doc__
    return {field: (kind, about) for field, about, kind in re.findall(r"^ +(\w+) +: (.*) \(type:(\w+)[,)]", text, re.M)}


def with_value(fields: Any, field: str, value: Any, at: int = 0) -> Any:
    """The same message with one number changed; at: of those of an array."""
    present = getattr(fields, field)
    if isinstance(present, tuple):
        value = (*present[:at], value, *present[at + 1 :])
    return fields._replace(**{field: value})


def floats(message: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """All floats of a message with the paths of their fields."""
    for (field, type_name), slot in zip(message.get_fields_and_field_types().items(), message.SLOT_TYPES, strict=True):
        value, where = getattr(message, field), f"{path}.{field}".lstrip(".")
        if "float" in type_name or "double" in type_name:
            many = isinstance(slot, (Array, AbstractSequence))
            yield from ((where, float(number)) for number in (value if many else [value]))
        elif hasattr(value, "SLOT_TYPES"):
            yield from floats(value, where)


def numbers_of(name: str, *types: str) -> list[tuple[str, int]]:
    """The fields of these types, one entry of each array."""
    table = next(table for table in mavlink.mavlink_map.values() if table.msgname == name)
    fields = zip(table.ordered_fieldnames, table.array_lengths, strict=True)
    kinds = dict(zip(table.fieldnames, table.fieldtypes, strict=True))
    return [(field, at) for field, length in fields for at in {0, max(length - 1, 0)} if kinds[field] in types]


def check(name: str, autopilot: int, fields: Any) -> Vehicle:
    """Give a message. Nothing impossible is published, and what is not published is counted."""
    usual, vehicle = Vehicle(autopilot), Vehicle(autopilot)
    usual.give(name, plain(name))
    vehicle.give(name, fields)
    missing = usual.messages.keys() - vehicle.messages.keys()
    assert not missing or vehicle.telemetry.dropped, f"{missing} not published, and not counted"
    for topic, message in (each for several in vehicle.messages.values() for each in several):
        for path, number in floats(message):
            may_be_nan = math.isnan(number) and topic.type in NAN_MEANS_UNKNOWN
            assert math.isfinite(number) or may_be_nan, f"{topic.name}: {path} is {number}"
    for track in (vehicle.telemetry.poses.positions, vehicle.telemetry.poses.attitudes):
        assert np.isfinite(track.values).all(), "on /tf"
    return vehicle


@pytest.mark.parametrize("name", sorted(TRANSLATIONS))
# Few messages are read otherwise where ArduPilot has sent them.
@pytest.mark.parametrize("autopilot", only([ARDUPILOT, PX4], 1))
def test_numbers_that_are_not_finite_are_not_published(name: str, autopilot: int) -> None:
    for field, at in numbers_of(name, "float"):
        for value in IMPOSSIBLE:
            check(name, autopilot, with_value(plain(name), field, value, at))


def sentinels(name: str) -> list[tuple[str, int, int]]:
    """Fields, entries and the numbers that mean unknown there, except for zero."""
    found = []
    for field, (kind, about) in documented(name).items():
        if kind in ("float", "char") or field in TIMES:
            continue
        meant = {LARGEST[word] for word in LARGEST if re.search(rf"\b{word}\b", about)}
        meant |= {-1} if "-1:" in about or "-1 =" in about else set()
        found += [(field, at, value) for value in meant for other, at in numbers_of(name, kind) if other == field]
    return found


def test_the_definitions_say_what_is_unknown() -> None:
    """Of the fields that this file is about, read by eye."""
    assert {(field, value) for field, _, value in sentinels("BATTERY_STATUS")} == {
        *((field, -1) for field in ("current_battery", "current_consumed", "energy_consumed", "battery_remaining")),
        ("voltages", 65535),
        ("temperature", 32767),
    }
    assert {(field, value) for field, _, value in sentinels("GPS_RAW_INT")} == {
        *((field, 65535) for field in ("eph", "epv", "vel", "cog", "yaw")),
        ("satellites_visible", 255),
    }
    assert {field for name in TRANSLATIONS for field, _, _ in sentinels(name)} >= {"covariance", "hdg", "quality"}


@pytest.mark.parametrize("name", sorted(TRANSLATIONS))
# Few messages are read otherwise where ArduPilot has sent them.
@pytest.mark.parametrize("autopilot", only([ARDUPILOT, PX4], 1))
def test_unknown_numbers_are_not_published_as_numbers(name: str, autopilot: int) -> None:
    """65535 cV is no voltage: no float is the number that means unknown, in any decimal unit, or its square."""
    for field, at, value in sentinels(name):
        vehicle = check(name, autopilot, with_value(plain(name), field, value, at))
        lengths = {abs(value) * 10.0**-digits for digits in range(8)} if value != -1 else {0.01}
        lengths |= {length**2 for length in lengths}
        for topic, message in (each for several in vehicle.messages.values() for each in several):
            for path, number in floats(message):
                near = [length for length in lengths if math.isclose(abs(number), length, rel_tol=1e-6)]
                assert not near, f"{field} {value}: {topic.name} has {path} {number}"


@pytest.mark.parametrize("name", sorted(TRANSLATIONS))
# Few messages are read otherwise where ArduPilot has sent them.
@pytest.mark.parametrize("autopilot", only([ARDUPILOT, PX4], 1))
def test_the_usual_message_is_published_whole(name: str, autopilot: int) -> None:
    """Otherwise the other tests would test nothing."""
    vehicle = Vehicle(autopilot)
    vehicle.give(name, plain(name))
    silent = {"MISSION_ACK", "MEMINFO", "HWSTATUS"} | ({"RAW_IMU"} if autopilot == PX4 else set())
    assert bool(vehicle.messages) == (name not in silent)
    assert not vehicle.telemetry.dropped or name in silent
