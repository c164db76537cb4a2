"""Tools that control the simulation: pause, resume, step, reset, and its state."""

from __future__ import annotations

from typing import Annotated, Literal

from sim_node.extensions.assistants.graph import Graph
from sim_node.extensions.assistants.registry import Call, ToolRefused, TypedDict, tool
from sim_node.text import shown

TIMEOUT_S = 10.0
_TRIGGER = "std_srvs/srv/Trigger"


class Simulation(TypedDict, total=False):
    """A simulation's node; its time (s) and whether that passes, or what it answers."""

    node: str
    time: float | None
    time_passes: bool
    message: str


@tool("simulation", changes=True)
def simulation(
    call: Call,
    *,
    action: Annotated[Literal["state", "pause", "resume", "step", "reset"], "what to do; state changes nothing"],
    node: Annotated[str, "full name of the simulation's node; empty if there is one"] = "",
) -> Simulation:
    """Pause, resume, step or reset the simulation, or return its time."""
    graph = call.graph
    name = simulation_node(graph, node)
    if action == "state":
        before = graph.now_ns()
        moves = call.patience.until(lambda: graph.now_ns() != before, 0.5)
        now_ns = graph.now_ns()
        return {"node": name, "time": None if now_ns is None else now_ns / 1e9, "time_passes": moves}
    reply = graph.call(f"{name}/{action}", {}, call.patience, TIMEOUT_S)
    if not reply.get("success"):
        raise ToolRefused(f"{action}: {shown(str(reply.get('message', '')))}")
    return {"node": name, "message": shown(str(reply.get("message", "")))}


def simulation_node(graph: Graph, wanted: str) -> str:
    """Return the node that can be paused, stepped and reset. Raises ToolRefused."""
    services = graph.services()
    nodes = [
        name.removesuffix("/step")
        for name, types in services.items()
        if name.endswith("/step") and _TRIGGER in types and name.removesuffix("/step") + "/pause" in services
    ]
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
