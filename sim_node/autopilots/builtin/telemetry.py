"""Telemetry messages: rows of quantities of the motion, and functions for the others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sim_node.autopilots.builtin.battery import CELLS, FlightBattery
from sim_node.autopilots.builtin.dialect import Mode
from sim_node.autopilots.builtin.fence import HEIGHT
from sim_node.autopilots.builtin.streams import Fields, message
from sim_node.autopilots.builtin.tasks import Go, Land
from sim_node.mavlink.codec import kind_named
from sim_node.mavlink.contents import CONTENTS, written
from sim_node.spatial.frames import AttitudeEnu, Enu, Flu, Frd, Heading, YawEnu

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.flight import Flight

# Measurements in HIL_SENSOR and HIGHRES_IMU, which have the same units: the attribute of `HilMeasurements`, the fields,
# and their bits in fields_updated.
_SENSED = (
    ("inertial", "xacc yacc zacc xgyro ygyro zgyro", 0x3F),
    ("magnetic", "xmag ymag zmag", 0x1C0),
    ("air", "abs_pressure pressure_alt temperature", 0x1A00),
)


def _sea_level(flight: Flight, place: Any) -> tuple[float, float, float]:
    """Return latitude, longitude (degrees) and altitude above mean sea level (m) of a position in ENU."""
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


# Quantities of `contents.CONTENTS` by their names there; None if not known yet. Rates are those of the gyroscope. The
# airspeed is the ground speed, as neither the air nor the terrain is measured.
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
    """Return the time fields of a message, in simulation time."""
    time_us = flight.time_us
    times = {"time_boot_ms": time_us // 1000 & 0xFFFFFFFF, "time_usec": time_us}
    return {field: time for field, time in times.items() if field in kind_named(name).integers}


def _row(
    name: str, rate: float, constants: Mapping[str, Any] | None = None, *, dialect: str = "", quantities: str = ""
) -> None:
    """Register a message that consists of quantities of CONTENTS. It is not sent before they are known.

    Args:
        name: Name of the message.
        rate: Default rate, Hz.
        constants: Further fields.
        dialect: Dialect that has it; empty for all.
        quantities: Names of its quantities; by default all that CONTENTS lists.
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
# MAV_FRAME_LOCAL_NED and MAV_FRAME_BODY_FRD; no covariances (NaN), as the state is exact.
_ODOMETRY: dict[str, Any] = {"frame_id": 1, "child_frame_id": 12}
_ODOMETRY |= dict.fromkeys(("pose_covariance", "velocity_covariance"), (math.nan, *[0.0] * 20))
_row("ODOMETRY", 0.0, _ODOMETRY, quantities="position attitude body_velocity rates")


@message("HIGHRES_IMU", 50.0)
def highres_imu(flight: Flight) -> Fields | None:
    """Return the sensors' latest measurements, unchanged."""
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
    """Return the latest GPS fix; its altitude is above mean sea level."""
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
    """Return the actuator commands, 0 to 1 or -1 to 1, as pulse widths from 1000 to 2000 us."""
    rest = flight.craft.neutral
    pulses = [round(1000.0 + 1000.0 * (rest + (1.0 - rest) * part)) for part in flight.commands.tolist()]
    fields = {f"servo{number}_raw": pulse for number, pulse in enumerate(pulses[:16], start=1)}
    return fields | {"time_usec": flight.time_us & 0xFFFFFFFF}


@message("POSITION_TARGET_LOCAL_NED", 10.0)
def position_target(flight: Flight) -> Fields | None:
    """Return the setpoint, unless the vehicle is on the ground or its task is direct."""
    if not flight.airborne or flight.task.direct:
        return None
    x, y, z, vx, vy, vz, ax, ay, az, yaw, rate = flight.reference.tolist()
    name = "POSITION_TARGET_LOCAL_NED"
    position, velocity, acceleration = Enu((x, y, z)), Enu((vx, vy, vz)), Enu((ax, ay, az))
    fields = written(name, position=position, velocity=velocity, acceleration=acceleration)
    return fields | written(name, yaw=YawEnu(yaw), yaw_rate=rate) | _times(name, flight) | {"coordinate_frame": 1}


