"""BATTERY_STATUS, SYS_STATUS, RC_CHANNELS, RC_CHANNELS_RAW, SERVO_OUTPUT_RAW and DISTANCE_SENSOR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from sim_node.mavlink.axes import Quaternion, quaternion_from_rpy, unit_quaternion
from sim_node.mavlink.codec import enum_name
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import VehicleTopic, topic
from sim_node.mavlink.translation.health import keep
from sim_node.mavlink.translation.rows import reads, translates
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import AttitudeFrd

# Voltages that are unknown, and those that are continued in the next entry (mV).
_NONE, _MORE = 65535, 65534
# sensor_msgs/BatteryState by MAV_BATTERY_TYPE: unknown, LiPo, LiFe, LiIon, NiMH
_TECHNOLOGY = {0: 0, 1: 3, 2: 4, 3: 2, 4: 1}

BATTERY = topic("battery", "sensor_msgs/BatteryState", layout=wire.battery)


@reads("BATTERY_STATUS", "temperature current charge")
def battery_status(
    fields: Any, vehicle: Telemetry, celsius: float | None, current: float | None, charge: float | None
) -> None:
    """Publish a battery by the voltages of its cells, or of the whole pack in the first entry."""
    if fields.id == 0:
        vehicle.has_battery_status = True
    cells = _cells(fields)
    voltage = sum(cells) if cells else None
    location = f"id{fields.id}" + (f" of component {vehicle.component}" if vehicle.component else "")
    # A single entry is the voltage of the pack, not of a cell.
    each = cells if len(cells) > 1 else []
    numbers = voltage, celsius, current, charge
    _publish_battery(vehicle, numbers, _TECHNOLOGY.get(fields.type, 0), each, location)


@reads("SYS_STATUS", "voltage current charge")
def sys_status(
    fields: Any, vehicle: Telemetry, voltage: float | None, current: float | None, charge: float | None
) -> None:
    """Publish the battery, as MAVROS does: unless the first one has a BATTERY_STATUS."""
    keep(fields, vehicle)
    if vehicle.has_battery_status:
        vehicle.drop(fields, "battery is known from BATTERY_STATUS")
    elif not voltage and current is charge is None:
        vehicle.drop(fields, "no battery")
    else:
        _publish_battery(vehicle, (voltage, None, current, charge))


def _cells(fields: Any) -> list[float]:
    """Return the voltages (V). A voltage above 65.534 V is in several entries, of which all but the last are 65,534."""
    cells, before = [], 0.0
    for mv in (*fields.voltages, *(mv or _NONE for mv in fields.voltages_ext)):
        if mv == _MORE:
            before += mv * 1e-3
        elif mv != _NONE or before:
            cells.append(before + (mv * 1e-3 if mv != _NONE else 0.0))
            before = 0.0
    return [*cells, before] if before else cells


def _publish_battery(
    vehicle: Telemetry,
    known: Sequence[float | None],
    technology: int = 0,
    cells: Sequence[float] = (),
    location: str = "",
) -> None:
    """Publish a battery.

    Args:
        vehicle: The vehicle.
        known: Voltage (V), temperature (°C), current (A, positive for discharging, which is negative in ROS) and charge
            (0 to 1); None for unknown.
        technology: POWER_SUPPLY_TECHNOLOGY of sensor_msgs/BatteryState.
        cells: Cell voltages, V.
        location: Location of the battery.
    """
    voltage, celsius, current, charge = (math.nan if number is None else number for number in known)
    values = (voltage, celsius, 0.0 - current, charge, technology, *cells)
    vehicle.pack_variant(BATTERY, vehicle.arrival_ns, values, location, len(cells))


RC_IN = topic("rc/in", "std_msgs/UInt16MultiArray", layout=wire.pulses)
RC_OUT = topic("rc/out", "std_msgs/UInt16MultiArray", layout=wire.pulses)
_UNUSED = 65535


@translates("RC_CHANNELS")
def rc_channels(fields: Any, vehicle: Telemetry) -> None:
    """Publish the first chancount channels."""
    _publish_channels(fields, vehicle, 0, fields[2 : 2 + min(fields.chancount, 18)])


@translates("RC_CHANNELS_RAW")
def rc_channels_raw(fields: Any, vehicle: Telemetry) -> None:
    """Publish the eight channels of the first port, as MAVROS does: unless RC_CHANNELS is sent."""
    if fields.port == 0:
        _publish_channels(fields, vehicle, 1, fields[2:10])
    else:
        vehicle.drop(fields, "not the first port")


def _publish_channels(fields: Any, vehicle: Telemetry, rank: int, channels: Sequence[int]) -> None:
    if vehicle.accepts(fields, RC_IN.name, rank, vehicle.arrival_ns):
        _pack_pulses(vehicle, RC_IN, [0 if channel == _UNUSED else channel for channel in channels])


@translates("SERVO_OUTPUT_RAW")
def servo_output_raw(fields: Any, vehicle: Telemetry) -> None:
    """Publish the sixteen outputs of the first port."""
    if fields.port == 0:
        _pack_pulses(vehicle, RC_OUT, fields[2:18])
    else:
        vehicle.drop(fields, "not the first port")


def _pack_pulses(vehicle: Telemetry, topic: VehicleTopic, pulses: Sequence[int]) -> None:
    vehicle.pack_variant(topic, vehicle.arrival_ns, pulses, len(pulses))


ULTRASOUND, INFRARED = 0, 1  # sensor_msgs/Range
_CUSTOM = 100  # MAV_SENSOR_ROTATION_CUSTOM
_INVALID_SIGNAL = 1  # DISTANCE_SENSOR
_ENUM, _PREFIX = "MAV_SENSOR_ORIENTATION", "MAV_SENSOR_ROTATION_"
# Names of the usual directions; others have the name of their MAV_SENSOR_ORIENTATION.
_DIRECTIONS = {
    "NONE": "forward",
    "YAW_90": "right",
    "YAW_180": "back",
    "YAW_270": "left",
    "PITCH_90": "up",
    "PITCH_270": "down",
}
# Each sensor has its own frame, base_link_distance_DIRECTION, with the x axis of the sensor.
DISTANCE = topic("distance_sensor", "sensor_msgs/Range", layout=wire.distance, measured=True)


@reads("DISTANCE_SENSOR", "field_of_view minimum maximum distance variance")
def distance_sensor(
    fields: Any, vehicle: Telemetry, view: float | None, low: float, high: float, distance: float, variance: float
) -> None:
    """Publish a distance in a frame with the sensor's orientation. The field of view is 0 if it is not sent.

    A frame of unknown orientation is not added to the tree. A reading with an invalid signal is NaN (REP 117).
    """
    name, rotation = _custom(fields, vehicle) if fields.orientation == _CUSTOM else orientation(fields.orientation)
    frame = f"{vehicle.frames.base}_distance_{name}"
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    # Autopilots forward messages of other components.
    if not vehicle.accepts(fields, frame, vehicle.component, stamp_ns):
        return
    if rotation is not None:
        vehicle.fix_frame(frame, rotation)
    kind = ULTRASOUND if fields.type == 1 else INFRARED
    if fields.signal_quality:
        vehicle.signal_qualities[frame] = fields.signal_quality
    measured = math.nan if fields.signal_quality == _INVALID_SIGNAL else distance
    vehicle.pack_variant(DISTANCE, stamp_ns, (kind, view or 0.0, low, high, measured, variance or 0.0), frame)


@cache
def orientation(number: int) -> tuple[str, Quaternion | None]:
    """Return the name of a MAV_SENSOR_ORIENTATION, and the sensor's orientation [x, y, z, w] in the vehicle (FLU).

    An unknown one is named by its number, without an orientation.

    The entries are named by their angles: ROLL_90_PITCH_68_YAW_293 is Rz(293°) Ry(68°) Rx(90°) in FRD.
    """
    entry = enum_name(_ENUM, number).removeprefix(_PREFIX)
    words = entry.split("_") if entry != "NONE" else []
    angles = dict(zip(words[::2], words[1::2], strict=False))
    if not angles.keys() <= {"ROLL", "PITCH", "YAW"} or (number and not angles):
        return str(number), None
    roll, pitch, yaw = (math.radians(float(angles.get(axis, 0.0))) for axis in ("ROLL", "PITCH", "YAW"))
    return _DIRECTIONS.get(entry, entry.lower()), AttitudeFrd(quaternion_from_rpy(roll, pitch, yaw)).to_flu().xyzw


def _custom(fields: Any, vehicle: Telemetry) -> tuple[str, Quaternion | None]:
    """Return the name of a sensor whose message contains its orientation, and the orientation if it is a rotation."""
    name = f"custom_{vehicle.component}_{fields.id}" if vehicle.component else f"custom_{fields.id}"
    unit = unit_quaternion(*fields.quaternion)
    return name, None if unit is None else AttitudeFrd(unit).to_flu().xyzw
