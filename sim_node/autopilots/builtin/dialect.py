"""Dialects: the data that make the autopilot behave like PX4 or like ArduPilot on a link."""

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
    """A command is refused now, for the reason in the message. It may be accepted later."""


class Denied(OrderRefused):
    """A command is invalid."""


class Unsupported(OrderRefused):
    """A command is not implemented."""


class Failed(OrderRefused):
    """A command was tried, but failed."""


class Cause(IntEnum):
    """Cause of a failsafe."""

    FENCE = 0
    LINK = 1
    BATTERY = 2
    POSITION = 3


class Mode(IntEnum):
    """Modes of the flight logic. Each dialect names and numbers those that it has."""

    HOLD = 0
    TAKEOFF = 1
    MISSION = 2
    GUIDED = 3
    RETURN = 4
    LAND = 5
    MANUAL = 6


class FlightMode(NamedTuple):
    """A mode of a dialect.

    Attributes:
        custom: HEARTBEAT.custom_mode.
        name: Name on topics and in the documentation.
        title: Name that ground stations show.
        standard: MAV_STANDARD_MODE.
        base: Flags of HEARTBEAT.base_mode, other than custom mode and armed.
    """

    custom: int
    name: str
    title: str
    standard: int
    base: int


@dataclass(frozen=True)
class Texts:
    """Status texts that ground stations and scripts look for, with placeholders. Defaults are those of PX4."""

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
    """Identity and conventions of a kind of autopilot.

    Attributes:
        name: Name of the dialect.
        autopilot: MAV_AUTOPILOT.
        version: AUTOPILOT_VERSION.flight_sw_version.
        modes: Modes of the flight logic that it has.
        mode_of: Returns the mode of DO_SET_MODE's param2 and param3. Raises OrderRefused.
        parameters: Parameters by name, in the order of their indices.
        texts: Status texts.
        takeoff_mode: Mode of a take-off.
        goto_mode: Mode of DO_REPOSITION.
        disarms_after: Modes that disarm right after landing; after others the vehicle disarms as its settings say.
        stream_end: Mode after a stream of setpoints was lost.
        long_frame: MAV_FRAME of positions in COMMAND_LONG.
        fence_names: Names of the geofence's kinds of limits in texts.
        ignores: Changes of mode that failsafes do not make: cause, present mode, new mode.
        defaults: Defaults of `Settings` that differ from the common ones.
        takes_off_in: Modes in which NAV_TAKEOFF is accepted; empty for all.
        gives_up: Mode in which a vehicle far outside of its geofence ends; None if distance does not matter.
        throttle_middle: Throttle of MANUAL_CONTROL, out of 1000, at which a rover stands.
        bytewise: Whether integer parameters are sent as their bytes in a float, instead of as a rounded float.
        takes_off_when_armed: Whether a take-off may be commanded before arming, and begins with it.
        arms_for_mission: Whether MISSION_START arms.
        streams_first: Whether setpoints must be received before guided mode can be entered.
        position_stays: Whether a position setpoint holds without being repeated.
        degrees: Whether the yaw of DO_REPOSITION is in degrees.
        home_first: Whether item 0 of a mission is home.
        floats_first: Whether mission items are requested by MISSION_REQUEST.
        goto_items: Whether a MISSION_ITEM with current = 2 is a position to fly to at once.
        drops_targets: Whether a target outside of the geofence is acknowledged and dropped, and a mission with such a
            waypoint cannot be started. Otherwise the target is refused, and velocities end before the fence.
        ranks_failsafes: Whether a failsafe never replaces a more severe action.
        disarms_on_ground: Whether failsafes disarm a vehicle that has not taken off.
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
        """Return the mode of a custom_mode, as in SET_MODE.

        Raises:
            Denied: The mode is unknown.
            OrderRefused: The mode is not implemented.
        """
        for mode, flown in self.modes.items():
            if flown.custom == custom:
                return mode
        # PX4's custom modes have a main mode and a sub mode in their upper half.
        self.mode_of(*((custom >> 16 & 0xFF, custom >> 24) if custom >> 16 else (custom, 0)))
        raise Denied(f"no mode {custom}; {self.known_modes()}")

    def mode_of_standard(self, standard: int) -> Mode:
        """Return the mode of a MAV_STANDARD_MODE.

        Raises:
            Denied: The dialect has no such mode.
        """
        for mode, flown in self.modes.items():
            if flown.standard == standard != 0:
                return mode
        raise Denied(f"no mode for standard mode {standard}")

    def known_modes(self) -> str:
        """Return the list of modes for messages."""
        return "known: " + ", ".join(f"{flown.custom} {flown.name}" for flown in self.modes.values())


DIALECTS: Registry[str, Dialect] = Registry(
    "dialect",
    shipped=("sim_node.autopilots.builtin.px4", "sim_node.autopilots.builtin.ardupilot"),
    group="sim_node.builtin",
)


def rover(like: str) -> str:
    """Return the name of the dialect of an autopilot's rovers."""
    return f"{like} rover"
