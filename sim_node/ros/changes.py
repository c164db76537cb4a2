"""The service ~/change, through which commands and tools make any request of `sim_node.simulation.requests`.

Its type is rcl_interfaces/srv/SetParametersAtomically, which every rclpy installation has: the request consists of
named strings, numbers and arrays; the response is a success flag and a text. The services of simulation_interfaces
need messages that have to be built first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcl_interfaces.srv import SetParametersAtomically
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter

from sim_node.plugins import blamed
from sim_node.ros.calls import Preparing
from sim_node.ros.message_values import BadValue
from sim_node.ros.tool_graph import NotThere, ToolGraph
from sim_node.session.entities import Rejected
from sim_node.session.requests import RequestContext
from sim_node.simulation import Refused
from sim_node.simulation.requests import REQUESTS, carry_out
from sim_node.text import MAX_LINE, shown
from sim_node.world.problems import WorldError

SERVICE = "change"


def serve_changes(node: Node, context: RequestContext, preparing: Preparing, at_once: Preparing) -> None:
    """Offer ~/change.

    Args:
        node: The node that offers the service.
        context: What the requests operate on.
        preparing: Runs requests that may take long, because they read files or change parts of the world.
        at_once: Runs the requests that are also Trigger services, without waiting for the others: pause, resume, step,
            reset.
    """

    async def serve(request: Any, response: Any) -> Any:
        try:
            values = {each.name: Parameter.from_parameter_msg(each).value for each in request.parameters}
            verb = str(values.pop("verb", ""))
            known = REQUESTS.get(verb)
            where = at_once if known is not None and known.is_bare else preparing
            text = await where.run(lambda: carry_out(context, verb, values))
            response.result.successful = True
        except (Rejected, Refused, WorldError, ValueError, KeyError) as error:
            text = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
        except Exception as error:  # becomes the reply, and must not end the node
            node.get_logger().error(f"~/{SERVICE}: {shown(repr(error), MAX_LINE)}")
            text = str(blamed(error) or error)
        response.result.reason = shown(text, MAX_LINE)
        return response

    node.create_service(SetParametersAtomically, f"~/{SERVICE}", serve, callback_group=ReentrantCallbackGroup())


def request_change(graph: ToolGraph, node: str, verb: str, values: Mapping[str, Any], timeout_s: float) -> str:
    """Make a request to a node.

    Args:
        graph: The graph.
        node: The name of the node.
        verb: The name of the request.
        values: Its arguments.
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
    parameters = [Parameter(key, value=value).to_parameter_msg() for key, value in {"verb": verb, **values}.items()]
    reply = client.call_async(SetParametersAtomically.Request(parameters=parameters))
    if not graph.spin(reply.done, timeout_s):
        raise NotThere(f"{shown(name)} has not replied within {timeout_s:g} s")
    result = reply.result().result
    if not result.successful:
        raise BadValue(result.reason)
    return str(result.reason)
