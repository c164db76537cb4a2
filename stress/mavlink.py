"""Whole MAVLink frames whose fields are anything at all, packed by pymavlink's tables."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from pymavlink.dialects.v20 import all as dialect

from sim_node.autopilots.builtin import mission, mission_protocol, parameters, setpoints
from sim_node.autopilots.builtin.commands import COMMANDS
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.translation import TRANSLATIONS

SYSTEM, GROUND = 1, 255
# What the ground side of an autopilot listens to, its simulator side, and a bridge.
FROM_GROUND = sorted({"COMMAND_LONG", "COMMAND_INT", "TIMESYNC", "PING", "SET_MODE", "HEARTBEAT",
                      "FILE_TRANSFER_PROTOCOL", "REQUEST_DATA_STREAM"} | setpoints.NAMES
                     | mission_protocol.NAMES | parameters.NAMES)  # fmt: skip
FROM_SIMULATOR = ("HIL_SENSOR", "ODOMETRY", "HIL_GPS")
FROM_VEHICLE = sorted(
    {*TRANSLATIONS, "TIMESYNC", "COMMAND_ACK", "MISSION_REQUEST_INT", "MISSION_REQUEST", "MISSION_ACK", "MISSION_COUNT",
     "MISSION_ITEM_INT", "PARAM_VALUE"}
)  # fmt: skip
TABLES = {str(table.msgname): table for table in dialect.mavlink_map.values()}
REALS = (math.nan, math.inf, -math.inf, 3.4e38, -3.4e38, 1e-45, 0.0, -0.0, -1.0, 1.0, 1e6, 1e9)
BITS = {"char": 8, "int8_t": 8, "uint8_t": 8, "int16_t": 16, "uint16_t": 16, "int32_t": 32, "uint32_t": 32,
        "int64_t": 64, "uint64_t": 64, "uint8_t_mavlink_version": 8}  # fmt: skip


def anything(
    name: str, rng: Random, sequence: int, sender: int = GROUND, target: int = SYSTEM, component: int = 190
) -> bytes:
    """A whole frame of a message to an autopilot: each field small, extreme, or any value of its type."""
    table = TABLES[name]
    fields: dict[str, Any] = {}
    for field, kind, length in zip(
        table.fieldnames, table.fieldtypes, _in_order_of_names(table, table.array_lengths), strict=True
    ):
        values = [_value(kind, rng) for _ in range(max(length, 1))]
        fields[field] = bytes(v & 0x7F for v in values) if kind == "char" else values if length else values[0]
    fields |= {field: value for field, value in _sense(name, target, rng).items() if field in fields}
    return frame_bytes(name, fields, sender, component, sequence & 0xFF)


def _in_order_of_names(table: Any, lengths: list[int]) -> list[int]:
    by_name = dict(zip(table.ordered_fieldnames, lengths, strict=True))
    return [by_name[name] for name in table.fieldnames]


def _value(kind: str, rng: Random) -> Any:
    how = rng.random()
    if kind in ("float", "double"):
        return rng.choice(REALS) if how < 0.3 else rng.uniform(-50.0, 50.0) if how < 0.8 else 0.0
    bits = BITS[kind]
    low = 0 if kind[0] in "uc" else -(1 << bits - 1)
    high = low + (1 << bits) - 1
    if how < 0.5:
        return rng.randrange(30)
    return rng.choice((low, high, 0)) if how < 0.7 else rng.randint(low, high)


def _sense(name: str, target: int, rng: Random) -> dict[str, Any]:
    """Fields without which most messages would be left aside at the door."""
    fields: dict[str, Any] = {"target_system": target, "target_component": 1}
    if name.startswith("COMMAND") and rng.random() < 0.9:
        fields["command"] = rng.choice(list(COMMANDS))
    elif name.startswith("MISSION_ITEM") and rng.random() < 0.9:
        fields |= {"command": rng.choice([*mission.ITEMS, mission.DO_JUMP]), "seq": rng.randrange(3)}
    elif name == "MISSION_COUNT" and rng.random() < 0.8:
        fields["count"] = rng.randint(1, 3)
    if rng.random() < 0.9:
        fields |= {"coordinate_frame": rng.choice((1, 7, 8, 9, 5, 6)), "frame": rng.choice((0, 1, 3, 5, 6))}
        fields["mission_type"] = 0
    return fields