AVAILABLE_MODES = "AVAILABLE_MODES"
CUSTOM, ARMED = 1, 128  # MAV_MODE_FLAG
_STANDBY, _ACTIVE = 3, 4  # MAV_STATE
_ON_GROUND, _IN_AIR, _TAKEOFF, _LANDING = 1, 2, 3, 4  # MAV_LANDED_STATE
_NO_VOLTAGE, _NO_TEMPERATURE = 65535, 32767
_LIPO, _FULL, _LOW, _CRITICAL = 1, 1, 2, 3  # MAV_BATTERY_TYPE, MAV_BATTERY_CHARGE_STATE
_ADVANCED, _AUTOMATIC = 1, 4  # MAV_MODE_PROPERTY
_NO_BREACH, _CEILING, _BOUNDARY = 0, 2, 3  # FENCE_BREACH
_NO_MISSION, _NOT_STARTED, _RUNNING, _PAUSED, _COMPLETE = 1, 2, 3, 4, 5  # MISSION_STATE
# MAV_SYS_STATUS_SENSOR: gyroscope, accelerometer, magnetometer, barometer, GPS; control of rates, attitude, yaw,
# altitude and position, motors; geofence, AHRS, battery, pre-arm checks.
_SENSORS = 0x1 | 0x2 | 0x4 | 0x8 | 0x20
_CONTROL = 0x400 | 0x800 | 0x1000 | 0x2000 | 0x4000 | 0x8000
_FENCE, _AHRS, _BATTERY, _PREARM = 0x100000, 0x200000, 0x2000000, 0x10000000
# MAV_PROTOCOL_CAPABILITY: float missions, integer missions and commands, setpoints (attitude, local, global), MAVLink
# 2, geofences, rally points; integer parameters as bytes or as rounded floats.
_CAPABILITIES = 1 | 4 | 8 | 64 | 128 | 256 | 8192 | 16384 | 32768
_BYTEWISE, _CAST = 16, 131072
# ESTIMATOR_STATUS and EKF_STATUS_REPORT: attitude, velocities, relative and absolute positions, predicted positions.
_ESTIMATES = 1 | 2 | 4 | 8 | 16 | 32 | 256 | 512


@message("HEARTBEAT")
def heartbeat(flight: Flight) -> Fields:
    """Return the mode and the arming state. Sent once a second by the wall clock, even if the simulation is paused."""
    mode = flight.dialect.modes[flight.mode]
    return {
        "type": flight.craft.mav_type,
        "autopilot": flight.dialect.autopilot,
        "base_mode": CUSTOM | mode.base | (ARMED if flight.armed else 0),
        "custom_mode": mode.custom,
        "system_status": _ACTIVE if flight.armed else _STANDBY,
        "mavlink_version": 3,
    }


@message("CURRENT_MODE", 0.5)
def current_mode(flight: Flight) -> Fields:
    """Return the mode, and the standard mode that it corresponds to."""
    mode = flight.dialect.modes[flight.mode]
    return {"standard_mode": mode.standard, "custom_mode": mode.custom, "intended_custom_mode": mode.custom}


@message(AVAILABLE_MODES)
def first_mode(flight: Flight) -> Fields:
    """Return the first mode. REQUEST_MESSAGE selects a mode by its index, or all modes by 0."""
    return available_modes(flight)[0]


def available_modes(flight: Flight) -> list[dict[str, Any]]:
    """Return the fields of all AVAILABLE_MODES, ordered by their index from 1."""
    modes = flight.dialect.modes
    return [
        {
            "number_modes": len(modes),
            "mode_index": index,
            "standard_mode": mode.standard,
            "custom_mode": mode.custom,
            "properties": _AUTOMATIC | (_ADVANCED if flown is Mode.GUIDED else 0),
            "mode_name": mode.title,
        }
        for index, (flown, mode) in enumerate(modes.items(), start=1)
    ]


@message("AVAILABLE_MODES_MONITOR")
def modes_monitor(flight: Flight) -> Fields:
    """Return a constant: the available modes never change."""
    return {"seq": 0}


@message("SYS_STATUS", 1.0)
def sys_status(flight: Flight) -> Fields:
    """Return the health of sensors, geofence, battery and pre-arm checks.

    Sensors are healthy while the simulator is connected.
    """
    battery = flight.battery
    present = _SENSORS | _CONTROL | _FENCE | _AHRS | _BATTERY | _PREARM
    fenced = flight.fences & flight.fence.kinds(flight.settings)
    healthy = 0
    if flight.measurements.connected and flight.time_us:
        healthy = present
        if flight.failsafe.breached:
            healthy &= ~_FENCE
        if battery.remaining < flight.settings.battery_critical:
            healthy &= ~_BATTERY
        if battery.remaining <= flight.settings.battery_emergency:
            healthy &= ~_PREARM
    return {
        "onboard_control_sensors_present": present,
        "onboard_control_sensors_enabled": present if fenced else present & ~_FENCE,
        "onboard_control_sensors_health": healthy,
        "voltage_battery": round(1e3 * battery.voltage),
        "current_battery": _centiamperes(battery),
        "battery_remaining": round(100.0 * battery.remaining),
    }


