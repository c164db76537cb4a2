"""Dialects: what makes the one autopilot look like PX4 or like ArduPilot on the wire, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from sim_node.registry import Registry

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.settings import Parameter

INFO, NOTICE, WARNING, CRITICAL = 6, 5, 4, 2  # MAV_SEVERITY


class OrderRefused(Exception):
    """A request that is refused now, with the reason; it may be accepted later."""


class Denied(OrderRefused):
    """A request that makes no sense at any time."""


class Unsupported(OrderRefused):
    """A request for something that is not implemented."""


class Failed(OrderRefused):
    """A request that was tried in vain."""


class Cause(IntEnum):
    """What a failsafe acts on."""

    FENCE = 0
    LINK = 1
    BATTERY = 2
    POSITION = 3


class Mode(IntEnum):
    """The modes of the flight logic. Each dialect has names and numbers for those that it knows."""

    HOLD = 0
    TAKEOFF = 1
    MISSION = 2
    GUIDED = 3
    RETURN = 4
    LAND = 5
    MANUAL = 6


class FlightMode(NamedTuple):
    """A mode on the wire.

    custom: HEARTBEAT.custom_mode. name: as topics and the documentation have it; title: as ground stations show it.
    standard: MAV_STANDARD_MODE. base: the flags of HEARTBEAT.base_mode beside custom mode and armed.
    """

    custom: int
    name: str
    title: str
    standard: int
    base: int


@dataclass(frozen=True)
class Texts:
    """STATUSTEXTs that ground stations and scripts look for, by default PX4's. Braces stand for what it is about."""

    armed: str = "Armed by {reason}"
    disarmed: str = "Disarmed by {reason}"
    arming_denied: str = "Arming denied: {reason}"
    takeoff: str = "Takeoff detected"
    landed: str = "Landing detected"
    mode_refused: str = "Switching to {mode} is currently not available: {reason}"
    setpoints_lost: str = "Offboard control lost: holding"
    link_lost: str = "Failsafe activated: connection to ground control station lost"
    link_regained: str = "Connection to ground control station regained"
    battery_low: str = "Low battery level"
    battery_critical: str = "Critical battery level"
    battery_emergency: str = "Emergency battery level"
    battery_empty: str = "Battery empty: motors stopped"
    fence_breached: str = "Geofence violation: {what}"
    mission_finished: str = "Mission finished, loitering"


@dataclass(frozen=True)
class Dialect:
    """How the autopilot presents itself, and the conventions in which autopilots of its kind differ.

    Attributes:
        autopilot: MAV_AUTOPILOT. version: AUTOPILOT_VERSION.flight_sw_version.
        modes: the modes of the flight logic that exist here.
        mode_of: returns the mode of DO_SET_MODE's param2 and param3; raises OrderRefused.
        parameters: by name, in the order of their indices.
        defaults: of `Settings`, where they are not those of all.
        bytewise: whether integer parameters are sent as their bytes in a float, and not as a rounded float.
        takeoff_mode: the mode that a take-off is flown in. goto_mode: the mode in which DO_REPOSITION is flown.
        takes_off_when_armed: whether a take-off that is commanded before arming begins with it.
        takes_off_in: the modes from which NAV_TAKEOFF is accepted; empty for all.
        arms_for_mission: whether MISSION_START arms.
        disarms_after: the modes that disarm as soon as they have landed; others wait as the settings say.
        streams_first: whether setpoints have to arrive before the guided mode is entered.
        position_stays: whether a position setpoint holds without being repeated.
        stream_end: the mode after setpoints have stopped.
        long_frame: MAV_FRAME of positions in COMMAND_LONG. degrees: whether DO_REPOSITION's yaw is in degrees.
        home_first: whether item 0 of a mission is home. floats_first: whether items are requested by MISSION_REQUEST.
        goto_items: whether a MISSION_ITEM with current = 2 is a position to fly to at once.
        fence_names: what texts call the kinds of limits of a geofence.
        drops_targets: whether a target outside of the geofence is acknowledged and dropped, and no mission with one is
            begun. Otherwise it is refused, and velocities end before the fence.
        gives_up: the mode in which a vehicle that is far outside of its geofence ends; None for no such limit.
        ranks_failsafes: whether a failsafe never replaces the action of a worse one.
        ignores: on which causes, in which present mode, a failsafe does not change to which mode.
        disarms_on_ground: whether failsafes disarm a vehicle that has not taken off.
        throttle_middle: the throttle of MANUAL_CONTROL at which a rover stands, of 1000.
    """

    name: str
    autopilot: int
    version: int
    modes: Mapping[Mode, FlightMode]
    mode_of: Callable[[int, int], Mode]
    parameters: Mapping[str, Parameter]
    texts: Texts
    takeoff_mode: Mode
    goto_mode: Mode
    disarms_after: tuple[Mode, ...]
    stream_end: Mode
    long_frame: int
    fence_names: Mapping[int, str]
    ignores: AbstractSet[tuple[Cause, Mode, Mode]]
    defaults: Mapping[str, float] = field(default_factory=dict)
    takes_off_in: tuple[Mode, ...] = ()
    gives_up: Mode | None = None
    throttle_middle: float = 0.0
    bytewise: bool = False
    takes_off_when_armed: bool = False
    arms_for_mission: bool = False
    streams_first: bool = False
    position_stays: bool = False
    degrees: bool = False
    home_first: bool = False
    floats_first: bool = False
    goto_items: bool = False
    drops_targets: bool = False
    ranks_failsafes: bool = False
    disarms_on_ground: bool = False

    def mode_of_custom(self, custom: int) -> Mode:
        """Return the mode of a whole custom_mode, as in SET_MODE. Raises OrderRefused."""
        for mode, flown in self.modes.items():
            if flown.custom == custom:
                return mode
        # PX4's have a main and a sub mode in their upper half.
        self.mode_of(*((custom >> 16 & 0xFF, custom >> 24) if custom >> 16 else (custom, 0)))
        raise Denied(f"no mode {custom}; {self.known_modes()}")

    def mode_of_standard(self, standard: int) -> Mode:
        """Return the mode that stands for a MAV_STANDARD_MODE. Raises Denied."""
        for mode, flown in self.modes.items():
            if flown.standard == standard != 0:
                return mode
        raise Denied(f"no mode for standard mode {standard}")

    def known_modes(self) -> str:
        """Return the modes as a list for messages."""
        return "known: " + ", ".join(f"{flown.custom} {flown.name}" for flown in self.modes.values())


DIALECTS: Registry[str, Dialect] = Registry(
    "dialect",
    shipped=("sim_node.autopilots.builtin.px4", "sim_node.autopilots.builtin.ardupilot"),
    group="sim_node.builtin",
)


def rover(like: str) -> str:
    """Return the name of the dialect of an autopilot's rovers."""
    return f"{like} rover"
