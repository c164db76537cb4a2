"""The `vehicles` of a world file, and the files of vehicle models that they name."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node import names
from sim_node.geometry.arrays import FloatArray
from sim_node.names import BASE_LINK
from sim_node.text import did_you_mean
from sim_node.world.autopilot_checks import MOST_INSTANCES
from sim_node.world.bodies import Body, Geometry, Inertial
from sim_node.world.locate import shipped_vehicles
from sim_node.world.model import FARTHEST, Sensor, StaticFrame
from sim_node.world.problems import WorldError, quoted
from sim_node.world.readers.files import read_text
from sim_node.world.readers.yaml_bodies import read_geometry, read_inertial
from sim_node.world.readers.yaml_frames import read_frames, read_sensors
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence, compose
from sim_node.world.readers.yaml_poses import read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import NULL, Table, Value, boolean
from sim_node.world.vehicle_checks import MOST_DRAG, MOST_ROTORS, PILOT_RANGES, ROTOR_RANGES, WAYPOINT_RANGES
from sim_node.world.vehicles import AFTER, AUTOPILOT_TYPES, SPINS, Autopilot, Multirotor, Pilot, Rotor, Waypoint

VEHICLE_KEYS = ("name", "model", "parent", "pose", "pilot", "autopilot", "sensors")
MODEL_KEYS = ("inertial", "geometry", "rotor", "rotors", "drag", "frames", "sensors")
COEFFICIENTS = ("thrust_coefficient", "moment_coefficient", "max_speed", "min_speed", "drag_coefficient")
ROTOR_KEYS = ("position", "axis", "spin", *COEFFICIENTS, "time_constant")
AUTOPILOT_KEYS = ("type", "instance", "start", "links")
PILOT_KEYS = (*PILOT_RANGES, "after", "waypoints")
WAYPOINT_KEYS = ("position", "yaw_deg", *WAYPOINT_RANGES)
NEEDED = ("thrust_coefficient", "moment_coefficient", "max_speed", "spin", "position")


@dataclass(frozen=True)
class Model:
    """What a model file says; names of frames and sensors are those below the vehicle's own."""

    rotors: tuple[Rotor, ...]
    inertial: Inertial | None
    geometry: tuple[Geometry, ...]
    drag_linear: FloatArray
    drag_quadratic: FloatArray
    frames: tuple[StaticFrame, ...]
    sensors: tuple[Sensor, ...]


