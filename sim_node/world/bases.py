"""Wheeled bases of a World: their bodies, wheels, commands and odometry, and the section of world files."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from sim_node import names
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.base_types import BASE_TYPES, BaseType
from sim_node.world.bodies import Body, simulated_bodies
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import Fault, data_of, declared, faults, given, keys_of, place_of, read_fields
from sim_node.world.joint_motion import actuated_joints
from sim_node.world.model import Sensor, World
from sim_node.world.part import FrameEntry, Kind, Mobility, Refer, Rename, all_parts, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import FrameName, ListOf, Name, Number, OrNone, Other, PartOf, Vector, Word
from sim_node.world.readers.keys import Form, Keys, by_key, by_name, choice, either, flag, frame, listing, text
from sim_node.world.readers.yaml_include import part_world
from sim_node.world.readers.yaml_nodes import Mapping, Sequence
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.vehicles import AUTOPILOT_TYPES, SPEED, Autopilot

# Whether a base is driven by its wheels on the ground, or moves exactly as commanded.
DRIVES = ("wheels", "kinematic")
# Message types of the topic cmd_vel.
COMMANDS = ("twist", "twist_stamped", "none")
# What a base publishes on /tf: its odometry and the frame in which that starts, its odometry alone, or its true pose.
TRANSFORMS = ("localised", "odometry", "truth")
MAX_TIMEOUT_S = 3600.0
# Roles of an autopilot's channels besides the driven wheels of the base: fractions of its limits, and nothing.
ROLES = ("throttle", "lateral", "turn", "steering", "none")


class Limit(Number):
    """A number above zero; infinite in Python for no limit, which files leave out."""

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if a limit is not above zero."""
        if not found > 0.0:
            yield "", f"{found:g} is out of range; it must be above zero"


LIMIT = Limit(1e-6, 1e6)


@declared
class DriveBounds:
    """Limits of a twist and of its changes in one direction; infinite for no limit."""

    # A faster command is scaled down as a whole, which preserves its path.
    linear: float = given(LIMIT, "Largest speed", "m/s", default=math.inf, omit=True)
    angular: float = given(LIMIT, "Largest yaw rate", "rad/s", default=math.inf, omit=True)
    linear_acceleration: float = given(LIMIT, "Largest acceleration", "m/s^2", default=math.inf, omit=True)
    angular_acceleration: float = given(LIMIT, "Largest angular acceleration", "rad/s^2", default=math.inf, omit=True)
    linear_jerk: float = given(LIMIT, "Largest change of the acceleration", "m/s^3", default=math.inf, omit=True)
    angular_jerk: float = given(
        LIMIT, "Largest change of the angular acceleration", "rad/s^3", default=math.inf, omit=True
    )

    def row(self) -> list[float]:
        """Return the limits (6,), in the order above."""
        return [getattr(self, each.name) for each in fields(DriveBounds)]


@declared
class DriveLimits(DriveBounds):
    """What a commanded twist and its changes are limited to; infinite for no limit."""

    reverse: DriveBounds | None = given(
        OrNone(DriveBounds), "Those backwards and to the right, where they are others", default=None
    )

    def rows(self) -> list[list[float]]:
        """Return the limits forwards and to the left, and those backwards and to the right (2, 6)."""
        own = self.row()
        back = own if self.reverse is None else self.reverse.row()
        return [own, [usual if math.isinf(each) else each for usual, each in zip(own, back, strict=True)]]


@declared
class BaseWaypoint:
    """A position to drive to."""

    position: FloatArray = given(Vector(2, MAX_DISTANCE), "Position [x, y] in the fixed frame, ENU", "m")
    yaw: float | None = given(Number(-1e6, 1e6), "Yaw to turn to there", "rad", default=None, degrees=True)
    speed: float | None = given(SPEED, "Maximum speed; that of the pilot if not given", "m/s", default=None)
    hold: float = given(Number(0.0, 1e9), "How long the base stays", "s", default=0.0)
    radius: float = given(Number(0.05, 1e6), "How close the base has to come", "m", default=0.25)


