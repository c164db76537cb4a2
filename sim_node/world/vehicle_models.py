"""The section `vehicles`: multirotors on bodies of the world, and multirotors from model files, which are read here."""

from __future__ import annotations

import math
from collections.abc import Mapping as AnyMapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node import names
from sim_node.names import BASE_LINK
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.declared import BAD, keys_of, read, read_fields
from sim_node.world.locate import shipped_vehicles
from sim_node.world.model import Sensor, StaticFrame
from sim_node.world.quantities import ListOf, PartOf
from sim_node.world.readers.keys import Keys, by_name, either, frame, listing, text
from sim_node.world.readers.yaml_frames import FRAME_KEYS, SENSORS_FORM, read_frames, read_sensors
from sim_node.world.readers.yaml_include import model_file
from sim_node.world.readers.yaml_nodes import Mapping
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import FALSE, TRUE, Value, root_of
from sim_node.world.shapes import Geometry, Inertial, depth_below
from sim_node.world.vehicles import SHARED_ROTOR_KEYS, Multirotor, Rotor

_ON_BODY = keys_of(Multirotor)
SHAPES = ListOf(PartOf(Geometry))
VEHICLE_KEYS = Keys(
    {
        "name": _ON_BODY["name"],
        "model": text("A shipped model, or the path of a model file."),
        "parent": frame("The frame that it starts in."),
        "pose": POSE_KEYS,
        "pilot": _ON_BODY["pilot"],
        "autopilot": _ON_BODY["autopilot"],
        "sensors": {"type": ["boolean", "string"], "description": "Whether it has its model's sensors, or which set."},
    },
    required=("name", "model"),
)
# Keys of a vehicle on a body of the world, whose frames and sensors are in the world, too.
ON_BODY_KEYS = Keys({**_ON_BODY, "rotor": SHARED_ROTOR_KEYS}, required=_ON_BODY.required)
MODEL_KEYS = Keys(
    {
        "inertial": keys_of(Inertial),
        "geometry": SHAPES.form("Shapes of the vehicle."),
        "rotor": SHARED_ROTOR_KEYS,
        "rotors": _ON_BODY["rotors"],
        "drag": _ON_BODY["drag"],
        "frames": listing("Frames on the vehicle.", FRAME_KEYS),
        "sensors": either("A list of sensors, or sets of them by name.", SENSORS_FORM, by_name("", SENSORS_FORM)),
    },
    required=("rotors", "geometry"),
    about="A model of a vehicle.",
)
_VEHICLE = {"type": "object", "if": {"required": ["body"]}, "then": ON_BODY_KEYS, "else": VEHICLE_KEYS}


@dataclass(frozen=True)
class VehicleModel:
    """The contents of a model file. Names of frames and sensors are relative to the vehicle's name.

    sensors: the sensors of each set by name; the first set is the default. A plain list is one set without a name.
    """

    rotors: tuple[Rotor, ...]
    inertial: Inertial | None
    geometry: tuple[Geometry, ...]
    drags: AnyMapping[str, FloatArray]
    frames: tuple[StaticFrame, ...]
    sensors: AnyMapping[str, tuple[Sensor, ...]]


@section("vehicles", listing("Multirotors.", _VEHICLE))
def read_vehicles(value: Value, context: Context) -> None:
    """Read a list of vehicles.

    Each becomes a body NAME/base_link, frames NAME/rotor_0, ..., and its model's sensors.
    """
    models: dict[Path, VehicleModel | None] = {}
    for entry in value.items():
        errors = len(entry.report.errors)
        if isinstance(entry.node, Mapping) and "body" in entry.node.entries:
            # The world also contains its frames and sensors.
            vehicle = read(Multirotor, entry, context, known=ON_BODY_KEYS)
            if vehicle is not BAD:
                context.add(vehicle)
            continue
        table = entry.table(VEHICLE_KEYS)
        name, parent = table.get("name"), table.get("parent")
        given = table.get("pose")
        pose, _ = read_pose(given)
        settings = read_fields(Multirotor, table, context, VEHICLE_KEYS)
        model = _model(table.get("model"), context, models)
        sensors = _sensors(table.get("sensors"), model)
        if name is None or model is None or len(entry.report.errors) > errors:
            context.report.missing.append(entry.path)
            continue
        if given is None:
            pose = _standing(model)
        prefix = settings["name"]
        base = names.prefixed(prefix, BASE_LINK)
        above = frame_name(parent) or context.fixed_frame
        context.add(
            Body(
                base,
                above,
                "free",
                geometry=model.geometry,
                inertial=model.inertial,
                q=pose,
                place=name.place,
                parent_place=name.place if parent is None else parent.place,
            )
        )
        for index, rotor in enumerate(model.rotors):
            frame = names.prefixed(prefix, f"rotor_{index}")
            context.add(StaticFrame(frame, base, _rotor_pose(rotor), place=name.place))
        for part in (*model.frames, *sensors):
            context.add(_below(prefix, part))
        context.add(Multirotor(**{**settings, **model.drags, "body": base, "rotors": model.rotors}))


