"""Telemetry streams: the registered messages, their rates, and when each is due."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sim_node.mavlink.codec import kind_named
from sim_node.registry import Registry

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.flight import Flight

Fields = Mapping[str, Any]
Makes = Callable[["Flight"], "Fields | None"]
SECOND_US = 1_000_000
MAX_RATE = 1000.0  # Hz
# Maximum rate of REQUEST_DATA_STREAM, Hz, as for ArduPilot's stream rates.
MAX_DATA_RATE = 50.0
# Messages of each MAV_DATA_STREAM, for REQUEST_DATA_STREAM.
DATA_STREAMS = {
    1: ("HIGHRES_IMU",),
    2: ("SYS_STATUS", "MISSION_CURRENT", "GPS_RAW_INT", "BATTERY_STATUS", "EXTENDED_SYS_STATE", "FENCE_STATUS"),
    3: ("SERVO_OUTPUT_RAW",),
    6: ("GLOBAL_POSITION_INT", "LOCAL_POSITION_NED"),
    10: ("ATTITUDE",),
    11: ("VFR_HUD",),
    12: ("EKF_STATUS_REPORT", "SYSTEM_TIME"),
}


class StreamedMessage(NamedTuple):
    """A message of telemetry.

    Attributes:
        make: Returns its fields, or None if they are not known yet.
        rate: Default rate, Hz; 0 to send it only on request.
        dialect: Dialect that has it; empty for all.
    """

    make: Makes
    rate: float
    dialect: str


MESSAGES: Registry[str, StreamedMessage] = Registry(
    "message",
    shipped=("sim_node.autopilots.builtin.telemetry",),
    group="sim_node.builtin",
)


def message(name: str, rate: float = 0.0, dialect: str = "") -> Callable[[Makes], Makes]:
    """Register the maker of a message, with its default rate (Hz) and its dialect.

    Raises:
        ValueError: The message is registered already.
    """

    def register(make: Makes) -> Makes:
        MESSAGES.add(name, module=make.__module__)(StreamedMessage(make, rate, dialect))
        return make

    return register


class Streams:
    """Rates of messages, and when each is due in simulation time.

    Attributes:
        rates: Rate of each streamed message, Hz.
    """

    def __init__(self, dialect: str) -> None:
        usual = {name: each.rate for name, each in MESSAGES.items() if each.rate}
        self.rates = {name: rate for name, rate in usual.items() if MESSAGES[name].dialect in ("", dialect)}
        self._due = dict.fromkeys(self.rates, 0)
        self._next = self._time_us = 0

    def set_rate(self, name: str, rate: float) -> None:
        """Set the rate of a message, Hz; 0 stops it."""
        self.rates.pop(name, None)
        self._due.pop(name, None)
        if rate > 0.0:
            self.rates[name], self._due[name] = min(rate, MAX_RATE), 0
        self._next = 0

    def due(self, time_us: int) -> list[str]:
        """Return the messages that are due at a time, us. The schedule restarts if the clock has gone back."""
        if time_us < self._time_us:
            self._due, self._next = dict.fromkeys(self.rates, 0), 0
        self._time_us = time_us
        if time_us < self._next:
            return []
        due = []
        for name, rate in self.rates.items():
            period = round(SECOND_US / rate)
            if time_us >= self._due[name]:
                due.append(name)
                # On its grid; missed messages are not made up for.
                self._due[name] = time_us + period - (time_us % period if period else 0)
        self._next = min(self._due.values(), default=time_us + SECOND_US)
        return due


def known(number: int, dialect: str) -> str | None:
    """Return the name of a message that can be requested in a dialect, by its id; None if there is none."""
    names = (name for name, each in MESSAGES.items() if each.dialect in ("", dialect))
    return next((name for name in names if kind_named(name).number == number), None)
