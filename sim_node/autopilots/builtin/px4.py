"""The dialects of PX4 and of its rovers: main and sub modes, bytewise parameters, and the commander's texts."""

from __future__ import annotations

from dataclasses import replace

from sim_node.autopilots.builtin.dialect import (
    DIALECTS,
    Cause,
    Denied,
    Dialect,
    FlightMode,
    Mode,
    OrderRefused,
    Texts,
    Unsupported,
    rover,
)
from sim_node.autopilots.builtin.fence import AREAS, CIRCLE, HEIGHT
from sim_node.autopilots.builtin.settings import INT32, REAL32, Action, choice, constant, quantity, shown

_AUTO, _OFFBOARD = 4, 6  # main modes, px4_custom_mode.h
# Main modes that need a pilot's sticks, which are not supported here.
_MANUAL = {1: "MANUAL", 2: "ALTCTL", 3: "POSCTL", 5: "ACRO", 7: "STABILIZED"}
_BASE = 16 | 8 | 4  # stabilized, guided, auto
_AUTO_SUBS = {
    Mode.TAKEOFF: (2, "AUTO.TAKEOFF", "Takeoff", 8),
    Mode.HOLD: (3, "AUTO.LOITER", "Hold", 0),
    Mode.MISSION: (4, "AUTO.MISSION", "Mission", 6),
    Mode.RETURN: (5, "AUTO.RTL", "Return", 5),
    Mode.LAND: (6, "AUTO.LAND", "Land", 7),
}
_MODES = {
    mode: FlightMode(_AUTO << 16 | sub << 24, name, title, standard, _BASE)
    for mode, (sub, name, title, standard) in _AUTO_SUBS.items()
} | {Mode.GUIDED: FlightMode(_OFFBOARD << 16, "OFFBOARD", "Offboard", 0, _BASE)}


def _mode_of(main: int, sub: int) -> Mode:
    if main == _OFFBOARD and not sub:
        return Mode.GUIDED
    if main == _AUTO:
        # Without a sub mode, it is the mission mode, as in PX4's commander.
        for mode, (number, *_) in _AUTO_SUBS.items():
            if number == (sub or 4):
                return mode
    if main in _MANUAL and not sub:
        raise OrderRefused(f"Switching to {_MANUAL[main]} is currently not available: there is no manual control")
    raise Denied(f"no main mode {main} with sub mode {sub}")


_LINK_ACTIONS = {0: Action.NONE, 1: Action.HOLD, 2: Action.RETURN, 3: Action.LAND}
_PARAMETERS = {
    "BAT1_CAPACITY": constant(5000.0, REAL32),
    "BAT1_N_CELLS": constant(4),
    "BAT1_SOURCE": constant(0),
    "BAT_CRIT_THR": quantity("battery_critical", 0.0, 1.0),
    "BAT_EMERGEN_THR": quantity("battery_emergency", 0.0, 1.0),
    "BAT_LOW_THR": quantity("battery_low", 0.0, 1.0),
    # Clients consider the sensors calibrated if these are not zero.
    "CAL_ACC0_ID": constant(1310988),
    "CAL_BARO0_ID": constant(6620172),
    "CAL_GYRO0_ID": constant(1310988),
    "CAL_MAG0_ID": constant(197388),
    "COM_ARM_AUTH_REQ": constant(0),
    "COM_DISARM_LAND": quantity("disarm_landed", -1.0, 3600.0),
    "COM_DISARM_PRFLT": quantity("disarm_preflight", -1.0, 3600.0),
    "COM_DL_LOSS_T": quantity("link_timeout", 1.0, 300.0, kind=INT32),
    "COM_FLTMODE1": constant(-1),
    "COM_FLTMODE2": constant(-1),
    "COM_FLTMODE3": constant(-1),
    "COM_FLTMODE4": constant(-1),
    "COM_FLTMODE5": constant(-1),
    "COM_FLTMODE6": constant(-1),
    "COM_LOW_BAT_ACT": choice("battery_action", {0: Action.WARN, 2: Action.LAND, 3: Action.RETURN}),
    "COM_OF_LOSS_T": quantity("setpoint_timeout", 0.1, 60.0),
    "COM_RC_IN_MODE": constant(4),
    "EKF2_NOAID_TOUT": quantity("position_timeout", 500_000.0, 10_000_000.0, scale=1e6, kind=INT32),
    "GF_ACTION": choice(
        "fence_action", {0: Action.NONE, 1: Action.WARN, 2: Action.HOLD, 3: Action.RETURN, 5: Action.LAND}
    ),
    "GF_MAX_HOR_DIST": quantity("fence_radius", 0.0, 10_000.0),
    "GF_MAX_VER_DIST": quantity("fence_height", 0.0, 10_000.0),
    "MAV_COMP_ID": constant(1),
    "MAV_SYS_ID": shown("system"),
    "MAV_TYPE": constant(2),
    "MIS_TAKEOFF_ALT": quantity("takeoff_height", 0.0, 10_000.0),
    "MPC_ACC_HOR": quantity("acceleration", 0.1, 15.0),
    "MPC_LAND_SPEED": quantity("landing_speed", 0.1, 5.0),
    "MPC_XY_CRUISE": quantity("speed", 0.1, 100.0),
    "MPC_XY_VEL_MAX": shown("max_speed", REAL32),
    "NAV_ACC_RAD": quantity("radius", 0.05, 200.0),
    "NAV_DLL_ACT": choice("link_action", _LINK_ACTIONS),
    "NAV_RCL_ACT": constant(0),
    "RTL_RETURN_ALT": quantity("return_height", 0.0, 10_000.0),
    "SENS_BOARD_ROT": constant(0),
    "SIM_BAT_DRAIN": quantity("battery_endurance", 1.0, 86_400.0),
    "SIM_BAT_MIN_PCT": quantity("battery_floor", 0.0, 100.0, scale=100.0),
    "SYS_AUTOCONFIG": constant(0),
    "SYS_AUTOSTART": constant(10016),
    "SYS_FAILURE_EN": quantity("failures_enabled", 0.0, 1.0, kind=INT32),
    "SYS_HITL": constant(0),
}

