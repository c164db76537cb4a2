"""The service ~/change, by which `sim_node spawn`, `remove`, `attach`, `detach` and `set` change the world of a node.

Its type is rcl_interfaces/srv/SetParametersAtomically, which is wherever rclpy is: names with texts, numbers and arrays
go in, a success and a text come back. The services of simulation_interfaces need messages that have to be built first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from rcl_interfaces.srv import SetParametersAtomically
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter

from sim_node.plugins import blamed
from sim_node.ros.message_values import BadValue
from sim_node.ros.preparing import Preparing
from sim_node.ros.tool_graph import NotThere, ToolGraph
from sim_node.session.entities import Rejected
from sim_node.session.structure_requests import StructureRequests
from sim_node.simulation import Refused
from sim_node.text import MAX_LINE, did_you_mean, shown
from sim_node.world.problems import WorldError

SERVICE = "change"
# What a request may contain.
Values = Mapping[str, Any]
_IDENTITY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def _spawn(structure: StructureRequests, values: Values) -> str:
    pose = values.get("pose") or _IDENTITY
    name = structure.spawn(
        values.get("name", ""),
        uri=values.get("uri", ""),
        text=values.get("text", ""),
        namespace=values.get("namespace", ""),
        frame=values.get("frame", ""),
        pose=(pose[:3], pose[3:]),
        allow_renaming=values.get("allow_renaming", False),
        static=values.get("static", False),
    )
    return f"spawned {name}"


def _remove(structure: StructureRequests, values: Values) -> str:
    structure.delete(values["name"])
    return f"removed {values['name']}"


def _attach(structure: StructureRequests, values: Values) -> str:
    structure.attach(values["name"], values["parent"], values.get("pose"))
    return f"attached {values['name']} to {values['parent']}"


def _detach(structure: StructureRequests, values: Values) -> str:
    structure.detach(values["name"])
    return f"detached {values['name']}"


def _set(structure: StructureRequests, values: Values) -> str:
    given = {name: value for name, value in values.items() if name not in ("verb", "name", "frame", "pose", "twist")}
    if "name" in values:
        structure.place(values["name"], values.get("frame", ""), values.get("pose"), values.get("twist"))
    if given:
        structure.set_numbers({name: _number(name, value) for name, value in given.items()})
    return "set " + ", ".join([*([values["name"]] if "name" in values else []), *given])


# By verb: what carries it out, and which values it needs and takes, with their types. `set` takes any path, too.
_VERBS: dict[str, tuple[Callable[[StructureRequests, Values], str], tuple[str, ...], dict[str, type]]] = {
    "spawn": (
        _spawn,
        (),
        {
            **dict.fromkeys(("uri", "text", "name", "namespace", "frame"), str),
            "pose": list,
            **dict.fromkeys(("allow_renaming", "static"), bool),
        },
    ),
    "remove": (_remove, ("name",), {"name": str}),
    "attach": (_attach, ("name", "parent"), {"name": str, "parent": str, "pose": list}),
    "detach": (_detach, ("name",), {"name": str}),
    "set": (_set, (), {"name": str, "frame": str, "pose": list, "twist": list}),
}
_SIZES = {"pose": 7, "twist": 6}


def serve_changes(node: Node, structure: StructureRequests, preparing: Preparing) -> None:
    """Offer ~/change.

    Args:
        node: Whose service it is.
        structure: Carries requests out.
        preparing: Where it does that.
    """

    async def serve(request: Any, response: Any) -> Any:
        try:
            values = {each.name: Parameter.from_parameter_msg(each).value for each in request.parameters}
            text = await preparing.run(lambda: _carry_out(structure, values))
            response.result.successful = True
        except (Rejected, Refused, WorldError, ValueError, KeyError) as error:
            text = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
        except Exception as error:  # an answer, and not the end of the node
            node.get_logger().error(f"~/{SERVICE}: {shown(repr(error), MAX_LINE)}")
            text = str(blamed(error) or error)
        response.result.reason = shown(text, MAX_LINE)
        return response

    node.create_service(SetParametersAtomically, f"~/{SERVICE}", serve, callback_group=ReentrantCallbackGroup())


def _carry_out(structure: StructureRequests, values: Values) -> str:
    """Carry out a request. Raises ValueError for one that is malformed, and what the verb raises."""
    verb = values.get("verb")
    if verb not in _VERBS:
        hint = did_you_mean(str(verb), _VERBS)
        raise ValueError(f"verb {shown(str(verb))!r}; allowed: {', '.join(_VERBS)}{hint}")
    act, needed, types = _VERBS[verb]
    for name in needed:
        if not values.get(name):
            raise ValueError(f"{verb} needs {name}")
    for name, value in values.items():
        if name == "verb" or (verb == "set" and name not in types):
            continue
        if name not in types:
            allowed = ", ".join(types)
            raise ValueError(f"{verb} has no {shown(name)!r}{did_you_mean(name, types)} (allowed: {allowed})")
        found, kind = value, cast(Any, types[name])
        if kind is list and not isinstance(value, str | bool | int | float):
            found = list(value)  # arrays come as arrays
        if not isinstance(found, kind):
            raise ValueError(f"{name}: {value!r:.60} is no {kind.__name__}")
        if name in _SIZES and len(found) != _SIZES[name]:
            raise ValueError(f"{name}: {len(found)} numbers, needs {_SIZES[name]}")
    return act(structure, values)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{shown(name)}: {value!r:.60} is not a number")
    return float(value)


def request_change(graph: ToolGraph, node: str, values: Values, timeout_s: float) -> str:
    """Ask a node to change its world.

    Args:
        graph: The graph.
        node: The name of the node.
        values: The verb and what it takes.
        timeout_s: How long to wait for the node, and then for its reply, s.

    Returns:
        What it did.

    Raises:
        BadValue: The node refuses; the message is its reason.
        NotThere: There is no such node, or it does not reply, in time.
        KeyboardInterrupt: A signal asked for the end.
    """
    name = graph.service_name(f"{node.rstrip('/')}/{SERVICE}")
    client = graph.node.create_client(SetParametersAtomically, name)
    if not graph.spin(client.service_is_ready, timeout_s):
        raise graph.absent("service", name, list(graph.service_types()), timeout_s)
    parameters = [Parameter(key, value=value).to_parameter_msg() for key, value in values.items()]
    reply = client.call_async(SetParametersAtomically.Request(parameters=parameters))
    if not graph.spin(reply.done, timeout_s):
        raise NotThere(f"{shown(name)} has not replied within {timeout_s:g} s")
    result = reply.result().result
    if not result.successful:
        raise BadValue(result.reason)
    return str(result.reason)
