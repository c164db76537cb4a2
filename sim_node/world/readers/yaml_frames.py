"""The sections of a world file that say what the world is and what stands still in it."""

from __future__ import annotations

from sim_node.world import names
from sim_node.world.model import Origin, Sensor, StaticFrame, TimeGrid
from sim_node.world.readers.yaml_poses import read_pose
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import Value

FRAME_KEYS = ("name", "parent", "pose")


@section("world")
def read_name(value: Value, context: Context) -> None:
    """The world's name."""
    context.name = value.text()


@section("fixed_frame")
def read_fixed_frame(value: Value, context: Context) -> None:
    """The root of the tree, in ENU axes."""
    name = value.text(context.fixed_frame)
    fault = names.fault(name)
    if fault:
        value.error(f"{name!r} {fault}")
    else:
        context.fixed_frame = name


@section("origin")
def read_origin(value: Value, context: Context) -> None:
    """Where on Earth the fixed frame lies."""
    keys = ("latitude", "longitude", "altitude")
    table = value.table(keys, required=keys)
    numbers = [
        part.number(*limits) if (part := table.get(key)) is not None else 0.0
        for key, limits in zip(keys, ((-90.0, 90.0), (-180.0, 180.0), (-12_000.0, 1e8)), strict=True)
    ]
    context.origin = Origin(*numbers)


@section("time")
def read_time(value: Value, context: Context) -> None:
    """When a run starts and how far apart its instants are."""
    table = value.table(("start", "step"))
    start, step = table.get("start"), table.get("step")
    grid = context.time
    context.time = TimeGrid(
        start_ns=grid.start_ns if start is None else start.nanoseconds(0),
        step_ns=grid.step_ns if step is None else step.nanoseconds(1_000, default=grid.step_ns),
    )


@section("static_patterns")
def read_static_patterns(value: Value, context: Context) -> None:
    """Which frames below a base_link are sensors, and so static."""
    context.static_patterns = tuple(item.text() for item in value.items())


@section("frames")
def read_frames(value: Value, context: Context) -> None:
    """A list of static frames."""
    for entry in value.items():
        table = entry.table(FRAME_KEYS, required=("name",))
        name = context.frame_name(table, "name")
        pose, scale = read_pose(table.get("pose"))
        context.frames.append(StaticFrame(name, context.frame_name(table, "parent"), pose, scale, entry.where))


@section("sensors")
def read_sensors(value: Value, context: Context) -> None:
    """A list of sensor mountings; their parent is the base_link of their namespace unless another is named."""
    for entry in value.items():
        table = entry.table(FRAME_KEYS, required=("name",))
        name = context.frame_name(table, "name")
        parent = context.frame_name(table, "parent") or names.namespace(name) + names.BASE_LINK
        pose, scale = read_pose(table.get("pose"))
        context.sensors.append(Sensor(name, parent, pose, scale, entry.where))
