"""The dialects of ArduCopter and of ArduPilot's Rover: modes, parameters as rounded floats, and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    rover,
)
from sim_node.autopilots.builtin.fence import ALL, AREAS, CIRCLE, HEIGHT, UNION
from sim_node.autopilots.builtin.settings import INT32, REAL32, Action, choice, constant, quantity, shown
from sim_node.mavlink.codec import enum_values

_STABILIZED, _GUIDED = 16, 8  # MAV_MODE_FLAG
_MODES = {
    Mode.MISSION: FlightMode(3, "AUTO", "Auto", 6, _STABILIZED | _GUIDED),
    Mode.GUIDED: FlightMode(4, "GUIDED", "Guided", 0, _STABILIZED | _GUIDED),
    Mode.HOLD: FlightMode(5, "LOITER", "Loiter", 1, _STABILIZED | _GUIDED),
    Mode.RETURN: FlightMode(6, "RTL", "RTL", 5, _STABILIZED | _GUIDED),
    Mode.LAND: FlightMode(9, "LAND", "Land", 7, _STABILIZED),
}


def mode_of(modes: Mapping[Mode, FlightMode], vehicle: str) -> Callable[[int, int], Mode]:
    """Return the function that maps DO_SET_MODE's params to a mode, for a vehicle COPTER or ROVER."""
    prefix = f"{vehicle}_MODE_"
    known = {number: name.removeprefix(prefix) for name, number in enum_values(f"{vehicle}_MODE").items()}

    def find(main: int, sub: int) -> Mode:
        if sub:
            raise Denied(f"sub mode {sub}: these modes have no sub modes")
        for mode, flown in modes.items():
            if flown.custom == main:
                return mode
        if main in known and not known[main].endswith("ENUM_END"):
            raise OrderRefused(f"Mode change to {known[main]} failed: the mode is not implemented")
        raise Denied(f"no such mode {main}")

    return find


_PARAMETERS = {
    "ANGLE_MAX": constant(3000),
    "ARMING_CHECK": constant(1),
    "BATT_CAPACITY": constant(5000),
    "BATT_FS_CRT_ACT": choice("battery_action", {0: Action.WARN, 1: Action.LAND, 2: Action.RETURN}),
    "BATT_MONITOR": constant(4),
    "COMPASS_USE": constant(1),
    "DISARM_DELAY": quantity("disarm_landed", 0.0, 127.0, kind=INT32, also="disarm_preflight"),
    "FENCE_ACTION": choice("fence_action", {0: Action.WARN, 1: Action.RETURN, 2: Action.LAND, 4: Action.HOLD}),
    "FENCE_ALT_MAX": quantity("fence_height", 1.0, 10_000.0),
    "FENCE_ENABLE": quantity("fence_enabled", 0.0, 1.0, kind=INT32),
    "FENCE_MARGIN": quantity("fence_margin", 0.0, 1000.0),
    "FENCE_OPTIONS": quantity("fence_options", 0.0, float(UNION), kind=INT32, step=UNION),
    "FENCE_RADIUS": quantity("fence_radius", 1.0, 100_000.0),
    "FENCE_TYPE": quantity("fence_types", 0.0, float(ALL), kind=INT32),
    "FRAME_CLASS": constant(1),
    "FRAME_TYPE": constant(1),
    "FS_GCS_ENABLE": choice("link_action", {0: Action.NONE, 1: Action.RETURN, 5: Action.LAND}),
    "FS_GCS_TIMEOUT": quantity("link_timeout", 2.0, 120.0),
    "GUID_TIMEOUT": quantity("setpoint_timeout", 0.1, 5.0),
    "LAND_SPEED": quantity("landing_speed", 10.0, 500.0, scale=100.0, kind=INT32),
    "RTL_ALT": quantity("return_height", 30.0, 300_000.0, scale=100.0, kind=INT32),
    "SIM_BATT_TIME": quantity("battery_endurance", 1.0, 86_400.0),
    "SIM_BATT_MIN": quantity("battery_floor", 0.0, 100.0, scale=100.0),
    "SYSID_MYGCS": constant(255),
    "SYSID_THISMAV": shown("system"),
    "WPNAV_ACCEL": quantity("acceleration", 10.0, 1500.0, scale=100.0, kind=REAL32),
    "WPNAV_RADIUS": quantity("radius", 5.0, 1000.0, scale=100.0, kind=REAL32),
    "WPNAV_SPEED": quantity("speed", 10.0, 2000.0, scale=100.0, kind=REAL32),
}

