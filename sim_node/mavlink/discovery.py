"""Election of the autopilot of a system, among components and ground tools that send heartbeats, too."""

from __future__ import annotations

from typing import Any

from sim_node.mavlink.codec import MavlinkMessage, enum_name, enum_values
from sim_node.mavlink.links import Address
from sim_node.mavlink.vehicle import VehicleRoute

AUTOPILOT_COMPONENT = 1  # MAV_COMP_ID_AUTOPILOT1
GENERIC, RESERVED, NO_AUTOPILOT = 0, 1, 8  # MAV_AUTOPILOT
# MAV_TYPEs of components and of ground stations.
_NO_VEHICLES = frozenset(
    enum_values("MAV_TYPE").get(f"MAV_TYPE_{name}", -1)
    for name in (
        *("GCS", "ONBOARD_CONTROLLER", "GIMBAL", "ADSB", "CAMERA", "CHARGING_STATION", "FLARM", "SERVO", "ODID"),
        *("BATTERY", "PARACHUTE", "LOG", "OSD", "IMU", "GPS", "WINCH", "ILLUMINATOR", "GRIPPER"),
    )
)
# Time after which a silent sender of better standing is no longer waited for.
RIVAL_NS = 5_000_000_000
MAX_SENDERS = 1024


def standing(component: int, heartbeat: Any) -> int:
    """Return how likely a sender is an autopilot; 0 if it is none.

    Args:
        component: Component id.
        heartbeat: Fields of its heartbeat.

    Returns:
        A number, larger for more likely. The component counts most, then the type, then whether it names an autopilot.
    """
    is_first, is_vehicle = component == AUTOPILOT_COMPONENT, heartbeat.type not in _NO_VEHICLES
    if heartbeat.autopilot == NO_AUTOPILOT or not (is_first or is_vehicle):
        return 0
    return 1 + 4 * is_first + 2 * is_vehicle + (heartbeat.autopilot not in (GENERIC, RESERVED))


def description(component: int, heartbeat: Any) -> str:
    """Return the name of a component for users: `component 191 (onboard_controller, autopilot generic)`."""
    kind = enum_name("MAV_TYPE", heartbeat.type).removeprefix("MAV_TYPE_").lower()
    if heartbeat.autopilot == NO_AUTOPILOT:
        return f"component {component} ({kind})"
    autopilot = enum_name("MAV_AUTOPILOT", heartbeat.autopilot).removeprefix("MAV_AUTOPILOT_").lower()
    return f"component {component} ({kind}, autopilot {autopilot})"


class Discovery:
    """Elects the autopilot of each system id among the senders of heartbeats."""

    def __init__(self) -> None:
        # Standing of each sender, and time of its last heartbeat (ns): a single packet must not create a vehicle.
        self._senders: dict[tuple[int, int, VehicleRoute, Address], tuple[int, int]] = {}

    def elects(
        self,
        message: MavlinkMessage,
        route: VehicleRoute,
        address: Address,
        now_ns: int,
        *,
        above: int,
        heard: bool = False,
    ) -> bool:
        """Return whether the sender of a heartbeat is the autopilot of its system from now on.

        Args:
            message: The heartbeat.
            route: Link on which it was received.
            address: Address of its sender.
            now_ns: Monotonic time (ns).
            above: Standing of the present autopilot; 0 if there is none.
            heard: Whether the first heartbeat suffices.

        Returns:
            Whether it was received before, and no other sender has a higher standing.
        """
        rank = standing(message.component, message.fields)
        if rank <= above:
            return False
        key = message.system, message.component, route, address
        heard = self._senders.pop(key, None) is not None or heard
        if len(self._senders) >= MAX_SENDERS:
            del self._senders[next(iter(self._senders))]
        self._senders[key] = rank, now_ns
        return heard and not any(
            system == message.system and other > rank and now_ns - last_ns < RIVAL_NS
            for (system, *_), (other, last_ns) in self._senders.items()
        )
