"""The parameter protocol: listing all parameters, and setting one. https://mavlink.io/en/services/parameter.html"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.telemetry import ARDUPILOT
from sim_node.mavlink.transaction import Outgoing, Transaction

SECOND = 1_000_000_000
# Silence after which missing parameters, or an unconfirmed value, are requested again.
SILENCE_NS = SECOND
MAX_TRIES = 5
# Number of missing parameters that are requested at a time.
_AT_A_TIME = 20
MAX_PARAMETERS = 5000
# Codes of struct for integers by MAV_PARAM_TYPE. The fifth and the sixth have four bytes.
_INTEGERS = {1: "B", 2: "b", 3: "H", 4: "h", 5: "I", 6: "i"}
INT32, REAL32 = 6, 9
_NO_INDEX = 65535


class ParamValue(NamedTuple):
    """A parameter of an autopilot.

    Attributes:
        value: Value.
        type: MAV_PARAM_TYPE.
        number: Index.
        of: Number of parameters.
    """

    value: int | float
    type: int
    number: int
    of: int


def decoded(fields: Any, autopilot: int) -> ParamValue:
    """Return the parameter of a PARAM_VALUE."""
    return ParamValue(value_of(fields, autopilot), fields.param_type, fields.param_index, fields.param_count)


def value_of(fields: Any, autopilot: int) -> int | float:
    """Return the value of a PARAM_VALUE or PARAM_SET. ArduPilot sends integers as floats, all others as bytes."""
    code, value = _INTEGERS.get(fields.param_type), fields.param_value
    if code is None:
        return float(value)
    number: int = struct.unpack_from(f"<{code}", struct.pack("<f", value))[0] if autopilot != ARDUPILOT else int(value)
    return number


def encoded(value: float, autopilot: int, type: int) -> dict[str, Any]:
    """Return the fields of a PARAM_SET for a value of a type.

    Raises:
        ValueError: It does not fit the type.
    """
    code = _INTEGERS.get(type)
    if code is None:
        return {"param_value": float(value), "param_type": type}
    if value != int(value):
        raise ValueError(f"{value:g} is not a whole number")
    if autopilot == ARDUPILOT:
        return {"param_value": float(value), "param_type": type}
    try:
        [as_float] = struct.unpack("<f", struct.pack(f"<{code}", int(value)).ljust(4, b"\0"))
    except struct.error:
        raise ValueError(f"{value:g} does not fit into {struct.calcsize(code)} bytes") from None
    return {"param_value": as_float, "param_type": type}


class ParamList(Transaction):
    """Requests all parameters, and repeats those that were lost. The value of its result is their number."""

    key, name = "parameters", "parameter list"

    def __init__(self) -> None:
        self._missing: set[int] | None = None
        self._count = 0
        self._tries = 0
        self._heard_ns = 0

    def start(self, now_ns: int) -> list[Outgoing]:
        """Request all parameters.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        self._heard_ns, self._tries = now_ns, self._tries + 1
        return [("PARAM_REQUEST_LIST", {})]

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        """Record received parameters.

        Args:
            message: A message from the autopilot.
            now_ns: Monotonic time (ns).

        Returns:
            No messages.
        """
        if message.name != "PARAM_VALUE" or message.fields.param_index == _NO_INDEX:
            return []
        self._heard_ns = now_ns
        if self._missing is None:
            self._count = min(message.fields.param_count, MAX_PARAMETERS)
            self._missing = set(range(self._count))
        if message.fields.param_index in self._missing:
            self._missing.remove(message.fields.param_index)
            self._tries = 1
        if not self._missing:
            return self.end(True, f"{self._count} parameters", self._count)
        return []

    def tick(self, now_ns: int) -> list[Outgoing]:
        """Repeat requests after a silence.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        if now_ns - self._heard_ns < SILENCE_NS:
            return []
        if self._tries >= MAX_TRIES:
            lost = "all" if self._missing is None else f"{len(self._missing)} of {self._count}"
            return self.end(False, f"no answer after {MAX_TRIES} attempts: {lost} parameters are missing")
        if self._missing is None:
            return self.start(now_ns)
        self._heard_ns, self._tries = now_ns, self._tries + 1
        indices = sorted(self._missing)[:_AT_A_TIME]
        return [("PARAM_REQUEST_READ", {"param_id": "", "param_index": index}) for index in indices]


class ParamSet(Transaction):
    """Sets a parameter. Succeeds if the autopilot answers with the value. The value of its result is a ParamValue.

    Args:
        param: Name of the parameter.
        fields: Value and type, from `encoded`.
        autopilot: MAV_AUTOPILOT.
    """

    def __init__(self, param: str, fields: dict[str, Any], autopilot: int) -> None:
        self.key = self.name = f"parameter {param}"
        self._param, self._fields, self._autopilot = param, fields, autopilot
        self._tries, self._sent_ns = 0, 0

    def start(self, now_ns: int) -> list[Outgoing]:
        """Send the value.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        self._tries, self._sent_ns = self._tries + 1, now_ns
        return [("PARAM_SET", {"param_id": self._param, **self._fields})]

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        """End with the value that the autopilot reports.

        Args:
            message: A message from the autopilot.
            now_ns: Monotonic time (ns).

        Returns:
            No messages.
        """
        if getattr(message.fields, "param_id", None) != self._param:
            return []
        if message.name == "PARAM_ERROR":
            return self.end(False, "refused by the autopilot")
        if message.name != "PARAM_VALUE":
            return []
        found = decoded(message.fields, self._autopilot)
        wire = struct.pack("<f", message.fields.param_value)
        ok = wire == struct.pack("<f", self._fields["param_value"])
        return self.end(ok, f"is {found.value:g}" if ok else f"stays {found.value:g}", found)

    def tick(self, now_ns: int) -> list[Outgoing]:
        """Repeat the value after a silence.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        if now_ns - self._sent_ns < SILENCE_NS:
            return []
        if self._tries >= MAX_TRIES:
            return self.end(False, f"no answer after {MAX_TRIES} attempts")
        return self.start(now_ns)
