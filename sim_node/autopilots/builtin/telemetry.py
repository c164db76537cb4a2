"""Telemetry of the vehicle's motion and sensors: what each message holds. One entry per message."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sim_node.autopilots.builtin.streams import Fields, message
from sim_node.spatial.frames import AttitudeEnu, Enu, Flu, Heading, Ned, YawEnu

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.autopilot import BuiltinAutopilot


@message("ATTITUDE_QUATERNION", 50.0)
def attitude_quaternion(autopilot: BuiltinAutopilot) -> Fields:
    """FRD in NED; rates of the gyroscope."""
    w, x, y, z = AttitudeEnu(autopilot.flight.states[0, 3:7].tolist()).to_ned()
    return _rates(autopilot) | {"q1": w, "q2": x, "q3": y, "q4": z}


@message("ATTITUDE", 10.0)
def attitude(autopilot: BuiltinAutopilot) -> Fields:
    """The same as angles, for ground stations."""
    w, x, y, z = turned = AttitudeEnu(autopilot.flight.states[0, 3:7].tolist()).to_ned()
    roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = math.asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0))
    return _rates(autopilot) | {"roll": roll, "pitch": pitch, "yaw": turned.yaw.radians}


@message("LOCAL_POSITION_NED", 50.0)
def local_position(autopilot: BuiltinAutopilot) -> Fields:
    """Of base_link from the world's origin."""
    (north, east, down), (vx, vy, vz) = _position(autopilot), _velocity(autopilot)
    return _boot(autopilot) | {"x": north, "y": east, "z": down, "vx": vx, "vy": vy, "vz": vz}


@message("GLOBAL_POSITION_INT", 10.0)
def global_position(autopilot: BuiltinAutopilot) -> Fields:
    """The same on Earth."""
    flight = autopilot.flight
    latitude, longitude, altitude = flight.places.ellipsoid(flight.position)
    vx, vy, vz = _velocity(autopilot)
    height = flight.position[2] - (flight.places.home[2] if flight.places.home else 0.0)
    return _boot(autopilot) | {
        "lat": round(latitude * 1e7),
        "lon": round(longitude * 1e7),
        "alt": round(flight.places.sea_level(altitude) * 1e3),
        "relative_alt": round(height * 1e3),
        "vx": round(vx * 1e2),
        "vy": round(vy * 1e2),
        "vz": round(vz * 1e2),
        "hdg": round(_heading(autopilot) * 1e2) % 36_000,
    }


@message("ALTITUDE", 10.0, dialect="px4")
def altitude(autopilot: BuiltinAutopilot) -> Fields:
    """The height above sea level, the origin and home; nothing measures that of the terrain."""
    flight = autopilot.flight
    sea_level = flight.places.sea_level(flight.places.ellipsoid(flight.position)[2])
    return {
        "time_usec": flight.time_us,
        "altitude_monotonic": sea_level,
        "altitude_amsl": sea_level,
        "altitude_local": flight.position[2],
        "altitude_relative": flight.position[2] - (flight.places.home[2] if flight.places.home else 0.0),
        "altitude_terrain": math.nan,
        "bottom_clearance": math.nan,
    }


@message("HIGHRES_IMU", 50.0)
def highres_imu(autopilot: BuiltinAutopilot) -> Fields | None:
    """What the sensors read, as it came: HIL_SENSOR has the same units."""
    measured = autopilot.link.measurements
    sensed = measured.inertial
    if sensed is None:
        return None
    names = ["xacc", "yacc", "zacc", "xgyro", "ygyro", "zgyro"]
    fields = {"time_usec": autopilot.flight.time_us, "fields_updated": 0x3F} | {n: getattr(sensed, n) for n in names}
    if measured.magnetic is not None:
        fields |= {name: getattr(measured.magnetic, name) for name in ("xmag", "ymag", "zmag")}
        fields["fields_updated"] |= 0x1C0
    if measured.air is not None:
        fields |= {name: getattr(measured.air, name) for name in ("abs_pressure", "pressure_alt", "temperature")}
        fields["fields_updated"] |= 0x1A00
    return fields


@message("GPS_RAW_INT", 5.0)
def gps_raw(autopilot: BuiltinAutopilot) -> Fields | None:
    """The receiver's fix: its altitude is above mean sea level."""
    fix = autopilot.link.measurements.fix
    if fix is None:
        return None
    return {
        "time_usec": autopilot.flight.time_us,
        "fix_type": fix.fix_type,
        "lat": fix.lat,
        "lon": fix.lon,
        "alt": fix.alt,
        "alt_ellipsoid": fix.alt + round(autopilot.flight.places.undulation * 1e3),
        "eph": fix.eph,
        "epv": fix.epv,
        "vel": fix.vel,
        "cog": fix.cog,
        "satellites_visible": fix.satellites_visible,
    }


