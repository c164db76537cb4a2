"""Telemetry: what each message holds, and how often it is sent. One entry per message."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sim_node.autopilot.axes import attitude_ned_frd, frd_flu, ned_enu, rotate_inverse, yaw_of
from sim_node.autopilot.builtin.modes import Mode
from sim_node.autopilot.builtin.tasks import Go, Land
from sim_node.autopilot.codec import kind_named
from sim_node.registry import Registry

if TYPE_CHECKING:
    from sim_node.autopilot.builtin.autopilot import BuiltinAutopilot

Fields = Mapping[str, Any]
Tells = Callable[["BuiltinAutopilot"], "Fields | None"]
SECOND_US = 1_000_000
MAX_RATE = 1000.0  # Hz
ARMED, GUIDED_FLAG, AUTO_FLAG, STABILIZED, CUSTOM = 128, 8, 4, 16, 1  # MAV_MODE_FLAG
_QUADROTOR, _HEXAROTOR, _OCTOROTOR = 2, 13, 14  # MAV_TYPE
_TYPES = {4: _QUADROTOR, 6: _HEXAROTOR, 8: _OCTOROTOR}
_STANDBY, _ACTIVE = 3, 4  # MAV_STATE
_ON_GROUND, _IN_AIR, _TAKEOFF, _LANDING = 1, 2, 3, 4  # MAV_LANDED_STATE
_UNKNOWN = 65535
# SYS_STATUS: gyroscope, accelerometer, magnetometer, barometer, gps, motors.
_SENSORS = 1 | 2 | 4 | 8 | 32 | 32768
# MAV_PROTOCOL_CAPABILITY: float missions and parameters, integer missions and commands, attitude, local and global
# targets, MAVLink 2.
_CAPABILITIES = 1 | 2 | 4 | 8 | 64 | 128 | 256 | 8192


class Message(NamedTuple):
    """How a message is told, and how often where nobody asked (Hz; 0 for not at all)."""

    tell: Tells
    rate: float


MESSAGES: Registry[str, Message] = Registry(
    "message", shipped=("sim_node.autopilot.builtin.streams",), group="sim_node.builtin"
)


def message(name: str, rate: float = 0.0) -> Callable[[Tells], Tells]:
    """Registers what tells a message. Raises ValueError for one that is there already."""

    def register(tell: Tells) -> Tells:
        MESSAGES.add(name, module=tell.__module__)(Message(tell, rate))
        return tell

    return register


class Streams:
    """Which messages are due, on the simulator's clock."""

    def __init__(self) -> None:
        self.rates = {name: each.rate for name, each in MESSAGES.items() if each.rate}
        self._due = dict.fromkeys(self.rates, 0)
        self._next = 0

    def set_rate(self, name: str, rate: float) -> None:
        """Hz, 0 for no more of it."""
        self.rates.pop(name, None)
        self._due.pop(name, None)
        if rate > 0.0:
            self.rates[name], self._due[name] = min(rate, MAX_RATE), 0
        self._next = 0

    def due(self, time_us: int) -> list[str]:
        """What is to be told at a time; a clock that went back begins anew."""
        if time_us < self._next and self._next - time_us <= 2 * SECOND_US:
            return []
        due = []
        for name, rate in self.rates.items():
            period = round(SECOND_US / rate)
            at = self._due[name]
            if time_us >= at or at - time_us > 2 * period:
                due.append(name)
                # On its grid, without catching up on what was missed.
                self._due[name] = time_us + period - (time_us % period if period else 0)
        self._next = min(self._due.values(), default=time_us + SECOND_US)
        return due


def known(number: int) -> str | None:
    """The name of a message that can be asked for."""
    return next((name for name in MESSAGES if kind_named(name).number == number), None)


@message("HEARTBEAT")
def heartbeat(autopilot: BuiltinAutopilot) -> Fields:
    """Sent by the wall clock, once a second: a paused simulation's autopilot is still there."""
    flight = autopilot.flight
    base = CUSTOM | STABILIZED | (ARMED if flight.armed else 0)
    base |= {Mode.GUIDED: GUIDED_FLAG, Mode.AUTO: GUIDED_FLAG | AUTO_FLAG}.get(flight.mode, 0)
    return {
        "type": _TYPES.get(len(flight.commands), 0),
        "autopilot": 0,
        "base_mode": base,
        "custom_mode": int(flight.mode),
        "system_status": _ACTIVE if flight.armed else _STANDBY,
        "mavlink_version": 3,
    }


