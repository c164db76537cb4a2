"""Offers the services and the action of simulation_interfaces whose types are installed."""

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
# Modules that register services
REGISTERING = (entity_services, run_services, structure_services)


class SimulationInterfaces:
    """The simulation_interfaces services of a node.

    Args:
        node: The node that offers them.
        requests: Answers them. The offered types are added to it.
        prefix: Prefix of the names: ~ for the node's name, / for none, or a namespace.

    Attributes:
        requests: Answers the services.
    """

    def __init__(self, node: Node, requests: Requests, prefix: str) -> None:
        self.requests = requests
        self._node, self._prefix = node, prefix.rstrip("/")
        types = importlib.import_module(f"{PACKAGE}.srv")
        # So that a long step, or waiting for the end of a tick, does not block other calls.
        self._group = ReentrantCallbackGroup()
        for type_name, each in SERVICES.items():
            kind = getattr(types, type_name, None)
            if kind is not None:
                self._serve(type_name, kind, each.answer)
        self._steps = run_services.serve_steps(node, requests, self.path("SimulateSteps"), self._group)

    def close(self) -> None:
        """Destroy the action, which the node does not destroy with its services."""
        if self._steps is not None:
            self._steps.destroy()

    def path(self, type_name: str) -> str:
        """Return the name of the service of a type, including the prefix."""
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
        node: The node that offers them.
        requests: Creates the object that answers them.
        prefix: Prefix of the names; empty to offer no services.

    Returns:
        The services; None if the package is not installed, which is logged.
    """
    if not prefix:
        return None
    if not is_installed():
        # With the default prefix, nobody has asked for the services, and most runs do not use them.
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
