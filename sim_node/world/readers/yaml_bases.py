"""The section `bases` of a world file: what drives on wheels, described there or by a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, replace
from typing import Any

import numpy as np

from sim_node import names
from sim_node.control.bases import BASE_TYPES, BaseType
from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.world.bases import COMMANDS, DRIVES, MAX_TIMEOUT_S, TRANSFORMS, Base, DriveLimits
from sim_node.world.bodies import Body
from sim_node.world.model import Sensor, World
from sim_node.world.part import Rename, all_parts
from sim_node.world.problems import quoted
from sim_node.world.readers.keys import (
    Form,
    Keys,
    by_key,
    by_name,
    choice,
    either,
    flag,
    frame,
    listing,
    number,
    text,
)
from sim_node.world.readers.yaml_nodes import Mapping, Sequence
from sim_node.world.readers.yaml_parts import part_world
from sim_node.world.readers.yaml_pilots import AUTOPILOT, BASE_PILOT, read_autopilot, read_base_pilot
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import FALSE, TRUE, Table, Value

MIN_LIMIT, MAX_LIMIT = 1e-6, 1e6
LIMIT_KEYS = Keys(
    {
        "linear": number("Largest speed, m/s.", MIN_LIMIT, MAX_LIMIT),
        "angular": number("Largest yaw rate, rad/s.", MIN_LIMIT, MAX_LIMIT),
        "linear_acceleration": number("m/s^2.", MIN_LIMIT, MAX_LIMIT),
        "angular_acceleration": number("rad/s^2.", MIN_LIMIT, MAX_LIMIT),
    },
    about="What commands are limited to.",
)
COMMON_KEYS: dict[str, Form] = {
    "name": frame("Its name, which the names of its topics begin with."),
    "drive": choice("Whether wheels on the ground drive it, or it moves as it is commanded.", DRIVES),
    "limits": LIMIT_KEYS,
    "timeout": number("After the last command until it brakes, s; 0 for never.", 0.0, MAX_TIMEOUT_S),
    "cmd_vel": choice("The type of the topic cmd_vel.", COMMANDS),
    "transforms": choice("Which transforms /tf has.", TRANSFORMS),
    "pilot": BASE_PILOT,
    "autopilot": AUTOPILOT,
}
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
_WHEELS = either("", frame(""), listing("", frame(""), least=1))
BODY_KEYS: dict[str, Form] = {
    **COMMON_KEYS,
    "body": frame("The body that it drives."),
    "type": choice("Its kind.", BASE_TYPES),
    "joints": by_name("The joint or joints of each wheel.", _WHEELS),
}


def _kinds() -> dict[str, Form]:
    """Return the keys of a base on a body by its kind."""
    return {name: _keys_of(kind) for name, kind in BASE_TYPES.items()}


def _keys_of(kind: type[BaseType]) -> Keys:
    forms = {each.name: number(f"The {about}, {unit}." if unit else about, low, high)
             for each, (about, unit, low, high) in kind.dimensions()}  # fmt: skip
    needed = [each.name for each, _ in kind.dimensions() if each.default is MISSING]
    return Keys({**BODY_KEYS, **forms}, required=("name", "body", "type", *needed))


_BASE: Form = {"if": {"required": ["model"]}, "then": MODEL_KEYS, "else": by_key("", "type", _kinds)}


@section("bases", listing("What drives on wheels.", _BASE))
def read_bases(value: Value, context: Context) -> None:
    """Read a list of bases: on bodies of the world, or models, which bring their bodies with them."""
    for entry in value.items():
        errors = len(entry.report.errors)
        if isinstance(entry.node, Mapping) and "model" in entry.node.entries:
            parts = list(_from_model(entry, context))
        else:
            parts = _on_body(entry, context)
        if len(entry.report.errors) > errors:
            context.report.missing.append(entry.path)
            continue
        for part in parts:
            context.add(part)


def _on_body(entry: Value, context: Context) -> list[Base]:
    """Read a base on a body of the world."""
    # Not reported before the kind is known: unknown keys, and what is missing.
    unread = tuple(entry.node.entries) if isinstance(entry.node, Mapping) else ()
    kind = entry.table(unread or tuple(BODY_KEYS), required=("type",)).choice("type", BASE_TYPES, "")
    if kind not in BASE_TYPES:
        return []
    errors = len(entry.report.errors)
    table = entry.table(_keys_of(BASE_TYPES[kind]))
    if len(entry.report.errors) > errors:
        return []
    shape = _shape(table, BASE_TYPES[kind])
    body, joints = frame_name(table.get("body")), _joints(table.get("joints"))
    base = Base(_name(table), body, shape, joints, place=entry.place)
    return [replace(base, **_settings(table, context))]


def _from_model(entry: Value, context: Context) -> Iterator[Any]:
    """Read a base that a model describes: yield it and all else of the model, below the base's name."""
    table = entry.table(MODEL_KEYS)
    name, settings = _name(table), _settings(table, context)
    pose, _ = read_pose(table.get("pose"))
    reference = table.get("model")
    world = None if reference is None else part_world(reference, context)
    if world is None or reference is None or not name:
        return
    bases = world.parts.get("bases", ())
    if len(bases) != 1:
        reference.error(f"{quoted(world.name)} has {len(bases)} bases; a model of a base has one")
        return
    sensors = _sensors(table.get("sensors"), world)
    rename = Rename(name, world.fixed_frame, context.fixed_frame, entry.place, entry.place)
    for kind, part in all_parts(world):
        if isinstance(part, Sensor) and part not in sensors:
            continue
        moved: Any = kind.renamed(part, rename)
        if isinstance(part, Base):
            moved = replace(moved, name=name, place=entry.place, **settings)
        elif isinstance(part, Body) and part.name == bases[0].body:
            moved = replace(moved, q=pose if part.q is None else _on_ground(pose, part.q))
        if moved is not None:
            yield moved


