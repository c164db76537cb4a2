"""PX4's topics that need more than a row: the vehicle's status and mode, its batteries, and its clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sim_node.mavlink.dialects import TopicFunction
from sim_node.mavlink.modes import ARMED, is_armable, mode_name
from sim_node.mavlink.px4.names import Px4Names, px4_topic
from sim_node.mavlink.telemetry import PX4, Heartbeat
from sim_node.mavlink.timesync import answer_of

# VehicleStatus.NAVIGATION_STATE_*.
MANUAL, ALTCTL, POSCTL, MISSION, LOITER, RETURN, SLOW, CRUISE = 0, 1, 2, 3, 4, 5, 6, 8
ACRO, TERMINATION, OFFBOARD, STAB, TAKEOFF, LAND, FOLLOW, PRECISION_LAND, ORBIT, VTOL_TAKEOFF = (
    *(10, 13, 14, 15, 17, 18),
    *(19, 20, 21, 22),
)
EXTERNAL_1, EXTERNALS = 23, 8
# HEARTBEAT.custom_mode, by px4_custom_mode.h: main modes, and submodes of the automatic one and of POSCTL.
MAIN_MODES = {1: MANUAL, 2: ALTCTL, 3: POSCTL, 4: LOITER, 5: ACRO, 6: OFFBOARD, 7: STAB, 10: TERMINATION, 11: CRUISE}
AUTO_MODES = {2: TAKEOFF, 3: LOITER, 4: MISSION, 5: RETURN, 6: LAND, 8: FOLLOW, 9: PRECISION_LAND, 10: VTOL_TAKEOFF}
AUTO_MODES |= {11 + number: EXTERNAL_1 + number for number in range(EXTERNALS)}
POSITION_MODES = {1: ORBIT, 2: SLOW}
# Nearest mode of PX4 for ArduPilot's modes.
_OF_ARDUPILOT: Mapping[str, int] = {
    **{"STABILIZE": STAB, "ACRO": ACRO, "ALT_HOLD": ALTCTL, "LOITER": POSCTL, "POSHOLD": POSCTL, "BRAKE": LOITER},
    **{"GUIDED": OFFBOARD, "AUTO": MISSION, "RTL": RETURN, "SMART_RTL": RETURN, "LAND": LAND, "CIRCLE": ORBIT},
    **{"FOLLOW": FOLLOW, "HOLD": LOITER},
}
# PX4's control modes (getVehicleControlMode): the controllers that run in each, from the outermost on.
_CONTROLLERS = ("position", "velocity", "altitude", "climb_rate", "attitude", "rates", "allocation")
_MANUAL_MODES = {MANUAL: 4, STAB: 4, ALTCTL: 2, CRUISE: 2, POSCTL: 0, SLOW: 0, ACRO: 5}
# Neither automatic nor manual: the sticks only adjust them.
_ADJUSTED = (FOLLOW, ORBIT)
# Active controllers by the first field of OffboardControlMode that is set.
_OFFBOARD: Mapping[str, tuple[str, ...]] = {
    "position": ("position", "velocity", "altitude", "climb_rate", "acceleration", "attitude", "rates", "allocation"),
    "velocity": ("velocity", "altitude", "climb_rate", "acceleration", "attitude", "rates", "allocation"),
    "acceleration": ("acceleration", "attitude", "rates", "allocation"),
    "attitude": ("attitude", "rates", "allocation"),
    "body_rate": ("rates", "allocation"),
    "thrust_and_torque": ("allocation",),
}
_ROTARY, _FIXED, _ROVER = 1, 2, 3  # VehicleStatus.VEHICLE_TYPE_*
_VEHICLE_TYPES = {1: _FIXED, 10: _ROVER, 11: _ROVER, **dict.fromkeys((2, 3, 4, 13, 14, 15, 29, 35), _ROTARY)}
_VTOL = range(19, 26)  # MAV_TYPE_VTOL_*
_HIL, _CRITICAL = 32, 5  # MAV_MODE_FLAG_HIL_ENABLED, MAV_STATE
_IN_AIR = 2  # MAV_LANDED_STATE
_MAVLINK = 1  # TimesyncStatus.SOURCE_PROTOCOL_MAVLINK
STATUS = px4_topic("vehicle_status", "VehicleStatus")
CONTROL_MODE = px4_topic("vehicle_control_mode", "VehicleControlMode")
BATTERY = px4_topic("battery_status", "BatteryStatus")
TIMESYNC = px4_topic("timesync_status", "TimesyncStatus")
_MAX_CELLS, _NO_CELL = 14, 65535
# BatteryStatus.warning by MAV_BATTERY_CHARGE_STATE.
_WARNINGS = {2: 1, 3: 2, 4: 3, 5: 4, 6: 6, 7: 7}


def nav_state(beat: Heartbeat) -> int:
    """Return PX4's navigation state of a heartbeat; for ArduPilot, the nearest one.

    Args:
        beat: The heartbeat.

    Returns:
        VehicleStatus.NAVIGATION_STATE_*.
    """
    if beat.autopilot != PX4:
        return _OF_ARDUPILOT.get(mode_name(beat), MANUAL)
    main, sub = beat.custom_mode >> 16 & 0xFF, beat.custom_mode >> 24
    found = MAIN_MODES.get(main, MANUAL)
    return AUTO_MODES.get(sub, found) if main == 4 else POSITION_MODES.get(sub, found) if main == 3 else found


def control_flags(state: int, offboard: Mapping[str, bool]) -> dict[str, bool]:
    """Return the fields flag_control_* of VehicleControlMode that are set in a navigation state.

    Args:
        state: Navigation state.
        offboard: Fields of the last OffboardControlMode, or of what the mode of a program controls.

    Returns:
        The fields that are set.
    """
    if state == TERMINATION:
        running: tuple[str, ...] = ("termination",)
    elif state == OFFBOARD:
        running = ("offboard", *next((each for name, each in _OFFBOARD.items() if offboard.get(name)), ()))
    elif state in _MANUAL_MODES:
        running = ("manual", *_CONTROLLERS[_MANUAL_MODES[state] :])
    elif state >= EXTERNAL_1:
        running = next((each for name, each in _OFFBOARD.items() if offboard.get(name)), ())
    else:
        running = (*(() if state in _ADJUSTED else ("auto",)), *_CONTROLLERS)
    return {f"flag_control_{name}_enabled": True for name in running}


def _flown(names: Px4Names, state: int) -> int:
    """Return the mode of a program that the vehicle flies as OFFBOARD, else the navigation state itself."""
    if state == OFFBOARD:
        return names.program_mode or OFFBOARD
    if names.nav_state == names.program_mode:  # it has been left
        names.program_mode = 0
    return state


def _heartbeat(fields: Any, names: Px4Names) -> None:
    beat, now_us = names.vehicle.heartbeat or Heartbeat(), names.now_us
    state, armed = _flown(names, nav_state(beat)), bool(beat.base_mode & ARMED)
    landed = names.last.get("EXTENDED_SYS_STATE")
    if state != names.nav_state:
        names.nav_state, names.mode_us = state, now_us
    names.armed_us = (names.armed_us or now_us) if armed else 0
    in_air = armed and landed is not None and landed.landed_state == _IN_AIR
    names.takeoff_us = (names.takeoff_us or now_us) if in_air else names.takeoff_us if armed else 0
    kind = _VEHICLE_TYPES.get(beat.type, _ROTARY if beat.type in _VTOL else 0)
    names.encode(
        STATUS,
        {
            "armed_time": names.armed_us,
            "takeoff_time": names.takeoff_us,
            "arming_state": 2 if armed else 1,
            "nav_state_timestamp": names.mode_us,
            **dict.fromkeys(("nav_state_user_intention", "nav_state", "nav_state_display"), state),
            "hil_state": int(bool(beat.base_mode & _HIL)),
            "vehicle_type": kind,
            "failsafe": beat.system_status == _CRITICAL,
            "is_vtol": beat.type in _VTOL,
            "system_type": beat.type,
            "system_id": names.vehicle.system,
            "component_id": 1,
            **{"safety_off": True, "power_input_valid": True},
            "pre_flight_checks_pass": is_armable(beat, names.last.get("SYS_STATUS")),
        },
    )
    names.encode(
        CONTROL_MODE,
        {
            "flag_armed": armed,
            "flag_multicopter_position_control_enabled": kind == _ROTARY,
            **control_flags(state, names.offboard),
        },
    )


def _battery(fields: Any, names: Px4Names) -> None:
    cells = [each * 1e-3 for each in fields.voltages if each != _NO_CELL]
    cells += [each * 1e-3 for each in fields.voltages_ext if each not in (0, _NO_CELL)]
    left = fields.battery_remaining
    names.encode(
        BATTERY,
        {
            "connected": bool(cells),
            "voltage_v": sum(cells),
            "current_a": fields.current_battery * 1e-2 if fields.current_battery >= 0 else math.nan,
            "current_average_a": math.nan,
            "discharged_mah": float(fields.current_consumed) if fields.current_consumed >= 0 else math.nan,
            "remaining": left * 1e-2 if left >= 0 else -1.0,
            "scale": 1.0,
            "time_remaining_s": float(fields.time_remaining) or math.nan,
            "temperature": fields.temperature * 1e-2 if fields.temperature != 32767 else math.nan,
            "cell_count": len(cells),
            "id": fields.id,
            "voltage_cell_v": [*cells, *[0.0] * _MAX_CELLS][:_MAX_CELLS],
            "warning": _WARNINGS.get(fields.charge_state, 0),
        },
    )


def _timesync(fields: Any, names: Px4Names) -> None:
    """Publish the offset from the companion's clock to PX4's."""
    if (answer := answer_of(fields, names.vehicle.clock, names.vehicle.arrival_ns)) is not None:
        values = {
            "source_protocol": _MAVLINK,
            "remote_timestamp": fields.ts1 // 1000,
            "observed_offset": answer.observed_ns // 1000,
            "estimated_offset": answer.estimated_ns // 1000,
            "round_trip_time": min(answer.round_trip_ns // 1000, 2**32 - 1),
        }
        names.encode(TIMESYNC, values)


FUNCTIONS = (
    TopicFunction(("HEARTBEAT",), (STATUS, CONTROL_MODE), _heartbeat),
    TopicFunction(("BATTERY_STATUS",), (BATTERY,), _battery),
    TopicFunction(("TIMESYNC",), (TIMESYNC,), _timesync),
)
