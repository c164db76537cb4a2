"""The parameter protocol: https://mavlink.io/en/services/parameter.html"""

from __future__ import annotations

import math
import struct
import zlib
from typing import TYPE_CHECKING, Any

from sim_node.autopilots.builtin.answers import Answers, answer
from sim_node.autopilots.builtin.dialect import NOTICE
from sim_node.autopilots.builtin.settings import INT32, Parameter
from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.links import Address
from sim_node.mavlink.parameters import encoded, value_of
from sim_node.mavlink.telemetry import PX4

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.flight import Flight

NAMES = frozenset({"PARAM_REQUEST_LIST", "PARAM_REQUEST_READ", "PARAM_SET"})
# PX4's checksum of all parameters, by which ground stations know whether their cached parameters are still valid.
_HASH, _UINT32 = "_HASH_CHECK", 5
_NO_INDEX = 65535
_AT_A_TIME, _MAX_LISTS = 10, 64
_DOES_NOT_EXIST, _OUT_OF_RANGE, _READ_ONLY = 1, 2, 5  # MAV_PARAM_ERROR


class ParameterLists:
    """Parameter lists that are being sent, a few parameters at a time, so that no receive buffer overflows."""

    def __init__(self) -> None:
        self._next: dict[tuple[Answers, Address], int] = {}

    def begin(self, connection: Answers, address: Address) -> None:
        """Start to send all parameters to a peer, or restart if they are being sent."""
        if len(self._next) < _MAX_LISTS or (connection, address) in self._next:
            self._next[connection, address] = 0

    def tick(self, flight: Flight) -> None:
        """Send the next few parameters of each list."""
        names = list(flight.dialect.parameters)
        for (connection, address), first in list(self._next.items()):
            for name in names[first : first + _AT_A_TIME]:
                answer("PARAM_VALUE", _value(flight, name), connection, address)
            self._next[connection, address] = first + _AT_A_TIME
            if first + _AT_A_TIME >= len(names):
                del self._next[connection, address]


def answer_parameters(
    flight: Flight, lists: ParameterLists, message: MavlinkMessage, connection: Answers, address: Address
) -> None:
    """Answer PARAM_REQUEST_LIST, PARAM_REQUEST_READ and PARAM_SET.

    A parameter that was read or set is answered by PARAM_VALUE. An unknown or refused one is answered by PARAM_ERROR
    and a text; if the value of a PARAM_SET is refused, PARAM_VALUE with the present value follows.
    """
    fields, parameters = message.fields, flight.dialect.parameters
    names = list(parameters)

    def send(name: str) -> None:
        answer("PARAM_VALUE", _value(flight, name), connection, address)

    def refuse(name: str, error: int, why: str) -> None:
        flight.report(NOTICE, f"parameter {name if name.isprintable() else ascii(name)}: {why}")
        to = {"target_system": message.system, "target_component": message.component}
        index = names.index(name) if name in parameters else -1
        what = {"param_id": name[:16], "param_index": index, "error": error}
        answer("PARAM_ERROR", to | what, connection, address)

    if message.name == "PARAM_REQUEST_LIST":
        lists.begin(connection, address)
        return
    if message.name == "PARAM_REQUEST_READ" and fields.param_index >= 0:
        if fields.param_index < len(names):
            send(names[fields.param_index])
        else:
            refuse(f"{fields.param_index}", _DOES_NOT_EXIST, f"there are {len(names)}")
        return
    name = fields.param_id
    if name == _HASH and flight.dialect.bytewise:
        if message.name == "PARAM_REQUEST_READ":
            send(name)
        return
    parameter = parameters.get(name)
    if parameter is None:
        refuse(name, _DOES_NOT_EXIST, "unknown")
    elif message.name == "PARAM_REQUEST_READ":
        send(name)
    else:
        value = _decoded(flight, fields, parameter)
        why = parameter.fault(value)
        if why and value != parameter.read(flight.settings):
            refuse(name, _READ_ONLY if parameter.read_only else _OUT_OF_RANGE, why)
        elif not why:
            flight.set_parameter(parameter, value)
        send(name)


def _value(flight: Flight, name: str) -> dict[str, Any]:
    dialect = flight.dialect
    names = list(dialect.parameters)
    fields: dict[str, Any] = {"param_id": name, "param_count": len(names)}
    if name == _HASH:
        return fields | encoded(_hash(flight), dialect.autopilot, _UINT32) | {"param_index": _NO_INDEX}
    parameter = dialect.parameters[name]
    value = encoded(parameter.read(flight.settings), dialect.autopilot, parameter.kind)
    return fields | value | {"param_index": names.index(name)}


def _decoded(flight: Flight, fields: Any, parameter: Parameter) -> float:
    """Return the value of a PARAM_SET; NaN if its type is not that of the parameter."""
    if not flight.dialect.bytewise:
        return float(fields.param_value)
    return float(value_of(fields, PX4)) if fields.param_type == parameter.kind else math.nan


def _hash(flight: Flight) -> int:
    """Return PX4's param_hash_check: a CRC-32 over names and values, without initial and final inversion."""
    crc = 0xFFFFFFFF
    for name, parameter in sorted(flight.dialect.parameters.items()):
        value = parameter.read(flight.settings)
        raw = struct.pack("<i", int(value)) if parameter.kind == INT32 else struct.pack("<f", value)
        crc = zlib.crc32(name.encode() + raw, crc)
    return crc ^ 0xFFFFFFFF
