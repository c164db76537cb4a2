"""Limits of joints with their stops, mimics, and actuators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_DISTANCE, MAX_MASS, MAX_STIFFNESS
from sim_node.world.declared import Fault, declared, faults, given, place_of, rule
from sim_node.world.fields import floats
from sim_node.world.joints import JointType, LinkJoint
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted, shown_key
from sim_node.world.quantities import Flag, Number, Numbers, Other, PartOf, Text, Word, read_pair
from sim_node.world.readers.keys import Form, either, listing, number
from sim_node.world.readers.yaml_nodes import Sequence
from sim_node.world.readers.yaml_section import listed
from sim_node.world.readers.yaml_values import Table, Value

# Types of actuators, in the order in which `target` of a joint's handle looks for one.
ACTUATOR_TYPES = ("position", "velocity", "effort")
UNLIMITED = (-math.inf, math.inf)
GAIN, _NUMBER = Number(0.0, MAX_STIFFNESS), Number(-MAX_MASS, MAX_MASS)
# The required gains of each type.
_GAINS = {"position": ("stiffness",), "velocity": ("damping",), "effort": ()}
# Gains of implicit actuators from this value on stand for the stiffest that the solver can resolve (N s/m, N/m, ...).
RIGID = 1e12
# Time constant of a decay in two timesteps of 1/60 s, AGX's default, s.
RELAXATION = 2.0 / 60.0


@declared
class Stop:
    """How limits give way: a spring and damper at each. They push only while the joint is beyond the limit."""

    stiffness: float = given(Number(high=MAX_STIFFNESS, above=0.0), "Stiffness", "N/m or N m/rad")
    damping: float | None = given(
        GAIN, "Damping; critical for what the joint moves if not given", "N s/m or N m s/rad", default=None
    )
    capped: bool = given(
        Flag(), "Whether a stop that is stiffer than the timestep allows is as stiff as it does allow", default=False
    )


@declared
class Mimic:
    """A joint that follows another one: q = multiplier * q of `joint` + offset."""

    joint: str = given(Text(), "The joint that this one follows: a body's name, or a joint of a model with its prefix")
    multiplier: float = given(Number(-MAX_DISTANCE, MAX_DISTANCE), "Factor of its position", default=1.0)
    offset: float = given(_NUMBER, "Added to its position", "m or rad", default=0.0)
    place: Place = place_of("joint", default=NO_PLACE)


def _force_form(about: str) -> Form:
    bound = {"type": "number"}  # may be infinite, which a range in JSON Schema cannot express
    return either(about, number("", 0.0, MAX_MASS), listing("", bound, 2, 2))


def _read_force(value: Value) -> float | tuple[float, float]:
    """Read a limit in both directions, or [least, largest]."""
    if not isinstance(value.node, Sequence):
        return value.number(0.0, MAX_MASS)
    return read_pair(value) or UNLIMITED


def _force_faults(found: float | tuple[float, float]) -> Iterator[Fault]:
    if isinstance(found, tuple):
        if not found[0] <= found[1]:
            yield "", f"[{found[0]:g}, {found[1]:g}]: the lower limit must not be above the upper one"
    elif not 0.0 <= found < math.inf:
        yield "", f"{found:g} is out of range; it must be zero or more, and finite"


@declared
class Actuator:
    """A drive of a joint with one degree of freedom. Its target may oscillate.

    Its force (N) or torque (N m) depends on the type:

        position: stiffness (target - q) - damping qd
        velocity: damping (target - qd)
        effort: target

    The target at time t (s) in the run is target + amplitude sin(2 pi (t / period + phase)).

    A position actuator moves its setpoint towards the target no faster than `speed`, a velocity actuator clips its
    target to it, and an effort actuator does not push a joint that moves faster already. An implicit one has a force
    that follows from position and velocity at the end of the timestep, within its limits: then no stiffness or damping
    is too large, and a velocity actuator at its limit of force does not chatter.
    """

    # A joint of a model, with its prefix; the body of a joint, or BODY#K for part K of several; or a transmission. In a
    # world with systems, also a mate, by its path.
    joint: str = given(Text(), "The joint that it moves, by the name of its body")
    stiffness: float = given(GAIN, "Gain on the position", "N/m or N m/rad", default=0.0, aliases=("kp",))
    damping: float = given(GAIN, "Gain on the speed", "N s/m or N m s/rad", default=0.0, aliases=("kv",))
    force: float | tuple[float, float] | None = given(
        Other(_force_form, _read_force, _force_faults),
        "Maximum force or torque in both directions, or [least, largest]; no limit if not given",
        "N or N m",
        default=None,
    )
    target: float = given(_NUMBER, "The target without a command: position, speed or effort", default=0.0)
    amplitude: float = given(_NUMBER, "Amplitude of a sine around the target", default=0.0)
    period: float = given(Number(1e-6, MAX_MASS), "Period of the sine", "s", default=1.0)
    phase: float = given(_NUMBER, "Phase of the sine, in turns", default=0.0)
    type: str = given(
        Word(ACTUATOR_TYPES), "What it controls; a joint may have one of each without a name", default="position"
    )
    speed: float | None = given(
        Number(high=MAX_MASS, above=0.0),
        "Maximum speed in both directions; no limit if not given",
        "m/s or rad/s",
        default=None,
    )
    implicit: bool = given(
        Flag(),
        "Whether the motion at the end of the timestep determines the force: for any gain",
        default=False,
        omit=True,
    )
    name: str = given(Text(), "The name of one of several actuators of a joint", default="", omit=True)
    engagement: float = given(
        Number(0.0, 1.0), "How much of its limits of force it has from the start; 0 is off", default=1.0, omit=True
    )
    ramp: tuple[float, float] = given(
        Numbers(2, MAX_MASS, 0.0), "How long it takes to engage and to disengage", "s", default=(0.0, 0.0), omit=True
    )
    hold: Stop | None = given(
        PartOf(Stop),
        "For implicit velocity actuators, a spring that holds the position at which the target became 0",
        default=None,
    )
    place: Place = place_of("joint", default=NO_PLACE)

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Record a fault if a required gain of its type is missing."""
        for key in _GAINS.get(found.get("type", "position"), ()):
            if key not in table:
                table.value.error(f"{key} is missing")

    @property
    def forces(self) -> tuple[float, float]:
        """Its smallest and largest force or torque, which may be infinite."""
        if self.force is None:
            return UNLIMITED
        return self.force if isinstance(self.force, tuple) else (-self.force, self.force)

    @property
    def is_commanded(self) -> bool:
        """Whether its limits and engagement can change during a run."""
        return self.implicit or (self.type == "effort" and bool(self.name))

    @rule
    def goes_together(self) -> Iterator[Fault]:
        """Yield the fields that its type does not have."""
        for key in ("stiffness", "damping"):
            if getattr(self, key) and not _has_gain(self.type, key):
                yield key, f"{_article(self.type)} actuator has no {key}"
        if self.type == "velocity" and not self.damping:
            yield "damping", "a velocity actuator needs a damping above 0: its force is damping (target - qd)"
        if self.implicit and self.type == "effort":
            yield "implicit", "the force of an effort actuator does not depend on the motion; leave out implicit"
        if self.implicit and self.type == "position" and self.speed is not None:
            yield "speed", "an implicit position actuator has no limit of speed; use one that is not implicit"
        if not self.is_commanded and (self.engagement != 1.0 or any(self.ramp)):
            yield "engagement", "only implicit actuators, and effort actuators with a name, can be disengaged"
        if self.hold is not None and not (self.implicit and self.type == "velocity"):
            yield "hold", "only implicit velocity actuators hold a position"

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
    """Return the fault of limits (P, 2); empty if they are valid."""
    for each, (low, high) in zip(joint.parts, limits.tolist(), strict=True):
        if (low, high) == UNLIMITED:
            continue
        if not low < high:
            return f"[{low:g}, {high:g}]: the lower limit must be below the upper one"
        if each.kind == "ball" and not (low == 0.0 and high <= math.pi):
            return f"[{low:g}, {high:g}]: a ball has one limit, the angle from its neutral position: [0, angle]"
    return ""