def _standing(model: VehicleModel) -> FloatArray:
    """Return the pose (7,) of a vehicle that stands with its lowest point at the height of its parent."""
    pose = np.array(poses.IDENTITY)
    with suppress(ValueError, ImportError):  # a fault of a mesh, which is reported when its contacts are simulated
        pose[2] = depth_below(model.geometry)
    return pose


def _sensors(value: Value | None, model: VehicleModel | None) -> tuple[Sensor, ...]:
    """Read which sensors of its model a vehicle has: the default set, none, or a set by name."""
    if model is None:
        return ()
    sets = filter(None, model.sensors)
    word = "true" if value is None else value.choice((*TRUE, *FALSE, *sets), "true")
    if word in FALSE:
        return ()
    return next(iter(model.sensors.values()), ()) if word in TRUE else model.sensors[word]


def _below(prefix: str, frame: Any) -> Any:
    """Return a frame or sensor of a model below the vehicle's name."""
    parent = names.prefixed(prefix, frame.parent or BASE_LINK)
    return replace(frame, name=names.prefixed(prefix, frame.name), parent=parent)


def _rotor_pose(rotor: Rotor) -> FloatArray:
    """Return a rotor's pose (7,) in its body, with the shortest rotation from z to its axis."""
    x, y, z = rotor.axis.tolist()
    norm = math.sqrt(max(2.0 + 2.0 * z, 0.0))
    turned = (-y / norm, x / norm, 0.0, 0.5 * norm) if norm > 1e-6 else (1.0, 0.0, 0.0, 0.0)
    return np.array([*rotor.position, *turned])


# Models of vehicles


def _model(value: Value | None, context: Context, known: dict[Path, VehicleModel | None]) -> VehicleModel | None:
    """Return the model of an entry: a shipped one, or a file. Each file is read once."""
    shipped, suffixes = shipped_vehicles(), (".yaml", ".yml")
    found = None if value is None else model_file(value, context, shipped, "model file", suffixes)
    if found is None:
        return None
    path, shown = found
    if path not in known:
        known[path] = _read_model(path, shown, context)
    return known[path]


def _read_model(path: Path, shown: Path, context: Context) -> VehicleModel | None:
    """Read the model in a file. Return None if there are faults, which are located in that file in the report."""
    report = context.report.about(str(shown))
    report.files.append(path)
    errors = len(report.errors)
    root = root_of(path, report, "a vehicle has at least rotors")
    if root is None:
        return None
    inside = Context(path, shown, context.roots.around(path), report)
    table = root.table(MODEL_KEYS)
    frames, sensors, inertial, geometry = (table.get(key) for key in ("frames", "sensors", "inertial", "geometry"))
    if frames is not None:
        read_frames(frames, inside)
    found = read_fields(Multirotor, table, inside, ("rotors", "drag"))
    model = VehicleModel(
        found.pop("rotors", ()),
        None if inertial is None else read(Inertial, inertial),
        () if geometry is None else SHAPES.read(geometry, inside),
        {key: each for key, each in found.items() if key.startswith("drag_")},
        tuple(inside.of(StaticFrame)),
        {} if sensors is None else _sensor_sets(sensors, inside),
    )
    return None if len(report.errors) > errors else model


def _sensor_sets(value: Value, inside: Context) -> dict[str, tuple[Sensor, ...]]:
    """Read a list of sensors, or a mapping of names to lists."""
    if not isinstance(value.node, Mapping):
        return {"": _sensor_set(value, inside)}
    sets: dict[str, tuple[Sensor, ...]] = {}
    for name, key, each in value.named():
        if name in (*TRUE, *FALSE):
            key.error("is not a name of a set; use a word")
        sets[name] = _sensor_set(each, inside)
    return sets


def _sensor_set(value: Value, inside: Context) -> tuple[Sensor, ...]:
    own = replace(inside, parts={})
    read_sensors(value, own)
    return tuple(own.of(Sensor))
