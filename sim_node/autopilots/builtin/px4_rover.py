"""The dialect of PX4's rovers: that of PX4, with their modes and parameters."""

from __future__ import annotations

from dataclasses import replace

from sim_node.autopilots.builtin.dialect import DIALECTS, Denied, FlightMode, Mode, OrderRefused, Unsupported, rover
from sim_node.autopilots.builtin.px4 import PX4
from sim_node.autopilots.builtin.settings import REAL32, Action, choice, constant, quantity, shown

_MANUAL = 1  # main mode
# Main modes by sticks that are not implemented, and sub modes of AUTO for what flies.
_BY_STICKS = {2: "ALTCTL", 3: "POSCTL", 5: "ACRO", 7: "STABILIZED"}
_FLOWN = {(4, 2): "AUTO.TAKEOFF", (4, 6): "AUTO.LAND"}
_MODES: dict[Mode, FlightMode] = {
    mode: flown for mode, flown in PX4.modes.items() if mode not in (Mode.TAKEOFF, Mode.LAND)
}
_MODES[Mode.MANUAL] = FlightMode(_MANUAL << 16, "MANUAL", "Manual", 0, 64)


def _mode_of(main: int, sub: int) -> Mode:
    if main == _MANUAL and not sub:
        return Mode.MANUAL
    if main in _BY_STICKS and not sub:
        raise OrderRefused(f"Switching to {_BY_STICKS[main]} is currently not available: the mode is not implemented")
    if (main, sub) in _FLOWN:
        raise Unsupported(f"Switching to {_FLOWN[main, sub]} is currently not available: a rover stays on the ground")
    mode = PX4.mode_of(main, sub)
    if mode not in _MODES:
        raise Denied(f"no main mode {main} with sub mode {sub}")
    return mode


_OF_FLIGHT = ("COM_DISARM_LAND", "COM_DISARM_PRFLT", "MIS_TAKEOFF_ALT", "RTL_RETURN_ALT")
_PARAMETERS = {
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
        modes=_MODES,
        mode_of=_mode_of,
        parameters=dict(sorted(_PARAMETERS.items())),
        defaults={"radius": 0.25, "link_action": Action.HOLD},
        # PX4's throttle stick is 0 to 1000, and its middle stands still.
        throttle_middle=500.0,
    )
)
