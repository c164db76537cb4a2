"""Tools for requests to the running simulation, one for each of `sim_node.simulation.requests`, and for its time."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal

from sim_node.extensions.assistants.graph import Graph
from sim_node.extensions.assistants.registry import TOOLS, Tool, ToolCall, ToolRefused, TypedDict, tool
from sim_node.extensions.assistants.worlds import world_path
from sim_node.simulation.requests import NEEDED, REQUESTS, ContentOf, FileArgument, Request
from sim_node.text import shown
from sim_node.world.locate import shipped_robots, shipped_vehicles
from sim_node.world.quantities import Word

TIMEOUT_S = 30.0
_TYPE = "rcl_interfaces/srv/SetParametersAtomically"
# rcl_interfaces/msg/ParameterType, with the field of ParameterValue that has the value.
_FIELDS = {"bool": 1, "integer": 2, "double": 3, "string": 4, "double_array": 8, "string_array": 9}
_KINDS = {bool: "bool", int: "integer", float: "double", str: "string"}

Node = Annotated[str, "full name of the simulation's node; empty if there is one"]


class Done(TypedDict):
    """The simulation's node, and what it has done."""

    node: str
    message: str


class SimulationStatus(TypedDict):
    """The simulation's node; its time (s) and whether that passes."""

    node: str
    time: float | None
    time_passes: bool


@tool("simulation")
def simulation(call: ToolCall, *, node: Node = "") -> SimulationStatus:
    """Return the time of the simulation, and whether it passes."""
    graph = call.graph
    name = simulation_node(graph, node)
    before = graph.now_ns()
    moves = call.patience.until(lambda: graph.now_ns() != before, 0.5)
    now_ns = graph.now_ns()
    return {"node": name, "time": None if now_ns is None else now_ns / 1e9, "time_passes": moves}


def ask(request: Request, call: ToolCall, *, node: str, **given: Any) -> Done:
    """Make a request to the simulation. Raises ToolRefused with the simulation's reason."""
    name = simulation_node(call.graph, node)
    values = {key: value for key, value in given.items() if value not in (None, "")}
    for each in request.arguments:
        if isinstance(each.holds, FileArgument) and each.name in values:
            file = values[each.name]
            is_named = file.startswith("package://") or file in {**shipped_vehicles(), **shipped_robots()}
            values[each.name] = file if is_named else world_path(call, file)
    try:
        values = {"verb": request.name, **request.checked(values)}
    except ValueError as error:
        raise ToolRefused(shown(str(error))) from None
    parameters = [{"name": key, "value": _value(value)} for key, value in values.items()]
    result = call.graph.call(f"{name}/change", {"parameters": parameters}, call.patience, TIMEOUT_S)["result"]
    if not result["successful"]:
        raise ToolRefused(shown(str(result["reason"])))
    return {"node": name, "message": shown(str(result["reason"]))}


def simulation_nodes(graph: Graph) -> list[str]:
    """Return the nodes that accept requests."""
    return [
        name.removesuffix("/change")
        for name, types in graph.services().items()
        if name.endswith("/change") and _TYPE in types
    ]


def simulation_node(graph: Graph, wanted: str) -> str:
    """Return the node that accepts requests. Raises ToolRefused."""
    nodes = simulation_nodes(graph)
    if wanted:
        full = "/" + wanted.strip("/")
        if full not in nodes:
            raise ToolRefused(f"no simulation {shown(full)} (there are: {shown(', '.join(nodes)) or 'none'})")
        return full
    if len(nodes) != 1:
        raise ToolRefused(
            f"several simulations run, name one: {shown(', '.join(nodes))}" if nodes else "no simulation runs"
        )
    return nodes[0]


def _value(value: Any) -> dict[str, Any]:
    kind = f"{_KINDS[type(value[0])]}_array" if isinstance(value, list) else _KINDS[type(value)]
    return {"type": _FIELDS[kind], f"{kind}_value": value}


def tool_of(request: Request) -> Tool:
    """Return the tool for a request. Its arguments are those of the request, and the node."""
    hints: dict[str, Any] = {}
    defaults: dict[str, Any] = {"node": ""}
    for each in request.arguments:
        if not isinstance(each.holds, ContentOf):
            kind = Literal[tuple(each.holds.allowed)] if isinstance(each.holds, Word) else each.kind
            hints[each.name] = Annotated[kind, each.about]
            defaults[each.name] = NEEDED if isinstance(each.holds, FileArgument) else each.default
    hints["node"] = Node

    def run(call: ToolCall, **given: Any) -> Done:
        return ask(request, call, **given)

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, NEEDED)) for name in hints]
    )
    run.__annotations__ = {**hints, "return": Done}
    run.__doc__ = f"{request.summary}\n\n{request.note}".strip()
    return Tool(run, changes=True)


for _each in REQUESTS.values():
    with REQUESTS.blaming(_each.name):
        TOOLS.add(_each.name)(tool_of(_each))
