"""Trigger services that act on a run between two ticks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_srvs.srv import Trigger

from sim_node.plugins import blamed
from sim_node.ros.calls import Submits, in_loop


def serve(node: Node, loop: Submits, actions: Mapping[str, Callable[[], str]]) -> None:
    """Offer a std_srvs/Trigger service ~/NAME for each action. It replies with the action's result or its error."""
    group = ReentrantCallbackGroup()
    for name, action in actions.items():
        node.create_service(Trigger, f"~/{name}", partial(_answer, node, loop, action), callback_group=group)


async def _answer(
    node: Node, loop: Submits, action: Callable[[], str], request: Trigger.Request, response: Trigger.Response
) -> Trigger.Response:
    try:
        response.message, response.success = await in_loop(node, loop, action), True
    except Exception as failure:  # a failure of the loop is also raised by its stop
        response.message, response.success = str(blamed(failure) or failure), False
    return response