def beyond(joint: JointType, limits: FloatArray, q: FloatArray) -> str:
    """Return a message if a position of q (q_size,) is beyond its limits (P, 2); empty if none is."""
    at = 0
    for each, (low, high) in zip(joint.parts, limits.tolist(), strict=True):
        own = q[at : at + each.q_size]
        at += each.q_size
        if (low, high) == UNLIMITED:
            continue
        value = float(own[0])
        if each.kind == "ball":
            value = 2.0 * math.atan2(float(np.linalg.norm(own[:3])), abs(float(own[3])))
        if not low <= value <= high:
            return f"{value:g} is beyond the limits, {low:g} to {high:g}"
    return ""


def limited(joints: tuple[LinkJoint, ...], limits: FloatArray | None) -> tuple[LinkJoint, ...]:
    """Return the joints of a link with limits (P, 2) on slides and hinges."""
    if limits is None:
        return joints
    pairs = (None if (low, high) == UNLIMITED else (low, high) for low, high in limits.tolist())
    return tuple(joint.with_limits(pair) for joint, pair in zip(joints, pairs, strict=True))


def actuated_joints(world: World) -> dict[str, str]:
    """Return the MuJoCo names of all joints with one degree of freedom, by their names in the world."""
    joints = {
        model.full_name(joint.name): model.full_name(joint.name)
        for model in world.models
        for joint in model.joints()
        if joint.is_scalar
    }
    joints.update({body.name: f"{body.name}#0" for body in world.bodies if body.type.qd_size == 1})
    return joints


