"""Requests to a simulation node: its own services, and those of simulation_interfaces."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from sim_node.ros.calls import Orders, Preparing
from sim_node.ros.changes import serve_changes
from sim_node.ros.simulation_interfaces.services import Requests
from sim_node.ros.simulation_interfaces.serving import SimulationInterfaces, serve_simulation_interfaces
from sim_node.ros.triggers import serve
from sim_node.session import Session
from sim_node.simulation.requests import REQUESTS, carry_out

# How long a node keeps running after a request to quit, because DDS does not report when the reply has arrived.
QUITTING_S = 1.0


class SimulationRequests:
    """The services of a simulation node that query and change its world.

    Args:
        node: The node that offers them.
        session: Its open run.
        stamp: Returns the message stamp (ns) for a simulation time (ns).
        prefix: Prefix of the simulation_interfaces services; empty to offer none.

    Attributes:
        interfaces: The services of simulation_interfaces; None if its messages are not installed.
    """

    def __init__(self, node: Node, session: Session, stamp: Callable[[int], int], prefix: str) -> None:
        context, loop, orders = session.requests, session.loop, Orders(node)

        def stop_later() -> None:
            clock = Clock(clock_type=ClockType.STEADY_TIME)
            node.create_timer(QUITTING_S, lambda: loop.post(loop.stop), clock=clock)

        # Called after the executor has sent the reply, before which the process must not end.
        session.quit = lambda: orders.add(stop_later)

        def requests() -> Requests:
            return Requests(**vars(context), node=node, stamp=stamp, offered=set(), preparing=preparing)

        self._preparing = preparing = Preparing(node)
        self._at_once = Preparing(node)
        bare = {name: partial(carry_out, context, name, {}) for name, each in REQUESTS.items() if each.is_bare}
        serve(node, loop, bare)
        serve_changes(node, context, preparing, self._at_once)
        self.interfaces: SimulationInterfaces | None = serve_simulation_interfaces(node, requests, prefix)

    def close(self) -> None:
        """Wait for active requests. Later ones get no reply."""
        self._preparing.close()
        self._at_once.close()
        if self.interfaces is not None:
            self.interfaces.close()
