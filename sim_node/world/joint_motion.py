"""How joints are limited, coupled and driven: limits with their stops, mimics and actuators, as frozen data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.world.fields import floats
from sim_node.world.joints import JointType, LinkJoint
from sim_node.world.problems import NO_PLACE, Place

# Types of actuators, in the order in which `target` of a joint's handle looks for one.
ACTUATOR_TYPES = ("position", "velocity", "effort")
UNLIMITED = (-math.inf, math.inf)
# Gains of implicit actuators from here on stand for the stiffest that the solver can resolve, N s/m, N/m and so on.
RIGID = 1e12
# Time constant of what decays in two timesteps of 1/60 s, which is AGX's default, s.
RELAXATION = 2.0 / 60.0


@dataclass(frozen=True, slots=True)
class Stop:
    """A spring and damper at each limit of a joint. They push only while the joint is beyond the limit.

    Attributes:
        stiffness: N/m or N m/rad.
        damping: N s/m or N m s/rad; None for critical damping of what the joint moves.
        capped: Whether a stop that is stiffer than the timestep allows becomes the hardest one that it does allow.
    """

    stiffness: float
    damping: float | None = None
    capped: bool = False


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another one: q = multiplier * q of `joint` + offset.

    Attributes:
        joint: A joint with one degree of freedom: a body's name, or a joint of a model with its prefix.
        multiplier: Ratio of the two positions.
        offset: m or rad.
        place: Where the file names the joint.
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True, slots=True)
class Actuator:
    """A drive of a joint with one degree of freedom. Its target may oscillate.

    Its force (N) or torque (N m) depends on the type:

        position: stiffness (target - q) - damping qd
        velocity: damping (target - qd)
        effort: target

    The target at time t (s) in the run is target + amplitude sin(2 pi (t / period + phase)).

    Attributes:
        joint: A joint of a model, with its prefix; the body whose joint it is, as BODY#K for part K of several; or a
            transmission. In a world with systems also a mate, by its path.
        stiffness: N/m or N m/rad; only for position.
        damping: N s/m or N m s/rad; not for effort.
        force: Limit of the force or torque in both directions, or its smallest and largest value, N or N m; None for no
            limit, and infinite for none in one direction.
        target: m or rad; m/s or rad/s; N or N m.
        amplitude: In the unit of the target.
        period: s.
        phase: In turns.
        type: One of ACTUATOR_TYPES. A joint may have one actuator of each without a name.
        speed: Limit of the speed in both directions, m/s or rad/s; None for no limit. A position actuator moves its
            setpoint towards the target no faster, a velocity actuator clips its target, and an effort actuator does not
            push a joint that moves faster already.
        implicit: Whether position and velocity at the end of the timestep determine the force, within its limits: then
            no stiffness or damping is too large, and a velocity actuator at its limit of force does not chatter.
        name: Unique in the world, where a joint has several actuators of a type; empty for none.
        engagement: How much of its limits of force it has at the start of a run, 0 to 1; 0 is off.
        ramp: How long engagement takes from 0 to 1, and from 1 to 0, s.
        hold: For implicit velocity actuators, a spring that holds the position at which the target became 0, or None.
        place: Where the file names the joint.
    """

    joint: str
    stiffness: float = 0.0
    damping: float = 0.0
    force: float | tuple[float, float] | None = None
    target: float = 0.0
    amplitude: float = 0.0
    period: float = 1.0
    phase: float = 0.0
    type: str = "position"
    speed: float | None = None
    implicit: bool = False
    name: str = ""
    engagement: float = 1.0
    ramp: tuple[float, float] = (0.0, 0.0)
    hold: Stop | None = None
    place: Place = field(default=NO_PLACE, compare=False)

    @property
    def forces(self) -> tuple[float, float]:
        """Its smallest and largest force or torque, which may be infinite."""
        if self.force is None:
            return UNLIMITED
        return self.force if isinstance(self.force, tuple) else (-self.force, self.force)

    @property
    def is_commanded(self) -> bool:
        """Whether its limits and engagement can change while a run goes on."""
        return self.implicit or (self.type == "effort" and bool(self.name))

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the key and the message of each fault of its numbers."""
        if self.type not in ACTUATOR_TYPES:
            yield "type", f"found {self.type!r}; allowed: {', '.join(ACTUATOR_TYPES)}"
            return
        yield from self._faults_of_motor()
        if self.implicit and self.type == "effort":
            yield "implicit", "the force of an effort actuator does not depend on the motion; leave out implicit"
        if self.implicit and self.type == "position" and self.speed is not None:
            yield "speed", "an implicit position actuator has no limit of speed; use one that is not implicit"
        if not self.is_commanded and (self.engagement != 1.0 or any(self.ramp)):
            yield "engagement", "only implicit actuators, and effort actuators with a name, can be disengaged"
        if not 0.0 <= self.engagement <= 1.0:
            yield "engagement", f"{self.engagement:g} is out of range; allowed: 0 to 1"
        if not all(0.0 <= duration < math.inf for duration in self.ramp):
            yield "ramp", f"{list(self.ramp)} must be zero or more, and finite"
        if self.hold is not None and not (self.implicit and self.type == "velocity"):
            yield "hold", "only implicit velocity actuators hold a position"
        if not 0.0 < self.period < math.inf:
            yield "period", f"{self.period:g} is out of range; it must be above zero, and finite"
        for key in ("target", "amplitude", "phase"):
            if not math.isfinite(getattr(self, key)):
                yield key, f"{getattr(self, key)} is not finite"

    def _faults_of_motor(self) -> Iterator[tuple[str, str]]:
        for key in ("stiffness", "damping"):
            value = getattr(self, key)
            if not 0.0 <= value < math.inf:
                yield key, f"{value:g} is out of range; it must be zero or more, and finite"
            elif value and not _has_gain(self.type, key):
                yield key, f"{_article(self.type)} actuator has no {key}"
        if self.type == "velocity" and not self.damping:
            yield "damping", "a velocity actuator needs a damping above 0: its force is damping (target - qd)"
        if isinstance(self.force, tuple):
            if not self.force[0] <= self.force[1]:
                yield (
                    "force",
                    f"[{self.force[0]:g}, {self.force[1]:g}]: the lower limit must not be above the upper one",
                )
        elif self.force is not None and not 0.0 <= self.force < math.inf:
            yield "force", f"{self.force:g} is out of range; it must be above zero, and finite"
        if self.speed is not None and not 0.0 < self.speed < math.inf:
            yield "speed", f"{self.speed:g} is out of range; it must be above zero, and finite"

    def begins_at(self) -> float:
        """Return the target at the start of a run."""
        return float(self.target + self.amplitude * np.sin(2.0 * np.pi * self.phase))


