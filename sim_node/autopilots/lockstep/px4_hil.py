"""PX4's simulator messages.

The simulator sends HIL_SENSOR, HIL_GPS, DISTANCE_SENSOR, HIL_OPTICAL_FLOW and HIL_STATE_QUATERNION, and receives
HIL_ACTUATOR_CONTROLS.

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
# Minimum standard deviation (m): PX4's filters divide by it, and a receiver without noise has none.
_MIN_DEVIATION = 0.01
_FIRST_OF_ITS_KIND = 0
_LASER = 0  # MAV_DISTANCE_SENSOR
# MAV_SENSOR_ORIENTATION of the axes of FLU: x, y and z, positive and negative.
_FORWARD, _RIGHT, _BACKWARD, _LEFT, _UPWARD, _DOWNWARD, _CUSTOM = 0, 2, 4, 6, 24, 25, 100
_ORIENTATIONS = (_FORWARD, _BACKWARD), (_LEFT, _RIGHT), (_UPWARD, _DOWNWARD)
# Cosine of the maximum angle (2.6 degrees) between one of these axes and that of a sensor.
_ALONG = 0.999
# DISTANCE_SENSOR.signal_quality: 1 means an invalid measurement, 0 would mean an unknown quality.
_INVALID, _PERFECT = 1, 100
_MAX_CENTIMETRES, _MAX_COVARIANCE = 65534, 254
_SEEN, _UNSEEN = 255, 0
_UNKNOWN_DISTANCE = -1.0


class Controls(NamedTuple):
    """Actuator commands of PX4.

    Attributes:
        time_us: PX4's time, us.
        values: Commands, -1 to 1.
        armed: Whether PX4 is armed.
        lockstep: Whether PX4 is in lockstep.
    """

    time_us: int
    values: tuple[float, ...]
    armed: bool
    lockstep: bool

    def commands(self, channels: int, low: float = 0.0) -> tuple[float, ...]:
        """Return the commands of the first channels, limited to `low` to 1; 0 for NaN, which marks unused channels."""
        values = self.values[:channels]
        return tuple([value if low <= value <= 1.0 else _limited_command(value, low) for value in values])


def _limited_command(value: float, low: float) -> float:
    return min(max(value, low), 1.0) if math.isfinite(value) else 0.0


def controls(numbers: Sequence[Any]) -> Controls:
    """Parse HIL_ACTUATOR_CONTROLS from its values in the order of the payload: time, flags, commands, mode."""
    time_us, flags, *values, mode = numbers
    return Controls(time_us, tuple(values), bool(mode & _ARMED), bool(flags & _LOCKSTEP))


def sensor(sample: Sample, time_us: int, also: int = 0) -> tuple[float, ...]:
    """Return the values of HIL_SENSOR.

    Accelerometer and gyroscope are always updated, the others if there is a new measurement.

    Args:
        sample: The vehicle's state.
        time_us: PX4's time, us.
        also: Further bits of fields_updated.
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
    """Return the fields of HIL_GPS, with eph and epv in cm, as PX4 reads them."""
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
    """Return a standard deviation (m) that is less than 65535 cm, which means unknown."""
    return min(max(deviation, _MIN_DEVIATION), 655.34)


def distance(measured: Distance, time_us: int) -> Fields:
    """Return the fields of DISTANCE_SENSOR, in cm. Its quality says whether a target is in range."""
    orientation, quaternion = _orientation(*measured.attitude.tolist())
    low, high = (_limited_centimetres(limit) for limit in (measured.minimum, measured.maximum))
    in_range = math.isfinite(measured.metres)
    # Out of range, the distance is beyond the limit on that side.
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
    """Return the MAV_SENSOR_ORIENTATION of a sensor's x axis, and its quaternion [w, x, y, z] in FRD axes."""
    axis = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)
    for along, (positive, negative) in zip(axis, _ORIENTATIONS, strict=True):
        if abs(along) >= _ALONG:
            return positive if along > 0.0 else negative, (0.0, 0.0, 0.0, 0.0)
    return _CUSTOM, (w, x, -y, -z)


def optical_flow(measured: Flow, time_us: int) -> Fields:
    """Return the fields of HIL_OPTICAL_FLOW: angles (rad) since the last measurement, about the body's axes (FRD)."""
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
    """Return the fields of HIL_STATE_QUATERNION, the ground truth in PX4's logs.

    Accelerations are in mm/s², as PX4 reads them.
    """
    # Limited to the range of int16.
    force = np.clip(sample.force, -32.767, 32.767)
    return {"time_usec": time_us} | written(
        "HIL_STATE_QUATERNION",
        attitude=AttitudeEnu(sample.pose[3:].tolist()),
        rates=Flu(sample.rate.tolist()),
        place=(fix.latitude, fix.longitude, fix.altitude_msl),
        velocity=Enu(sample.velocity.tolist()),
        force=Flu(force.tolist()),
    )
