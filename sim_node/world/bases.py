"""Wheeled bases of a World: what drives which body, and how it is commanded and measured, as frozen data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from sim_node import names
from sim_node.control.bases import BASE_TYPES, BaseType
from sim_node.text import did_you_mean
from sim_node.world.joint_checks import actuated_joints
from sim_node.world.model import MAX_DISTANCE, World
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted, range_faults
from sim_node.world.vehicles import AUTOPILOT_TYPES, Autopilot

# Whether wheels on the ground drive a base, or it moves as it is commanded.
DRIVES = ("wheels", "kinematic")
# What comes on the topic cmd_vel.
COMMANDS = ("twist", "twist_stamped", "none")
# What /tf has of a base: its odometry and where that began, its odometry alone, or its true pose.
TRANSFORMS = ("localised", "odometry", "truth")
MAX_TIMEOUT_S = 3600.0
# What a base does after its last waypoint.
AFTER = ("hold", "loop", "return")
# What channels of an autopilot command, besides the driven wheels of the base: parts of its limits, and nothing.
ROLES = ("throttle", "lateral", "turn", "steering", "none")
PILOT_RANGES = {"wait": (0.0, 1e9), "speed": (1e-3, 1e3)}
WAYPOINT_RANGES = {"yaw": (-1e6, 1e6), "speed": (1e-3, 1e3), "hold": (0.0, 1e9), "radius": (0.05, 1e6)}


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
class BaseWaypoint:
    """A position to drive to.

    Attributes:
        position: [x y] in the fixed frame, m.
        yaw: To turn to there, rad; None for any.
        speed: Maximum speed (m/s); None for that of the pilot.
        hold: How long the base stays (s).
        radius: How close it has to come (m).
    """

    position: tuple[float, float]
    yaw: float | None = None
    speed: float | None = None
    hold: float = 0.0
    radius: float = 0.25


@dataclass(frozen=True, slots=True)
class BasePilot:
    """The mission of a base that the built-in autopilot drives: wait, arm, and drive from waypoint to waypoint.

    Attributes:
        waypoints: In their order.
        after: What to do after the last one; one of AFTER.
        wait: Time before it is armed (s).
        speed: m/s; None for the base's limit.
    """

    waypoints: tuple[BaseWaypoint, ...] = ()
    after: str = AFTER[0]
    wait: float = 1.0
    speed: float | None = None


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
        pilot: The mission of its built-in autopilot; None to wait for commands.
        autopilot: An autopilot in a separate process, which then commands it instead of `cmd_vel`, or None.
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
    pilot: BasePilot | None = None
    autopilot: Autopilot | None = None
    place: Place = field(default=NO_PLACE, compare=False)

    @property
    def odom(self) -> str:
        """The frame in which its odometry is, which is where it was at the start: NAME/odom."""
        return names.prefixed(self.name, "odom")

    @property
    def channels(self) -> tuple[str, ...]:
        """What the channels of its autopilot command: as the world says, else as the autopilot's type has it."""
        if self.autopilot is None or self.autopilot.type not in AUTOPILOT_TYPES:
            return ()
        usual = AUTOPILOT_TYPES[self.autopilot.type].channels
        return self.autopilot.channels or usual.get(kind_of(self.shape)) or usual.get("", ())


def kind_of(shape: BaseType) -> str:
    """Return what world files call the kind of a base."""
    return next(name for name, each in BASE_TYPES.items() if each is type(shape))


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
    yield from _pilot_faults(base)
    if base.autopilot is not None:
        yield from _channel_faults(base, base.autopilot)


def _pilot_faults(base: Base) -> Iterator[tuple[str, str]]:
    pilot = base.pilot
    if pilot is None:
        return
    if base.autopilot is None:
        yield "pilot", "a base has a pilot for its autopilot only; add autopilot: {type: mavlink_builtin}"
    if pilot.after not in AFTER:
        yield "pilot.after", f"found {quoted(pilot.after)}; allowed: {', '.join(AFTER)}"
    yield from ((f"pilot.{key}", message) for key, message in range_faults(pilot, PILOT_RANGES))
    fastest = base.limits.linear
    speeds = {"pilot": pilot.speed} | {f"pilot.waypoints[{i}]": each.speed for i, each in enumerate(pilot.waypoints)}
    for key, speed in speeds.items():
        if speed is not None and speed > fastest:
            yield f"{key}.speed", f"{speed:g} m/s is more than limits.linear, {fastest:g} m/s"
    for index, waypoint in enumerate(pilot.waypoints):
        at = f"pilot.waypoints[{index}]"
        if not all(abs(each) <= MAX_DISTANCE for each in waypoint.position):
            yield f"{at}.position", f"{list(waypoint.position)} is out of range"
        yield from ((f"{at}.{key}", message) for key, message in range_faults(waypoint, WAYPOINT_RANGES))


def _channel_faults(base: Base, autopilot: Autopilot) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the channels of a base's autopilot, and with the limits that they are parts of."""
    known = AUTOPILOT_TYPES.get(autopilot.type)
    if known is None:
        return  # reported with the autopilots of all vehicles
    if base.cmd_vel != "none":
        yield "cmd_vel", f"found {quoted(base.cmd_vel)}, but its autopilot commands it; allowed: none"
    for name in ("linear", "angular"):
        if not math.isfinite(getattr(base.limits, name)):
            yield f"limits.{name}", "is missing: the autopilot commands parts of it"
    if autopilot.channels and "" in known.channels:
        yield "autopilot.channels", f"those of {autopilot.type} cannot be changed"
        return
    wheels = base.shape.driven
    roles = [*wheels, *(role for role in ROLES if role != "steering" or base.shape.steered)]
    if not base.channels:
        message = f"{autopilot.type} has no usual channels for a base of the type {kind_of(base.shape)}"
        yield "autopilot.channels", f"is missing: {message}; name what each commands: {', '.join(roles)}"
    used = [role for role in base.channels if role != "none"]
    for index, role in enumerate(base.channels):
        if role not in roles:
            hint = did_you_mean(role, roles)
            yield f"autopilot.channels[{index}]", f"found {quoted(role)}; allowed: {', '.join(roles)}{hint}"
        elif role in base.channels[:index] and role != "none":
            yield f"autopilot.channels[{index}]", f"a second channel commands {quoted(role)}"
    if any(role in wheels for role in used) and set(used) != set(wheels):
        yield "autopilot.channels", f"wheels are commanded all together, and nothing else: {', '.join(wheels)}"
    if {"turn", "steering"} <= set(used):
        yield "autopilot.channels", "turn and steering are two ways to command the same"


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
