"""MAVROS' topics that need more than a row: state, battery, texts, sticks, mission, times and parameters."""

from __future__ import annotations

import math
from typing import Any

from sim_node.mavlink.dialects import TopicFunction
from sim_node.mavlink.mavros.names import MavrosNames
from sim_node.mavlink.modes import ARMED, mode_name
from sim_node.mavlink.telemetry import Heartbeat
from sim_node.mavlink.timesync import answer_of
from sim_node.mavlink.topics import Profile, VehicleTopic
from sim_node.mavlink.translation.state import GUIDED, MANUAL

# sensor_msgs/BatteryState by MAV_BATTERY_TYPE: unknown, LiPo, LiFe, LiIon, NiMH
_TECHNOLOGY = {0: 0, 1: 3, 2: 4, 3: 2, 4: 1}
_DISCHARGING = 2
_INTEGER, _DOUBLE = 2, 3  # rcl_interfaces/ParameterType
_NO_CELL, _MORE = 65535, 65534
_MAX_CHANNELS, _OUTPUTS, _MAX_PORTS = 18, 16, 16
_FIRST_UNIX_US = 1_234_567_890 * 1_000_000

STATE = VehicleTopic("state", "mavros_msgs/State", profile=Profile.STATE)
BATTERY = VehicleTopic("battery", "sensor_msgs/BatteryState")
TEXT = VehicleTopic("statustext/recv", "mavros_msgs/StatusText")
RC_IN = VehicleTopic("rc/in", "mavros_msgs/RCIn", profile=Profile.RELIABLE)
RC_OUT = VehicleTopic("rc/out", "mavros_msgs/RCOut", profile=Profile.RELIABLE)
WAYPOINTS = VehicleTopic("mission/waypoints", "mavros_msgs/WaypointList", profile=Profile.LATCHED)
REACHED = VehicleTopic("mission/reached", "mavros_msgs/WaypointReached", profile=Profile.LATCHED)
REFERENCE = VehicleTopic("time_reference", "sensor_msgs/TimeReference")
TIMESYNC = VehicleTopic("timesync_status", "mavros_msgs/TimesyncStatus")
PARAMETER = VehicleTopic("param/event", "mavros_msgs/ParamEvent", profile=Profile.PARAMETERS)


def publish_state(names: MavrosNames, *, connected: bool) -> None:
    """Publish the state of the last heartbeat. Without a connection, all else is unknown."""
    state = names.vehicle.heartbeat if connected else None
    beat = state or Heartbeat()
    flags = {"armed": ARMED, "guided": GUIDED, "manual_input": MANUAL}
    names.encode(
        STATE,
        {
            "header.stamp": names.vehicle.arrival_ns,
            "connected": connected,
            **{name: bool(beat.base_mode & bit) for name, bit in flags.items()},
            "mode": mode_name(beat) if state else "",
            "system_status": beat.system_status,
        },
    )


def _heartbeat(fields: Any, names: MavrosNames) -> None:
    publish_state(names, connected=True)


def _battery(fields: Any, names: MavrosNames) -> None:
    """Publish the voltage as the sum of the cells. A cell that is continued in the next entry is 65,534 mV."""
    names.has_battery_status = names.has_battery_status or fields.id == 0
    cells, before = [], 0.0
    for voltages, ends in ((fields.voltages, (_NO_CELL,)), (fields.voltages_ext, (_NO_CELL, 0))):
        for each in voltages:
            if each in ends:
                break
            if each == _MORE:
                before += _MORE * 1e-3
            else:
                cells.append(before + each * 1e-3)
                before = 0.0
    _publish_battery(
        names,
        (sum(cells), fields.current_battery, fields.battery_remaining),
        {"cell_voltage": cells, "location": f"id{fields.id}"},
        _TECHNOLOGY.get(fields.type, 0),
    )


def _sys_status(fields: Any, names: MavrosNames) -> None:
    if not names.has_battery_status:
        values = fields.voltage_battery * 1e-3, fields.current_battery, fields.battery_remaining
        _publish_battery(names, values, {}, 0)


def _publish_battery(names: MavrosNames, values: tuple[float, int, int], more: dict[str, Any], technology: int) -> None:
    """Publish a battery: V, 0.01 A, percent. Unknown values are as in MAVROS: 0.01 A and -0.01."""
    voltage, current, remaining = values
    names.encode(
        BATTERY,
        {
            "header.stamp": names.vehicle.arrival_ns,
            "voltage": voltage,
            "current": -(current / 100.0),
            "percentage": remaining / 100.0,
            **dict.fromkeys(("charge", "capacity", "design_capacity"), math.nan),
            "power_supply_status": _DISCHARGING,
            "power_supply_technology": technology,
            "present": True,
            **more,
        },
    )


