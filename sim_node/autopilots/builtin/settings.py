"""What a ground station can set on a vehicle: the quantities, and the parameters by which a dialect names them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import IntEnum
from typing import Any

from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters

INT32, REAL32 = 6, 9  # MAV_PARAM_TYPE


class Action(IntEnum):
    """What a failsafe does. WARN sends a text and leaves the vehicle to its mode."""

    NONE = 0
    WARN = 1
    HOLD = 2
    RETURN = 3
    LAND = 4


@dataclass
class Settings:
    """Quantities that parameters change. They outlive a reboot, but not a reset of the world.

    Attributes:
        speed: of flight where nothing else is commanded, m/s. acceleration: the largest that is planned, m/s².
        landing_speed: m/s. takeoff_height and return_height: above home, m. radius: of waypoints without one, m.
        setpoint_timeout: after which a stream of setpoints has stopped, s.
        link_action, link_timeout: what happens when no ground station has been received for so long (s).
        position_timeout: how long a filter goes on without a satellite receiver, s. failures_enabled: whether
            MAV_CMD_INJECT_FAILURE is obeyed, 0 or 1.
        battery_action: at a critical battery. battery_low, battery_critical, battery_emergency: of 1.
        battery_endurance: seconds of hover that a full battery lasts. battery_floor: where it stops draining, of 1.
        disarm_landed, disarm_preflight: how long an armed vehicle stands until it is disarmed, after a landing and
            without a take-off, s; 0 or less for ever.
        fence_action: outside the geofence. fence_enabled: whether it is enabled from the start on, 0 or 1.
        fence_types, fence_options: as ArduPilot's parameters, see `fence`. fence_height: above home, fence_radius: from
            home, that are allowed, m, 0 for no limit. fence_margin: before which velocities end, m.
        system: the MAVLink id. max_speed: that the vehicle flies at, m/s.
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
        """Return the settings that a vehicle starts with. defaults: those of its dialect."""
        made = cls(parameters.speed, parameters.acceleration, parameters.landing_speed, max_speed=parameters.max_speed)
        return replace(made, **defaults)  # type: ignore[arg-type]

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Set all quantities from `asdict` of other settings."""
        for field in fields(self):
            if field.name in saved:
                kind = Action if isinstance(getattr(self, field.name), Action) else float
                setattr(self, field.name, kind(saved[field.name]))

    def saved(self) -> dict[str, Any]:
        """Return the quantities as plain numbers."""
        return {name: value if isinstance(value, float) else int(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a dialect.

    Attributes:
        kind: INT32 or REAL32. setting: the name of the quantity in `Settings`; empty for a constant.
        scale: units of the parameter per unit of the setting. value: of a constant.
        low, high: the range that may be set, in the parameter's units. read_only: whether it can be set at all.
        also: a further quantity that it sets to the same. step: what a whole number is a multiple of.
        actions: for a setting that is an `Action`, which number stands for which.
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
        """Return the value that a ground station is shown."""
        if not self.setting:
            return self.value
        found = getattr(settings, self.setting)
        if self.actions is not None:
            return float(next((number for number, action in self.actions.items() if action is found), 0))
        value = float(found) * self.scale
        return float(round(value)) if self.kind == INT32 else value

    def fault(self, value: float) -> str:
        """Return why a value cannot be set; empty where it can."""
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
        """Set the quantity from a value without a `fault`."""
        actions = self.actions
        setattr(settings, self.setting, value / self.scale if actions is None else actions[int(value)])
        if self.also:
            setattr(settings, self.also, getattr(settings, self.setting))


def quantity(
    setting: str, low: float, high: float, *, scale: float = 1.0, kind: int = REAL32, also: str = "", step: int = 1
) -> Parameter:
    """Return a parameter that shows and sets a quantity of `Settings`, and sets another one as well."""
    return Parameter(kind, setting, scale, low=low, high=high, also=also, step=step)


def choice(setting: str, actions: Mapping[int, Action]) -> Parameter:
    """Return a parameter that shows and sets a failsafe's action by its dialect's numbers."""
    return Parameter(INT32, setting, low=min(actions), high=max(actions), actions=actions)


def constant(value: float, kind: int = INT32) -> Parameter:
    """Return a parameter that can be read, but not set."""
    return Parameter(kind, value=value, read_only=True)


def shown(setting: str, kind: int = INT32) -> Parameter:
    """Return a parameter that shows a quantity of `Settings` which a ground station cannot set."""
    return Parameter(kind, setting, read_only=True)
