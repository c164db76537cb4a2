"""Services without a request that act on a run between two ticks."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_srvs.srv import Trigger

from sim_node.plugins import blamed
from sim_node.simulation.worker import Worker


def serve(node: Node, loop: Worker, state: Callable[[], str], actions: dict[str, Callable[[], object]]) -> None:
    """Offer a std_srvs/Trigger service ~/NAME for each action. Its reply has the state, or the reason of a refusal."""
    for name, action in actions.items():

        def act(action: Callable[[], object] = action) -> str:
            action()
            return state()

        def answer(
            request: Trigger.Request, response: Trigger.Response, act: Callable[[], str] = act
        ) -> Trigger.Response:
            try:
                response.message, response.success = loop.call(act), True
            except Exception as failure:  # a failure of the loop is raised by its stop, too
                response.message, response.success = str(blamed(failure) or failure), False
            return response

        node.create_service(Trigger, f"~/{name}", answer)
