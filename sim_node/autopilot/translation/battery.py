"""BATTERY_STATUS."""

from __future__ import annotations

import math
from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire.cdr_writer import CdrWriter

_NONE = 65535
# sensor_msgs/BatteryState.
_STATUS_DISCHARGING, _HEALTH_UNKNOWN = 2, 0
_TECHNOLOGY = {0: 0, 1: 3, 2: 4, 3: 2, 4: 1}  # by MAV_BATTERY_TYPE: unknown, LiPo, LiFe, LiIon, NiMH

BATTERY = topic(
    "battery",
    "sensor_msgs/BatteryState",
    Profile.SENSOR,
    "none",
    "voltage (V), current (A, negative while discharging), charge (0 to 1), cells (V); NaN where unknown",
)


@translates("BATTERY_STATUS")
def battery_status(fields: Any, vehicle: Telemetry) -> None:
    """mV per cell, or of the whole pack in the first entry; 65535 and -1 stand for unknown, 0 for cells beyond ten."""
    cells = [mv * 1e-3 for mv in fields.voltages if mv != _NONE] + [mv * 1e-3 for mv in fields.voltages_ext if mv]
    writer = CdrWriter().header(vehicle.arrival_ns, "")
    writer.number("f", sum(cells) if cells else math.nan)
    writer.number("f", fields.temperature * 1e-2 if fields.temperature != 32767 else math.nan)
    writer.number("f", -fields.current_battery * 1e-2 if fields.current_battery != -1 else math.nan)
    writer.number("f", math.nan, math.nan, math.nan)  # charge, capacity, design capacity in Ah: not told
    writer.number("f", fields.battery_remaining * 1e-2 if fields.battery_remaining != -1 else math.nan)
    writer.number("B", _STATUS_DISCHARGING, _HEALTH_UNKNOWN, _TECHNOLOGY.get(fields.type, 0)).number("?", True)
    # One entry is the pack's voltage, not a cell's.
    writer.sequence("f", cells if len(cells) > 1 else []).sequence("f", [])
    writer.text(f"id{fields.id}").text("")
    vehicle.send(BATTERY, writer.bytes())
