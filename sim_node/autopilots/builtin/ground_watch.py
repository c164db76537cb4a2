"""Whether an armed vehicle has landed, and how long it may stand on the ground before it is disarmed."""

from __future__ import annotations

import numpy as np

from sim_node.autopilots.builtin.tasks import BELOW, STILL, Guidance, Land

# How long a vehicle has to stand before it has landed: ArduCopter's LAND_DETECTOR_TRIGGER_SEC, and what the three
# stages of PX4's land detector add up to, us.
_STANDS_US = 1_000_000
# Thrust below which nothing is meant to fly, of the weight.
_LOW_THRUST = 0.3


class GroundWatch:
    """Watches one flight, at each of its steps while it is armed."""

    def __init__(self) -> None:
        self._still_since_us: int | None = None
        self._standing_since_us: int | None = None
        self._flown = False

    def has_landed(self, flight: Guidance) -> bool:
        """Return whether a vehicle in the air stands, although it is led down. `Land` detects that for itself."""
        self._standing_since_us, self._flown = None, True
        if isinstance(flight.task, Land) or not _is_led_down(flight) or np.abs(flight.states[0, 7:10]).max() > STILL:
            self._still_since_us = None
            return False
        since = self._still_since_us = _since(self._still_since_us, flight.time_us)
        return flight.time_us - since >= _STANDS_US

    def reason_to_disarm(self, flight: Guidance) -> str:
        """Return why a vehicle that stands armed is to be disarmed; empty if it is not."""
        self._still_since_us = None
        since = self._standing_since_us = _since(self._standing_since_us, flight.time_us)
        settings = flight.settings
        limit = settings.disarm_landed if self._flown else settings.disarm_preflight
        if limit <= 0.0 or flight.time_us - since < limit * 1e6:
            return ""
        return "landing" if self._flown else "auto preflight disarming"

    def disarmed(self) -> None:
        """Forget the flight that has ended."""
        self._still_since_us, self._standing_since_us, self._flown = None, None, False


def _since(begin_us: int | None, now_us: int) -> int:
    """Return when something began; now if it has not, or if the clock went back since."""
    return now_us if begin_us is None or now_us < begin_us else begin_us


def _is_led_down(flight: Guidance) -> bool:
    if flight.task.direct:
        return bool(flight.demands[2] < _LOW_THRUST * flight.parameters.gravity)
    return bool(flight.reference[2] < flight.states[0, 2] - BELOW)
