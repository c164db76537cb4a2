"""What an autopilot has to know of its vehicle before it flies; handed over as JSON."""

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
    """What a base on wheels can do.

    Attributes:
        linear, angular: Largest speed (m/s) and yaw rate (rad/s), of which commands are parts.
        angular_acceleration: rad/s².
        turning_radius: Of the tightest turn, m; 0 for a base that turns on the spot.
        sideways: Whether it can move sideways.
    """

    linear: float
    angular: float
    angular_acceleration: float
    turning_radius: float
    sideways: bool


@dataclass(frozen=True, slots=True, eq=False)
class VehicleParameters:
    """A multirotor to be flown, or a base to be driven.

    airframe: what it is. centre (3,): of mass in its body (FLU), m. rate: of the simulator's readings, Hz; gravity:
    m/s², downwards. origin: latitude and longitude (degrees) and altitude (m above the ellipsoid) of the local frame;
    undulation: of the geoid there, m. speed and max_speed: m/s, at first and at most; acceleration m/s², landing_speed
    m/s and yaw_rate rad/s: the most that is asked for. mission: the fields of MISSION_ITEM_INTs that it begins with,
    `wait` seconds after its start; None to wait for orders. links: URLs of its further ground links. like: the dialect.
    signing_key: the file with the key that all ground links are signed with; empty for unsigned links.
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
    """One line that `from_json` reads; numbers keep all their digits."""
    return json.dumps(asdict(parameters), default=lambda array: array.tolist())


def from_json(text: str) -> VehicleParameters:
    """Raises ValueError for a text that is no vehicle parameters; says what is wrong."""
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
