"""Transmissions as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.transmissions import Transmission, transmission_problems


@part("transmissions", Transmission)
class Transmissions(Kind[Transmission]):
    """Gears, differentials, and sums of positions for actuators."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names, joints and numbers."""
        return transmission_problems(world)

    def renamed(self, part: Transmission, rename: Rename) -> Transmission:
        """Return it on the same joints."""
        joints = tuple((rename.under(joint), coefficient) for joint, coefficient in part.joints)
        return replace(part, name=rename.under(part.name), joints=joints)
