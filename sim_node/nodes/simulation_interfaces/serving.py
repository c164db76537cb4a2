"""Serves simulation_interfaces: services whose types are installed, and results as the standard defines them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from sim_node.packages import missing_message
from sim_node.plugins import blamed
from sim_node.session.entities import Rejected
from sim_node.session.entity_requests import EntityRequests
from sim_node.session.run_requests import RunRequests
from sim_node.session.structure_requests import StructureRequests
from sim_node.simulation import Loop, Refused
from sim_node.text import MAX_LINE, shown

PACKAGE = "simulation_interfaces"
DEFAULT_PREFIX = "~"
T = TypeVar("T")


@dataclass(frozen=True)
class Requests:
    """What answers the services of a node.

    Attributes:
        entities: Requests about entities.
        run: Requests about the run.
        structure: Requests that change the world.
        loop: The run.
        stamp: Returns the stamp (ns) of messages for a simulation time (ns).
        offered: The services and actions that are offered, by their types.
        wake: Lets the executor look at what has become ready.
    """

    entities: EntityRequests
    run: RunRequests
    structure: StructureRequests
    loop: Loop
    stamp: Callable[[int], int]
    offered: set[str]
    wake: Callable[[], None]

    def in_loop(self, function: Callable[[], T]) -> Awaitable[T]:
        """Return what awaits a call into the loop, while the executor serves others."""
        future = Future()

        def act() -> None:
            try:
                future.set_result(function())
            except Exception as error:  # raised where it is awaited
                future.set_exception(error)
            self.wake()

        self.loop.post(act)
        awaited: Awaitable[T] = future
        return awaited


# Fills a response; a coroutine where that takes long.
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
        # A call that steps for long does not keep others waiting.
        self._group = ReentrantCallbackGroup()
        for type_name, each in SERVICES.items():
            kind = getattr(types, type_name, None)
            if kind is not None:
                self._serve(type_name, kind, each.answer)
        from sim_node.nodes.simulation_interfaces.run_services import serve_steps

        self._steps = serve_steps(node, requests, self.path("SimulateSteps"), self._group)

    def path(self, type_name: str) -> str:
        """Return the name of the service of a type, with the prefix."""
        return f"{self._prefix}/{name_of(type_name)}"

    def _serve(self, type_name: str, kind: Any, answer: Answer) -> None:
        async def serve(request: Any, response: Any) -> Any:
            try:
                later = answer(self.requests, request, response)
                if later is not None:
                    await later
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
    from sim_node.nodes.simulation_interfaces import entity_services, run_services, structure_services

    registering: tuple[ModuleType, ...] = (entity_services, run_services, structure_services)
    assert registering
    return SimulationInterfaces(node, requests(), prefix)


def is_installed() -> bool:
    """Return whether the messages can be imported."""
    try:
        importlib.import_module(f"{PACKAGE}.srv")
    except ImportError:
        return False
    return True
