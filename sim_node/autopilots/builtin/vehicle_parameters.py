"""Parameters of a vehicle that its autopilot needs before it starts; passed as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sim_node.simulation.control import Airframe

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chassis:
    """Limits of a wheeled base.

    Attributes:
        linear: Maximum speed, m/s. Throttle commands are fractions of it.
        angular: Maximum yaw rate, rad/s. Turn commands are fractions of it.
        angular_acceleration: Maximum yaw acceleration, rad/s².
        turning_radius: Minimum turning radius, m; 0 for a base that turns on the spot.
        sideways: Whether it can move sideways.
    """

    linear: float
    angular: float
    angular_acceleration: float
    turning_radius: float
    sideways: bool


@dataclass(frozen=True, slots=True, eq=False)
class VehicleParameters:
    """Parameters of a multirotor or of a wheeled base.

    Attributes:
        name: Name of the vehicle.
        airframe: Airframe of a multirotor, or chassis of a base.
        centre: Centre of mass (3,) in the body (FLU), m.
        rate: Rate of the simulator's measurements, Hz.
        gravity: Magnitude of gravity, m/s², downwards.
        origin: Origin of the local frame: latitude and longitude (degrees), altitude (m) above the ellipsoid.
        undulation: Height of the geoid above the ellipsoid at the origin, m.
        speed: Initial speed, m/s.
        max_speed: Maximum speed, m/s.
        acceleration: Maximum acceleration of setpoints, m/s².
        landing_speed: Speed of the final descent, m/s.
        yaw_rate: Maximum yaw rate of setpoints, rad/s.
        wait: Time from the start to the mission's start, s.
        mission: Fields of the mission's MISSION_ITEM_INTs; None to wait for commands.
        links: URLs of further ground links.
        like: Dialect.
        signing_key: File with the key that signs all ground links; empty for unsigned links.
    """

    name: str
    airframe: Airframe | Chassis
    centre: tuple[float, float, float]
    rate: float
    gravity: float
    origin: tuple[float, float, float]
    undulation: float
    speed: float
    max_speed: float
    acceleration: float
    landing_speed: float
    yaw_rate: float
    wait: float = 0.0
    mission: tuple[Item, ...] | None = None
    links: tuple[str, ...] = ()
    like: str = "px4"
    signing_key: str = ""


def to_json(parameters: VehicleParameters) -> str:
    """Return parameters as one line of JSON for `from_json`, with all digits of the numbers."""
    return json.dumps(asdict(parameters), default=lambda array: array.tolist())


def from_json(text: str) -> VehicleParameters:
    """Parse the JSON of `to_json`.

    Raises:
        ValueError: The text is not the JSON of vehicle parameters; the message says why.
    """
    try:
        values = json.loads(text)
        airframe: dict[str, Any] = values.pop("airframe")
        airframe = {key: np.array(value) if isinstance(value, list) else value for key, value in airframe.items()}
        kind = Chassis if "turning_radius" in airframe else Airframe
        mission = values.pop("mission", None)
        values["centre"], values["origin"] = tuple(values["centre"]), tuple(values["origin"])
        values["links"] = tuple(values.get("links", ()))
        return VehicleParameters(
            airframe=kind(**airframe), mission=None if mission is None else tuple(mission), **values
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no vehicle parameters: {error}") from None
