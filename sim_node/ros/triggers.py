"""Services without a request that act on a run between two ticks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol, TypeVar

from rclpy.node import Node
from std_srvs.srv import Trigger

from sim_node.plugins import blamed

T = TypeVar("T")


class Calls(Protocol):
    """What runs a function between two ticks."""

    def call(self, function: Callable[[], T]) -> T:
        """Run it, and return its result or raise its exception."""


def serve(node: Node, loop: Calls, actions: Mapping[str, Callable[[], str]]) -> None:
    """Offer a std_srvs/Trigger service ~/NAME for each action. Its reply is what that returns, or why it is refused."""
    for name, action in actions.items():
        node.create_service(Trigger, f"~/{name}", partial(_answer, loop, action))


def _answer(
    loop: Calls, action: Callable[[], str], request: Trigger.Request, response: Trigger.Response
) -> Trigger.Response:
    try:
        response.message, response.success = loop.call(action), True
    except Exception as failure:  # a failure of the loop is raised by its stop, too
        response.message, response.success = str(blamed(failure) or failure), False
    return response
