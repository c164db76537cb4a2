"""Transmissions: sums of joint positions that are held, as by gears, or driven like a joint."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_MASS
from sim_node.world.declared import declared, given, place_of
from sim_node.world.joint_motion import driven_joints
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted, shown_key
from sim_node.world.quantities import Flag, Other, Text
from sim_node.world.readers.keys import by_name, number
from sim_node.world.readers.yaml_section import listed
from sim_node.world.readers.yaml_values import Value


def _terms(value: Value) -> tuple[tuple[str, float], ...]:
    """Read a mapping of joints to coefficients."""
    return tuple((name, term.number(-MAX_MASS, MAX_MASS)) for name, _, term in value.named("of joints to coefficients"))


@declared
class Transmission:
    """A sum of joint positions: c1 q1 + c2 q2 + ...

    A gear of the ratio n, whose input turns n times as fast as its output, holds `input - n output`; a differential
    holds `drive - n/2 left - n/2 right`. A clutch is `input - output`, not held, with an implicit velocity actuator of
    the target 0.
    """

    name: str = given(Text(), "What actuators call it; unique in the world")
    joints: tuple[tuple[str, float], ...] = given(
        Other(lambda about: by_name(about, number("", -MAX_MASS, MAX_MASS)), _terms, writes=dict),
        "Coefficients of the positions of joints",
    )
    held: bool = given(Flag(), "Whether the sum stays what it is at the start", default=True, omit=True)
    place: Place = place_of("name", default=NO_PLACE)


@part("transmissions", Transmission)
class Transmissions(Kind[Transmission]):
    """Gears, differentials, and sums of positions for actuators."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names, joints and numbers."""
        known = driven_joints(world)
        names: set[str] = set()
        for transmission, place in self.located(world):
            if transmission.name in names or transmission.name in known:
                yield place.problem(f"{quoted(transmission.name)} is the name of another transmission or joint")
            names.add(transmission.name)
            if not transmission.joints:
                yield place.problem("it has no joints; give joints: {NAME: COEFFICIENT}")
            for joint, coefficient in transmission.joints:
                if joint not in known:
                    yield place.problem(
                        f"{quoted(joint)} is no joint with one degree of freedom{did_you_mean(joint, known)}"
                    )
                if not math.isfinite(coefficient) or coefficient == 0.0:
                    yield place.problem(
                        f"joints.{shown_key(joint)}: {coefficient:g} is out of range; it must be finite and not 0"
                    )

    def renamed(self, part: Transmission, rename: Rename) -> Transmission:
        """Return the transmission on the same joints."""
        joints = tuple((rename.under(joint), coefficient) for joint, coefficient in part.joints)
        return replace(part, name=rename.under(part.name), joints=joints)


listed("transmissions", "Sums of joint positions: gears, differentials, clutches.", Transmission)
