"""Telemetry of the vehicle's motion and sensors: rows of quantities, and functions of the messages that join others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sim_node.autopilots.builtin.streams import Fields, message
from sim_node.mavlink.codec import kind_named
from sim_node.mavlink.contents import CONTENTS, written
from sim_node.spatial.frames import AttitudeEnu, Enu, Flu, Frd, Heading, YawEnu

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.flight import Flight

# What HIL_SENSOR has in the units of HIGHRES_IMU: the part, its fields, and their bits of fields_updated.
_SENSED = (
    ("inertial", "xacc yacc zacc xgyro ygyro zgyro", 0x3F),
    ("magnetic", "xmag ymag zmag", 0x1C0),
    ("air", "abs_pressure pressure_alt temperature", 0x1A00),
)


def _sea_level(flight: Flight, place: Any) -> tuple[float, float, float]:
    """Return latitude, longitude and the altitude above mean sea level of a place in ENU."""
    latitude, longitude, altitude = flight.places.ellipsoid(place)
    return latitude, longitude, flight.places.sea_level(altitude)


def _altitude(flight: Flight) -> float:
    return _sea_level(flight, flight.position)[2]


def _attitude(flight: Flight) -> AttitudeEnu:
    return AttitudeEnu(flight.states[0, 3:7].tolist())


def _velocity(flight: Flight) -> Enu:
    return Enu(flight.velocity.tolist())


def _rates(flight: Flight) -> Flu:
    sensed = flight.measurements.inertial
    return Frd((0.0, 0.0, 0.0) if sensed is None else (sensed.xgyro, sensed.ygyro, sensed.zgyro)).to_flu()


def _height(flight: Flight) -> float:
    home = flight.places.home
    return float(flight.position[2] - (home[2] if home else 0.0))


def _speed(flight: Flight) -> float:
    return math.hypot(*_velocity(flight)[:2])


def _throttle(flight: Flight) -> float:
    commands = flight.commands
    return float(commands.mean() if flight.craft.flies else abs(commands[0]))


def _origin(flight: Flight) -> tuple[float, float, float]:
    latitude, longitude, altitude = flight.places.origin
    return latitude, longitude, flight.places.sea_level(altitude)


# The quantities of `contents.CONTENTS`, by their names there; None for what is not known yet. Rates are those of the
# gyroscope. The airspeed is the speed over ground: nothing measures the air, nor the terrain.
_QUANTITIES: Mapping[str, Callable[[Flight], Any]] = {
    "airspeed": _speed,
    "altitude": _altitude,
    "attitude": _attitude,
    "body_velocity": lambda flight: _attitude(flight).to_body(_velocity(flight)),
    "clearance": lambda flight: None,
    "climb": lambda flight: _velocity(flight).up,
    "heading": lambda flight: Heading.of(_attitude(flight).yaw).degrees,
    "height": _height,
    "home": lambda flight: (home := flight.places.home) and _sea_level(flight, home),
    "home_position": lambda flight: (home := flight.places.home) and Enu(home),
    "monotonic": _altitude,
    "origin": _origin,
    "place": lambda flight: _sea_level(flight, flight.position),
    "position": lambda flight: Enu(flight.position.tolist()),
    "rates": _rates,
    "speed": _speed,
    "terrain": lambda flight: None,
    "throttle": _throttle,
    "up": lambda flight: flight.position[2],
    "velocity": _velocity,
}


def _times(name: str, flight: Flight) -> dict[str, int]:
    """Return the fields of a message that have the simulator's time."""
    time_us = flight.time_us
    times = {"time_boot_ms": time_us // 1000 & 0xFFFFFFFF, "time_usec": time_us}
    return {field: time for field, time in times.items() if field in kind_named(name).integers}


def _row(
    name: str, rate: float, constants: Mapping[str, Any] | None = None, *, dialect: str = "", quantities: str = ""
) -> None:
    """Register a message of quantities: all that CONTENTS has of it, or some. It is not sent before they are known.

    constants: further fields. quantities: names of the quantities, if not all.
    """
    held = CONTENTS[name]
    sources = {each: _QUANTITIES[each] for each in quantities.split() or held}

    def make(flight: Flight) -> Fields | None:
        values = {each: source(flight) for each, source in sources.items()}
        if any(value is None and held[each].unknown is None for each, value in values.items()):
            return None
        return {**written(name, **values), **_times(name, flight), **(constants or {})}

    message(name, rate, dialect)(make)


_row("ATTITUDE_QUATERNION", 50.0)
_row("ATTITUDE", 10.0)
_row("LOCAL_POSITION_NED", 50.0)
_row("GLOBAL_POSITION_INT", 10.0)
_row("ALTITUDE", 10.0, dialect="px4")
_row("VFR_HUD", 4.0)
_row("HOME_POSITION", 0.5, {"q": (1.0, 0.0, 0.0, 0.0)})
_row("GPS_GLOBAL_ORIGIN", 0.2)
# MAV_FRAME_LOCAL_NED and MAV_FRAME_BODY_FRD; no covariances, for the state is the truth.
_ODOMETRY: dict[str, Any] = {"frame_id": 1, "child_frame_id": 12}
_ODOMETRY |= dict.fromkeys(("pose_covariance", "velocity_covariance"), (math.nan, *[0.0] * 20))
_row("ODOMETRY", 0.0, _ODOMETRY, quantities="position attitude body_velocity rates")


@message("HIGHRES_IMU", 50.0)
def highres_imu(flight: Flight) -> Fields | None:
    """What the sensors read, as it came: HIL_SENSOR has the same units."""
    measured = flight.measurements
    if measured.inertial is None:
        return None
    fields = {"time_usec": flight.time_us, "fields_updated": 0}
    for part, names, bits in _SENSED:
        if (sensed := getattr(measured, part)) is not None:
            fields |= {name: getattr(sensed, name) for name in names.split()}
            fields["fields_updated"] |= bits
    return fields


@message("GPS_RAW_INT", 5.0)
def gps_raw(flight: Flight) -> Fields | None:
    """The receiver's fix: its altitude is above mean sea level."""
    fix = flight.measurements.fix
    if fix is None:
        return None
    names = ("fix_type", "lat", "lon", "alt", "eph", "epv", "vel", "cog", "satellites_visible")
    above = fix.alt + round(flight.places.undulation * 1e3)
    return {name: getattr(fix, name) for name in names} | {
        "alt_ellipsoid": above,
        "time_usec": flight.time_us,
    }


@message("SERVO_OUTPUT_RAW", 5.0)
def servo_output(flight: Flight) -> Fields:
    """Commands of 0 to 1, or of -1 to 1, as pulses of 1000 to 2000 us."""
    rest = flight.craft.neutral
    pulses = [round(1000.0 + 1000.0 * (rest + (1.0 - rest) * part)) for part in flight.commands.tolist()]
    fields = {f"servo{number}_raw": pulse for number, pulse in enumerate(pulses[:16], start=1)}
    return fields | {"time_usec": flight.time_us & 0xFFFFFFFF}


@message("POSITION_TARGET_LOCAL_NED", 10.0)
def position_target(flight: Flight) -> Fields | None:
    """The setpoint, where there is one."""
    if not flight.airborne or flight.task.direct:
        return None
    x, y, z, vx, vy, vz, ax, ay, az, yaw, rate = flight.reference.tolist()
    name = "POSITION_TARGET_LOCAL_NED"
    position, velocity, acceleration = Enu((x, y, z)), Enu((vx, vy, vz)), Enu((ax, ay, az))
    fields = written(name, position=position, velocity=velocity, acceleration=acceleration)
    return fields | written(name, yaw=YawEnu(yaw), yaw_rate=rate) | _times(name, flight) | {"coordinate_frame": 1}
