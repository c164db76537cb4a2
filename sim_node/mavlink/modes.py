"""Flight modes by the autopilots' own names: conversion between custom_mode and name.

PX4: main << 16 | sub << 24 (px4_custom_mode.h). ArduPilot: a number per kind of vehicle, by the dialect's enums.
MAV_AUTOPILOT_GENERIC has no agreed modes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from sim_node.mavlink.codec import enum_values
from sim_node.mavlink.telemetry import ARDUPILOT, GENERIC, PX4, Heartbeat

_PX4_MAIN = {
    1: "MANUAL", 2: "ALTCTL", 3: "POSCTL", 5: "ACRO", 6: "OFFBOARD", 7: "STABILIZED", 8: "RATTITUDE",
    10: "TERMINATION",
}  # fmt: skip
_PX4_AUTO = {
    1: "AUTO.READY", 2: "AUTO.TAKEOFF", 3: "AUTO.LOITER", 4: "AUTO.MISSION", 5: "AUTO.RTL", 6: "AUTO.LAND",
    8: "AUTO.FOLLOW_TARGET", 9: "AUTO.PRECLAND", 10: "AUTO.VTOL_TAKEOFF",
}  # fmt: skip
_AUTO = 4
# MAV_TYPEs by the enum of their modes. All other types are copters.
_PLANES, ROVERS, _SUBS = {1, 16, *range(19, 26)}, {10, 11}, {12}
CUSTOM, ARMED = 1, 128  # MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, MAV_MODE_FLAG_SAFETY_ARMED
UNINIT = 0  # MAV_STATE
PREARM_CHECK = 1 << 28  # MAV_SYS_STATUS_PREARM_CHECK


class ModeArguments(NamedTuple):
    """Arguments of MAV_CMD_DO_SET_MODE: base mode, custom main mode, custom sub mode."""

    base: int
    main: int
    sub: int


def mode_name(state: Heartbeat) -> str:
    """Return the name of a heartbeat's mode, or CMODE(n)."""
    if not state.base_mode & CUSTOM and state.autopilot not in (ARDUPILOT, PX4):
        return f"CMODE({state.custom_mode})"
    names = {custom: name for name, custom in _customs(state.autopilot, state.type).items()}
    return names.get(state.custom_mode, f"CMODE({state.custom_mode})")


def mode_names(autopilot: int, type: int) -> list[str]:
    """Return the names that `mode` accepts for a vehicle."""
    return list(_customs(autopilot, type))


def mode(name: str, autopilot: int, type: int) -> ModeArguments | None:
    """Return the mode with this name, ignoring case, or None."""
    custom = _customs(autopilot, type).get(name.upper())
    if custom is None:
        return None
    if autopilot == PX4:
        return ModeArguments(CUSTOM, custom >> 16 & 0xFF, custom >> 24)
    return ModeArguments(CUSTOM, custom, 0)


def is_armable(state: Heartbeat, status: Any) -> bool:
    """Return whether an autopilot can be armed.

    Args:
        state: Its heartbeat.
        status: Fields of its last SYS_STATUS, or None. Its pre-arm bit counts if that is present.

    Returns:
        Whether it can be armed.
    """
    if status is not None and status.onboard_control_sensors_present & PREARM_CHECK:
        return bool(status.onboard_control_sensors_health & PREARM_CHECK)
    return state.system_status != UNINIT


def guided_name(autopilot: int) -> str:
    """Return the mode in which a vehicle follows setpoints."""
    return "OFFBOARD" if autopilot == PX4 else "GUIDED"


def purpose(what: str, autopilot: int) -> str:
    """Return the mode for a purpose: land, return or mission."""
    px4, others = {
        "land": ("AUTO.LAND", "LAND"),
        "return": ("AUTO.RTL", "RTL"),
        "mission": ("AUTO.MISSION", "AUTO"),
    }[what]
    return px4 if autopilot == PX4 else others


@cache
def _customs(autopilot: int, type: int) -> dict[str, int]:
    if autopilot == PX4:
        mains = {name: main << 16 for main, name in _PX4_MAIN.items()}
        return mains | {name: _AUTO << 16 | sub << 24 for sub, name in _PX4_AUTO.items()}
    if autopilot == GENERIC:
        return {}
    kind = "PLANE" if type in _PLANES else "ROVER" if type in ROVERS else "SUB" if type in _SUBS else "COPTER"
    prefix = f"{kind}_MODE_"
    entries = enum_values(f"{kind}_MODE")
    return {name.removeprefix(prefix): value for name, value in entries.items() if not name.endswith("ENUM_END")}
