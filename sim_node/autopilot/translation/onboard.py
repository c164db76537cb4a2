"""BATTERY_STATUS, RC_CHANNELS, SERVO_OUTPUT_RAW and DISTANCE_SENSOR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, Topic, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire import telemetry_messages as wire

_NONE = 65535
_TECHNOLOGY = {
    0: 0,
    1: 3,
    2: 4,
    3: 2,
    4: 1,
}  # sensor_msgs/BatteryState by MAV_BATTERY_TYPE: unknown, LiPo, LiFe, LiIon, NiMH

BATTERY = topic(
    "battery",
    "sensor_msgs/BatteryState",
    Profile.SENSOR,
    "none",
    "voltage (V), current (A, negative while discharging), charge (0 to 1), cells (V); NaN where unknown",
    lambda frames, location, cells: wire.battery(location, cells),
)


@translates("BATTERY_STATUS")
def battery_status(fields: Any, vehicle: Telemetry) -> None:
    """Translate mV per cell, or of the whole pack in the first entry.

    Unknown values are 65535 and -1, and 0 for cells beyond ten.
    """
    cells = [mv * 1e-3 for mv in fields.voltages if mv != _NONE] + [mv * 1e-3 for mv in fields.voltages_ext if mv]
    state = (
        sum(cells) if cells else math.nan,
        fields.temperature * 1e-2 if fields.temperature != 32767 else math.nan,
        -fields.current_battery * 1e-2 if fields.current_battery != -1 else math.nan,
        fields.battery_remaining * 1e-2 if fields.battery_remaining != -1 else math.nan,
        _TECHNOLOGY.get(fields.type, 0),
    )
    # One entry is the pack's voltage, not a cell's.
    voltages = cells if len(cells) > 1 else []
    vehicle.pack(BATTERY, vehicle.arrival_ns, (*state, *voltages), f"id{fields.id}", len(voltages))


RC_IN = topic(
    "rc/in",
    "std_msgs/UInt16MultiArray",
    Profile.SENSOR,
    "none",
    "pulses of the channels (us), 0: none",
    lambda frames, count: wire.pulses(count),
)
RC_OUT = topic(
    "rc/out",
    "std_msgs/UInt16MultiArray",
    Profile.SENSOR,
    "none",
    "pulses of the outputs (us), 0: none",
    lambda frames, count: wire.pulses(count),
)
_UNUSED = 65535


@translates("RC_CHANNELS")
def rc_channels(fields: Any, vehicle: Telemetry) -> None:
    """Publish as many channels as chancount gives."""
    channels = fields[2 : 2 + min(fields.chancount, 18)]
    _pack_pulses(vehicle, RC_IN, [0 if channel == _UNUSED else channel for channel in channels])


@translates("SERVO_OUTPUT_RAW")
def servo_output_raw(fields: Any, vehicle: Telemetry) -> None:
    """Publish the sixteen outputs of the first port."""
    if fields.port == 0:
        _pack_pulses(vehicle, RC_OUT, fields[2:18])


def _pack_pulses(vehicle: Telemetry, topic: Topic, pulses: Sequence[int]) -> None:
    vehicle.pack(topic, vehicle.arrival_ns, pulses, len(pulses))


_ULTRASOUND, _INFRARED = 0, 1  # sensor_msgs/Range
DISTANCE = topic(
    "distance_sensor",
    "sensor_msgs/Range",
    Profile.SENSOR,
    "base_link",
    "range (m) of the sensor that looks down",
    lambda frames: wire.distance(frames.base),
    measured=True,
)
_DOWN = 25  # MAV_SENSOR_ROTATION_PITCH_270


@translates("DISTANCE_SENSOR")
def distance_sensor(fields: Any, vehicle: Telemetry) -> None:
    """Translate centimetres. The field of view is 0 if the sensor does not send it."""
    if fields.orientation != _DOWN:
        return
    kind = _ULTRASOUND if fields.type == 1 else _INFRARED
    limits = fields.min_distance * 1e-2, fields.max_distance * 1e-2
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    vehicle.pack(DISTANCE, stamp_ns, (kind, fields.horizontal_fov, *limits, fields.current_distance * 1e-2))
