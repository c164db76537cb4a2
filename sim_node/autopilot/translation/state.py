"""HEARTBEAT and EXTENDED_SYS_STATE: what the vehicle is, its mode, whether it is armed and in the air."""

from __future__ import annotations

from typing import Any

from sim_node.autopilot.codec import enum_name
from sim_node.autopilot.modes import mode_name
from sim_node.autopilot.telemetry import Heartbeat, Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.diagnostic import ERROR, OK, WARN, diagnostic
from sim_node.autopilot.translation.registry import translates

ARMED, GUIDED, MANUAL = 128, 8, 64  # MAV_MODE_FLAG
_CRITICAL, _EMERGENCY = 5, 6  # MAV_STATE

STATE = topic(
    "state",
    "diagnostic_msgs/DiagnosticStatus",
    Profile.LATCHED,
    "none",
    "message the mode; values connected, armed, guided, manual_input, mode, system_status, autopilot, type",
)
ARMED_TOPIC = topic("armed", "std_msgs/Bool", Profile.LATCHED, "none", "whether the motors are armed")
MODE = topic("mode", "std_msgs/String", Profile.LATCHED, "none", "the flight mode by the autopilot's own name")
EXTENDED_STATE = topic(
    "extended_state",
    "diagnostic_msgs/DiagnosticStatus",
    Profile.LATCHED,
    "none",
    "message the landed state (on_ground, in_air, takeoff, landing, undefined); values landed_state, vtol_state",
)


@translates("HEARTBEAT")
def heartbeat(fields: Any, vehicle: Telemetry) -> None:
    """Once a second, and so is the state; armed and mode when they change."""
    before = vehicle.heartbeat
    vehicle.heartbeat = now = Heartbeat(
        fields.autopilot,
        fields.type,
        fields.base_mode,
        fields.custom_mode,
        fields.system_status,
    )
    tell_state(vehicle, connected=True)
    if before is None or (before.base_mode ^ now.base_mode) & ARMED:
        vehicle.encode(ARMED_TOPIC, {"data": bool(now.base_mode & ARMED)})
    if before is None or before.custom_mode != now.custom_mode:
        vehicle.encode(MODE, {"data": mode_name(now)})


def tell_state(vehicle: Telemetry, *, connected: bool) -> None:
    """The state of the last heartbeat."""
    state = vehicle.heartbeat or Heartbeat()
    mode = mode_name(state)
    values = {
        "connected": _text(connected),
        "armed": _text(state.base_mode & ARMED),
        "guided": _text(state.base_mode & GUIDED),
        "manual_input": _text(state.base_mode & MANUAL),
        "mode": mode,
        "system_status": _short("MAV_STATE", state.system_status),
        "autopilot": _short("MAV_AUTOPILOT", state.autopilot),
        "type": _short("MAV_TYPE", state.type),
    }
    level = ERROR if not connected or state.system_status == _EMERGENCY else OK
    level = WARN if level == OK and state.system_status == _CRITICAL else level
    message = mode if connected else "no heartbeat"
    vehicle.encode(STATE, diagnostic(level, "state", message, f"system {vehicle.system}", values))


@translates("EXTENDED_SYS_STATE")
def extended_sys_state(fields: Any, vehicle: Telemetry) -> None:
    """Landed or not, and the state of a VTOL's transition."""
    landed = _short("MAV_LANDED_STATE", fields.landed_state)
    values = {"landed_state": landed, "vtol_state": _short("MAV_VTOL_STATE", fields.vtol_state)}
    vehicle.encode(EXTENDED_STATE, diagnostic(OK, "extended_state", landed, f"system {vehicle.system}", values))


def _short(enum: str, value: int) -> str:
    """`active` for MAV_STATE_ACTIVE."""
    return enum_name(enum, value).removeprefix(enum + "_").lower()


def _text(value: object) -> str:
    return "true" if value else "false"
