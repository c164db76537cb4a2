"""Tools that change the world of a running simulation: spawn, remove and set_entity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from sim_node.extensions.assistants.control import simulation_node
from sim_node.extensions.assistants.registry import Call, ToolRefused, TypedDict, tool
from sim_node.extensions.assistants.worlds import world_path
from sim_node.text import shown
from sim_node.world.locate import shipped_robots, shipped_vehicles

TIMEOUT_S = 30.0
# rcl_interfaces/msg/ParameterType, with the field of ParameterValue that has the value.
_FIELDS = {bool: (1, "bool_value"), float: (3, "double_value"), str: (4, "string_value")}
_ARRAY = (8, "double_array_value")

Node = Annotated[str, "full name of the simulation's node; empty if there is one"]
Frame = Annotated[str, "frame of the position; empty for the fixed frame"]


class Changed(TypedDict):
    """The simulation's node, and what it has done."""

    node: str
    message: str


@tool("spawn", changes=True)
def spawn(
    call: Call,
    *,
    file: Annotated[
        str, "name of a shipped vehicle, model or world (list_worlds), or path of a world or model file in the folder"
    ],
    name: Annotated[str, "name of the entity; empty for that in the file"] = "",
    x: Annotated[float, "m"] = 0.0,
    y: Annotated[float, "m"] = 0.0,
    z: Annotated[float, "m"] = 0.0,
    yaw: Annotated[float, "rad, counterclockwise from the frame's x axis"] = 0.0,
    frame: Frame = "",
    static: Annotated[bool, "fix a URDF model where it is put; it floats free otherwise"] = False,
    node: Node = "",
) -> Changed:
    """Add the vehicle, model or world of a file to the simulation while it runs.

    A simulation that the server has not started itself reads only what its user allows by `run --allow DIR`.
    """
    shipped = {**shipped_vehicles(), **shipped_robots()}
    uri = file if file in shipped else world_path(call, file)
    values = {"uri": uri, "name": name, "frame": frame, "pose": _pose(x, y, z, yaw), "static": static}
    return _changed(call, node, "spawn", values)


@tool("remove", changes=True)
def remove(call: Call, *, name: Annotated[str, "name of the entity"], node: Node = "") -> Changed:
    """Remove an entity, and all that hangs on it, from the simulation while it runs."""
    return _changed(call, node, "remove", {"name": name})


@tool("set_entity", changes=True)
def set_entity(
    call: Call,
    *,
    name: Annotated[str, "name of the entity"],
    x: Annotated[float, "m"],
    y: Annotated[float, "m"],
    z: Annotated[float, "m"],
    yaw: Annotated[float, "rad, counterclockwise from the frame's x axis"] = 0.0,
    frame: Frame = "",
    node: Node = "",
) -> Changed:
    """Place an entity that floats free, or one that no joint moves. It then rests."""
    return _changed(call, node, "set", {"name": name, "frame": frame, "pose": _pose(x, y, z, yaw)})


def _pose(x: float, y: float, z: float, yaw: float) -> list[float]:
    if not all(map(math.isfinite, (x, y, z, yaw))):
        raise ToolRefused(f"numbers are needed, found {x}, {y}, {z}, {yaw}")
    return [x, y, z, 0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)]


def _changed(call: Call, node: str, verb: str, values: Mapping[str, Any]) -> Changed:
    """Ask the simulation to change its world. Raises ToolRefused with the simulation's reason."""
    name = simulation_node(call.graph, node)
    given = {"verb": verb} | {key: value for key, value in values.items() if value != ""}
    parameters = [{"name": key, "value": _value(value)} for key, value in given.items()]
    reply = call.graph.call(f"{name}/change", {"parameters": parameters}, call.patience, TIMEOUT_S)["result"]
    if not reply["successful"]:
        raise ToolRefused(shown(str(reply["reason"])))
    return {"node": name, "message": shown(str(reply["reason"]))}


def _value(value: Any) -> dict[str, Any]:
    kind, field = _ARRAY if isinstance(value, list) else _FIELDS[type(value)]
    return {"type": kind, field: value}
