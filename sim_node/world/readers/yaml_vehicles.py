"""The section `vehicles` of a world file, and the files of vehicle models."""

from __future__ import annotations

import math
from collections.abc import Mapping as AnyMapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node import names
from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.names import BASE_LINK
from sim_node.text import did_you_mean
from sim_node.world.bodies import Body, Geometry, Inertial
from sim_node.world.depths import depth_below
from sim_node.world.locate import shipped_vehicles
from sim_node.world.model import MAX_DISTANCE, Sensor, StaticFrame
from sim_node.world.problems import WorldError, quoted, shown_key
from sim_node.world.readers.files import read_text
from sim_node.world.readers.keys import Keys, by_name, choice, either, frame, listing, number, one_or_each, text, vector
from sim_node.world.readers.yaml_bodies import GEOMETRY_KEYS, INERTIAL_KEYS, read_geometry, read_inertial
from sim_node.world.readers.yaml_frames import FRAME_KEYS, SENSORS_FORM, read_frames, read_sensors
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence, compose
from sim_node.world.readers.yaml_pilots import AUTOPILOT, PILOT, read_autopilot, read_pilot
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import FALSE, TRUE, Table, Value
from sim_node.world.unsupported import no_such_model
from sim_node.world.vehicle_checks import MAX_DRAG, MAX_ROTORS, ROTOR_RANGES
from sim_node.world.vehicles import SPINS, Multirotor, Rotor

