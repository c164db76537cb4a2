"""Common parts of the services: the request context, the table of services, and standard result codes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from rclpy.node import Node

from sim_node.plugins import blamed
from sim_node.ros.calls import Preparing, in_loop
from sim_node.session.entities import Rejected
from sim_node.session.requests import RequestContext
from sim_node.simulation import Refused
from sim_node.text import MAX_LINE, shown

PACKAGE = "simulation_interfaces"
T = TypeVar("T")


@dataclass(frozen=True)
class Requests(RequestContext):
    """What the services of a node operate on.

    Attributes:
        node: The node that offers the services.
        stamp: Returns the message stamp (ns) for a simulation time (ns).
        offered: The services and actions that are offered, by type.
        preparing: Carries out slow requests.
    """

    node: Node
    stamp: Callable[[int], int]
    offered: set[str]
    preparing: Preparing

    def in_loop(self, function: Callable[[], T]) -> Awaitable[T]:
        """Return an awaitable of a call into the loop. The executor serves others meanwhile."""
        return in_loop(self.node, self.loop, function)


# Fills a response. A function runs in the loop between two ticks; a coroutine runs in the executor and must not block.
Answer = Callable[[Requests, Any, Any], "Awaitable[None] | None"]


@dataclass(frozen=True)
class Service:
    """A service: the function that fills its response, and the features that it provides."""

    answer: Answer
    features: tuple[str, ...] = ()


# By name of the service type
SERVICES: dict[str, Service] = {}


def service(type_name: str, *features: str) -> Callable[[Answer], Answer]:
    """Register the function that answers a service.

    Args:
        type_name: Name of its type, such as GetEntities. The name of the service is derived from it.
        features: Names of the SimulatorFeatures that it provides.

    Returns:
        The decorator.
    """

    def enter(answer: Answer) -> Answer:
        SERVICES[type_name] = Service(answer, features)
        return answer

    return enter


def name_of(type_name: str) -> str:
    """Return the name of a service from that of its type: get_entities for GetEntities."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type_name).lower()


def set_result(response: Any, error: Exception | None) -> None:
    """Set the result of a message.

    Args:
        response: The response of a service or an action, or the result for one of several entities.
        error: Why it failed; None for success.
    """
    result = getattr(response, "result", None)
    if result is None:
        return
    if error is None:
        result.result = type(result).RESULT_OK
        return
    # After the end of the run, everything is rejected.
    code = "INCORRECT_STATE" if isinstance(error, Refused) else getattr(error, "code", "OPERATION_FAILED")
    known = (getattr(type(response), code, None), getattr(type(result), f"RESULT_{code}", None))
    failed = type(result).RESULT_OPERATION_FAILED
    result.result = next((each for each in known if each is not None), failed)
    text = str(error) if isinstance(error, (Rejected, Refused)) else str(blamed(error) or error)
    result.error_message = shown(text, MAX_LINE)
