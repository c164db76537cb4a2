"""PX4's simulator messages: HIL_SENSOR, HIL_GPS and others out, HIL_ACTUATOR_CONTROLS in.

The others are DISTANCE_SENSOR, HIL_OPTICAL_FLOW and HIL_STATE_QUATERNION.

Units and masks are those of src/modules/simulation/simulator_mavlink/SimulatorMavlink.cpp, which differ from the
message definitions in places.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sim_node.autopilots.lockstep.samples import Distance, Fix, Flow, Sample
from sim_node.mavlink.contents import written
from sim_node.spatial.frames import AttitudeEnu, Enu, Flu, Frd, Heading

Fields = Mapping[str, Any]

# PX4 uses a group of HIL_SENSOR's fields only if its whole mask is set.
ACCELEROMETER, GYROSCOPE, MAGNETOMETER, BAROMETER, DIFFERENTIAL_PRESSURE = 0x7, 0x38, 0x1C0, 0x1A00, 0x400
_GAUSS, _HECTOPASCAL = 1e4, 1e-2  # per T, per Pa
_ARMED = 128
_LOCKSTEP = 1
_SATELLITES, _FIX_3D = 12, 3
# Deviation (m) of a receiver without noise: PX4's filters divide by it.
_MIN_DEVIATION = 0.01
_FIRST_OF_ITS_KIND = 0
_LASER = 0  # MAV_DISTANCE_SENSOR
# MAV_SENSOR_ORIENTATION by the direction in FLU axes, for those that PX4 distinguishes.
_FORWARD, _RIGHT, _BACKWARD, _LEFT, _UPWARD, _DOWNWARD, _CUSTOM = 0, 2, 4, 6, 24, 25, 100
_ORIENTATIONS = (_FORWARD, _BACKWARD), (_LEFT, _RIGHT), (_UPWARD, _DOWNWARD)
# Cosine of the largest angle (2.6 degrees) between one of them and a sensor's axis.
_ALONG = 0.999
# Of DISTANCE_SENSOR: 1 is a measurement that is invalid; 0 would be an unknown quality.
_INVALID, _PERFECT = 1, 100
_MAX_CENTIMETRES, _MAX_COVARIANCE = 65534, 254
_SEEN, _UNSEEN = 255, 0
_UNKNOWN_DISTANCE = -1.0


class Controls(NamedTuple):
    """PX4's commands of its actuators, within -1 to 1: its own time (us), armed or not, lockstep or not."""

    time_us: int
    values: tuple[float, ...]
    armed: bool
    lockstep: bool

    def commands(self, channels: int, low: float = 0.0) -> tuple[float, ...]:
        """Return the commands of the first channels, from `low` to 1; 0 for channels that are not in use."""
        values = self.values[:channels]
        return tuple([value if low <= value <= 1.0 else _limited_command(value, low) for value in values])


def _limited_command(value: float, low: float) -> float:
    return min(max(value, low), 1.0) if math.isfinite(value) else 0.0


def controls(numbers: Sequence[Any]) -> Controls:
    """Read the numbers of HIL_ACTUATOR_CONTROLS in the order of the payload: time, flags, commands, mode."""
    time_us, flags, *values, mode = numbers
    return Controls(time_us, tuple(values), bool(mode & _ARMED), bool(flags & _LOCKSTEP))


def sensor(sample: Sample, time_us: int, also: int = 0) -> tuple[float, ...]:
    """Return the numbers of HIL_SENSOR: accelerometer and gyroscope always, the others if they have new measurements.

    time_us: PX4's clock. also: further bits of fields_updated.
    """
    updated = ACCELEROMETER | GYROSCOPE | also
    field, pressure, differential = (0.0, 0.0, 0.0), 0.0, 0.0
    if sample.field is not None:
        updated |= MAGNETOMETER
        forward, right, down = Frd.of_flu(*sample.field.tolist()).numbers
        field = _GAUSS * forward, _GAUSS * right, _GAUSS * down
    if sample.pressure is not None:
        updated |= BAROMETER
        pressure = _HECTOPASCAL * sample.pressure
    if sample.differential_pressure is not None:
        updated |= DIFFERENTIAL_PRESSURE
        differential = _HECTOPASCAL * sample.differential_pressure
    force, rate = Frd.of_flu(*sample.force.tolist()).numbers, Frd.of_flu(*sample.rate.tolist()).numbers
    air = pressure, differential, sample.altitude, sample.temperature
    return time_us, *force, *rate, *field, *air, updated, _FIRST_OF_ITS_KIND


