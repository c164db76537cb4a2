"""PX4's simulator messages: HIL_SENSOR, HIL_GPS and others out, HIL_ACTUATOR_CONTROLS in.

The others are DISTANCE_SENSOR, HIL_OPTICAL_FLOW and HIL_STATE_QUATERNION.

Units and masks are those of src/modules/simulation/simulator_mavlink/SimulatorMavlink.cpp, which differ from the
message definitions in places.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from sim_node.autopilots.lockstep.ground_sensors import Distance, Flow
from sim_node.autopilots.lockstep.samples import Fix, Sample
from sim_node.spatial.frames import AttitudeEnu, Enu, Flu, Heading

Fields = Mapping[str, Any]

# PX4 uses a group of HIL_SENSOR's fields only if its whole mask is set.
ACCELEROMETER, GYROSCOPE, MAGNETOMETER, BAROMETER, DIFFERENTIAL_PRESSURE = 0x7, 0x38, 0x1C0, 0x1A00, 0x400
_GAUSS, _HECTOPASCAL = 1e4, 1e-2  # per T, per Pa
_ARMED = 128
_LOCKSTEP = 1
_SATELLITES, _FIX_3D = 12, 3
# Deviation (m) of a receiver without noise: PX4's filters divide by it.
_MIN_DEVIATION = 0.01
_UNKNOWN_COURSE = 65535
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
        return tuple([min(max(value, low), 1.0) if math.isfinite(value) else 0.0 for value in self.values[:channels]])


def controls(fields: Any) -> Controls:
    """Read HIL_ACTUATOR_CONTROLS."""
    return Controls(
        fields.time_usec, tuple(fields.controls), bool(fields.mode & _ARMED), bool(fields.flags & _LOCKSTEP)
    )


def sensor(sample: Sample, time_us: int, also: int = 0) -> tuple[float, ...]:
    """Return the numbers of HIL_SENSOR: accelerometer and gyroscope always, the others if they have new measurements.

    time_us: PX4's clock. also: further bits of fields_updated.
    """
    updated = ACCELEROMETER | GYROSCOPE | also
    field, pressure, differential = (0.0, 0.0, 0.0), 0.0, 0.0
    if sample.field is not None:
        updated |= MAGNETOMETER
        forward, right, down = Flu(sample.field.tolist()).to_frd()
        field = _GAUSS * forward, _GAUSS * right, _GAUSS * down
    if sample.pressure is not None:
        updated |= BAROMETER
        pressure = _HECTOPASCAL * sample.pressure
    if sample.differential_pressure is not None:
        updated |= DIFFERENTIAL_PRESSURE
        differential = _HECTOPASCAL * sample.differential_pressure
    force, rate = Flu(sample.force.tolist()).to_frd(), Flu(sample.rate.tolist()).to_frd()
    air = pressure, differential, sample.altitude, sample.temperature
    return time_us, *force, *rate, *field, *air, updated, _FIRST_OF_ITS_KIND


def gps(fix: Fix, time_us: int) -> Fields:
    """Return HIL_GPS: 1e-7 degrees, mm above mean sea level, cm/s NED; eph and epv in cm, as PX4 reads them."""
    north, east, down = velocity = Enu(fix.velocity.tolist()).to_ned()
    speed = math.hypot(north, east)
    course = round(Heading.of(velocity.direction).degrees * 100.0) % 36_000 if speed > 0.1 else _UNKNOWN_COURSE
    return {
        "time_usec": time_us,
        "fix_type": _FIX_3D,
        "lat": round(fix.latitude * 1e7),
        "lon": round(fix.longitude * 1e7),
        "alt": round(fix.altitude_msl * 1e3),
        "eph": _centimetres(fix.horizontal),
        "epv": _centimetres(fix.vertical),
        "vel": round(speed * 100.0),
        "vn": round(north * 100.0),
        "ve": round(east * 100.0),
        "vd": round(down * 100.0),
        "cog": course,
        "satellites_visible": _SATELLITES,
    }


def _centimetres(deviation: float) -> int:
    """Return centimetres below 65535, which means unknown."""
    return min(round(max(deviation, _MIN_DEVIATION) * 100.0), 65534)


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
        # PX4 takes it from a rangefinder that looks down.
        "distance": _UNKNOWN_DISTANCE,
    }


def truth(sample: Sample, fix: Fix, time_us: int) -> Fields:
    """Return HIL_STATE_QUATERNION, the ground truth in PX4's logs.

    Accelerations are in thousandths of m/s², as PX4 reads them.
    """
    rate, force = Flu(sample.rate.tolist()).to_frd(), Flu(sample.force.tolist()).to_frd()
    velocity = Enu(sample.velocity.tolist()).to_ned()
    return {
        "time_usec": time_us,
        "attitude_quaternion": AttitudeEnu(sample.pose[3:].tolist()).to_ned(),
        "rollspeed": rate[0],
        "pitchspeed": rate[1],
        "yawspeed": rate[2],
        "lat": round(fix.latitude * 1e7),
        "lon": round(fix.longitude * 1e7),
        "alt": round(fix.altitude_msl * 1e3),
        "vx": round(velocity[0] * 100.0),
        "vy": round(velocity[1] * 100.0),
        "vz": round(velocity[2] * 100.0),
        "xacc": _int16(force[0] * 1e3),
        "yacc": _int16(force[1] * 1e3),
        "zacc": _int16(force[2] * 1e3),
    }


def _int16(value: float) -> int:
    return round(min(max(value, -32768.0), 32767.0))
