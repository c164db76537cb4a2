"""Telemetry messages: which there are, how often each is sent, and which of them are due."""

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
# Of REQUEST_DATA_STREAM, Hz: the range of ArduPilot's stream rates.
MAX_DATA_RATE = 50.0
# MAV_DATA_STREAM, which REQUEST_DATA_STREAM asks for: the messages of each.
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
    """How a message is made, how often it is sent unasked (Hz, 0 for never), and in which dialect (empty for all)."""

    make: Makes
    rate: float
    dialect: str


MESSAGES: Registry[str, StreamedMessage] = Registry(
    "message",
    shipped=("sim_node.autopilots.builtin.telemetry",),
    group="sim_node.builtin",
)


def message(name: str, rate: float = 0.0, dialect: str = "") -> Callable[[Makes], Makes]:
    """Register what makes a message. Raises ValueError for one that is there already."""

    def register(make: Makes) -> Makes:
        MESSAGES.add(name, module=make.__module__)(StreamedMessage(make, rate, dialect))
        return make

    return register


class Streams:
    """Which messages are due, on the simulator's clock."""

    def __init__(self, dialect: str) -> None:
        usual = {name: each.rate for name, each in MESSAGES.items() if each.rate}
        self.rates = {name: rate for name, rate in usual.items() if MESSAGES[name].dialect in ("", dialect)}
        self._due = dict.fromkeys(self.rates, 0)
        self._next = 0

    def set_rate(self, name: str, rate: float) -> None:
        """Send a message at a rate in Hz; 0 for no more of it."""
        self.rates.pop(name, None)
        self._due.pop(name, None)
        if rate > 0.0:
            self.rates[name], self._due[name] = min(rate, MAX_RATE), 0
        self._next = 0

    def due(self, time_us: int) -> list[str]:
        """Return what has to be sent at a time; a clock that went back begins anew."""
        if time_us < self._next and self._next - time_us <= 2 * SECOND_US:
            return []
        due = []
        for name, rate in self.rates.items():
            period = round(SECOND_US / rate)
            at = self._due[name]
            if time_us >= at or at - time_us > 2 * period:
                due.append(name)
                # On its grid, without catching up on what was missed.
                self._due[name] = time_us + period - (time_us % period if period else 0)
        self._next = min(self._due.values(), default=time_us + SECOND_US)
        return due


def known(number: int, dialect: str) -> str | None:
    """Return the name of a message that can be requested in a dialect."""
    names = (name for name, each in MESSAGES.items() if each.dialect in ("", dialect))
    return next((name for name in names if kind_named(name).number == number), None)
