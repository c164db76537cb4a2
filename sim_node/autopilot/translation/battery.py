"""BATTERY_STATUS."""

from __future__ import annotations

import math
from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire import telemetry_messages as wire

_NONE = 65535
_TECHNOLOGY = {
    0: 0,
    1: 3,
    2: 4,
    3: 2,
    4: 1,
}  # sensor_msgs/BatteryState by MAV_BATTERY_TYPE: unknown, LiPo, LiFe, LiIon, NiMH

BATTERY = topic(
    "battery",
    "sensor_msgs/BatteryState",
    Profile.SENSOR,
    "none",
    "voltage (V), current (A, negative while discharging), charge (0 to 1), cells (V); NaN where unknown",
    lambda frames, location, cells: wire.battery(location, cells),
)


@translates("BATTERY_STATUS")
def battery_status(fields: Any, vehicle: Telemetry) -> None:
    """mV per cell, or of the whole pack in the first entry; 65535 and -1 stand for unknown, 0 for cells beyond ten."""
    cells = [mv * 1e-3 for mv in fields.voltages if mv != _NONE] + [mv * 1e-3 for mv in fields.voltages_ext if mv]
    state = (
        sum(cells) if cells else math.nan,
        fields.temperature * 1e-2 if fields.temperature != 32767 else math.nan,
        -fields.current_battery * 1e-2 if fields.current_battery != -1 else math.nan,
        fields.battery_remaining * 1e-2 if fields.battery_remaining != -1 else math.nan,
        _TECHNOLOGY.get(fields.type, 0),
    )
    # One entry is the pack's voltage, not a cell's.
    told = cells if len(cells) > 1 else []
    vehicle.pack(BATTERY, vehicle.arrival_ns, (*state, *told), f"id{fields.id}", len(told))