@message("SERVO_OUTPUT_RAW", 5.0)
def servo_output(autopilot: BuiltinAutopilot) -> Fields:
    """Commands of 0 to 1, or of -1 to 1, as pulses of 1000 to 2000 us."""
    rest = autopilot.flight.craft.neutral
    pulses = [round(1000.0 + 1000.0 * (rest + (1.0 - rest) * part)) for part in autopilot.flight.commands.tolist()]
    fields = {f"servo{number}_raw": pulse for number, pulse in enumerate(pulses[:16], start=1)}
    return fields | {"time_usec": autopilot.flight.time_us & 0xFFFFFFFF}


@message("VFR_HUD", 4.0)
def hud(autopilot: BuiltinAutopilot) -> Fields:
    """For ground stations; the airspeed is that over ground, since nothing measures it."""
    flight = autopilot.flight
    vx, vy, vz = _velocity(autopilot)
    speed, commands = math.hypot(vx, vy), flight.commands
    throttle = commands.mean() if flight.craft.flies else abs(commands[0])
    return {
        "airspeed": speed,
        "groundspeed": speed,
        "heading": round(_heading(autopilot)) % 360,
        "throttle": round(100.0 * float(throttle)),
        "alt": flight.places.sea_level(flight.places.ellipsoid(flight.position)[2]),
        "climb": -vz,
    }


@message("HOME_POSITION", 0.5)
def home_position(autopilot: BuiltinAutopilot) -> Fields | None:
    """Where it was armed."""
    places = autopilot.flight.places
    if places.home is None:
        return None
    latitude, longitude, altitude = places.ellipsoid(places.home)
    north, east, down = Enu(places.home).to_ned()
    return {
        "latitude": round(latitude * 1e7),
        "longitude": round(longitude * 1e7),
        "altitude": round(places.sea_level(altitude) * 1e3),
        "x": north,
        "y": east,
        "z": down,
        "q": (1.0, 0.0, 0.0, 0.0),
        "time_usec": autopilot.flight.time_us,
    }


@message("GPS_GLOBAL_ORIGIN", 0.2)
def global_origin(autopilot: BuiltinAutopilot) -> Fields:
    """The world's."""
    places = autopilot.flight.places
    latitude, longitude, altitude = places.origin
    return {
        "latitude": round(latitude * 1e7),
        "longitude": round(longitude * 1e7),
        "altitude": round(places.sea_level(altitude) * 1e3),
        "time_usec": autopilot.flight.time_us,
    }


@message("POSITION_TARGET_LOCAL_NED", 10.0)
def position_target(autopilot: BuiltinAutopilot) -> Fields | None:
    """The setpoint, where there is one."""
    flight = autopilot.flight
    if not flight.airborne or flight.task.direct:
        return None
    x, y, z, vx, vy, vz, ax, ay, az, yaw, rate = flight.reference.tolist()
    return _boot(autopilot) | {
        "coordinate_frame": 1,
        **dict(zip(("x", "y", "z"), Enu((x, y, z)).to_ned(), strict=True)),
        **dict(zip(("vx", "vy", "vz"), Enu((vx, vy, vz)).to_ned(), strict=True)),
        **dict(zip(("afx", "afy", "afz"), Enu((ax, ay, az)).to_ned(), strict=True)),
        "yaw": YawEnu(yaw).to_ned().radians,
        "yaw_rate": Flu((0.0, 0.0, rate)).to_frd()[2],
    }


@message("ODOMETRY")
def odometry(autopilot: BuiltinAutopilot) -> Fields:
    """Pose in NED, velocity and rates in the body (FRD); no covariances, for the state is the truth."""
    flight = autopilot.flight
    attitude = AttitudeEnu(flight.states[0, 3:7].tolist())
    body = attitude.to_body(Enu(flight.velocity.tolist())).to_frd()
    unknown = (math.nan, *[0.0] * 20)
    rates = _rates(autopilot)
    rates.pop("time_boot_ms")
    return rates | {
        "time_usec": flight.time_us,
        "frame_id": 1,
        "child_frame_id": 12,
        **dict(zip(("x", "y", "z"), _position(autopilot), strict=True)),
        "q": attitude.to_ned(),
        **dict(zip(("vx", "vy", "vz"), body, strict=True)),
        "pose_covariance": unknown,
        "velocity_covariance": unknown,
    }


def _boot(autopilot: BuiltinAutopilot) -> dict[str, Any]:
    return {"time_boot_ms": autopilot.flight.time_us // 1000 & 0xFFFFFFFF}


def _rates(autopilot: BuiltinAutopilot) -> dict[str, Any]:
    sensed = autopilot.link.measurements.inertial
    p, q, r = (0.0, 0.0, 0.0) if sensed is None else (sensed.xgyro, sensed.ygyro, sensed.zgyro)
    return _boot(autopilot) | {"rollspeed": p, "pitchspeed": q, "yawspeed": r}


def _position(autopilot: BuiltinAutopilot) -> Ned:
    return Enu(autopilot.flight.position.tolist()).to_ned()


def _velocity(autopilot: BuiltinAutopilot) -> Ned:
    return Enu(autopilot.flight.velocity.tolist()).to_ned()


def _heading(autopilot: BuiltinAutopilot) -> float:
    """Degrees clockwise from north, 0 to 360."""
    return Heading.of(AttitudeEnu(autopilot.flight.states[0, 3:7].tolist()).yaw).degrees