COEFFICIENTS = {
    "thrust_coefficient": "Thrust over the square of the speed, N s^2/rad^2.",
    "moment_coefficient": "Torque over thrust, m.",
    "max_speed": "Maximum speed, rad/s.",
    "min_speed": "Minimum speed, rad/s.",
    "drag_coefficient": "Drag across the axis, kg/rad.",
}
SHARED_ROTOR_KEYS = Keys(
    {
        "axis": vector("Direction of the thrust in the body.", 3, MAX_DISTANCE),
        "spin": choice("Rotation about the axis, seen from above.", SPINS),
        **{key: number(about, *ROTOR_RANGES[key]) for key, about in COEFFICIENTS.items()},
        "time_constant": one_or_each(
            "Time constant of the speed, or [up, down], s.", number("", *ROTOR_RANGES["time_constant_up"]), 2
        ),
    },
    about="What all rotors have in common.",
)
ROTOR_KEYS = Keys(
    {"position": vector("Position in the body, m.", 3, MAX_DISTANCE), **SHARED_ROTOR_KEYS}, define="rotor"
)
ROTORS = listing("The rotors, in the order of their commands.", ROTOR_KEYS, 1, MAX_ROTORS)
NEEDED = ("thrust_coefficient", "moment_coefficient", "max_speed", "spin", "position")
_PER_AXIS = number("", 0.0, MAX_DRAG)
DRAG_KEYS = Keys(
    {"linear": one_or_each("N s/m.", _PER_AXIS, 3), "quadratic": one_or_each("N s^2/m^2.", _PER_AXIS, 3)},
    about="Drag along the axes of the body.",
)
_NAME = frame("Name of the vehicle, which the names of its frames begin with.")
VEHICLE_KEYS = Keys(
    {
        "name": _NAME,
        "model": text("A shipped model, or the path of a model file."),
        "parent": frame("The frame that it starts in."),
        "pose": POSE_KEYS,
        "pilot": PILOT,
        "autopilot": AUTOPILOT,
        "sensors": {"type": ["boolean", "string"], "description": "Whether it has its model's sensors, or which set."},
    },
    required=("name", "model"),
)
# Keys of a vehicle on a body of the world, whose frames and sensors are in the world, too.
ON_BODY_KEYS = Keys(
    {
        "name": _NAME,
        "body": frame("The body that has the rotors."),
        "rotor": SHARED_ROTOR_KEYS,
        "rotors": ROTORS,
        "drag": DRAG_KEYS,
        "pilot": PILOT,
        "autopilot": AUTOPILOT,
    },
    required=("name", "rotors"),
)
MODEL_KEYS = Keys(
    {
        "inertial": INERTIAL_KEYS,
        "geometry": listing("Shapes of the vehicle.", GEOMETRY_KEYS),
        "rotor": SHARED_ROTOR_KEYS,
        "rotors": ROTORS,
        "drag": DRAG_KEYS,
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

    sensors: the sensors of each set by its name; the first set is the default. A plain list is one set without a name.
    """

    rotors: tuple[Rotor, ...]
    inertial: Inertial | None
    geometry: tuple[Geometry, ...]
    drag_linear: FloatArray
    drag_quadratic: FloatArray
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
            _read_on_body(entry, context)
            continue
        table = entry.table(VEHICLE_KEYS)
        name, parent = table.get("name"), table.get("parent")
        prefix = _prefix(name)
        given = table.get("pose")
        pose, _ = read_pose(given)
        pilot, autopilot = read_pilot(table.get("pilot")), read_autopilot(table.get("autopilot"), context)
        model = _model(table.get("model"), context, models)
        sensors = _sensors(table.get("sensors"), model)
        if name is None or model is None or not prefix or len(entry.report.errors) > errors:
            context.report.missing.append(entry.path)
            continue
        if given is None:
            pose = _standing(model)
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
        drags = model.drag_linear, model.drag_quadratic
        context.add(Multirotor(prefix, base, model.rotors, *drags, pilot, autopilot, entry.place))


def _standing(model: VehicleModel) -> FloatArray:
    """Return the pose (7,) of a vehicle that stands with its lowest point at the height of its parent."""
    pose = np.array(poses.IDENTITY)
    with suppress(ValueError, ImportError):  # of a mesh, which the simulation of its contacts reports
        pose[2] = depth_below(model.geometry)
    return pose


def _read_on_body(entry: Value, context: Context) -> None:
    """Read a vehicle on a body of the world. The world also contains its frames and sensors."""
    errors = len(entry.report.errors)
    table = entry.table(ON_BODY_KEYS)
    drags = _drag(table.get("drag"))
    rotors = _rotors(table.get("rotors"), table.get("rotor"))
    vehicle = Multirotor(
        _prefix(table.get("name")),
        frame_name(table.get("body")),
        rotors,
        *drags,
        read_pilot(table.get("pilot")),
        read_autopilot(table.get("autopilot"), context),
        entry.place,
    )
    if len(entry.report.errors) == errors:
        context.add(vehicle)


def _sensors(value: Value | None, model: VehicleModel | None) -> tuple[Sensor, ...]:
    """Read which sensors of its model a vehicle has: the default set, none, or a set by its name."""
    if model is None:
        return ()
    sets = filter(None, model.sensors)
    word = "true" if value is None else value.choice((*TRUE, *FALSE, *sets), "true")
    if word in FALSE:
        return ()
    return next(iter(model.sensors.values()), ()) if word in TRUE else model.sensors[word]


def _prefix(value: Value | None) -> str:
    """Read the vehicle's name, the prefix of all its frames. It is empty with the fault recorded."""
    name = frame_name(value)
    fault = names.fault(name) if name else None
    if fault and value is not None:
        value.error(f"the name {quoted(name)} {fault}")
    return "" if fault else name


def _below(prefix: str, frame: Any) -> Any:
    """Return a frame or sensor of a model below the vehicle's name."""
    parent = names.prefixed(prefix, frame.parent or BASE_LINK)
    return replace(frame, name=names.prefixed(prefix, frame.name), parent=parent)


def _rotor_pose(rotor: Rotor) -> FloatArray:
    """Return a rotor's pose (7,) in its body: the shortest rotation that rotates z to its axis."""
    x, y, z = rotor.axis.tolist()
    norm = math.sqrt(max(2.0 + 2.0 * z, 0.0))
    turned = (-y / norm, x / norm, 0.0, 0.5 * norm) if norm > 1e-6 else (1.0, 0.0, 0.0, 0.0)
    return np.array([*rotor.position, *turned])


# Models of vehicles


def _model(value: Value | None, context: Context, known: dict[Path, VehicleModel | None]) -> VehicleModel | None:
    """Return the model of an entry: a shipped one, or a file. Each file is read once."""
    if value is None:
        return None
    found = _model_file(value, context)
    if found is None:
        return None
    path, shown = found
    if path not in known:
        known[path] = _read_model(path, shown, context)
    return known[path]


def _model_file(value: Value, context: Context) -> tuple[Path, Path] | None:
    name = value.node.text if isinstance(value.node, Scalar) else ""
    if "/" in name or Path(name).suffix in (".yaml", ".yml"):
        return context.find(value)
    models = shipped_vehicles()
    if name in models:
        return models[name], models[name]
    hint = did_you_mean(name, models) or no_such_model(name)
    value.error(f"found {value.found()}; allowed: {', '.join(models)}, or the path of a model file{hint}")
    return None


def _read_model(path: Path, shown: Path, context: Context) -> VehicleModel | None:
    """Read the model in a file. Return None with the faults, located in that file, in the report."""
    report = context.report.about(str(shown))
    report.files.append(path)
    errors = len(report.errors)
    text = read_text(path, report)
    try:
        root = None if text is None else compose(text, report)
    except WorldError as error:
        report.errors.extend(error.problems)
        return None
    if root is None:
        if text is not None:
            report.error("is empty; a vehicle has at least rotors")
        return None
    inside = Context(path, shown, context.roots.around(path), report)
    table = Value(root, report).table(MODEL_KEYS)
    frames, sensors = table.get("frames"), table.get("sensors")
    if frames is not None:
        read_frames(frames, inside)
    drag = table.get("drag")
    linear, quadratic = _drag(drag)
    model = VehicleModel(
        _rotors(table.get("rotors"), table.get("rotor")),
        read_inertial(table.get("inertial")),
        read_geometry(table.get("geometry"), inside),
        linear,
        quadratic,
        tuple(inside.of(StaticFrame)),
        {} if sensors is None else _sensor_sets(sensors, inside),
    )
    return None if len(report.errors) > errors else model


def _sensor_sets(value: Value, inside: Context) -> dict[str, tuple[Sensor, ...]]:
    """Read a list of sensors, or a mapping of names to lists."""
    if not isinstance(value.node, Mapping):
        return {"": _sensor_set(value, inside)}
    sets: dict[str, tuple[Sensor, ...]] = {}
    for name, (key, node) in value.node.entries.items():
        if name in (*TRUE, *FALSE):
            Value(key, value.report, shown_key(name), value).error("is not a name of a set; use a word")
        sets[name] = _sensor_set(Value(node, value.report, shown_key(name), value), inside)
    return sets


def _sensor_set(value: Value, inside: Context) -> tuple[Sensor, ...]:
    own = replace(inside, parts={})
    read_sensors(value, own)
    return tuple(own.of(Sensor))


def _drag(value: Value | None) -> tuple[FloatArray, FloatArray]:
    if value is None:
        return np.zeros(3), np.zeros(3)
    table = value.table(DRAG_KEYS)
    linear, quadratic = (_along_axes(table.get(key)) for key in ("linear", "quadratic"))
    return linear, quadratic


def _along_axes(value: Value | None) -> FloatArray:
    """Read one number for all three axes, or a list of three."""
    if value is None:
        return np.zeros(3)
    if isinstance(value.node, Sequence):
        numbers = value.vector(3) and [item.number(0.0, MAX_DRAG) for item in value.items()]
        return np.array(numbers or np.zeros(3))
    return np.full(3, value.number(0.0, MAX_DRAG))


def _rotors(value: Value | None, shared: Value | None) -> tuple[Rotor, ...]:
    """Read a list of rotors. `rotor` contains the defaults of all."""
    common = None if shared is None else shared.table(SHARED_ROTOR_KEYS)
    if value is None:
        return ()
    entries = list(value.items())
    if not 1 <= len(entries) <= MAX_ROTORS and isinstance(value.node, Sequence):
        value.error(f"found {len(entries)} rotors; allowed: 1 to {MAX_ROTORS}")
    return tuple(rotor for entry in entries if (rotor := _rotor(entry, common)) is not None)


def _rotor(entry: Value, common: Table | None) -> Rotor | None:
    errors = len(entry.report.errors)
    table = entry.table(ROTOR_KEYS)

    def get(key: str) -> Value | None:
        own = table.get(key)
        return common.get(key) if own is None and common is not None else own

    if isinstance(entry.node, Mapping):
        for key in NEEDED:
            if get(key) is None:
                entry.error(f"{key} is missing")
    fields: dict[str, Any] = {
        key: part.number(*ROTOR_RANGES[key]) for key in COEFFICIENTS if (part := get(key)) is not None
    }
    position, axis, spin, lag = (get(key) for key in ("position", "axis", "spin", "time_constant"))
    if lag is not None:
        fields["time_constant_up"], fields["time_constant_down"] = _time_constants(lag)
    fields["spin"] = "ccw" if spin is None else spin.choice(SPINS, "ccw")
    fields["position"] = None if position is None else position.vector(3, limit=MAX_DISTANCE)
    if axis is not None:
        fields["axis"] = axis.vector(3, limit=MAX_DISTANCE)
        if fields["axis"] is not None and not any(fields["axis"]):
            axis.error("is zero; an axis needs a direction")
    if "max_speed" in fields and fields.get("min_speed", 0.0) >= fields["max_speed"]:
        entry.error(f"min_speed {fields['min_speed']:g} is not below max_speed {fields['max_speed']:g}")
    return None if len(entry.report.errors) > errors else Rotor(**fields)


def _time_constants(value: Value) -> tuple[float, float]:
    """Read one number, or [up, down]."""
    low, high = ROTOR_RANGES["time_constant_up"]
    if not isinstance(value.node, Sequence):
        number = value.number(low, high)
        return number, number
    if value.vector(2) is None:
        return 0.0, 0.0
    up, down = (item.number(low, high) for item in value.items())
    return up, down
