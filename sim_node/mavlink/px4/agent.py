"""A PX4 behind an agent as a MAVLink vehicle: conversion of its topics below fmu/out and fmu/in.

So all names of a bridge, ours and those of other software, also serve a PX4 whose messages are on the graph and that
has no link.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sim_node.mavlink.axes import quaternion_from_rpy
from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.modes import ARMED, CUSTOM, PREARM_CHECK
from sim_node.mavlink.px4.inputs import MODES
from sim_node.mavlink.px4.names import px4_topic
from sim_node.mavlink.setpoints import (
    LOCAL_NED,
    NO_ATTITUDE,
    NO_RATES,
    NO_YAW,
    NO_YAW_RATE,
)
from sim_node.mavlink.telemetry import PX4
from sim_node.mavlink.topics import VehicleTopic
from sim_node.mavlink.transaction import Outgoing

_STANDBY, _ACTIVE, _CRITICAL = 3, 4, 5  # MAV_STATE
_ON_GROUND, _IN_AIR = 1, 2  # MAV_LANDED_STATE
_ARMED = 2  # VehicleStatus.ARMING_STATE_ARMED
_NO_CELL = 65535
_NO_SPEED = 65535
# HIGHRES_IMU.fields_updated: accelerometer and gyroscope.
_IMU_FIELDS = 0x3F
# Maximum first stamp that is a time since boot (µs). PX4 otherwise has the clock of its agent.
_BOOT_US = 10 * 24 * 3600 * 10**6
# Commands about MAVLink's own messages, which are not sent.
_OF_MAVLINK = frozenset((511, 512, 510, 519, 520))
_UNSUPPORTED = 3  # MAV_RESULT
_GLOBAL_FRAMES = frozenset((0, 3, 5, 6, 10, 11))


class FmuOutputs:
    """Converts messages that PX4 has published to MAVLink. Not thread-safe.

    Attributes:
        system: The vehicle's system id; 0 until its status is received.
    """

    def __init__(self) -> None:
        self.system = 0
        self._begin_us: int | None = None
        self._stamps: dict[str, int] = {}
        self._status: Any = None
        self._local: Any = None
        self._home: Any = None
        self._rates = (0.0, 0.0, 0.0)

    def frames(self, name: str, message: Any) -> Sequence[Outgoing]:
        """Return the MAVLink messages for a message of PX4.

        Args:
            name: A name of OUTPUTS.
            message: The message.

        Returns:
            Their names and fields; none before the first vehicle_status, and none for a message that was received
            before, on the topic with the version.
        """
        stamp_us = int(message.timestamp)
        if self._stamps.get(name) == stamp_us:
            return ()
        self._stamps[name] = stamp_us
        if self._begin_us is None:
            self._begin_us = stamp_us if stamp_us > _BOOT_US else 0
        if name == "vehicle_status":
            self._status, self.system = message, int(message.system_id)
        if not self.system:
            return ()
        return OUTPUTS[name].convert(self, message, max(stamp_us - self._begin_us, 0))

    def status(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return HEARTBEAT, and SYS_STATUS with the pre-arm checks."""
        armed = message.arming_state == _ARMED
        main, sub = MODES.get(int(message.nav_state), (0, 0))
        state = _CRITICAL if message.failsafe else _ACTIVE if armed else _STANDBY
        health = PREARM_CHECK if message.pre_flight_checks_pass else 0
        beat = {"type": int(message.system_type), "autopilot": PX4, "base_mode": CUSTOM | (ARMED if armed else 0)}
        beat |= {"custom_mode": main << 16 | sub << 24, "system_status": state, "mavlink_version": 3}
        checks = {"onboard_control_sensors_present": PREARM_CHECK, "onboard_control_sensors_enabled": PREARM_CHECK}
        unknown = {"voltage_battery": 65535, "current_battery": -1, "battery_remaining": -1}
        return ("HEARTBEAT", beat), ("SYS_STATUS", checks | unknown | {"onboard_control_sensors_health": health})

    def attitude(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return ATTITUDE_QUATERNION, with the rates of the last odometry."""
        fields = dict(zip(("q1", "q2", "q3", "q4"), map(float, message.q), strict=True))
        fields |= dict(zip(("rollspeed", "pitchspeed", "yawspeed"), self._rates, strict=True))
        return (("ATTITUDE_QUATERNION", {"time_boot_ms": now_us // 1000, **fields}),)

    def odometry(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Keep the angular rates."""
        rates = tuple(map(float, message.angular_velocity))
        self._rates = rates if all(map(math.isfinite, rates)) else (0.0, 0.0, 0.0)  # type: ignore[assignment]
        return ()

    def local(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return LOCAL_POSITION_NED, and GPS_GLOBAL_ORIGIN when that has changed."""
        before, self._local = self._local, message
        found: list[Outgoing] = []
        if message.xy_global and (before is None or before.ref_timestamp != message.ref_timestamp):
            origin = _place("latitude longitude altitude", message.ref_lat, message.ref_lon, message.ref_alt)
            found.append(("GPS_GLOBAL_ORIGIN", {"time_usec": now_us, **origin}))
        if message.xy_valid and message.z_valid:
            fields = {each: float(getattr(message, each)) for each in ("x", "y", "z", "vx", "vy", "vz")}
            found.append(("LOCAL_POSITION_NED", {"time_boot_ms": now_us // 1000, **fields}))
        return found

    def on_earth(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return GLOBAL_POSITION_INT."""
        if not (math.isfinite(message.lat) and math.isfinite(message.lon) and math.isfinite(message.alt)):
            return ()
        local, home = self._local, self._home
        above = message.alt - (home.alt if home is not None else message.alt)
        fields = _place("lat lon alt", message.lat, message.lon, message.alt) | {"relative_alt": round(above * 1e3)}
        if local is not None:
            fields |= {name: _int16(getattr(local, name) * 1e2) for name in ("vx", "vy", "vz")}
        known = local is not None and math.isfinite(local.heading)
        heading = round(math.degrees(local.heading) % 360.0 * 1e2) % 36000 if known else _NO_SPEED
        return (("GLOBAL_POSITION_INT", {"time_boot_ms": now_us // 1000, **fields, "hdg": heading}),)

    def gps(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return GPS_RAW_INT."""
        place = _place("lat lon alt", message.latitude_deg, message.longitude_deg, message.altitude_msl_m)
        course = math.degrees(message.cog_rad) % 360.0
        fields = {
            "fix_type": int(message.fix_type),
            "satellites_visible": int(message.satellites_used),
            "alt_ellipsoid": _whole(message.altitude_ellipsoid_m, 1e3, 0),
            "eph": min(_whole(message.hdop, 1e2, 65535), 65535),
            "epv": min(_whole(message.vdop, 1e2, 65535), 65535),
            "vel": min(_whole(message.vel_m_s, 1e2, _NO_SPEED), _NO_SPEED),
            "cog": _whole(course, 1e2, _NO_SPEED),
            "h_acc": _whole(message.eph, 1e3, 0),
            "v_acc": _whole(message.epv, 1e3, 0),
            "vel_acc": _whole(message.s_variance_m_s, 1e3, 0),
        }
        return (("GPS_RAW_INT", {"time_usec": now_us, **place, **fields}),)

    def battery(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return BATTERY_STATUS."""
        cells = [_whole(each, 1e3, _NO_CELL) or _NO_CELL for each in message.voltage_cell_v[:10]]
        if all(each == _NO_CELL for each in cells):
            cells[0] = _whole(message.voltage_v, 1e3, _NO_CELL)
        fields = {
            "id": max(int(message.id) - 1, 0),
            "voltages": cells,
            "current_battery": _int16(message.current_a * 1e2) if message.current_a >= 0.0 else -1,
            "current_consumed": _whole(message.discharged_mah, 1.0, -1),
            "energy_consumed": -1,
            "battery_remaining": _whole(message.remaining, 1e2, -1),
            "temperature": _int16(message.temperature * 1e2) if math.isfinite(message.temperature) else 32767,
        }
        return (("BATTERY_STATUS", fields),)

    def landed(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return EXTENDED_SYS_STATE."""
        return (("EXTENDED_SYS_STATE", {"landed_state": _ON_GROUND if message.landed else _IN_AIR}),)

    def home(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return HOME_POSITION."""
        if not (message.valid_hpos and message.valid_alt):
            return ()
        self._home = message
        place = _place("latitude longitude altitude", message.lat, message.lon, message.alt)
        local = {each: float(getattr(message, each)) for each in ("x", "y", "z")}
        q = quaternion_from_rpy(0.0, 0.0, float(message.yaw) if math.isfinite(message.yaw) else 0.0)
        return (("HOME_POSITION", {"time_usec": now_us, **place, **local, "q": q}),)

    def imu(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return HIGHRES_IMU, limited to the contents of SensorCombined."""
        fields = dict(zip(("xgyro", "ygyro", "zgyro"), map(float, message.gyro_rad), strict=True))
        fields |= dict(zip(("xacc", "yacc", "zacc"), map(float, message.accelerometer_m_s2), strict=True))
        return (("HIGHRES_IMU", {"time_usec": now_us, **fields, "fields_updated": _IMU_FIELDS}),)

    def wind(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return WIND_COV."""
        fields = {"wind_x": message.windspeed_north, "wind_y": message.windspeed_east, "wind_z": math.nan}
        fields |= {"var_horiz": message.variance_north, "var_vert": math.nan, "wind_alt": math.nan}
        return (("WIND_COV", {"time_usec": now_us, **{name: float(value) for name, value in fields.items()}}),)

    def answer(self, message: Any, now_us: int) -> Sequence[Outgoing]:
        """Return COMMAND_ACK."""
        if message.command > 65535:
            return ()
        fields = {each: int(getattr(message, each)) for each in ("command", "result", "result_param2")}
        return (("COMMAND_ACK", {**fields, "progress": int(message.result_param1)}),)


class Output(NamedTuple):
    """A topic below fmu/out that is subscribed to.

    Attributes:
        topic: Name of the topic without the version.
        convert: Returns the MAVLink messages, given the time since boot (µs).
    """

    topic: VehicleTopic
    convert: Callable[[FmuOutputs, Any, int], Sequence[Outgoing]]


OUTPUTS: Mapping[str, Output] = {
    name: Output(px4_topic(name, type), convert)
    for name, type, convert in (
        ("vehicle_status", "VehicleStatus", FmuOutputs.status),
        ("vehicle_attitude", "VehicleAttitude", FmuOutputs.attitude),
        ("vehicle_odometry", "VehicleOdometry", FmuOutputs.odometry),
        ("vehicle_local_position", "VehicleLocalPosition", FmuOutputs.local),
        ("vehicle_global_position", "VehicleGlobalPosition", FmuOutputs.on_earth),
        ("vehicle_gps_position", "SensorGps", FmuOutputs.gps),
        ("battery_status", "BatteryStatus", FmuOutputs.battery),
        ("vehicle_land_detected", "VehicleLandDetected", FmuOutputs.landed),
        ("home_position", "HomePosition", FmuOutputs.home),
        ("sensor_combined", "SensorCombined", FmuOutputs.imu),
        ("wind", "Wind", FmuOutputs.wind),
        ("vehicle_command_ack", "VehicleCommandAck", FmuOutputs.answer),
    )
}


def _whole(value: float, factor: float, unknown: int) -> int:
    scaled = value * factor
    return round(scaled) if math.isfinite(scaled) and scaled >= 0.0 else unknown


def _int16(value: float) -> int:
    return round(min(max(value, -32768.0), 32767.0)) if math.isfinite(value) else 0


def _place(names: str, latitude: float, longitude: float, altitude: float) -> dict[str, int]:
    """Return degrees and metres in MAVLink's units, under these names."""
    numbers = (latitude * 1e7, longitude * 1e7, altitude * 1e3)
    return {name: round(each) if math.isfinite(each) else 0 for name, each in zip(names.split(), numbers, strict=True)}


# Topics below fmu/in that are published, with their messages.
INPUT_TYPES: Mapping[str, str] = {
    "vehicle_command": "VehicleCommand",
    "offboard_control_mode": "OffboardControlMode",
    "trajectory_setpoint": "TrajectorySetpoint",
    "vehicle_attitude_setpoint": "VehicleAttitudeSetpoint",
    "vehicle_rates_setpoint": "VehicleRatesSetpoint",
}
# A topic of INPUT_TYPES, and fields of its message.
Input = tuple[str, Mapping[str, Any]]
_AXES = ("position", "velocity", "acceleration")


def inputs_of(message: MavlinkMessage) -> tuple[Sequence[Input], Sequence[Outgoing]]:
    """Convert a MAVLink message to messages on PX4's topics.

    Args:
        message: A message to the vehicle.

    Returns:
        The messages below fmu/in; and the answer, for a message about MAVLink itself. Missions and parameters have no
        topics.
    """
    fields = message.fields
    if message.name in ("COMMAND_LONG", "COMMAND_INT"):
        if fields.command in _OF_MAVLINK:
            return (), (("COMMAND_ACK", {"command": fields.command, "result": _UNSUPPORTED}),)
        return (_command(message),), ()
    if message.name == "SET_POSITION_TARGET_LOCAL_NED" and fields.coordinate_frame == LOCAL_NED:
        return _trajectory(fields), ()
    if message.name == "SET_ATTITUDE_TARGET":
        return _turn(fields), ()
    return (), ()


def _command(message: MavlinkMessage) -> Input:
    fields = message.fields
    last = {"param5": float(getattr(fields, "param5", 0.0)), "param6": float(getattr(fields, "param6", 0.0))}
    if message.name == "COMMAND_INT":
        scale = 1e-7 if fields.frame in _GLOBAL_FRAMES else 1e-4
        last = {"param5": fields.x * scale, "param6": fields.y * scale}
    command = {
        **{f"param{number}": float(getattr(fields, f"param{number}")) for number in range(1, 5)},
        **last,
        "param7": float(fields.z if message.name == "COMMAND_INT" else fields.param7),
        "command": int(fields.command),
        "target_system": int(fields.target_system),
        "target_component": int(fields.target_component),
        "source_system": message.system,
        "source_component": message.component,
        "confirmation": int(getattr(fields, "confirmation", 0)),
        "from_external": True,
    }
    return "vehicle_command", command


def _trajectory(fields: Any) -> Sequence[Input]:
    mask = int(fields.type_mask)
    given = ((fields.x, fields.y, fields.z), (fields.vx, fields.vy, fields.vz), (fields.afx, fields.afy, fields.afz))
    numbers = {
        axis: [math.nan if mask >> (first + at) & 1 else float(value) for at, value in enumerate(values)]
        for axis, first, values in zip(_AXES, (0, 3, 6), given, strict=True)
    }
    asked = next((axis for axis in _AXES if not all(map(math.isnan, numbers[axis]))), "velocity")
    setpoint = {
        **numbers,
        "jerk": [math.nan] * 3,
        "yaw": math.nan if mask & NO_YAW else float(fields.yaw),
        "yawspeed": math.nan if mask & NO_YAW_RATE else float(fields.yaw_rate),
    }
    mode = ("offboard_control_mode", {asked: True})
    return mode, ("trajectory_setpoint", setpoint)


def _turn(fields: Any) -> Sequence[Input]:
    mask, thrust = int(fields.type_mask), [0.0, 0.0, -float(fields.thrust)]
    if mask & NO_ATTITUDE:
        mode = ("offboard_control_mode", {"body_rate": True})
        rates = {name: float(getattr(fields, f"body_{name}_rate")) for name in ("roll", "pitch", "yaw")}
        return mode, ("vehicle_rates_setpoint", {**rates, "thrust_body": thrust})
    rate = math.nan if mask & NO_RATES & 4 else float(fields.body_yaw_rate)
    setpoint = {"q_d": list(map(float, fields.q)), "yaw_sp_move_rate": rate, "thrust_body": thrust}
    mode = ("offboard_control_mode", {"attitude": True})
    return mode, ("vehicle_attitude_setpoint", setpoint)
