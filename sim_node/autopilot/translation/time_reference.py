"""SYSTEM_TIME: what the autopilot takes for Unix time. In PX4's simulation that is the host's clock."""

from __future__ import annotations

from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire import telemetry_messages as wire
from sim_node.wire.cdr import stamp

REFERENCE = topic(
    "time_reference",
    "sensor_msgs/TimeReference",
    Profile.SENSOR,
    "none",
    "Unix time as the autopilot has it",
    lambda frames: wire.time_reference("fcu"),
)


@translates("SYSTEM_TIME")
def system_time(fields: Any, vehicle: Telemetry) -> None:
    """Zero until a receiver told it."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    if not 0 < fields.time_unix_usec < 2**31 * 1_000_000:
        return
    vehicle.pack(REFERENCE, stamp_ns, stamp(fields.time_unix_usec * 1000))
