"""The section `bases` of a world file: what drives on wheels, described there or by a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node import names
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.base_types import BASE_TYPES, BaseType
from sim_node.world.bases import Base
from sim_node.world.bodies import Body
from sim_node.world.declared import keys_of, read_fields
from sim_node.world.model import Sensor, World
from sim_node.world.part import Rename, all_parts
from sim_node.world.problems import quoted
from sim_node.world.readers.keys import Form, Keys, by_key, choice, either, flag, listing, text
from sim_node.world.readers.yaml_nodes import Mapping, Sequence
from sim_node.world.readers.yaml_parts import part_world
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import FALSE, TRUE, Value

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
    """Return the keys of a base on a body by its kind."""
    return {name: _keys_of(kind) for name, kind in BASE_TYPES.items()}


def _keys_of(kind: type[BaseType]) -> Keys:
    own = keys_of(kind)
    return Keys({**BODY_KEYS, **own}, required=("name", "body", "type", *own.required))


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
    """Read a base that a model describes: yield it and all else of the model, below the base's name."""
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
    for kind, part in all_parts(world):
        if isinstance(part, Sensor) and part not in sensors:
            continue
        moved: Any = kind.renamed(part, rename)
        if isinstance(part, Base):
            moved = replace(moved, **settings)
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