PX4 = DIALECTS.add("px4")(
    Dialect(
        name="px4",
        autopilot=12,
        version=0x011000FF,  # 1.16.0, a release
        modes=_MODES,
        mode_of=_mode_of,
        parameters=_PARAMETERS,
        texts=Texts(),
        bytewise=True,
        takeoff_mode=Mode.TAKEOFF,
        goto_mode=Mode.HOLD,
        takes_off_when_armed=True,
        arms_for_mission=True,
        disarms_after=(Mode.MISSION,),
        streams_first=True,
        stream_end=Mode.HOLD,
        long_frame=0,
        # Texts of geofenceCheck.cpp.
        fence_names={
            HEIGHT: "exceeding maximum altitude above Home",
            CIRCLE: "exceeding maximum distance to Home",
            AREAS: "approaching or outside geofence",
        },
        drops_targets=True,
        ranks_failsafes=True,
        # failsafe.cpp, checkStateAndMode: the loss of the ground station does not interrupt a landing. framework.cpp,
        # getSelectedAction: neither a return nor a landing becomes a return.
        ignores={(Cause.LINK, Mode.LAND, mode) for mode in Mode}
        | {(cause, mode, Mode.RETURN) for cause in Cause for mode in (Mode.RETURN, Mode.LAND)},
    )
)


_MAIN_MANUAL = 1  # main mode
# Manual main modes that are not implemented, and sub modes of AUTO for multirotors only.
_BY_STICKS = {main: name for main, name in _MANUAL.items() if main != _MAIN_MANUAL}
_FLOWN = {(4, 2): "AUTO.TAKEOFF", (4, 6): "AUTO.LAND"}
_ROVER_MODES: dict[Mode, FlightMode] = {
    mode: flown for mode, flown in PX4.modes.items() if mode not in (Mode.TAKEOFF, Mode.LAND)
}
_ROVER_MODES[Mode.MANUAL] = FlightMode(_MAIN_MANUAL << 16, "MANUAL", "Manual", 0, 64)


def _rover_mode_of(main: int, sub: int) -> Mode:
    if main == _MAIN_MANUAL and not sub:
        return Mode.MANUAL
    if main in _BY_STICKS and not sub:
        raise OrderRefused(f"Switching to {_BY_STICKS[main]} is currently not available: the mode is not implemented")
    if (main, sub) in _FLOWN:
        raise Unsupported(f"Switching to {_FLOWN[main, sub]} is currently not available: a rover stays on the ground")
    mode = PX4.mode_of(main, sub)
    if mode not in _ROVER_MODES:
        raise Denied(f"no main mode {main} with sub mode {sub}")
    return mode


_OF_FLIGHT = ("COM_DISARM_LAND", "COM_DISARM_PRFLT", "MIS_TAKEOFF_ALT", "RTL_RETURN_ALT")
_ROVER_PARAMETERS = {
    name: parameter
    for name, parameter in PX4.parameters.items()
    if not name.startswith("MPC_") and name not in _OF_FLIGHT
} | {
    "COM_LOW_BAT_ACT": choice("battery_action", {0: Action.WARN, 2: Action.HOLD, 3: Action.RETURN}),
    "GF_ACTION": choice("fence_action", {0: Action.NONE, 1: Action.WARN, 2: Action.HOLD, 3: Action.RETURN}),
    "MAV_TYPE": constant(10),
    "NAV_DLL_ACT": choice("link_action", {0: Action.NONE, 1: Action.HOLD, 2: Action.RETURN}),
    "RO_ACCEL_LIM": quantity("acceleration", 0.01, 100.0),
    "RO_SPEED_LIM": quantity("speed", 0.01, 100.0),
    "RO_MAX_THR_SPEED": shown("max_speed", REAL32),
    "SYS_AUTOSTART": constant(50000),
}

PX4_ROVER = DIALECTS.add(rover("px4"))(
    replace(
        PX4,
        modes=_ROVER_MODES,
        mode_of=_rover_mode_of,
        parameters=dict(sorted(_ROVER_PARAMETERS.items())),
        defaults={"radius": 0.25, "link_action": Action.HOLD},
        # PX4's throttle ranges from 0 to 1000; a rover stands at the middle.
        throttle_middle=500.0,
    )
)
