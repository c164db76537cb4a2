"""Tables of the topics that ArduPilot publishes over DDS: rows from a message's fields, and functions."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from sim_node.mavlink.ardupilot.names import ApNames, mode_number
from sim_node.mavlink.contents import MILLI, MILLI_G, SI, Unit
from sim_node.mavlink.dialects import (
    Readers,
    TopicFunction,
    TopicRow,
    ValueSource,
    by,
    row_readers,
    row_topics,
)
from sim_node.mavlink.modes import ARMED
from sim_node.mavlink.telemetry import Heartbeat
from sim_node.mavlink.topics import Profile, VehicleTopic
from sim_node.spatial.frames import Frame, convert_position

of = ValueSource
_MS = 1_000_000
# Periods of topics that AP_DDS publishes at fixed rates: AP_DDS_DELAY_*_TOPIC_MS.
_TIME_NS, _IMU_NS, _STATE_NS, _RC_NS, _GOAL_NS, _BATTERY_NS = (
    10 * _MS,
    5 * _MS,
    33 * _MS,
    100 * _MS,
    200 * _MS,
    1000 * _MS,
)
_NO_RADIO_NS = 10 * _RC_NS

TIME = VehicleTopic("time", "builtin_interfaces/Time", profile=Profile.CLOCK)
CLOCK = VehicleTopic("clock", "rosgraph_msgs/Clock", profile=Profile.CLOCK)
BATTERY = VehicleTopic("battery", "sensor_msgs/BatteryState", "{id}")
STATIC = VehicleTopic("tf_static", "tf2_msgs/TFMessage", "base_link", profile=Profile.LATCHED)
RC = VehicleTopic("rc", "ardupilot_msgs/Rc", profile=Profile.NEWEST)
GOAL = VehicleTopic("goal_lla", "geographic_msgs/GeoPointStamped", profile=Profile.LATCHED)
ORIGIN = VehicleTopic("gps_global_origin/filtered", "geographic_msgs/GeoPointStamped", "base_link")
STATUS = VehicleTopic("status", "ardupilot_msgs/Status", profile=Profile.LATCHED)

_NO_COVARIANCE = (-1.0, *[0.0] * 8)
_IMU_CONSTANTS = dict.fromkeys(
    (f"{name}_covariance" for name in ("orientation", "angular_velocity", "linear_acceleration")), _NO_COVARIANCE
)


def _imu(message: str, rates: Unit, force: ValueSource, *unless: str) -> TopicRow:
    fields = {
        "orientation": by("frd_orientation"),
        "angular_velocity": of("xgyro ygyro zgyro", rates),
        "linear_acceleration": force,
    }
    name, type = "imu/experimental/data", "sensor_msgs/Imu"
    return TopicRow(
        *(name, type, message, "base_link_ned", fields), unless=unless, constants=_IMU_CONSTANTS, period_ns=_IMU_NS
    )


_FORCE = "xacc yacc zacc"
ROWS: tuple[TopicRow, ...] = (
    TopicRow(
        *("navsat", "sensor_msgs/NavSatFix", "GPS_RAW_INT", "0"),
        {
            "status.status": by("fix_status", "fix_type"),
            "latitude longitude altitude": by("fix_place", "fix_type lat lon alt"),
            "position_covariance position_covariance_type": by("fix_covariance", "fix_type h_acc v_acc"),
        },
        constants={"status.service": 1},
    ),
    _imu("HIGHRES_IMU", SI, of(_FORCE)),
    _imu("SCALED_IMU", MILLI, of(_FORCE, MILLI_G), "HIGHRES_IMU"),
    _imu("RAW_IMU", MILLI, by("raw_force", _FORCE), "HIGHRES_IMU", "SCALED_IMU"),
    TopicRow(
        *("pose/filtered", "geometry_msgs/PoseStamped", "LOCAL_POSITION_NED", "base_link"),
        {"pose.position": by("from_home", "x y z"), "pose.orientation": by("orientation")},
        period_ns=_STATE_NS,
    ),
    TopicRow(
        *("twist/filtered", "geometry_msgs/TwistStamped", "LOCAL_POSITION_NED", "base_link"),
        {"twist.linear": of("vy vx -vz"), "twist.angular": by("rates")},
        period_ns=_STATE_NS,
    ),
    TopicRow(
        *("geopose/filtered", "geographic_msgs/GeoPoseStamped", "GLOBAL_POSITION_INT", "base_link"),
        {
            " ".join(f"pose.position.{name}" for name in ("latitude", "longitude", "altitude")): by(
                "above_sea", "lat lon alt"
            ),
            "pose.orientation": by("orientation"),
        },
        period_ns=_STATE_NS,
    ),
    TopicRow(
        *("airspeed", "ardupilot_msgs/Airspeed", "VFR_HUD", "base_link"),
        {"true_airspeed": by("true_airspeed", "airspeed alt"), "eas_2_tas": by("density_factor", "alt")},
        is_now=True,
        period_ns=_STATE_NS,
    ),
)


def _time(fields: Any, names: ApNames) -> None:
    """Publish the graph's clock while messages show that the autopilot is connected."""
    if names.is_due(TIME.name, _TIME_NS):
        now_ns = names.vehicle.arrival_ns
        names.encode(TIME, {"sec": now_ns // 10**9, "nanosec": now_ns % 10**9})
        names.encode(CLOCK, {"clock": now_ns})


_NO_CELL, _MORE = 65535, 65534
_NO_TEMPERATURE = 32767
_CHARGING, _DISCHARGING, _IDLE, _FULL = 1, 2, 3, 4  # sensor_msgs/BatteryState.POWER_SUPPLY_STATUS_*
_GOOD = 1


def _battery(fields: Any, names: ApNames) -> None:
    if not names.is_due(f"{BATTERY.name} {fields.id}", _BATTERY_NS):
        return
    cells = [each * 1e-3 for each in fields.voltages if each != _NO_CELL]
    cells += [each * 1e-3 for each in fields.voltages_ext if each not in (0, _NO_CELL)]
    capacity = names.parameters.get(f"BATT{fields.id + 1 if fields.id else ''}_CAPACITY")
    ampere_hours = math.nan if capacity is None else capacity.value * 1e-3
    left = fields.battery_remaining * 1e-2 if fields.battery_remaining >= 0 else math.nan
    current = fields.current_battery * 1e-2 if fields.current_battery != -1 else math.nan
    state = 0
    if math.isfinite(current):
        state = _FULL if left == 1.0 else _DISCHARGING if current > 0.0 else _CHARGING if current < 0.0 else _IDLE
    names.encode(
        BATTERY,
        {
            "header.stamp": names.vehicle.arrival_ns,
            "header.frame_id": str(fields.id),
            "voltage": sum(cells),
            "temperature": math.nan if fields.temperature == _NO_TEMPERATURE else fields.temperature * 1e-2,
            "current": -current,
            "charge": left * ampere_hours,
            "capacity": math.nan,
            "design_capacity": ampere_hours,
            "percentage": left,
            "power_supply_status": state,
            "power_supply_health": _GOOD,
            "present": True,
            # A single entry is the voltage of the pack: ArduPilot does not know its cells.
            "cell_voltage": cells if len(cells) > 1 and _MORE not in fields.voltages else [],
        },
    )


def _antenna(fields: Any, names: ApNames) -> None:
    """Publish the position of the GPS antenna in the vehicle, from the parameters GPS1_POS_*, in FRD."""
    found = (names.parameters.get(f"GPS1_POS_{axis}") for axis in "XYZ")
    x, y, z = (0.0 if each is None else float(each.value) for each in found)
    if names.has_changed(STATIC.name, (x, y, z)):
        header = {"stamp": names.vehicle.arrival_ns, "frame_id": names.frames.base}
        transform = {"translation": {"x": x, "y": -y, "z": -z}, "rotation": {"w": 1.0}}
        names.encode(STATIC, {"transforms": [{"header": header, "child_frame_id": "GPS_0", "transform": transform}]})


_RADIO, _BATTERY_FINE = 1 << 16, 1 << 25  # MAV_SYS_STATUS_SENSOR_RC_RECEIVER, MAV_SYS_STATUS_SENSOR_BATTERY
_MAX_CHANNELS, _MAX_RSSI, _NO_RSSI = 18, 254, 255


def _fails(names: ApNames, bit: int) -> bool:
    """Return whether a sensor of SYS_STATUS is present and not healthy."""
    found = names.last.get("SYS_STATUS")
    return found is not None and bool(
        found.onboard_control_sensors_present & ~found.onboard_control_sensors_health & bit
    )


def _channels(fields: Any, names: ApNames) -> None:
    channels = list(fields[2 : 2 + min(fields.chancount, _MAX_CHANNELS)])
    connected = bool(channels) and not _fails(names, _RADIO)
    if names.is_due(f"{RC.name} {connected}", _RC_NS if connected else _NO_RADIO_NS):
        names.encode(
            RC,
            {
                "header.stamp": names.vehicle.arrival_ns,
                "is_connected": connected,
                "receiver_rssi": 0 if fields.rssi == _NO_RSSI else fields.rssi * 100 // _MAX_RSSI,
                "channels": channels,
                "active_overrides": [False] * len(channels),
            },
        )


_IGNORE_POSITION = 0b111  # POSITION_TARGET_TYPEMASK
_ABOVE_SEA, _ABOVE_HOME, _LOCAL_NED = (0, 5), (3, 6), 1  # MAV_FRAME


def _global_goal(fields: Any, names: ApNames) -> None:
    altitude, home = fields.alt, names.vehicle.home
    if fields.coordinate_frame in _ABOVE_HOME and home is not None:
        altitude += home.altitude_msl
    elif fields.coordinate_frame not in _ABOVE_SEA:
        return
    if not fields.type_mask & _IGNORE_POSITION and (fields.lat_int or fields.lon_int):
        _publish_goal(names, fields.lat_int * 1e-7, fields.lon_int * 1e-7, altitude)


def _local_goal(fields: Any, names: ApNames) -> None:
    origin = names.vehicle.origin
    if "POSITION_TARGET_GLOBAL_INT" in names.last or origin is None or fields.coordinate_frame != _LOCAL_NED:
        return
    if not fields.type_mask & _IGNORE_POSITION and all(map(math.isfinite, (fields.x, fields.y, fields.z))):
        _publish_goal(names, *convert_position((fields.x, fields.y, fields.z), Frame.NED, Frame.LLA, origin).tolist())


def _publish_goal(names: ApNames, latitude: float, longitude: float, altitude: float) -> None:
    """Publish a position, if it differs from the last one by more than AP_DDS' tolerances."""
    if GOAL.name in names.published and not names.is_due(GOAL.name, _GOAL_NS):
        return
    if names.has_changed(GOAL.name, (round(latitude * 1e7), round(longitude * 1e7), round(altitude * 1e3))):
        stamp = {"header.stamp": names.vehicle.arrival_ns}
        names.encode(GOAL, stamp | _position(latitude, longitude, altitude))


def _position(*place: float) -> dict[str, float]:
    return {f"position.{name}": each for name, each in zip(("latitude", "longitude", "altitude"), place, strict=True)}


def _origin(fields: Any, names: ApNames) -> None:
    """Publish the origin once a second, with heartbeats."""
    if names.vehicle.origin is not None:
        header = {"header.stamp": names.vehicle.arrival_ns, "header.frame_id": names.frames.base}
        names.encode(ORIGIN, header | _position(*names.vehicle.origin))


# ArduPilot's firmware (APM_*) by MAV_TYPE. Other vehicles are copters.
_ROVER, _COPTER, _PLANE, _TRACKER, _SUB, _BLIMP = 1, 2, 3, 4, 7, 12
_VEHICLES = {5: _TRACKER, 7: _BLIMP, 10: _ROVER, 11: _ROVER, 12: _SUB, **dict.fromkeys((1, 16, *range(19, 26)), _PLANE)}
_ACTIVE, _CRITICAL = 4, 5  # MAV_STATE
_UNDEFINED, _ON_GROUND = 0, 1  # MAV_LANDED_STATE
_RADIO_FAILSAFE, _BATTERY_FAILSAFE = 21, 22  # Status.FS_*


def _status(fields: Any, names: ApNames) -> None:
    beat = names.vehicle.heartbeat or Heartbeat()
    armed, landed = bool(beat.base_mode & ARMED), names.last.get("EXTENDED_SYS_STATE")
    kind = _VEHICLES.get(beat.type, _COPTER)
    # A rover is always on the ground, and "flies" when it is armed.
    flying = armed and beat.system_status in (_ACTIVE, _CRITICAL)
    if landed is not None and landed.landed_state != _UNDEFINED and kind != _ROVER:
        flying = armed and landed.landed_state != _ON_GROUND
    failing = ((_RADIO_FAILSAFE, _RADIO), (_BATTERY_FAILSAFE, _BATTERY_FINE))
    contents = {
        "vehicle_type": kind,
        "armed": armed,
        "mode": mode_number(beat),
        "flying": flying,
        "external_control": True,
        "failsafe": bytes(each for each, bit in failing if _fails(names, bit)),
    }
    if names.has_changed(STATUS.name, contents):
        names.encode(STATUS, {"header.stamp": names.vehicle.arrival_ns, **contents})


def _parameter(fields: Any, names: ApNames) -> None:
    names.keep_parameter(fields)


_FREQUENT = (
    "ATTITUDE",
    "ATTITUDE_QUATERNION",
    "HIGHRES_IMU",
    "LOCAL_POSITION_NED",
    "RAW_IMU",
    "SCALED_IMU",
    "HEARTBEAT",
)
FUNCTIONS: tuple[TopicFunction, ...] = (
    TopicFunction(_FREQUENT, (TIME, CLOCK), _time),
    TopicFunction(("BATTERY_STATUS",), (BATTERY,), _battery),
    TopicFunction(("GPS_RAW_INT",), (STATIC,), _antenna),
    TopicFunction(("RC_CHANNELS",), (RC,), _channels),
    TopicFunction(("POSITION_TARGET_GLOBAL_INT",), (GOAL,), _global_goal),
    TopicFunction(("POSITION_TARGET_LOCAL_NED",), (), _local_goal),
    TopicFunction(("HEARTBEAT",), (ORIGIN,), _origin),
    TopicFunction(("HEARTBEAT", "EXTENDED_SYS_STATE", "SYS_STATUS"), (STATUS,), _status),
    TopicFunction(("PARAM_VALUE",), (), _parameter),
)


def topics() -> tuple[VehicleTopic, ...]:
    """Return all topics, each once."""
    return tuple(row_topics(ROWS, FUNCTIONS).values())


@cache
def readers() -> Readers:
    """Return the functions that publish a message, by its name."""
    # WIND is kept for other topics.
    return {"WIND": (), **row_readers(ROWS, FUNCTIONS, ApNames)}
