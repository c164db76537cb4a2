"""Transmissions: sums of joint positions that are held, as by gears, or driven like a joint. Frozen data and checks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from sim_node.text import did_you_mean
from sim_node.world.joint_checks import driven_joints
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted, shown_key


@dataclass(frozen=True, slots=True)
class Transmission:
    """A sum of joint positions: c1 q1 + c2 q2 + ...

    A gear of the ratio n, whose input turns n times as fast as its output, holds `input - n output`; a differential
    holds `drive - n/2 left - n/2 right`. A clutch is `input - output`, not held, with an implicit velocity actuator of
    the target 0.

    Attributes:
        name: Unique in the world; actuators refer to it.
        joints: Names of joints as actuators have them, and their coefficients.
        held: Whether the sum stays what it is at the start of a run.
        place: Where the file gives the name.
    """

    name: str
    joints: tuple[tuple[str, float], ...]
    held: bool = True
    place: Place = field(default=NO_PLACE, compare=False)


def transmission_problems(world: World) -> Iterator[Problem]:
    """Yield every fault of a world's transmissions."""
    known = driven_joints(world)
    names: set[str] = set()
    for index, transmission in enumerate(world.parts.get("transmissions", ())):
        key = transmission.place.key or f"transmissions[{index}]"

        def problem(message: str, key: str = key, where: Place = transmission.place) -> Problem:
            return Problem(where.where, key, message)

        if transmission.name in names or transmission.name in known:
            yield problem(f"{quoted(transmission.name)} is the name of another transmission or joint")
        names.add(transmission.name)
        if not transmission.joints:
            yield problem("it has no joints; give joints: {NAME: COEFFICIENT}")
        for joint, coefficient in transmission.joints:
            if joint not in known:
                yield problem(f"{quoted(joint)} is no joint with one degree of freedom{did_you_mean(joint, known)}")
            if not math.isfinite(coefficient) or coefficient == 0.0:
                yield problem(
                    f"joints.{shown_key(joint)}: {coefficient:g} is out of range; it must be finite and not 0"
                )
