"""The components of a vehicle's system beside its autopilot: what they are, and what is published of their messages."""

from __future__ import annotations

from dataclasses import dataclass

from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.links import Address
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.translation import TRANSLATIONS

# Messages that components send to their autopilot, and that are published, too. MAVROS reads all messages of a system.
OF_ANY_COMPONENT = (
    *("BATTERY_STATUS", "DISTANCE_SENSOR", "LANDING_TARGET", "MOUNT_ORIENTATION", "MOUNT_STATUS", "ODOMETRY"),
    *("OPTICAL_FLOW", "OPTICAL_FLOW_RAD"),
)


@dataclass
class _Component:
    """A component: its telemetry, its link and address, and when it was received last (ns)."""

    telemetry: Telemetry
    sender: tuple[object, Address]
    received_ns: int


class OtherComponents:
    """Lists the components of a system, and translates their messages, each by a clock of its own.

    Args:
        telemetry: The telemetry of the autopilot.
        silent_ns: A component that sends nothing for this long (ns) may be received from elsewhere.

    Attributes:
        listed: Descriptions of the components by their ids.
    """

    def __init__(self, telemetry: Telemetry, silent_ns: int) -> None:
        self.listed: dict[int, str] = {}
        self._autopilot, self._silent_ns = telemetry, silent_ns
        self._components: dict[int, _Component] = {}

    def receive(self, message: MavlinkMessage, route: object, address: Address, now_ns: int, graph_ns: int) -> None:
        """Handle a message of a component.

        Args:
            message: The message.
            route: The link on which it was received.
            address: The address of its sender.
            now_ns: Monotonic time (ns).
            graph_ns: Time of the graph's clock (ns).
        """
        number, sender = message.component, (route, address)
        if message.name == "HEARTBEAT":
            return  # the component is listed
        if message.name not in OF_ANY_COMPONENT:
            self._autopilot.count_dropped(f"component {number}", "not read")
            return
        found = self._components.get(number)
        if found is None or (found.sender != sender and now_ns - found.received_ns > self._silent_ns):
            found = self._components[number] = _Component(self._autopilot.of_component(number), sender, now_ns)
        elif found.sender != sender:
            self._autopilot.count_dropped(f"component {number}", "a second one with this id")
            return
        found.received_ns, found.telemetry.arrival_ns = now_ns, graph_ns
        if not found.telemetry.is_late(message.fields):
            TRANSLATIONS[message.name](message.fields, found.telemetry)

    def forget_clocks(self) -> None:
        """Estimate the offsets of their clocks again."""
        for component in self._components.values():
            component.telemetry.clock.forget()