def _text(fields: Any, names: MavrosNames) -> None:
    stamp = {"header.stamp": names.vehicle.arrival_ns}
    names.encode(TEXT, {**stamp, "severity": fields.severity, "text": fields.text.replace("\0", "")})


def _channels(fields: Any, names: MavrosNames) -> None:
    names.channels = list(fields[2 : 2 + min(fields.chancount, _MAX_CHANNELS)])
    _publish_channels(fields, names)


def _raw_channels(fields: Any, names: MavrosNames) -> None:
    if "RC_CHANNELS" not in names.last and fields.port < _MAX_PORTS:
        _put(names.channels, 8 * fields.port, fields[2:10])
        _publish_channels(fields, names)


def _publish_channels(fields: Any, names: MavrosNames) -> None:
    stamp = {"header.stamp": names.stamp_of(fields)}
    names.encode(RC_IN, {**stamp, "rssi": fields.rssi, "channels": list(names.channels)})


def _servos(fields: Any, names: MavrosNames) -> None:
    if fields.port < _MAX_PORTS:
        _put(names.outputs, _OUTPUTS * fields.port, fields[2:18])
        # The 32 bits of microseconds wrap after 71 minutes.
        names.encode(RC_OUT, {"header.stamp": names.vehicle.arrival_ns, "channels": list(names.outputs)})


def _put(numbers: list[int], first: int, new: tuple[int, ...]) -> None:
    """Write numbers into a list, extending it with zeros."""
    numbers.extend([0] * (first + len(new) - len(numbers)))
    numbers[first : first + len(new)] = new


def _current(fields: Any, names: MavrosNames) -> None:
    if fields.seq != names.current:
        names.current = fields.seq
        publish_waypoints(names)


def publish_waypoints(names: MavrosNames) -> None:
    """Publish the mission, if it is known, and the current item."""
    if names.waypoints is not None:
        names.encode(WAYPOINTS, {"current_seq": names.current, "waypoints": names.waypoints})


def _reached(fields: Any, names: MavrosNames) -> None:
    names.encode(REACHED, {"header.stamp": names.vehicle.arrival_ns, "wp_seq": fields.seq})


def _system_time(fields: Any, names: MavrosNames) -> None:
    if _FIRST_UNIX_US < fields.time_unix_usec < 2**31 * 1_000_000:
        stamps = {"header.stamp": names.vehicle.arrival_ns, "time_ref": fields.time_unix_usec * 1000}
        names.encode(REFERENCE, {**stamps, "source": "fcu"})


def _timesync(fields: Any, names: MavrosNames) -> None:
    now_ns = names.vehicle.arrival_ns
    if (answer := answer_of(fields, names.vehicle.clock, now_ns)) is not None:
        values = {
            "header.stamp": now_ns,
            "remote_timestamp_ns": fields.tc1,
            "observed_offset_ns": answer.observed_ns,
            "estimated_offset_ns": answer.estimated_ns,
            "round_trip_time_ms": answer.round_trip_ns * 1e-6,
        }
        names.encode(TIMESYNC, values)


def _parameter(fields: Any, names: MavrosNames) -> None:
    """Keep a parameter, and publish its value."""
    found = names.keep_parameter(fields)
    if found is None:
        return
    value = {"type": _INTEGER, "integer_value": found.value}
    if isinstance(found.value, float):
        value = {"type": _DOUBLE, "double_value": found.value}
    names.encode(
        PARAMETER,
        {
            "header.stamp": names.vehicle.arrival_ns,
            "param_id": fields.param_id,
            "value": value,
            "param_index": found.number,
            "param_count": found.of,
        },
    )


FUNCTIONS: tuple[TopicFunction, ...] = (
    TopicFunction(("HEARTBEAT",), (STATE,), _heartbeat),
    TopicFunction(("BATTERY_STATUS",), (BATTERY,), _battery),
    TopicFunction(("SYS_STATUS",), (), _sys_status),
    TopicFunction(("STATUSTEXT",), (TEXT,), _text),
    TopicFunction(("RC_CHANNELS",), (RC_IN,), _channels),
    TopicFunction(("RC_CHANNELS_RAW",), (), _raw_channels),
    TopicFunction(("SERVO_OUTPUT_RAW",), (RC_OUT,), _servos),
    TopicFunction(("MISSION_CURRENT",), (WAYPOINTS,), _current),
    TopicFunction(("MISSION_ITEM_REACHED",), (REACHED,), _reached),
    TopicFunction(("SYSTEM_TIME",), (REFERENCE,), _system_time),
    TopicFunction(("TIMESYNC",), (TIMESYNC,), _timesync),
    TopicFunction(("PARAM_VALUE",), (PARAMETER,), _parameter),
)