def driven_joints(world: World) -> dict[str, str]:
    """Return the joints that actuators can move: `actuated_joints`, and BODY#K for other bodies' slides and hinges."""
    joints = actuated_joints(world)
    for body in world.bodies:
        if body.type.qd_size > 1:
            parts = enumerate(body.type.parts)
            joints.update({f"{body.name}#{k}": f"{body.name}#{k}" for k, part in parts if part.kind != "ball"})
    return joints


def actuator_problems(world: World) -> Iterator[Problem]:
    """Yield every fault of a world's actuators."""
    transmissions = {each.name for each in world.transmissions}
    known = {*driven_joints(world), *transmissions}
    seen: set[tuple[str, str]] = set()
    for actuator in world.actuators:
        key = (actuator.name or actuator.joint, actuator.type)
        if actuator.joint not in known:
            hint = did_you_mean(actuator.joint, known)
            yield _of(actuator, "", f"{quoted(actuator.joint)} is no joint for an actuator{hint}")
        elif key in seen:
            message = f"a second actuator of {quoted(actuator.joint)} of type {actuator.type}; one of each is possible"
            yield _of(actuator, "", f"{message} without a name")
        seen.add(key)
        if actuator.speed is not None and not actuator.implicit and actuator.joint in transmissions:
            yield _of(actuator, "speed", "only implicit velocity actuators of transmissions have a limit of speed")
        yield from (_of(actuator, key, message) for key, message in faults(actuator))


def _of(actuator: Actuator, key: str, message: str) -> Problem:
    place = actuator.place
    entry = place.key.removesuffix(".joint") or f"actuators[{shown_key(actuator.joint)}]"
    return Problem(place.where, f"{entry}.{key}" if key else place.key or entry, message)


@part("actuators", Actuator)
class Actuators(Kind[Actuator]):
    """Actuators of joints."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of joints and numbers."""
        return actuator_problems(world)

    def renamed(self, part: Actuator, rename: Rename) -> Actuator:
        """Return the actuator on the same joint."""
        return replace(part, joint=rename.under(part.joint), name=rename.under(part.name) if part.name else "")


listed("actuators", "Actuators of joints.", Actuator)
