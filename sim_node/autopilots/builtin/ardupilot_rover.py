"""The dialect of ArduPilot's Rover: that of ArduPilot, with its mode numbers and parameters."""

from __future__ import annotations

from dataclasses import replace

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT, mode_of
from sim_node.autopilots.builtin.dialect import DIALECTS, Cause, FlightMode, Mode, rover
from sim_node.autopilots.builtin.fence import ALL, AREAS, CIRCLE
from sim_node.autopilots.builtin.settings import INT32, REAL32, Action, choice, constant, quantity

_MANUAL, _STABILIZED, _GUIDED = 64, 16, 8  # MAV_MODE_FLAG
_MODES = {
    Mode.MANUAL: FlightMode(0, "MANUAL", "Manual", 0, _MANUAL),
    Mode.HOLD: FlightMode(4, "HOLD", "Hold", 1, _STABILIZED | _GUIDED),
    Mode.MISSION: FlightMode(10, "AUTO", "Auto", 6, _STABILIZED | _GUIDED),
    Mode.RETURN: FlightMode(11, "RTL", "RTL", 5, _STABILIZED | _GUIDED),
    Mode.GUIDED: FlightMode(15, "GUIDED", "Guided", 0, _STABILIZED | _GUIDED),
}
_OF_FLIGHT = ("ANGLE_MAX", "DISARM_DELAY", "FENCE_ALT_MAX", "FS_GCS_ENABLE", "GUID_TIMEOUT", "LAND_SPEED", "RTL_ALT")
_PARAMETERS = {
    name: parameter
    for name, parameter in ARDUPILOT.parameters.items()
    if not name.startswith("WPNAV_") and name not in _OF_FLIGHT
} | {
    "ATC_ACCEL_MAX": quantity("acceleration", 0.01, 100.0),
    "BATT_FS_CRT_ACT": choice("battery_action", {0: Action.WARN, 1: Action.RETURN, 2: Action.HOLD}),
    "CRUISE_SPEED": quantity("speed", 0.01, 100.0),
    "FENCE_ACTION": choice("fence_action", {0: Action.WARN, 1: Action.RETURN, 2: Action.HOLD}),
    "FENCE_TYPE": quantity("fence_types", 0.0, float(ALL), kind=INT32, step=CIRCLE),
    "FRAME_TYPE": constant(0),
    "FS_ACTION": choice("link_action", {0: Action.NONE, 1: Action.RETURN, 2: Action.HOLD}),
    # Its failsafe is on as long as FS_ACTION says what to do.
    "FS_GCS_ENABLE": constant(1),
    "WP_RADIUS": quantity("radius", 0.05, 100.0, kind=REAL32),
    "WP_SPEED": quantity("speed", 0.01, 100.0),
}

ARDUPILOT_ROVER = DIALECTS.add(rover("ardupilot"))(
    replace(
        ARDUPILOT,
        modes=_MODES,
        mode_of=mode_of(_MODES, "ROVER"),
        parameters=dict(sorted(_PARAMETERS.items())),
        defaults={
            **ARDUPILOT.defaults,
            "radius": 0.25,
            "link_action": Action.HOLD,
            "fence_types": float(CIRCLE | AREAS),
            "fence_height": 0.0,
        },
        disarms_after=(),
        gives_up=Mode.HOLD,
        # failsafe.cpp, failsafe_trigger: neither a return nor a hold is interrupted.
        ignores={(Cause.LINK, now, mode) for now in (Mode.RETURN, Mode.HOLD) for mode in Mode},
    )
)