def _on_ground(pose: FloatArray, q: FloatArray) -> FloatArray:
    """Return where a body starts whose model starts at q (7,) above the ground, at a pose (7,)."""
    return np.asarray(poses.compose(pose, q))


def _sensors(value: Value | None, world: World) -> tuple[Sensor, ...]:
    """Read which sensors of its model a base has: all, none, or those that are named."""
    own = world.of(Sensor)
    if value is None:
        return own
    if isinstance(value.node, Sequence):
        known = {names.last(sensor.name): sensor for sensor in own}
        chosen = [known.get(each.choice(known, "")) for each in value.items()]
        return tuple(sensor for sensor in chosen if sensor is not None)
    return () if value.choice((*TRUE, *FALSE), "true") in FALSE else own


def _name(table: Table) -> str:
    value = table.get("name")
    name = frame_name(value)
    fault = names.fault(name) if name else None
    if fault and value is not None:
        value.error(f"the name {quoted(name)} {fault}")
    return "" if fault else name


def _shape(table: Table, kind: type[BaseType]) -> BaseType:
    """Read the dimensions of a kind, which are all there that are needed."""
    found: dict[str, float] = {}
    for each, (_, _, low, high) in kind.dimensions():
        value = table.get(each.name)
        if value is not None:
            found[each.name] = value.number(low, high, default=low)
    return kind(**found)


def _joints(value: Value | None) -> dict[str, tuple[str, ...]]:
    """Read joints by what they are for: a name, or a list of names."""
    if value is None:
        return {}
    if not isinstance(value.node, Mapping):
        value.error(f"a mapping of wheels to joints is needed, found {value.found()}")
        return {}
    table = value.table(tuple(value.node.entries))
    found: dict[str, tuple[str, ...]] = {}
    for role in value.node.entries:
        wheels = table.get(role)
        assert wheels is not None
        several = isinstance(wheels.node, Sequence)
        found[role] = tuple(each.text() for each in wheels.items()) if several else (wheels.text(),)
    return found


def _settings(table: Table, context: Context) -> dict[str, Any]:
    """Read what does not depend on the kind of base: only what is given. An autopilot leaves no cmd_vel by default."""
    found: dict[str, Any] = {}
    pilot, autopilot = read_base_pilot(table.get("pilot")), read_autopilot(table.get("autopilot"), context)
    if pilot is not None:
        found["pilot"] = pilot
    if autopilot is not None:
        found |= {"autopilot": autopilot, "cmd_vel": "none"}
    for key, allowed in (("drive", DRIVES), ("cmd_vel", COMMANDS), ("transforms", TRANSFORMS)):
        if key in table:
            found[key] = table.choice(key, allowed, allowed[0])
    timeout, limits = table.get("timeout"), table.get("limits")
    if timeout is not None:
        found["timeout"] = timeout.number(0.0, MAX_TIMEOUT_S)
    if limits is not None:
        given = limits.table(LIMIT_KEYS)
        numbers = {
            key: one.number(MIN_LIMIT, MAX_LIMIT, default=1.0)
            for key in LIMIT_KEYS
            if (one := given.get(key)) is not None
        }
        found["limits"] = DriveLimits(**numbers)
    return found
