"""MISSION_CURRENT and MISSION_ITEM_REACHED."""

from __future__ import annotations

from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire import telemetry_messages as wire

CURRENT = topic(
    "mission/current",
    "std_msgs/UInt16",
    Profile.RELIABLE,
    "none",
    "the item that is being flown",
    lambda frames: wire.number("std_msgs/msg/UInt16"),
)
REACHED = topic(
    "mission/reached",
    "std_msgs/UInt16",
    Profile.RELIABLE,
    "none",
    "an item, once it is reached",
    lambda frames: wire.number("std_msgs/msg/UInt16"),
)


@translates("MISSION_CURRENT")
def mission_current(fields: Any, vehicle: Telemetry) -> None:
    """Counted as the autopilot counts: ArduPilot's item 0 is home."""
    vehicle.pack(CURRENT, vehicle.arrival_ns, (fields.seq,))


@translates("MISSION_ITEM_REACHED")
def mission_item_reached(fields: Any, vehicle: Telemetry) -> None:
    """Counted in the same way."""
    vehicle.pack(REACHED, vehicle.arrival_ns, (fields.seq,))