@message("ATTITUDE_QUATERNION", 50.0)
def attitude_quaternion(autopilot: BuiltinAutopilot) -> Fields:
    """FRD in NED; rates of the gyroscope."""
    w, x, y, z = attitude_ned_frd(*autopilot.flight.states[0, 3:7].tolist())
    return _rates(autopilot) | {"q1": w, "q2": x, "q3": y, "q4": z}


@message("ATTITUDE", 10.0)
def attitude(autopilot: BuiltinAutopilot) -> Fields:
    """The same as angles, for ground stations."""
    w, x, y, z = attitude_ned_frd(*autopilot.flight.states[0, 3:7].tolist())
    roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = math.asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0))
    return _rates(autopilot) | {"roll": roll, "pitch": pitch, "yaw": yaw_of(x, y, z, w)}


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


@message("HIGHRES_IMU", 50.0)
def highres_imu(autopilot: BuiltinAutopilot) -> Fields | None:
    """What the sensors read, as it came: HIL_SENSOR has the same units."""
    readings = autopilot.link.readings
    sensed = readings.inertial
    if sensed is None:
        return None
    names = ["xacc", "yacc", "zacc", "xgyro", "ygyro", "zgyro"]
    fields = {"time_usec": autopilot.flight.time_us, "fields_updated": 0x3F} | {n: getattr(sensed, n) for n in names}
    if readings.magnetic is not None:
        fields |= {name: getattr(readings.magnetic, name) for name in ("xmag", "ymag", "zmag")}
        fields["fields_updated"] |= 0x1C0
    if readings.air is not None:
        fields |= {name: getattr(readings.air, name) for name in ("abs_pressure", "pressure_alt", "temperature")}
        fields["fields_updated"] |= 0x1A00
    return fields


@message("GPS_RAW_INT", 5.0)
def gps_raw(autopilot: BuiltinAutopilot) -> Fields | None:
    """What the receiver tells: its altitude is above the ellipsoid."""
    fix = autopilot.link.readings.fix
    if fix is None:
        return None
    ellipsoid = fix.alt * 1e-3
    return {
        "time_usec": autopilot.flight.time_us,
        "fix_type": fix.fix_type,
        "lat": fix.lat,
        "lon": fix.lon,
        "alt": round(autopilot.flight.places.sea_level(ellipsoid) * 1e3),
        "alt_ellipsoid": fix.alt,
        "eph": fix.eph,
        "epv": fix.epv,
        "vel": fix.vel,
        "cog": fix.cog,
        "satellites_visible": fix.satellites_visible,
    }


@message("SYS_STATUS", 1.0)
def sys_status(autopilot: BuiltinAutopilot) -> Fields:
    """There is no battery in the physics, so none is told of."""
    healthy = _SENSORS if autopilot.link.connected else 0
    return {
        "onboard_control_sensors_present": _SENSORS,
        "onboard_control_sensors_enabled": _SENSORS,
        "onboard_control_sensors_health": healthy,
        "voltage_battery": _UNKNOWN,
        "current_battery": -1,
        "battery_remaining": -1,
    }


@message("EXTENDED_SYS_STATE", 2.0)
def extended_state(autopilot: BuiltinAutopilot) -> Fields:
    """On the ground, in the air, on the way up or down."""
    flight = autopilot.flight
    landed = _ON_GROUND
    if flight.airborne:
        landed = _LANDING if isinstance(flight.task, Land) else _IN_AIR
        below = flight.position[2] < (flight.places.home[2] if flight.places.home else 0.0) + 0.5
        if landed == _IN_AIR and below and isinstance(flight.task, Go):
            landed = _TAKEOFF
    return {"landed_state": landed, "vtol_state": 0}


@message("SERVO_OUTPUT_RAW", 5.0)
def servo_output(autopilot: BuiltinAutopilot) -> Fields:
    """Commands of 0 to 1 as pulses of 1000 to 2000 us."""
    pulses = [round(1000.0 + 1000.0 * command) for command in autopilot.flight.commands.tolist()]
    fields = {f"servo{number}_raw": pulse for number, pulse in enumerate(pulses[:16], start=1)}
    return fields | {"time_usec": autopilot.flight.time_us & 0xFFFFFFFF}


