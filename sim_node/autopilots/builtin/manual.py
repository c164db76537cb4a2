"""Driving by hand: MANUAL_CONTROL in the mode MANUAL, with a dead man's time-out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim_node.autopilots.builtin.dialect import NOTICE, Mode

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.flight import Flight

# A vehicle whose sticks are not heard of for so long stops, s: COM_RC_LOSS_T of PX4.
TIMEOUT = 0.5
_FULL = 1000.0
_UNUSED = 0x7FFF


class Sticks:
    """The sticks of one vehicle. Both clocks count, as for setpoints."""

    def __init__(self) -> None:
        self._held = False
        self._time_us = self._now_ns = 0

    def receive(self, flight: Flight, fields: Any, now_ns: int) -> None:
        """Drive as they are held: z is the throttle, y steers; other axes are those of what flies."""
        if flight.mode is not Mode.MANUAL or not flight.armed or _UNUSED in (fields.y, fields.z):
            return
        middle = flight.dialect.throttle_middle
        throttle = min(max((fields.z - middle) / (_FULL - middle), -1.0), 1.0)
        turn = min(max(-fields.y / _FULL, -1.0), 1.0)
        self._held, self._time_us, self._now_ns = True, flight.time_us, now_ns
        flight.drive_by_hand(throttle, turn)

    def watch(self, flight: Flight, now_ns: int) -> None:
        """Stop where the sticks have fallen silent."""
        if not self._held:
            return
        silent = flight.time_us - self._time_us > TIMEOUT * 1e6 and now_ns - self._now_ns > TIMEOUT * 1e9
        if flight.mode is Mode.MANUAL and not silent:
            return
        self._held = False
        if flight.mode is Mode.MANUAL and flight.armed:
            flight.report(NOTICE, "manual control lost: stopping")
            flight.drive_by_hand(0.0, 0.0)
