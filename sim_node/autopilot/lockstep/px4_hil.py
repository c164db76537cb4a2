"""PX4's simulator messages: HIL_SENSOR, HIL_GPS and HIL_STATE_QUATERNION out, HIL_ACTUATOR_CONTROLS in.

Units and masks as src/modules/simulation/simulator_mavlink/SimulatorMavlink.cpp reads them, which is not always what
the message definitions say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from sim_node.autopilot.axes import attitude_ned_frd, frd_flu, ned_enu
from sim_node.autopilot.lockstep.sample import Fix, Sample

Fields = Mapping[str, Any]

# PX4 takes a group of HIL_SENSOR's fields only where its whole mask is set.
ACCELEROMETER, GYROSCOPE, MAGNETOMETER, BAROMETER, DIFFERENTIAL_PRESSURE = 0x7, 0x38, 0x1C0, 0x1A00, 0x400
_GAUSS, _HECTOPASCAL = 1e4, 1e-2  # per T, per Pa
_ARMED = 128
_LOCKSTEP = 1
_SATELLITES, _FIX_3D = 12, 3
# Of a receiver without any noise: its filters want something to divide by.
_BEST = 0.01
_UNKNOWN_COURSE = 65535


class Controls(NamedTuple):
    """What PX4 asks of its actuators, 0 to 1 for motors: at its own time (us), armed or not, lockstep or not."""

    time_us: int
    values: tuple[float, ...]
    armed: bool
    lockstep: bool

    def command(self, channel: int) -> float:
        """What a channel asks of its motor, 0 to 1; nothing where it is not in use."""
        value = self.values[channel]
        return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0


def controls(fields: Any) -> Controls:
    """HIL_ACTUATOR_CONTROLS."""
    return Controls(
        fields.time_usec, tuple(fields.controls), bool(fields.mode & _ARMED), bool(fields.flags & _LOCKSTEP)
    )


def sensor(sample: Sample, time_us: int) -> Fields:
    """HIL_SENSOR: accelerometer and gyroscope always, the others where they have read anew. time_us drives PX4."""
    fields: dict[str, Any] = {"time_usec": time_us, "id": 0, "temperature": sample.temperature}
    fields["xacc"], fields["yacc"], fields["zacc"] = frd_flu(*sample.force.tolist())
    fields["xgyro"], fields["ygyro"], fields["zgyro"] = frd_flu(*sample.rate.tolist())
    updated = ACCELEROMETER | GYROSCOPE
    if sample.field is not None:
        updated |= MAGNETOMETER
        fields["xmag"], fields["ymag"], fields["zmag"] = (_GAUSS * part for part in frd_flu(*sample.field.tolist()))
    if sample.pressure is not None:
        updated |= BAROMETER
        fields["abs_pressure"], fields["pressure_alt"] = _HECTOPASCAL * sample.pressure, sample.altitude
    if sample.differential_pressure is not None:
        updated |= DIFFERENTIAL_PRESSURE
        fields["diff_pressure"] = _HECTOPASCAL * sample.differential_pressure
    fields["fields_updated"] = updated
    return fields


def gps(fix: Fix, time_us: int) -> Fields:
    """HIL_GPS: 1e-7 degrees, mm, cm/s NED; eph and epv in cm, as PX4 reads them."""
    north, east, down = ned_enu(*fix.velocity.tolist())
    speed = math.hypot(north, east)
    course = round(math.degrees(math.atan2(east, north)) % 360.0 * 100.0) % 36_000 if speed > 0.1 else _UNKNOWN_COURSE
    return {
        "time_usec": time_us,
        "fix_type": _FIX_3D,
        "lat": round(fix.latitude * 1e7),
        "lon": round(fix.longitude * 1e7),
        "alt": round(fix.altitude * 1e3),
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
    """Below 65535, which would be unknown."""
    return min(round(max(deviation, _BEST) * 100.0), 65534)


def truth(sample: Sample, fix: Fix, time_us: int) -> Fields:
    """HIL_STATE_QUATERNION, the ground truth of PX4's logs; accelerations in thousandths of m/s², as PX4 reads them."""
    rate, force = frd_flu(*sample.rate.tolist()), frd_flu(*sample.force.tolist())
    velocity = ned_enu(*sample.velocity.tolist())
    x, y, z, w = sample.pose[3:].tolist()
    return {
        "time_usec": time_us,
        "attitude_quaternion": attitude_ned_frd(x, y, z, w),
        "rollspeed": rate[0],
        "pitchspeed": rate[1],
        "yawspeed": rate[2],
        "lat": round(fix.latitude * 1e7),
        "lon": round(fix.longitude * 1e7),
        "alt": round(fix.altitude * 1e3),
        "vx": round(velocity[0] * 100.0),
        "vy": round(velocity[1] * 100.0),
        "vz": round(velocity[2] * 100.0),
        "xacc": _int16(force[0] * 1e3),
        "yacc": _int16(force[1] * 1e3),
        "zacc": _int16(force[2] * 1e3),
    }


def _int16(value: float) -> int:
    return round(min(max(value, -32768.0), 32767.0))
