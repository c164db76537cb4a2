"""DISTANCE_SENSOR."""

from __future__ import annotations

from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire import telemetry_messages as wire

_ULTRASOUND, _INFRARED = 0, 1  # sensor_msgs/Range
DISTANCE = topic(
    "distance_sensor",
    "sensor_msgs/Range",
    Profile.SENSOR,
    "base_link",
    "range (m) of the sensor that looks down",
    lambda frames: wire.distance(frames.base),
)
_DOWN = 25  # MAV_SENSOR_ROTATION_PITCH_270


@translates("DISTANCE_SENSOR")
def distance_sensor(fields: Any, vehicle: Telemetry) -> None:
    """Centimetres; the field of view is 0 where the sensor does not tell it."""
    if fields.orientation != _DOWN:
        return
    kind = _ULTRASOUND if fields.type == 1 else _INFRARED
    limits = fields.min_distance * 1e-2, fields.max_distance * 1e-2
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    vehicle.pack(DISTANCE, stamp_ns, (kind, fields.horizontal_fov, *limits, fields.current_distance * 1e-2))
