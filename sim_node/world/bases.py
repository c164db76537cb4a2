"""Wheeled bases of a World: what drives which body, and how it is commanded and measured, as frozen data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from sim_node import names
from sim_node.control.bases import BaseType
from sim_node.text import did_you_mean
from sim_node.world.joint_checks import actuated_joints
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted

# Whether wheels on the ground drive a base, or it moves as it is commanded.
DRIVES = ("wheels", "kinematic")
# What comes on the topic cmd_vel.
COMMANDS = ("twist", "twist_stamped", "none")
# What /tf has of a base: its odometry and where that began, its odometry alone, or its true pose.
TRANSFORMS = ("localised", "odometry", "truth")
MAX_TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class DriveLimits:
    """What a commanded twist and its changes are limited to; infinite for no limit.

    Attributes:
        linear: Largest speed, m/s. A faster command is slowed down as a whole, so that its path stays.
        angular: Largest yaw rate, rad/s.
        linear_acceleration: m/s^2.
        angular_acceleration: rad/s^2.
    """

    linear: float = math.inf
    angular: float = math.inf
    linear_acceleration: float = math.inf
    angular_acceleration: float = math.inf


@dataclass(frozen=True, slots=True)
class Base:
    """A body that drives on wheels.

    Attributes:
        name: Unique among bases and vehicles; the prefix of its topics.
        body: The body or link of a model that its wheels carry, whose frame is the base's (FLU).
        shape: Its kind and dimensions.
        joints: The joints of the wheels by what its kind calls them; they may be left out of a kinematic base.
        drive: One of DRIVES.
        limits: What commands are limited to.
        timeout: Simulated time after the last command at which it brakes (s); 0 for never.
        cmd_vel: One of COMMANDS.
        transforms: One of TRANSFORMS.
        place: Where the file describes it.
    """

    name: str
    body: str
    shape: BaseType
    joints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    drive: str = DRIVES[0]
    limits: DriveLimits = DriveLimits()
    timeout: float = 0.5
    cmd_vel: str = COMMANDS[0]
    transforms: str = TRANSFORMS[0]
    place: Place = field(default=NO_PLACE, compare=False)

    @property
    def odom(self) -> str:
        """The frame in which its odometry is, which is where it was at the start: NAME/odom."""
        return names.prefixed(self.name, "odom")


def base_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of a world's bases."""
    bodies = {body.name: body.joint for body in world.bodies}
    bodies.update({model.full_name(link.name): "" for model in world.models for link in model.links if link.is_body})
    joints = actuated_joints(world)
    driven = {(actuator.joint, actuator.type) for actuator in world.actuators}
    named = {vehicle.name for vehicle in world.vehicles}
    carried: set[str] = set()
    for index, base in enumerate(world.parts.get("bases", ())):
        for key, message in _faults(base, bodies, joints, driven):
            yield _problem(base, index, key, message)
        if base.name in named:
            yield _problem(base, index, "name", f"a second vehicle {quoted(base.name)}")
        if base.body in carried:
            yield _problem(base, index, "body", f"{quoted(base.body)} is driven by another base, too")
        named.add(base.name)
        carried.add(base.body)


def _faults(
    base: Base, bodies: Mapping[str, str], joints: Mapping[str, str], driven: set[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield the key and the message of each fault of a base. bodies: their joints; driven: joints and types."""
    if fault := names.fault(base.name):
        yield "name", f"the name {quoted(base.name)} {fault}"
    if base.body not in bodies:
        yield "body", f"{quoted(base.body)} is not a body of this world{did_you_mean(base.body, bodies)}"
    elif bodies[base.body] not in ("free", ""):
        yield "body", f"{quoted(base.body)} has a {bodies[base.body]} joint; the body of a base needs a free joint"
    yield from base.shape.faults()
    for each in fields(DriveLimits):
        value = getattr(base.limits, each.name)
        if not value > 0.0:
            yield f"limits.{each.name}", f"{value:g} is out of range; it must be above zero"
    if not 0.0 <= base.timeout <= MAX_TIMEOUT_S:
        yield "timeout", f"{base.timeout:g} s is out of range; allowed: 0 to {MAX_TIMEOUT_S:g}"
    for key, allowed in (("drive", DRIVES), ("cmd_vel", COMMANDS), ("transforms", TRANSFORMS)):
        if getattr(base, key) not in allowed:
            yield key, f"found {quoted(getattr(base, key))}; allowed: {', '.join(allowed)}"
    yield from _joint_faults(base, joints, driven)


def _joint_faults(base: Base, joints: Mapping[str, str], driven: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    needed = (*base.shape.driven, *base.shape.steered)
    if base.drive == "kinematic" and not base.joints:
        return
    seen: set[str] = set()
    for role in needed:
        if not base.joints.get(role):
            yield f"joints.{role}", f"is missing; needs {', '.join(needed)}"
    for role, wheels in base.joints.items():
        if role not in needed:
            yield f"joints.{role}", f"unknown key{did_you_mean(role, needed)} (known: {', '.join(needed)})"
        kind = "position" if role in base.shape.steered else "velocity"
        for wheel in wheels:
            if wheel not in joints:
                yield f"joints.{role}", f"no joint {quoted(wheel)} with one axis{did_you_mean(wheel, joints)}"
            elif wheel in seen:
                yield f"joints.{role}", f"{quoted(wheel)} is listed twice"
            elif base.drive == "wheels" and joints[wheel] != wheel and (wheel, kind) not in driven:
                # The joint of a body. A model's own actuators are found when it is compiled.
                yield f"joints.{role}", f"{quoted(wheel)} has no actuator of the type {kind}; add one to actuators"
            seen.add(wheel)


def _problem(base: Base, index: int, key: str, message: str) -> Problem:
    return Problem(base.place.where, f"{base.place.key or f'bases[{index}]'}.{key}", message)