def gps(fix: Fix, time_us: int) -> Fields:
    """Return HIL_GPS; eph and epv in cm, as PX4 reads them."""
    velocity = Enu(fix.velocity.tolist())
    speed = math.hypot(velocity.east, velocity.north)
    return {"time_usec": time_us, "fix_type": _FIX_3D, "satellites_visible": _SATELLITES} | written(
        "HIL_GPS",
        place=(fix.latitude, fix.longitude, fix.altitude_msl),
        eph=_limited(fix.horizontal),
        epv=_limited(fix.vertical),
        speed=speed,
        velocity=velocity,
        course=Heading.of(velocity.to_ned().direction).degrees if speed > 0.1 else None,
    )


def _limited(deviation: float) -> float:
    """Return a deviation that in centimetres is below 65535, which means unknown."""
    return min(max(deviation, _MIN_DEVIATION), 655.34)


def distance(measured: Distance, time_us: int) -> Fields:
    """Return DISTANCE_SENSOR: cm, and a quality that says whether there was anything in range."""
    orientation, quaternion = _orientation(*measured.attitude.tolist())
    low, high = (_limited_centimetres(limit) for limit in (measured.minimum, measured.maximum))
    in_range = math.isfinite(measured.metres)
    # Out of range, it is beyond the limit on its side.
    centimetres = _limited_centimetres(measured.metres) if in_range else (0 if measured.metres < 0.0 else high + 1)
    return {
        "time_boot_ms": time_us // 1000 & 0xFFFFFFFF,
        "min_distance": low,
        "max_distance": high,
        "current_distance": centimetres,
        "type": _LASER,
        "id": measured.number,
        "orientation": orientation,
        "covariance": min(round((100.0 * measured.deviation) ** 2), _MAX_COVARIANCE),
        "horizontal_fov": measured.field_of_view,
        "vertical_fov": measured.field_of_view,
        "quaternion": quaternion,
        "signal_quality": _PERFECT if in_range else _INVALID,
    }


def _limited_centimetres(metres: float) -> int:
    return min(max(round(100.0 * metres), 0), _MAX_CENTIMETRES)


def _orientation(x: float, y: float, z: float, w: float) -> tuple[int, tuple[float, ...]]:
    """Return MAV_SENSOR_ORIENTATION of a sensor's x axis, and its quaternion in FRD axes, w first."""
    axis = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)
    for along, (positive, negative) in zip(axis, _ORIENTATIONS, strict=True):
        if abs(along) >= _ALONG:
            return positive if along > 0.0 else negative, (0.0, 0.0, 0.0, 0.0)
    return _CUSTOM, (w, x, -y, -z)


def optical_flow(measured: Flow, time_us: int) -> Fields:
    """Return HIL_OPTICAL_FLOW: angles (rad) since the last one, about the axes of the body in FRD."""
    x, y = (measured.flow * measured.seconds).tolist()
    turned = Flu((measured.rate * measured.seconds).tolist()).to_frd()
    seen = math.isfinite(x) and math.isfinite(y)
    return {
        "time_usec": time_us,
        "integration_time_us": round(1e6 * measured.seconds),
        "integrated_x": x if seen else 0.0,
        "integrated_y": -y if seen else 0.0,
        "integrated_xgyro": turned[0],
        "integrated_ygyro": turned[1],
        "integrated_zgyro": turned[2],
        "quality": _SEEN if seen else _UNSEEN,
        # PX4 reads it from a rangefinder that looks down.
        "distance": _UNKNOWN_DISTANCE,
    }


def truth(sample: Sample, fix: Fix, time_us: int) -> Fields:
    """Return HIL_STATE_QUATERNION, the ground truth in PX4's logs.

    Accelerations are in thousandths of m/s², as PX4 reads them.
    """
    # No more than its integers of 16 bits hold.
    force = np.clip(sample.force, -32.767, 32.767)
    return {"time_usec": time_us} | written(
        "HIL_STATE_QUATERNION",
        attitude=AttitudeEnu(sample.pose[3:].tolist()),
        rates=Flu(sample.rate.tolist()),
        place=(fix.latitude, fix.longitude, fix.altitude_msl),
        velocity=Enu(sample.velocity.tolist()),
        force=Flu(force.tolist()),
    )
