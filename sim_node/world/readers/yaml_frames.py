"""The sections of a world file for the world itself, its frames and its sensors."""

from __future__ import annotations

from collections.abc import Mapping

from sim_node import names
from sim_node.world.declared import BAD, keys_of, read
from sim_node.world.mates import attachment_keys, read_attachment
from sim_node.world.model import Origin, Sensor, StaticFrame, TimeGrid
from sim_node.world.problems import KeyPlace, quoted
from sim_node.world.readers.keys import Form, Keys, by_key, frame, listing, text
from sim_node.world.readers.yaml_section import Context, frame_name, section, setting
from sim_node.world.readers.yaml_values import Value, read_parameters
from sim_node.world.sensor_types import SENSOR_TYPES


def _with_mate(forms: Mapping[str, Form], define: str = "") -> Keys:
    """Return the keys of a frame, in which a mate may replace the pose."""
    return Keys(forms, required=("name",), at_most_one=(("pose", "mate"),), define=define)


FRAME_KEYS = _with_mate({**keys_of(StaticFrame, but=("size", "description", "tags")), "mate": attachment_keys})
PLACE_KEYS = _with_mate({**FRAME_KEYS, **keys_of(StaticFrame)})
SENSOR_KEYS = _with_mate({**FRAME_KEYS, "type": keys_of(Sensor)["type"]})


def _sensor_keys() -> dict[str, Keys]:
    """Return the keys of each type of sensor, parameters included."""
    return {name: _with_mate({**SENSOR_KEYS, **kind.keys()}, f"sensor {name}") for name, kind in SENSOR_TYPES.items()}


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


@section("origin", keys_of(Origin))
def read_origin(value: Value, context: Context) -> None:
    """Read the position of the fixed frame on Earth."""
    found = read(Origin, value)
    if found is not BAD:
        context.origin = found
        value.sets(found, "origin")


setting("time", TimeGrid)


@section("static_patterns", listing("Name patterns of static sensors.", text("")))
def read_static_patterns(value: Value, context: Context) -> None:
    """Read patterns of frames below a base_link that are sensors, and thus static if they do not move."""
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
        _add(read(StaticFrame, entry, context, known=PLACE_KEYS), entry, context)


@section("sensors", {**SENSORS_FORM, "description": "Frames mounted on a base_link, and the sensors on them."})
def read_sensors(value: Value, context: Context) -> None:
    """Read a list of sensors, on the base_link of their namespace unless another parent is given.

    If there is a type, all keys that frames do not have are parameters of the sensor.
    """
    own = tuple(SENSOR_KEYS)
    for entry in value.items():
        parameters, places = read_parameters(entry, but=own)
        known, kind = SENSOR_KEYS, entry.get("type")
        if kind is not None:
            places["type"] = KeyPlace(kind.place, kind.place)
            known = Keys({**SENSOR_KEYS, **parameters}, required=SENSOR_KEYS.required)
        sensor = read(Sensor, entry, context, known=known, only=own, parameters=parameters, parameter_places=places)
        _add(sensor, entry, context)


def _add(frame: StaticFrame, entry: Value, context: Context) -> None:
    """Add a frame. If it has a mate, the assembly determines its pose."""
    mate = entry.get("mate")
    if mate is not None:
        if entry.get("pose") is not None:
            mate.error("cannot be combined with pose; give one of them")
        if frame is not BAD:
            read_attachment(mate, frame.name, context)
    if frame is not BAD:
        context.add(frame)
