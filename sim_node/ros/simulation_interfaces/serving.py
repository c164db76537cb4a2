"""Serves simulation_interfaces: the services and the action whose types are installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from sim_node.packages import missing_message
from sim_node.ros.simulation_interfaces import entity_services, run_services, structure_services
from sim_node.ros.simulation_interfaces.services import PACKAGE, SERVICES, Answer, Requests, name_of, set_result
from sim_node.session.entities import Rejected
from sim_node.simulation import Refused
from sim_node.text import MAX_LINE, shown

DEFAULT_PREFIX = "~"
# The modules that register services.
REGISTERING = (entity_services, run_services, structure_services)


class SimulationInterfaces:
    """The services of a node.

    Args:
        node: Whose services they are.
        requests: Answer them. Gets the types that are offered.
        prefix: Where they are: ~ below the node's name, / for none, or a namespace.

    Attributes:
        requests: What answers them.
    """

    def __init__(self, node: Node, requests: Requests, prefix: str) -> None:
        self.requests = requests
        self._node, self._prefix = node, prefix.rstrip("/")
        types = importlib.import_module(f"{PACKAGE}.srv")
        # A call that steps for long, or waits for the end of a tick, does not keep others waiting.
        self._group = ReentrantCallbackGroup()
        for type_name, each in SERVICES.items():
            kind = getattr(types, type_name, None)
            if kind is not None:
                self._serve(type_name, kind, each.answer)
        self._steps = run_services.serve_steps(node, requests, self.path("SimulateSteps"), self._group)

    def close(self) -> None:
        """End the action, which the node does not end with its services."""
        if self._steps is not None:
            self._steps.destroy()

    def path(self, type_name: str) -> str:
        """Return the name of the service of a type, with the prefix."""
        return f"{self._prefix}/{name_of(type_name)}"

    def _serve(self, type_name: str, kind: Any, answer: Answer) -> None:
        async def serve(request: Any, response: Any) -> Any:
            try:
                if iscoroutinefunction(answer):
                    await answer(self.requests, request, response)
                else:
                    await self.requests.in_loop(lambda: answer(self.requests, request, response))
            except Exception as error:
                set_result(response, error)
                if not isinstance(error, (Rejected, Refused)):
                    self._node.get_logger().error(f"{name_of(type_name)}: {shown(repr(error), MAX_LINE)}")
            else:
                set_result(response, None)
            return response

        self._node.create_service(kind, self.path(type_name), serve, callback_group=self._group)
        self.requests.offered.add(type_name)


def serve_simulation_interfaces(
    node: Node, requests: Callable[[], Requests], prefix: str
) -> SimulationInterfaces | None:
    """Offer the services of simulation_interfaces on a node.

    Args:
        node: Whose services they are.
        requests: Makes what answers them.
        prefix: Where they are; empty for nowhere.

    Returns:
        The services; None if the package is not installed, which is logged.
    """
    if not prefix:
        return None
    if not is_installed():
        # The default prefix asks for nothing: most runs have no use for the services.
        log = node.get_logger().debug if prefix == DEFAULT_PREFIX else node.get_logger().warning
        log(f"the services of {PACKAGE} are not offered: {missing_message(PACKAGE)}")
        return None
    return SimulationInterfaces(node, requests(), prefix)


def is_installed() -> bool:
    """Return whether the messages can be imported."""
    try:
        importlib.import_module(f"{PACKAGE}.srv")
    except ImportError:
        return False
    return True
