"""The sections of a world file that say what the world is and what stands still in it."""

from __future__ import annotations

from sim_node import names
from sim_node.geometry.arrays import FloatArray
from sim_node.world.model import ORIGIN_RANGES, SHORTEST_STEP_NS, Origin, Sensor, StaticFrame, TimeGrid
from sim_node.world.problems import KeyPlace, quoted
from sim_node.world.readers.yaml_mates import read_attachment
from sim_node.world.readers.yaml_nodes import Mapping
from sim_node.world.readers.yaml_poses import read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, named, section
from sim_node.world.readers.yaml_values import Table, Value, read_parameters

FRAME_KEYS = ("name", "parent", "pose", "mate")
SENSOR_KEYS = (*FRAME_KEYS, "type")


@section("world")
def read_name(value: Value, context: Context) -> None:
    """The world's name."""
    context.name = value.text()


@section("fixed_frame")
def read_fixed_frame(value: Value, context: Context) -> None:
    """The root of the tree, in ENU axes."""
    name = frame_name(value)
    fault = names.fault(name)
    if not fault:
        context.fixed_frame = name
    elif name:
        value.error(f"the name {quoted(name)} {fault}")


@section("origin")
def read_origin(value: Value, context: Context) -> None:
    """Where on Earth the fixed frame lies."""
    table = value.table(tuple(ORIGIN_RANGES), required=ORIGIN_RANGES)
    numbers = {key: part.number(*ORIGIN_RANGES[key]) for key in ORIGIN_RANGES if (part := table.get(key)) is not None}
    if len(numbers) == len(ORIGIN_RANGES):
        context.origin = Origin(**numbers)
        value.sets(context.origin, "origin")


@section("time")
def read_time(value: Value, context: Context) -> None:
    """When a run starts and how far apart its instants are."""
    table = value.table(("start", "step"))
    start, step = table.get("start"), table.get("step")
    start_ns = start.nanoseconds() if start is not None else None
    step_ns = step.nanoseconds(SHORTEST_STEP_NS) if step is not None else None
    default = context.time
    context.time = TimeGrid(
        default.start_ns if start_ns is None else start_ns,
        default.step_ns if step_ns is None else step_ns,
    )
    for part, field in ((start, "start_ns"), (step, "step_ns")):
        if part is not None:
            part.sets(getattr(context.time, field), "time", field)


@section("static_patterns")
def read_static_patterns(value: Value, context: Context) -> None:
    """Which frames below a base_link are sensors, and so static where they do not move."""
    patterns: list[str] = []
    for item in value.items():
        pattern = item.text()
        if "/" in pattern:
            item.error(f"found {quoted(pattern)}; a pattern is for the last part of a name and has no slash")
        patterns.append(pattern)
    context.static_patterns = tuple(patterns)


@section("frames")
def read_frames(value: Value, context: Context) -> None:
    """A list of static frames."""
    for entry in value.items():
        table = entry.table(FRAME_KEYS, required=("name",))
        name, place = named(table, "name")
        pose, scale = _pose_or_mate(table, name, context)
        if name:
            context.add(StaticFrame(name, pose=pose, scale=scale, **place))


@section("sensors")
def read_sensors(value: Value, context: Context) -> None:
    """A list of sensors, on the base_link of their namespace unless another parent is named.

    With a type, all keys that are not a frame's are the sensor's parameters.
    """
    for entry in value.items():
        parameters, places = read_parameters(entry, but=SENSOR_KEYS)
        typed = isinstance(entry.node, Mapping) and "type" in entry.node.entries
        table = entry.table((*SENSOR_KEYS, *parameters) if typed else SENSOR_KEYS, required=("name",))
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
    """A frame's pose and scale; a mate beside it is for the assembly, which gives the pose then."""
    pose, mate = table.get("pose"), table.get("mate")
    if pose is not None and mate is not None:
        mate.error("a second way to say where it is; give pose or mate")
    read_attachment(mate, name, context)
    return read_pose(pose)
