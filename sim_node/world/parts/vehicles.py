"""Vehicles as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.vehicle_checks import vehicle_problems
from sim_node.world.vehicles import Autopilot, Multirotor, Rotor
from sim_node.world.writers.values import given, words_of


@part("vehicles", Multirotor)
class Vehicles(Kind[Multirotor]):
    """Bodies that fly."""

    def data(self, part: Multirotor, refer: Refer) -> dict[str, Any]:
        """Return it on its body, which is said among the bodies, as are its frames and sensors in their places."""
        words: dict[str, Any] = {
            "name": part.name,
            "body": part.body,
            "rotors": [_rotor(rotor) for rotor in part.rotors],
            "drag": {"linear": part.drag_linear, "quadratic": part.drag_quadratic},
            "pilot": part.pilot and given({**words_of(part.pilot), "waypoints": list(part.pilot.waypoints)}),
            "autopilot": part.autopilot and _autopilot(part.autopilot),
        }
        return given(words)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of vehicles and of what flies them."""
        return vehicle_problems(world)

    def renamed(self, part: Multirotor, rename: Rename) -> Multirotor:
        """Return it on the same body."""
        return replace(part, name=rename.under(part.name), body=rename.frame(part.body))


def _autopilot(autopilot: Autopilot) -> dict[str, Any]:
    """Return its keys without an instance that was not chosen, and without what only the built-in one can say."""
    words = words_of(autopilot)
    if autopilot.type != "mavlink_builtin":
        del words["like"]
    if words.pop("any_instance"):
        del words["instance"]
    return words


def _rotor(rotor: Rotor) -> dict[str, Any]:
    words = words_of(rotor)
    lag = [words.pop("time_constant_up"), words.pop("time_constant_down")]
    return {**words, "time_constant": lag}
