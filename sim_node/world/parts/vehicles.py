"""Vehicles as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.vehicle_checks import vehicle_problems
from sim_node.world.vehicles import LIKE, Autopilot, Multirotor, Rotor
from sim_node.world.writers.values import data_of, given


@part("vehicles", Multirotor)
class Vehicles(Kind[Multirotor]):
    """Flying bodies."""

    def data(self, part: Multirotor, refer: Refer) -> dict[str, Any]:
        """Return it on its body, which is written among the bodies.

        Its frames and sensors are written in their sections.
        """
        data: dict[str, Any] = {
            "name": part.name,
            "body": part.body,
            "rotors": [_rotor(rotor) for rotor in part.rotors],
            "drag": {"linear": part.drag_linear, "quadratic": part.drag_quadratic},
            "pilot": part.pilot and given({**data_of(part.pilot), "waypoints": list(part.pilot.waypoints)}),
            "autopilot": part.autopilot and autopilot_data(part.autopilot, refer),
        }
        return given(data)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of vehicles and of their pilots and autopilots."""
        return vehicle_problems(world)

    def renamed(self, part: Multirotor, rename: Rename) -> Multirotor:
        """Return it on the same body."""
        return replace(part, name=rename.under(part.name), body=rename.frame(part.body))


def autopilot_data(autopilot: Autopilot, refer: Refer) -> dict[str, Any]:
    """Return an autopilot, without an instance that was chosen automatically and without a default `like`."""
    data = data_of(autopilot)
    if data.pop("any_instance"):
        del data["instance"]
    if data["like"] == LIKE[0]:
        del data["like"]
    for key in ("channels", "reset_vehicle"):
        if not data[key]:
            del data[key]
    if autopilot.signing_key is not None:
        data["signing_key"] = refer(autopilot.signing_key)
    return data


def _rotor(rotor: Rotor) -> dict[str, Any]:
    data = data_of(rotor)
    lag = [data.pop("time_constant_up"), data.pop("time_constant_down")]
    return {**data, "time_constant": lag}