def _centiamperes(battery: FlightBattery) -> int:
    """Return the current in 0.01 A, limited to the range of int16."""
    return min(round(1e2 * battery.current), 32_767)


@message("BATTERY_STATUS", 0.5)
def battery_status(flight: Flight) -> Fields:
    """Return charge, voltage of each cell, and current."""
    battery = flight.battery
    settings = flight.settings
    low, critical = battery.remaining < settings.battery_low, battery.remaining < settings.battery_critical
    return {
        "id": 0,
        "battery_function": 1,
        "type": _LIPO,
        "temperature": _NO_TEMPERATURE,
        "voltages": (*[round(1e3 * each) for each in battery.voltages], *[_NO_VOLTAGE] * (10 - CELLS)),
        "current_battery": _centiamperes(battery),
        "current_consumed": round(1e3 * battery.consumed),
        "energy_consumed": -1,
        "battery_remaining": round(100.0 * battery.remaining),
        "charge_state": _CRITICAL if critical else _LOW if low else _FULL,
    }


@message("ESTIMATOR_STATUS", 1.0, dialect="px4")
def estimator_status(flight: Flight) -> Fields | None:
    """Return that all estimates are valid as soon as the simulator has sent a state: none of them is estimated."""
    return {"time_usec": flight.time_us, "flags": _ESTIMATES} if flight.time_us else None


@message("EKF_STATUS_REPORT", 1.0, dialect="ardupilot")
def ekf_status(flight: Flight) -> Fields | None:
    """Return the same as ESTIMATOR_STATUS; clients of ArduPilot wait for it before they arm."""
    return {"flags": _ESTIMATES} if flight.time_us else None


@message("FENCE_STATUS", 2.0, dialect="ardupilot")
def fence_status(flight: Flight) -> Fields | None:
    """Return the breaches of the geofence, if it is enabled."""
    failsafe = flight.failsafe
    if not flight.fences & flight.fence.kinds(flight.settings):
        return None
    breached = failsafe.breached
    return {
        "breach_status": int(breached != 0),
        "breach_count": failsafe.breaches,
        "breach_type": _BOUNDARY if breached & ~HEIGHT else _CEILING if breached else _NO_BREACH,
        "breach_time": failsafe.breach_us // 1000,
    }


@message("EXTENDED_SYS_STATE", 2.0)
def extended_state(flight: Flight) -> Fields:
    """Return whether the vehicle is landed, in the air, taking off or landing. A rover is always landed."""
    landed = _ON_GROUND
    if flight.airborne and flight.craft.flies:
        landed = _LANDING if isinstance(flight.task, Land) else _IN_AIR
        below = flight.position[2] < (flight.places.home[2] if flight.places.home else 0.0) + 0.5
        if landed == _IN_AIR and below and isinstance(flight.task, Go):
            landed = _TAKEOFF
    return {"landed_state": landed, "vtol_state": 0}


@message("MISSION_CURRENT", 1.0)
def mission_current(flight: Flight) -> Fields:
    """Return the progress of the mission."""
    mission = flight.mission
    active = flight.mode is Mode.MISSION and flight.armed
    if mission.is_empty:
        state = _NO_MISSION
    elif active:
        state = _RUNNING
    elif flight.finished:
        state = _COMPLETE
    else:
        state = _PAUSED if flight.armed and flight.reached >= 0 else _NOT_STARTED
    fields = {"seq": mission.current, "total": len(mission.items), "mission_state": state}
    return fields | {"mission_mode": 1 if active else 2}


@message("SYSTEM_TIME", 1.0)
def system_time(flight: Flight) -> Fields:
    """Return the wall-clock time of this machine, as PX4 does in simulation, and the simulation time."""
    return {"time_unix_usec": time.time_ns() // 1000, "time_boot_ms": flight.time_us // 1000 & 0xFFFFFFFF}


@message("AUTOPILOT_VERSION")
def version(flight: Flight) -> Fields:
    """Return the capabilities, and the version of the dialect's autopilot."""
    dialect = flight.dialect
    encoding = _BYTEWISE if dialect.bytewise else _CAST
    return {
        "capabilities": _CAPABILITIES | encoding,
        "flight_sw_version": dialect.version,
        "uid": int(flight.settings.system),
    }
