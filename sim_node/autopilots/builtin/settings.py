"""Settings that a ground station can change, and the dialects' parameters that represent them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import IntEnum
from typing import Any

from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters

INT32, REAL32 = 6, 9  # MAV_PARAM_TYPE


class Action(IntEnum):
    """Action of a failsafe. WARN sends a text and keeps the mode."""

    NONE = 0
    WARN = 1
    HOLD = 2
    RETURN = 3
    LAND = 4


@dataclass
class Settings:
    """Values that parameters change. They survive a reboot, but not a reset of the world.

    Attributes:
        speed: Default speed, m/s.
        acceleration: Maximum acceleration of setpoints, m/s².
        landing_speed: Speed of the final descent, m/s.
        takeoff_height: Height of a take-off above home, m.
        return_height: Minimum height of a return above home, m.
        radius: Acceptance radius of waypoints that have none, m.
        setpoint_timeout: Time after which a stream of setpoints counts as lost, s.
        link_action: Action when the link to the ground station is lost.
        link_timeout: Time without a heartbeat after which that link counts as lost, s.
        position_timeout: Time without GPS fixes after which the position estimate is invalid, s.
        failures_enabled: Whether MAV_CMD_INJECT_FAILURE is accepted, 0 or 1.
        battery_action: Action at critical charge.
        battery_low: Charge at which a low battery is reported, 0 to 1.
        battery_critical: Charge that is critical, 0 to 1.
        battery_emergency: Charge that is an emergency, 0 to 1.
        battery_endurance: Hover time of a full battery, s.
        battery_floor: Charge at which the battery stops draining, 0 to 1.
        disarm_landed: Time on the ground after a landing until automatic disarming, s; 0 or less for never.
        disarm_preflight: Time on the ground without a take-off until automatic disarming, s; 0 or less for never.
        fence_action: Action when the geofence is breached.
        fence_enabled: Whether the geofence is enabled at the start, 0 or 1.
        fence_types: Kinds of limits that apply, as in ArduPilot's FENCE_TYPE; see `fence`.
        fence_options: Options, as in ArduPilot's FENCE_OPTIONS; see `fence`.
        fence_height: Maximum height above home, m; 0 for no limit.
        fence_radius: Maximum distance from home, m; 0 for no limit.
        fence_margin: Distance from the fence at which velocity setpoints stop the vehicle, m.
        system: MAVLink system id.
        max_speed: Maximum speed of the vehicle, m/s.
    """

    speed: float
    acceleration: float
    landing_speed: float
    takeoff_height: float = 2.5
    return_height: float = 5.0
    radius: float = 0.5
    setpoint_timeout: float = 1.0
    link_action: Action = Action.NONE
    link_timeout: float = 10.0
    position_timeout: float = 5.0
    failures_enabled: float = 0.0
    battery_action: Action = Action.WARN
    battery_low: float = 0.15
    battery_critical: float = 0.07
    battery_emergency: float = 0.05
    battery_endurance: float = 1200.0
    battery_floor: float = 0.5
    disarm_landed: float = 2.0
    disarm_preflight: float = 10.0
    fence_action: Action = Action.HOLD
    fence_enabled: float = 1.0
    fence_types: float = 7.0
    fence_options: float = 0.0
    fence_height: float = 0.0
    fence_radius: float = 0.0
    fence_margin: float = 2.0
    system: float = 1.0
    max_speed: float = 12.0

    @classmethod
    def of(cls, parameters: VehicleParameters, defaults: Mapping[str, float]) -> Settings:
        """Return the initial settings of a vehicle.

        Args:
            parameters: The vehicle.
            defaults: Defaults of its dialect.
        """
        made = cls(parameters.speed, parameters.acceleration, parameters.landing_speed, max_speed=parameters.max_speed)
        return replace(made, **defaults)  # type: ignore[arg-type]

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore the settings from the result of `saved`."""
        for field in fields(self):
            if field.name in saved:
                kind = Action if isinstance(getattr(self, field.name), Action) else float
                setattr(self, field.name, kind(saved[field.name]))

    def saved(self) -> dict[str, Any]:
        """Return the settings as plain numbers."""
        return {name: value if isinstance(value, float) else int(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a dialect.

    Attributes:
        kind: MAV_PARAM_TYPE, INT32 or REAL32.
        setting: Name of the attribute of `Settings` that it represents; empty for a constant.
        scale: Factor from the setting's unit to the parameter's.
        value: Value of a constant.
        low: Minimum, in the parameter's unit.
        high: Maximum, in the parameter's unit.
        actions: `Action` of each number, for a setting that is an `Action`.
        read_only: Whether it cannot be set.
        also: A second setting that is set to the same value.
        step: Increment of an integer parameter; values are multiples of it.
    """

    kind: int
    setting: str = ""
    scale: float = 1.0
    value: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    actions: Mapping[int, Action] | None = None
    read_only: bool = False
    also: str = ""
    step: int = 1

    def read(self, settings: Settings) -> float:
        """Return the value that is sent to ground stations."""
        if not self.setting:
            return self.value
        found = getattr(settings, self.setting)
        if self.actions is not None:
            return float(next((number for number, action in self.actions.items() if action is found), 0))
        value = float(found) * self.scale
        return float(round(value)) if self.kind == INT32 else value

    def fault(self, value: float) -> str:
        """Return why a value cannot be set; empty if it can."""
        if not math.isfinite(value):
            return f"{value} is not finite"
        if self.read_only:
            return "the parameter is read-only"
        if self.actions is not None and value not in self.actions:
            return f"{value:g} is not supported; allowed: {', '.join(map(str, self.actions))}"
        if not self.low <= value <= self.high:
            return f"{value:g} is out of range; allowed: {self.low:g} to {self.high:g}"
        if self.kind == INT32 and value % self.step:
            return f"{value:g} is not a " + (f"multiple of {self.step}" if self.step > 1 else "whole number")
        return ""

    def write(self, settings: Settings, value: float) -> None:
        """Set the setting from a value that has no `fault`."""
        actions = self.actions
        setattr(settings, self.setting, value / self.scale if actions is None else actions[int(value)])
        if self.also:
            setattr(settings, self.also, getattr(settings, self.setting))


def quantity(
    setting: str, low: float, high: float, *, scale: float = 1.0, kind: int = REAL32, also: str = "", step: int = 1
) -> Parameter:
    """Return a parameter that reads and writes an attribute of `Settings`; writing may set a second one (`also`)."""
    return Parameter(kind, setting, scale, low=low, high=high, also=also, step=step)


def choice(setting: str, actions: Mapping[int, Action]) -> Parameter:
    """Return a parameter for the action of a failsafe, numbered as in the dialect."""
    return Parameter(INT32, setting, low=min(actions), high=max(actions), actions=actions)


def constant(value: float, kind: int = INT32) -> Parameter:
    """Return a read-only parameter with a constant value."""
    return Parameter(kind, value=value, read_only=True)


def shown(setting: str, kind: int = INT32) -> Parameter:
    """Return a read-only parameter that shows an attribute of `Settings`."""
    return Parameter(kind, setting, read_only=True)