@message("VFR_HUD", 4.0)
def hud(autopilot: BuiltinAutopilot) -> Fields:
    """For ground stations; the airspeed is that over ground, since nothing measures it."""
    flight = autopilot.flight
    vx, vy, vz = _velocity(autopilot)
    speed, commands = math.hypot(vx, vy), flight.commands
    return {
        "airspeed": speed,
        "groundspeed": speed,
        "heading": round(_heading(autopilot)) % 360,
        "throttle": round(100.0 * float(commands.mean())),
        "alt": flight.places.sea_level(flight.places.ellipsoid(flight.position)[2]),
        "climb": -vz,
    }


@message("MISSION_CURRENT", 1.0)
def mission_current(autopilot: BuiltinAutopilot) -> Fields:
    """Where the mission stands."""
    flight = autopilot.flight
    count = len(flight.mission.items)
    active = flight.mode is Mode.AUTO and flight.armed
    state = 1 if not count else 3 if active else 2  # MISSION_STATE: none, active, not started
    return {"seq": flight.mission.current, "total": count, "mission_state": state, "mission_mode": 1 if active else 2}


@message("HOME_POSITION", 0.5)
def home_position(autopilot: BuiltinAutopilot) -> Fields | None:
    """Where it was armed."""
    places = autopilot.flight.places
    if places.home is None:
        return None
    latitude, longitude, altitude = places.ellipsoid(places.home)
    north, east, down = ned_enu(*places.home)
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
        **dict(zip(("x", "y", "z"), ned_enu(x, y, z), strict=True)),
        **dict(zip(("vx", "vy", "vz"), ned_enu(vx, vy, vz), strict=True)),
        **dict(zip(("afx", "afy", "afz"), ned_enu(ax, ay, az), strict=True)),
        "yaw": math.remainder(0.5 * math.pi - yaw, 2.0 * math.pi),
        "yaw_rate": -rate,
    }


@message("ODOMETRY")
def odometry(autopilot: BuiltinAutopilot) -> Fields:
    """Pose in NED, velocity and rates in the body (FRD); no covariances, for the state is the truth."""
    flight = autopilot.flight
    qx, qy, qz, qw = flight.states[0, 3:7].tolist()
    vx, vy, vz = flight.velocity.tolist()
    body = frd_flu(*rotate_inverse((qx, qy, qz, qw), (vx, vy, vz)))
    unknown = (math.nan, *[0.0] * 20)
    rates = _rates(autopilot)
    rates.pop("time_boot_ms")
    return rates | {
        "time_usec": flight.time_us,
        "frame_id": 1,
        "child_frame_id": 12,
        **dict(zip(("x", "y", "z"), _position(autopilot), strict=True)),
        "q": attitude_ned_frd(qx, qy, qz, qw),
        **dict(zip(("vx", "vy", "vz"), body, strict=True)),
        "pose_covariance": unknown,
        "velocity_covariance": unknown,
    }


@message("AUTOPILOT_VERSION")
def version(autopilot: BuiltinAutopilot) -> Fields:
    """What it can."""
    return {"capabilities": _CAPABILITIES, "uid": autopilot.system}


def _boot(autopilot: BuiltinAutopilot) -> dict[str, Any]:
    return {"time_boot_ms": autopilot.flight.time_us // 1000 & 0xFFFFFFFF}


def _rates(autopilot: BuiltinAutopilot) -> dict[str, Any]:
    sensed = autopilot.link.readings.inertial
    p, q, r = (0.0, 0.0, 0.0) if sensed is None else (sensed.xgyro, sensed.ygyro, sensed.zgyro)
    return _boot(autopilot) | {"rollspeed": p, "pitchspeed": q, "yawspeed": r}


def _position(autopilot: BuiltinAutopilot) -> tuple[float, float, float]:
    x, y, z = autopilot.flight.position.tolist()
    return ned_enu(x, y, z)


def _velocity(autopilot: BuiltinAutopilot) -> tuple[float, float, float]:
    x, y, z = autopilot.flight.velocity.tolist()
    return ned_enu(x, y, z)


def _heading(autopilot: BuiltinAutopilot) -> float:
    """Degrees clockwise from north, 0 to 360."""
    x, y, z, w = autopilot.flight.states[0, 3:7].tolist()
    return (90.0 - math.degrees(yaw_of(x, y, z, w))) % 360.0
