"""What answers requests to a simulation node: simulation_interfaces, and `sim_node spawn` and its siblings."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from sim_node.ros.changes import serve_changes
from sim_node.ros.orders import Orders
from sim_node.ros.preparing import Preparing
from sim_node.ros.simulation_interfaces.services import Requests
from sim_node.ros.simulation_interfaces.serving import SimulationInterfaces, serve_simulation_interfaces
from sim_node.session import Session
from sim_node.session.run_requests import RunRequests

# How long a node that is asked to quit goes on: DDS does not report when a reply has arrived.
QUITTING_S = 1.0


class SimulationRequests:
    """The services of a simulation node that query and change its world.

    Args:
        node: Whose services they are.
        session: Its run, open.
        stamp: Returns the stamp (ns) of messages for a simulation time (ns).
        prefix: Where the services of simulation_interfaces are; empty for nowhere.

    Attributes:
        interfaces: The services of simulation_interfaces; None if its messages are not installed.
        close: Waits for the request under way; those after it get no answer.
    """

    def __init__(self, node: Node, session: Session, stamp: Callable[[int], int], prefix: str) -> None:
        loop, entities, structure = session.loop, session.entities, session.structure
        orders = Orders(node)

        def stop_later() -> None:
            clock = Clock(clock_type=ClockType.STEADY_TIME)
            node.create_timer(QUITTING_S, lambda: loop.post(loop.stop), clock=clock)

        run = RunRequests(
            loop,
            entities,
            reset=lambda: loop.reset(node.get_parameter("seed").value),
            rewind=lambda: loop.restart(node.get_parameter("seed").value),
            despawn=structure.despawn,
            # Once the executor has sent the reply, which the process must outlive.
            quit=lambda: orders.add(stop_later),
        )

        def wake() -> None:
            if node.executor is not None:
                node.executor.wake()

        def requests() -> Requests:
            return Requests(entities, run, structure, loop, stamp, set(), wake, preparing)

        preparing = Preparing(node)
        self.close = preparing.close
        serve_changes(node, structure, preparing)
        self.interfaces: SimulationInterfaces | None = serve_simulation_interfaces(node, requests, prefix)
