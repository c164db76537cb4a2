"""Landing detection, and automatic disarming on the ground."""

from __future__ import annotations

import numpy as np

from sim_node.autopilots.builtin.tasks import BELOW, STILL, Guidance, Land

# Time for which a vehicle must stand still before it counts as landed, us: ArduCopter's LAND_DETECTOR_TRIGGER_SEC, and
# the sum of the three stages of PX4's land detector.
_STANDS_US = 1_000_000
# Vertical thrust, as a fraction of the weight, below which the demands of a direct task mean to descend.
_LOW_THRUST = 0.3


class GroundWatch:
    """Watches a flight. Called at each of its steps while it is armed."""

    def __init__(self) -> None:
        self._still_since_us: int | None = None
        self._standing_since_us: int | None = None
        self._flown = False

    def has_landed(self, flight: Guidance) -> bool:
        """Return whether a vehicle in the air stands still although it is to descend.

        Always False during `Land`, which detects the landing itself.
        """
        self._standing_since_us, self._flown = None, True
        if isinstance(flight.task, Land) or not _is_led_down(flight) or np.abs(flight.states[0, 7:10]).max() > STILL:
            self._still_since_us = None
            return False
        since = self._still_since_us = _since(self._still_since_us, flight.time_us)
        return flight.time_us - since >= _STANDS_US

    def reason_to_disarm(self, flight: Guidance) -> str:
        """Return why a vehicle on the ground must be disarmed now; empty if not."""
        self._still_since_us = None
        since = self._standing_since_us = _since(self._standing_since_us, flight.time_us)
        settings = flight.settings
        limit = settings.disarm_landed if self._flown else settings.disarm_preflight
        if limit <= 0.0 or flight.time_us - since < limit * 1e6:
            return ""
        return "landing" if self._flown else "auto preflight disarming"

    def disarmed(self) -> None:
        """Reset for the next flight."""
        self._still_since_us, self._standing_since_us, self._flown = None, None, False


def _since(begin_us: int | None, now_us: int) -> int:
    """Return the start of a condition: now, if it has just begun or the clock has gone back since."""
    return now_us if begin_us is None or now_us < begin_us else begin_us


def _is_led_down(flight: Guidance) -> bool:
    if flight.task.direct:
        return bool(flight.demands[2] < _LOW_THRUST * flight.parameters.gravity)
    return bool(flight.reference[2] < flight.states[0, 2] - BELOW)