@declared
class BasePilot:
    """The mission of the built-in autopilot: wait, arm, and drive from waypoint to waypoint."""

    waypoints: tuple[BaseWaypoint, ...] = given(ListOf(PartOf(BaseWaypoint, "position")), "The mission", default=())
    after: str = given(Word(("hold", "loop", "return")), "What to do after the last waypoint", default="hold")
    wait: float = given(Number(0.0, 1e9), "Time before it is armed", "s", default=1.0)
    speed: float | None = given(SPEED, "Maximum speed; the base's limit if not given", "m/s", default=None)


def _wheels(value: Value) -> dict[str, tuple[str, ...]]:
    """Read joints by role: a name, or a list of names."""
    found: dict[str, tuple[str, ...]] = {}
    for role, _, wheels in value.named("of wheels to joints"):
        several = isinstance(wheels.node, Sequence)
        found[role] = tuple(each.text() for each in wheels.items()) if several else (wheels.text(),)
    return found


def _wheels_form(about: str) -> Form:
    return by_name(about, either("", frame(""), listing("", frame(""), least=1)))


@declared
class Base:
    """A body that drives on wheels.

    Its body is that of the world, or a link of a model, that its wheels carry; its frame is the base's (FLU).
    """

    name: str = given(Name(), "Its name, which the names of its topics begin with")
    body: str = given(FrameName(), "The body that it drives")
    shape: BaseType = given(None, "Its kind and dimensions")
    joints: AnyMapping[str, tuple[str, ...]] = given(
        Other(_wheels_form, _wheels), "The joint or joints of each wheel", default_factory=dict, omit=True
    )
    drive: str = given(
        Word(DRIVES), "Whether wheels on the ground drive it, or it moves as it is commanded", default=DRIVES[0]
    )
    limits: DriveLimits = given(PartOf(DriveLimits), "What commands are limited to", default=DriveLimits(), omit=True)
    timeout: float = given(
        Number(0.0, MAX_TIMEOUT_S), "After the last command until it brakes; 0 for never", "s", default=0.5
    )
    cmd_vel: str = given(Word(COMMANDS), "The type of the topic cmd_vel", default=COMMANDS[0])
    transforms: str = given(Word(TRANSFORMS), "Which transforms /tf has", default=TRANSFORMS[0])
    pilot: BasePilot | None = given(OrNone(BasePilot), "The mission of its built-in autopilot", default=None)
    autopilot: Autopilot | None = given(
        OrNone(Autopilot),
        "An autopilot in a separate process, which then commands it instead of cmd_vel, or None",
        default=None,
    )
    place: Place = place_of(default=NO_PLACE)

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Give a base with an autopilot no topic cmd_vel by default."""
        if found.get("autopilot") is not None:
            found.setdefault("cmd_vel", "none")

    @property
    def odom(self) -> str:
        """The frame of its odometry, which is its pose at the start: NAME/odom."""
        return names.prefixed(self.name, "odom")

    @property
    def channels(self) -> tuple[str, ...]:
        """The roles of its autopilot's channels, as stated in the world, or else those of the autopilot's type."""
        if self.autopilot is None or self.autopilot.type not in AUTOPILOT_TYPES:
            return ()
        usual = AUTOPILOT_TYPES[self.autopilot.type].channels
        return self.autopilot.channels or usual.get(kind_of(self.shape)) or usual.get("", ())


def kind_of(shape: BaseType) -> str:
    """Return the name of a base's kind in world files."""
    return next(name for name, each in BASE_TYPES.items() if each is type(shape))


