"""The few parameters that a ground station sees: to be read, and the speed to be set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sim_node.autopilot.codec import Message
from sim_node.autopilot.links import Address

if TYPE_CHECKING:
    from sim_node.autopilot.builtin.autopilot import BuiltinAutopilot
    from sim_node.autopilot.connection import Connection

_REAL32 = 9  # MAV_PARAM_TYPE
NAMES = frozenset({"PARAM_REQUEST_LIST", "PARAM_REQUEST_READ", "PARAM_SET"})


def answer_parameters(autopilot: BuiltinAutopilot, message: Message, connection: Connection, address: Address) -> None:
    """PARAM_REQUEST_LIST, PARAM_REQUEST_READ and PARAM_SET: each answered by what then holds."""
    fields = message.fields
    values = _values(autopilot)
    names = list(values)
    if message.name == "PARAM_REQUEST_LIST":
        asked = names
    elif message.name == "PARAM_REQUEST_READ" and 0 <= fields.param_index < len(names):
        asked = [names[fields.param_index]]
    else:
        asked = [fields.param_id] if fields.param_id in values else []
    if message.name == "PARAM_SET" and asked == ["SPEED"] and 0.0 < fields.param_value < math.inf:
        autopilot.flight.speed = min(fields.param_value, autopilot.parameters.max_speed)
        values = _values(autopilot)
    for name in asked:
        told: dict[str, Any] = {"param_id": name, "param_value": values[name], "param_type": _REAL32}
        told |= {"param_count": len(names), "param_index": names.index(name)}
        autopilot.answer("PARAM_VALUE", told, connection, address)


def _values(autopilot: BuiltinAutopilot) -> dict[str, float]:
    parameters = autopilot.parameters
    return {
        "ACCELERATION": parameters.acceleration,
        "LANDING_SPEED": parameters.landing_speed,
        "MASS": parameters.airframe.mass,
        "RATE": parameters.rate,
        "SPEED": autopilot.flight.speed,
        "SPEED_MAX": parameters.max_speed,
        "SYSID_THISMAV": float(autopilot.system),
        "YAW_RATE": parameters.yaw_rate,
    }