@section("vehicles")
def read_vehicles(value: Value, context: Context) -> None:
    """A list of vehicles: each becomes a body NAME/base_link, frames NAME/rotor_0 and on, and its model's sensors."""
    models: dict[Path, Model | None] = {}
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(VEHICLE_KEYS, required=("name", "model"))
        name, parent = table.get("name"), table.get("parent")
        prefix = _prefix(name)
        pose, _ = read_pose(table.get("pose"))
        pilot, autopilot = _pilot(table.get("pilot")), _autopilot(table.get("autopilot"))
        model = _model(table.get("model"), context, models)
        with_sensors = boolean(table, "sensors", True)
        if name is None or model is None or not prefix or len(entry.report.errors) > errors:
            context.report.missing.append(entry.path)
            continue
        base = names.prefixed(prefix, BASE_LINK)
        above = frame_name(parent) or context.fixed_frame
        context.bodies.append(
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
            context.frames.append(StaticFrame(frame, base, _rotor_pose(rotor), place=name.place))
        context.frames += [_below(prefix, frame) for frame in model.frames]
        context.sensors += [_below(prefix, sensor) for sensor in model.sensors if with_sensors]
        drags = model.drag_linear, model.drag_quadratic
        context.vehicles.append(Multirotor(prefix, base, model.rotors, *drags, pilot, autopilot, entry.place))


def _prefix(value: Value | None) -> str:
    """The vehicle's name, before all of its frames; empty with the fault recorded."""
    name = frame_name(value)
    fault = names.fault(name) if name else None
    if fault and value is not None:
        value.error(f"the name {quoted(name)} {fault}")
    return "" if fault else name


def _below(prefix: str, frame: Any) -> Any:
    """A frame or sensor of a model under the vehicle's name."""
    parent = names.prefixed(prefix, frame.parent or BASE_LINK)
    return replace(frame, name=names.prefixed(prefix, frame.name), parent=parent)


def _rotor_pose(rotor: Rotor) -> FloatArray:
    """A rotor's frame in its body (7,): turned the shortest way that takes z to its axis."""
    x, y, z = rotor.axis.tolist()
    norm = math.sqrt(max(2.0 + 2.0 * z, 0.0))
    turned = (-y / norm, x / norm, 0.0, 0.5 * norm) if norm > 1e-6 else (1.0, 0.0, 0.0, 0.0)
    return np.array([*rotor.position, *turned])


# Models


def _model(value: Value | None, context: Context, known: dict[Path, Model | None]) -> Model | None:
    """The model that an entry names: one that is shipped, or a file; each file is read once."""
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
    hint = did_you_mean(name, models)
    value.error(f"found {value.found()}; allowed: {', '.join(models)}, or the path of a model file{hint}")
    return None


def _read_model(path: Path, shown: Path, context: Context) -> Model | None:
    """The model in a file; None with the faults, told of that file, in the report."""
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
    table = Value(root, report).table(MODEL_KEYS, required=("rotors", "geometry"))
    for key, read in (("frames", read_frames), ("sensors", read_sensors)):
        part = table.get(key)
        if part is not None:
            read(part, inside)
    drag = table.get("drag")
    linear, quadratic = _drag(drag)
    model = Model(
        _rotors(table.get("rotors"), table.get("rotor")),
        read_inertial(table.get("inertial")),
        read_geometry(table.get("geometry"), inside),
        linear,
        quadratic,
        tuple(inside.frames),
        tuple(inside.sensors),
    )
    return None if len(report.errors) > errors else model


def _drag(value: Value | None) -> tuple[FloatArray, FloatArray]:
    if value is None:
        return np.zeros(3), np.zeros(3)
    table = value.table(("linear", "quadratic"))
    linear, quadratic = (_along_axes(table.get(key)) for key in ("linear", "quadratic"))
    return linear, quadratic


def _along_axes(value: Value | None) -> FloatArray:
    """One number for all three axes, or a list of three."""
    if value is None:
        return np.zeros(3)
    if isinstance(value.node, Sequence):
        numbers = value.vector(3) and [item.number(0.0, MOST_DRAG) for item in value.items()]
        return np.array(numbers or np.zeros(3))
    return np.full(3, value.number(0.0, MOST_DRAG))


def _rotors(value: Value | None, shared: Value | None) -> tuple[Rotor, ...]:
    """A list of rotors; what a rotor leaves open is what `rotor` says of all."""
    common = None if shared is None else shared.table(tuple(key for key in ROTOR_KEYS if key != "position"))
    if value is None:
        return ()
    entries = list(value.items())
    if not 1 <= len(entries) <= MOST_ROTORS and isinstance(value.node, Sequence):
        value.error(f"found {len(entries)} rotors; allowed: 1 to {MOST_ROTORS}")
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
    fields["position"] = None if position is None else position.vector(3, largest=FARTHEST)
    if axis is not None:
        fields["axis"] = axis.vector(3, largest=FARTHEST)
        if fields["axis"] is not None and not any(fields["axis"]):
            axis.error("is zero; an axis needs a direction")
    if "max_speed" in fields and fields.get("min_speed", 0.0) >= fields["max_speed"]:
        entry.error(f"min_speed {fields['min_speed']:g} is not below max_speed {fields['max_speed']:g}")
    return None if len(entry.report.errors) > errors else Rotor(**fields)


def _time_constants(value: Value) -> tuple[float, float]:
    """One number, or [up, down]."""
    low, high = ROTOR_RANGES["time_constant_up"]
    if not isinstance(value.node, Sequence):
        number = value.number(low, high)
        return number, number
    if value.vector(2) is None:
        return 0.0, 0.0
    up, down = (item.number(low, high) for item in value.items())
    return up, down


# Pilots


def _pilot(value: Value | None) -> Pilot | None:
    """`none`, which is to leave it out, or a mapping."""
    if value is None or (isinstance(value.node, Scalar) and value.node.text in ("none", *NULL)):
        return None
    if not isinstance(value.node, Mapping):
        value.error(f"`none` or a mapping is needed ({', '.join(PILOT_KEYS)}), found {value.found()}")
        return None
    table = value.table(PILOT_KEYS)
    numbers = _numbers(table, PILOT_RANGES)
    waypoints = table.get("waypoints")
    return Pilot(
        () if waypoints is None else tuple(w for entry in waypoints.items() if (w := _waypoint(entry)) is not None),
        table.choice("after", AFTER, Pilot().after),
        **numbers,
    )


def _autopilot(value: Value | None) -> Autopilot | None:
    """`none`, which is to leave it out, or a mapping."""
    if value is None or (isinstance(value.node, Scalar) and value.node.text in ("none", *NULL)):
        return None
    table = value.table(AUTOPILOT_KEYS, required=("type",))
    instance = table.get("instance")
    number = 0.0 if instance is None else instance.number(0, MOST_INSTANCES - 1)
    if instance is not None and number % 1.0:
        instance.error(f"found {instance.found()}; a whole number is needed")
    links = table.get("links")
    urls = () if links is None else tuple(entry.text() for entry in links.items())
    return Autopilot(table.choice("type", AUTOPILOT_TYPES, "px4"), int(number), boolean(table, "start", True), urls)


def _numbers(table: Table, ranges: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Those of some numbers that a table has."""
    return {key: value.number(*ranges[key]) for key in ranges if (value := table.get(key)) is not None}


def _waypoint(entry: Value) -> Waypoint | None:
    """A position alone, or a mapping."""
    if isinstance(entry.node, Sequence):
        position = entry.vector(3, largest=FARTHEST)
        return None if position is None else Waypoint(np.array(position))
    table = entry.table(WAYPOINT_KEYS, required=("position",))
    value, degrees = table.get("position"), table.get("yaw_deg")
    position = None if value is None else value.vector(3, largest=FARTHEST)
    fields = _numbers(table, WAYPOINT_RANGES)
    if degrees is not None:
        if "yaw" in fields:
            degrees.error("a second yaw beside yaw; give one of them")
        fields["yaw"] = math.radians(degrees.number(*map(math.degrees, WAYPOINT_RANGES["yaw"])))
    return None if position is None else Waypoint(np.array(position), **fields)
