"""Other names under which a bridge publishes and serves its vehicles: MAVROS' and PX4's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from rclpy.node import Node

from sim_node.messages.topic import Outlet

if TYPE_CHECKING:
    from sim_node.mavlink.bridge import Bridge
    from sim_node.mavlink.vehicle import Vehicle
    from sim_node.ros.bridge_parameters import Naming
    from sim_node.ros.vehicle_commands import VehicleCommandServices
    from sim_node.ros.vehicle_topics import VehicleTf

ENU = "enu"
# By the word of the parameter `names`. Each is imported only if it is asked for, as it needs messages of others.
DIALECTS = {
    "mavros": "sim_node.ros.mavros.vehicles:MavrosVehicles",
    "px4": "sim_node.ros.px4.vehicles:Px4Vehicles",
}
NAMES = (ENU, *DIALECTS)


class Dialect(Protocol):
    """Publishes and serves vehicles under names of their own."""

    def __init__(self, node: Node, bridge: Bridge, naming: Naming) -> None:
        """Import and compile what the first messages need. Raises ImportError without the message package."""

    def found(self, vehicle: Vehicle, outlet: Outlet, tf: VehicleTf, now_ns: Callable[[], int]) -> None:
        """Publish a vehicle; called in the bridge's thread."""

    def serve(self, vehicle: Vehicle, commands: VehicleCommandServices) -> None:
        """Offer the services and subscriptions of a vehicle; called in the executor's thread."""


def dialect(name: str) -> type[Dialect]:
    """Return the class of a name of DIALECTS."""
    module, _, attribute = DIALECTS[name].partition(":")
    found: type[Dialect] = getattr(import_module(module), attribute)
    return found