def _faults(
    base: Base, bodies: AnyMapping[str, str], joints: AnyMapping[str, str], driven: set[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield the key and message of each fault of a base.

    bodies: the joint type of each body; driven: joints with an actuator, and the type of that.
    """
    if fault := names.fault(base.name):
        yield "name", f"the name {quoted(base.name)} {fault}"
    if base.body not in bodies:
        yield "body", f"{quoted(base.body)} is not a body of this world{did_you_mean(base.body, bodies)}"
    elif bodies[base.body] not in ("free", ""):
        yield "body", f"{quoted(base.body)} has a {bodies[base.body]} joint; the body of a base needs a free joint"
    yield from base.shape.faults()
    yield from faults(base)
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
    fastest = base.limits.linear
    speeds = {"pilot": pilot.speed} | {f"pilot.waypoints[{i}]": each.speed for i, each in enumerate(pilot.waypoints)}
    for key, speed in speeds.items():
        if speed is not None and speed > fastest:
            yield f"{key}.speed", f"{speed:g} m/s is more than limits.linear, {fastest:g} m/s"


def _channel_faults(base: Base, autopilot: Autopilot) -> Iterator[tuple[str, str]]:
    """Yield the faults of the channels of a base's autopilot, and of the limits that they refer to."""
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
    yield from _role_faults(base, roles)


def _role_faults(base: Base, roles: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the faults of the roles of a base's channels. roles: the allowed ones."""
    wheels = base.shape.driven
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


def _joint_faults(base: Base, joints: AnyMapping[str, str], driven: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
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
                # This applies to joints of bodies only: a model's own actuators are found when it is compiled.
                yield f"joints.{role}", f"{quoted(wheel)} has no actuator of the type {kind}; add one to actuators"
            seen.add(wheel)


@dataclass(frozen=True)
class OdometryFrame:
    """The frame of a base's odometry, relative to the base."""

    mobility: Mobility = "dynamic"

    def start(self) -> FloatArray:
        """Return the identity: it starts at the base."""
        return np.array(poses.IDENTITY)


@part("bases", Base)
class BaseParts(Kind[Base]):
    """Wheeled bases. The frame of each base's odometry is below its body."""

    def entries(self, world: World) -> Iterator[FrameEntry]:
        """Return the frame NAME/odom of each base."""
        for base in self.parts(world):
            carrier = Place(base.place.where, f"{base.place.key}.body") if base.place.key else base.place
            yield FrameEntry(base.odom, base.body, OdometryFrame(), base.place, carrier, base)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names, joints and numbers."""
        bodies = {**dict.fromkeys(simulated_bodies(world), ""), **{body.name: body.joint for body in world.bodies}}
        joints = actuated_joints(world)
        driven = {(actuator.joint, actuator.type) for actuator in world.actuators}
        named = {vehicle.name for vehicle in world.vehicles}
        carried: set[str] = set()
        for base, place in self.located(world):
            yield from (place.problem(message, key) for key, message in _faults(base, bodies, joints, driven))
            if base.name in named:
                yield place.problem(f"a second vehicle {quoted(base.name)}", "name")
            if base.body in carried:
                yield place.problem(f"{quoted(base.body)} is driven by another base, too", "body")
            named.add(base.name)
            carried.add(base.body)

    def renamed(self, part: Base, rename: Rename) -> Base:
        """Return the base on the same body, with the same joints."""
        joints = {role: tuple(map(rename.under, wheels)) for role, wheels in part.joints.items()}
        return replace(part, name=rename.under(part.name), body=rename.frame(part.body), joints=joints)

    def data(self, part: Base, refer: Refer) -> dict[str, Any]:
        """Return the base with its kind and dimensions, on a body that is written among the bodies."""
        data = data_of(part, refer)
        head = {key: data.pop(key) for key in ("name", "body")}
        return {**head, "type": kind_of(part.shape), **data_of(part.shape), **data}


_KEYS = keys_of(Base)
COMMON_KEYS = {key: form for key, form in _KEYS.items() if key not in ("body", "joints")}
_CHOSEN = listing("Sensors of its model.", text(""))
MODEL_KEYS = Keys(
    {
        **COMMON_KEYS,
        "model": text("A shipped model, or the path of a world file with one base."),
        "pose": POSE_KEYS,
        "sensors": either("Whether it has its model's sensors, or which.", flag(""), _CHOSEN),
    },
    required=("name",),
)
BODY_KEYS: dict[str, Form] = {**_KEYS, "type": choice("Its kind.", BASE_TYPES)}


def _kinds() -> dict[str, Form]:
    """Return the keys of a base on a body, by kind of base."""
    return {name: _keys_of(kind) for name, kind in BASE_TYPES.items()}


def _keys_of(kind: type[BaseType]) -> Keys:
    own = keys_of(kind)
    return Keys({**BODY_KEYS, **own}, required=("name", "body", "type", *own.required))


_BASE: Form = {"if": {"required": ["model"]}, "then": MODEL_KEYS, "else": by_key("", "type", _kinds)}


@section("bases", listing("What drives on wheels.", _BASE))
def read_bases(value: Value, context: Context) -> None:
    """Read a list of bases: on bodies of the world, or from models, which include their bodies."""
    for entry in value.items():
        errors = len(entry.report.errors)
        if isinstance(entry.node, Mapping) and "model" in entry.node.entries:
            parts = list(_from_model(entry, context))
        else:
            parts = _on_body(entry, context)
        if len(entry.report.errors) > errors:
            context.report.missing.append(entry.path)
            continue
        for each in parts:
            context.add(each)


def _on_body(entry: Value, context: Context) -> list[Base]:
    """Read a base on a body of the world."""
    # Do not report unknown and missing keys before the kind is known.
    unread = tuple(entry.node.entries) if isinstance(entry.node, Mapping) else ()
    kind = BASE_TYPES.get(entry.table(unread or tuple(BODY_KEYS), required=("type",)).choice("type", BASE_TYPES, ""))
    if kind is None:
        return []
    errors = len(entry.report.errors)
    table = entry.table(_keys_of(kind))
    if len(entry.report.errors) > errors:
        return []
    shape, found = read_fields(kind, table), read_fields(Base, table, context)
    return [] if len(entry.report.errors) > errors else [Base(**found, shape=kind(**shape))]


def _from_model(entry: Value, context: Context) -> Iterator[Any]:
    """Read a base from a model. Yield it and everything else in the model, below the base's name."""
    table = entry.table(MODEL_KEYS)
    settings = read_fields(Base, table, context, COMMON_KEYS)
    pose, _ = read_pose(table.get("pose"))
    reference = table.get("model")
    world = None if reference is None else part_world(reference, context)
    name = settings.get("name")
    if world is None or reference is None or not name:
        return
    bases = world.parts.get("bases", ())
    if len(bases) != 1:
        reference.error(f"{quoted(world.name)} has {len(bases)} bases; a model of a base has one")
        return
    sensors = _sensors(table.get("sensors"), world)
    rename = Rename(name, world.fixed_frame, context.fixed_frame, entry.place, entry.place)
    for kind, each in all_parts(world):
        if isinstance(each, Sensor) and each not in sensors:
            continue
        moved: Any = kind.renamed(each, rename)
        if isinstance(each, Base):
            moved = replace(moved, **settings)
        elif isinstance(each, Body) and each.name == bases[0].body:
            # The model's initial q is relative to the pose in the world.
            moved = replace(moved, q=pose if each.q is None else poses.compose(pose, each.q))
        if moved is not None:
            yield moved


def _sensors(value: Value | None, world: World) -> tuple[Sensor, ...]:
    """Read which sensors of its model a base has: all, none, or the named ones."""
    own = world.of(Sensor)
    if value is None:
        return own
    if isinstance(value.node, Sequence):
        known = {names.last(sensor.name): sensor for sensor in own}
        chosen = [known.get(each.choice(known, "")) for each in value.items()]
        return tuple(sensor for sensor in chosen if sensor is not None)
    return own if value.flag() else ()