ARDUPILOT = DIALECTS.add("ardupilot")(
    Dialect(
        name="ardupilot",
        autopilot=3,
        version=0x040600FF,  # 4.6.0, a release
        modes=_MODES,
        mode_of=mode_of(_MODES, "COPTER"),
        parameters=_PARAMETERS,
        texts=Texts(
            armed="Arming motors",
            disarmed="Disarming motors",
            arming_denied="Arm: {reason}",
            takeoff="Takeoff",
            landed="Land complete",
            mode_refused="Mode change to {mode} failed: {reason}",
            setpoints_lost="Setpoints stopped: holding",
            link_lost="GCS Failsafe",
            link_regained="GCS Failsafe Cleared",
            battery_low="Battery 1 is low",
            battery_critical="Battery 1 is critical",
            battery_emergency="Battery 1 is critical: landing",
            battery_empty="Battery 1 is empty: motors stopped",
            fence_breached="{what} fence breached",
            mission_finished="Mission complete",
        ),
        defaults={
            "setpoint_timeout": 3.0,
            "link_timeout": 5.0,
            "disarm_landed": 10.0,
            "fence_action": Action.RETURN,
            "fence_enabled": 0.0,
            "fence_height": 100.0,
            "fence_radius": 300.0,
        },
        takeoff_mode=Mode.GUIDED,
        goto_mode=Mode.GUIDED,
        takes_off_in=(Mode.GUIDED,),
        disarms_after=(Mode.MISSION, Mode.RETURN, Mode.LAND),
        position_stays=True,
        stream_end=Mode.GUIDED,
        long_frame=3,
        degrees=True,
        home_first=True,
        floats_first=True,
        goto_items=True,
        fence_names={HEIGHT: "Max Alt", CIRCLE: "Circle", AREAS: "Polygon"},
        gives_up=Mode.LAND,
        # events.cpp, failsafe_gcs_on_event: by default, FS_OPTIONS continues in modes that a pilot flies.
        ignores={(Cause.LINK, Mode.HOLD, mode) for mode in Mode},
        disarms_on_ground=True,
    )
)


_BY_HAND = 64  # MAV_MODE_FLAG
_ROVER_MODES = {
    Mode.MANUAL: FlightMode(0, "MANUAL", "Manual", 0, _BY_HAND),
    Mode.HOLD: FlightMode(4, "HOLD", "Hold", 1, _STABILIZED | _GUIDED),
    Mode.MISSION: FlightMode(10, "AUTO", "Auto", 6, _STABILIZED | _GUIDED),
    Mode.RETURN: FlightMode(11, "RTL", "RTL", 5, _STABILIZED | _GUIDED),
    Mode.GUIDED: FlightMode(15, "GUIDED", "Guided", 0, _STABILIZED | _GUIDED),
}
_OF_FLIGHT = ("ANGLE_MAX", "DISARM_DELAY", "FENCE_ALT_MAX", "FS_GCS_ENABLE", "GUID_TIMEOUT", "LAND_SPEED", "RTL_ALT")
_ROVER_PARAMETERS = {
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
    # Its failsafe is enabled unless FS_ACTION is 0.
    "FS_GCS_ENABLE": constant(1),
    "WP_RADIUS": quantity("radius", 0.05, 100.0, kind=REAL32),
    "WP_SPEED": quantity("speed", 0.01, 100.0),
}

ARDUPILOT_ROVER = DIALECTS.add(rover("ardupilot"))(
    replace(
        ARDUPILOT,
        modes=_ROVER_MODES,
        mode_of=mode_of(_ROVER_MODES, "ROVER"),
        parameters=dict(sorted(_ROVER_PARAMETERS.items())),
        defaults={
            **ARDUPILOT.defaults,
            "radius": 0.25,
            "link_action": Action.HOLD,
            "fence_types": float(CIRCLE | AREAS),
            "fence_height": 0.0,
        },
        disarms_after=(),
        gives_up=Mode.HOLD,
        # failsafe.cpp, failsafe_trigger: it interrupts neither a return nor a hold.
        ignores={(Cause.LINK, now, mode) for now in (Mode.RETURN, Mode.HOLD) for mode in Mode},
    )
)
