"""The sections of a world file for the world itself, its frames and its sensors."""

from __future__ import annotations

import numpy as np

from sim_node import names
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE, MAX_STAMP_NS
from sim_node.world.model import MIN_STEP_NS, ORIGIN_RANGES, Origin, Sensor, StaticFrame, TimeGrid
from sim_node.world.problems import KeyPlace, quoted
from sim_node.world.readers.keys import Keys, by_key, frame, listing, number, text, vector
from sim_node.world.readers.yaml_mates import attachment_keys, read_attachment
from sim_node.world.readers.yaml_nodes import Mapping
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, named, section
from sim_node.world.readers.yaml_values import Table, Value, read_parameters
from sim_node.world.sensor_types import SENSOR_TYPES

ORIGIN_KEYS = Keys(
    {
        "latitude": number("Latitude, degrees (WGS84).", *ORIGIN_RANGES["latitude"]),
        "longitude": number("Longitude, degrees (WGS84).", *ORIGIN_RANGES["longitude"]),
        "altitude": number("Height above the WGS84 ellipsoid, m.", *ORIGIN_RANGES["altitude"]),
    },
    required=ORIGIN_RANGES,
    about="Position of the fixed frame's origin on Earth.",
)
TIME_KEYS = Keys(
    {
        "start": number("Simulation time of the first step, s.", 0.0, MAX_STAMP_NS / 1e9),
        "step": number("Time between steps, s.", MIN_STEP_NS / 1e9, MAX_STAMP_NS / 1e9),
    },
    about="When a run starts, and the time between its steps.",
)
FRAME_KEYS = Keys(
    {
        "name": frame("Name of the frame, unique in the world."),
        "parent": frame("The frame in which the pose is given."),
        "pose": POSE_KEYS,
        "mate": attachment_keys,
    },
    required=("name",),
    at_most_one=(("pose", "mate"),),
)
PLACE_KEYS = Keys(
    {
        **FRAME_KEYS,
        "size": vector("Lengths of the box about the frame that it is a place of, m.", 3, MAX_DISTANCE),
        "description": text("What the place is, for people."),
        "tags": listing("What the place is, for programs.", text("")),
    },
    required=FRAME_KEYS.required,
    at_most_one=(("pose", "mate"),),
)
SENSOR_KEYS = Keys(
    {**FRAME_KEYS, "type": text("The type of sensor; without one, the entry is only a frame.")},
    required=FRAME_KEYS.required,
    at_most_one=(("pose", "mate"),),
)


def _sensor_keys() -> dict[str, Keys]:
    """Return the keys of each type of sensor, parameters included."""
    return {
        name: Keys(
            {**SENSOR_KEYS, **kind.keys()},
            required=SENSOR_KEYS.required,
            at_most_one=(("pose", "mate"),),
            define=f"sensor {name}",
        )
        for name, kind in SENSOR_TYPES.items()
    }


SENSORS_FORM = listing("", by_key("A frame on a base_link, and the sensor on it.", "type", _sensor_keys, SENSOR_KEYS))


@section("world", text("The name of the world."))
def read_name(value: Value, context: Context) -> None:
    """Read the world's name."""
    context.name = value.text()


@section("fixed_frame", frame("The root of the tree; its axes are east, north, up."))
def read_fixed_frame(value: Value, context: Context) -> None:
    """Read the name of the root of the tree, whose axes are ENU."""
    name = frame_name(value)
    fault = names.fault(name)
    if not fault:
        context.fixed_frame = name
    elif name:
        value.error(f"the name {quoted(name)} {fault}")


@section("origin", ORIGIN_KEYS)
def read_origin(value: Value, context: Context) -> None:
    """Read the position of the fixed frame on Earth."""
    table = value.table(ORIGIN_KEYS)
    numbers = {key: part.number(*ORIGIN_RANGES[key]) for key in ORIGIN_RANGES if (part := table.get(key)) is not None}
    if len(numbers) == len(ORIGIN_RANGES):
        context.origin = Origin(**numbers)
        value.sets(context.origin, "origin")


@section("time", TIME_KEYS)
def read_time(value: Value, context: Context) -> None:
    """Read when a run starts and the time between its instants."""
    table = value.table(TIME_KEYS)
    start, step = table.get("start"), table.get("step")
    start_ns = start.nanoseconds() if start is not None else None
    step_ns = step.nanoseconds(MIN_STEP_NS) if step is not None else None
    default = context.time
    context.time = TimeGrid(
        default.start_ns if start_ns is None else start_ns,
        default.step_ns if step_ns is None else step_ns,
    )
    for part, field in ((start, "start_ns"), (step, "step_ns")):
        if part is not None:
            part.sets(getattr(context.time, field), "time", field)


@section("static_patterns", listing("Name patterns of static sensors.", text("")))
def read_static_patterns(value: Value, context: Context) -> None:
    """Read which frames below a base_link are sensors, and thus static if they do not move."""
    patterns: list[str] = []
    for item in value.items():
        pattern = item.text()
        if "/" in pattern:
            item.error(f"found {quoted(pattern)}; a pattern matches the last part of a name and has no slash")
        patterns.append(pattern)
    context.static_patterns = tuple(patterns)


@section("frames", listing("Frames with a fixed pose in their parents.", PLACE_KEYS))
def read_frames(value: Value, context: Context) -> None:
    """Read a list of static frames."""
    for entry in value.items():
        table = entry.table(PLACE_KEYS)
        name, place = named(table, "name")
        pose, scale = _pose_or_mate(table, name, context)
        size, description, tags = table.get("size"), table.get("description"), table.get("tags")
        lengths = None if size is None else size.vector(3, MAX_DISTANCE)
        about = "" if description is None else description.text()
        words = () if tags is None else tuple(tag.text() for tag in tags.items())
        if name:
            extent = None if lengths is None else np.array(lengths)
            context.add(StaticFrame(name, pose=pose, scale=scale, size=extent, description=about, tags=words, **place))


@section("sensors", {**SENSORS_FORM, "description": "Frames mounted on a base_link, and the sensors on them."})
def read_sensors(value: Value, context: Context) -> None:
    """Read a list of sensors, on the base_link of their namespace unless another parent is given.

    If there is a type, all keys that frames do not have are parameters of the sensor.
    """
    for entry in value.items():
        parameters, places = read_parameters(entry, but=tuple(SENSOR_KEYS))
        typed = isinstance(entry.node, Mapping) and "type" in entry.node.entries
        table = entry.table((*SENSOR_KEYS, *parameters) if typed else SENSOR_KEYS, required=SENSOR_KEYS.required)
        name, place = named(table, "name")
        pose, scale = _pose_or_mate(table, name, context)
        kind = table.get("type")
        if kind is not None:
            places["type"] = KeyPlace(kind.place, kind.place)
        if name:
            context.add(
                Sensor(
                    name,
                    pose=pose,
                    scale=scale,
                    type="" if kind is None else kind.text(),
                    parameters=parameters,
                    parameter_places=places,
                    **place,
                )
            )


def _pose_or_mate(table: Table, name: str, context: Context) -> tuple[FloatArray, FloatArray | None]:
    """Read a frame's pose and scale. A mate is left to the assembly, which then determines the pose."""
    pose, mate = table.get("pose"), table.get("mate")
    if pose is not None and mate is not None:
        mate.error("cannot be combined with pose; give one of them")
    read_attachment(mate, name, context)
    return read_pose(pose)
