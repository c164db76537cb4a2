"""What services have in common: what answers them, the table of services, and results as the standard defines them."""

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
    """What answers the services of a node.

    Attributes:
        node: Whose services they are.
        stamp: Returns the stamp (ns) of messages for a simulation time (ns).
        offered: The services and actions that are offered, by their types.
        preparing: Carries out what takes long.
    """

    node: Node
    stamp: Callable[[int], int]
    offered: set[str]
    preparing: Preparing

    def in_loop(self, function: Callable[[], T]) -> Awaitable[T]:
        """Return what awaits a call into the loop, while the executor serves others."""
        return in_loop(self.node, self.loop, function)


# Fills a response: a function in the loop, between two ticks; a coroutine in the executor, which it must not keep.
Answer = Callable[[Requests, Any, Any], "Awaitable[None] | None"]


@dataclass(frozen=True)
class Service:
    """A service: what fills its response, and the features that it stands for."""

    answer: Answer
    features: tuple[str, ...] = ()


# By the name of the type.
SERVICES: dict[str, Service] = {}


def service(type_name: str, *features: str) -> Callable[[Answer], Answer]:
    """Register what answers a service.

    Args:
        type_name: The name of its type, such as GetEntities, from which that of the service follows.
        features: Names of features of SimulatorFeatures that it stands for.

    Returns:
        The decorator.
    """

    def enter(answer: Answer) -> Answer:
        SERVICES[type_name] = Service(answer, features)
        return answer

    return enter


def name_of(type_name: str) -> str:
    """Return the name of the service of a type: get_entities for GetEntities."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type_name).lower()


def set_result(response: Any, error: Exception | None) -> None:
    """Set the result of a message.

    Args:
        response: The response of a service or an action, or the result for one of several entities.
        error: Why it failed; None if it did not.
    """
    result = getattr(response, "result", None)
    if result is None:
        return
    if error is None:
        result.result = type(result).RESULT_OK
        return
    # After the end of the run everything is refused.
    code = "INCORRECT_STATE" if isinstance(error, Refused) else getattr(error, "code", "OPERATION_FAILED")
    known = (getattr(type(response), code, None), getattr(type(result), f"RESULT_{code}", None))
    failed = type(result).RESULT_OPERATION_FAILED
    result.result = next((each for each in known if each is not None), failed)
    text = str(error) if isinstance(error, (Rejected, Refused)) else str(blamed(error) or error)
    result.error_message = shown(text, MAX_LINE)