def _has_gain(type: str, key: str) -> bool:
    return type == "position" or (type == "velocity" and key == "damping")


def _article(type: str) -> str:
    return f"an {type}" if type[0] in "aeiou" else f"a {type}"


def limits_of(given: npt.ArrayLike, joint: JointType, owner: str) -> FloatArray | None:
    """Return the limits (P, 2) of the parts of a joint; None if none of them is limited.

    One pair may be given for a joint of one part. Raises ValueError for another shape.
    """
    pairs = np.asarray(given, dtype=np.float64)
    limits = floats(pairs.reshape(1, 2) if pairs.shape == (2,) else pairs, (len(joint.parts), 2), owner, "limits")
    return None if all(tuple(pair) == UNLIMITED for pair in limits.tolist()) else limits


def limit_fault(joint: JointType, limits: FloatArray) -> str:
    """Return what is wrong with limits (P, 2); empty if nothing is."""
    for part, (low, high) in zip(joint.parts, limits.tolist(), strict=True):
        if (low, high) == UNLIMITED:
            continue
        if not low < high:
            return f"[{low:g}, {high:g}]: the lower limit must be below the upper one"
        if part.kind == "ball" and not (low == 0.0 and high <= math.pi):
            return f"[{low:g}, {high:g}]: a ball has one limit, the angle from its neutral position: [0, angle]"
    return ""


def beyond(joint: JointType, limits: FloatArray, q: FloatArray) -> str:
    """Return which position of q (q_size,) is beyond its limits (P, 2); empty if none is."""
    at = 0
    for part, (low, high) in zip(joint.parts, limits.tolist(), strict=True):
        own = q[at : at + part.q_size]
        at += part.q_size
        if (low, high) == UNLIMITED:
            continue
        value = float(own[0])
        if part.kind == "ball":
            value = 2.0 * math.atan2(float(np.linalg.norm(own[:3])), abs(float(own[3])))
        if not low <= value <= high:
            return f"{value:g} is beyond the limits, {low:g} to {high:g}"
    return ""


def limited(joints: tuple[LinkJoint, ...], limits: FloatArray | None) -> tuple[LinkJoint, ...]:
    """Return joints of a link with the limits (P, 2) of slides and hinges."""
    if limits is None:
        return joints
    pairs = (None if (low, high) == UNLIMITED else (low, high) for low, high in limits.tolist())
    return tuple(joint.with_limits(pair) for joint, pair in zip(joints, pairs, strict=True))
