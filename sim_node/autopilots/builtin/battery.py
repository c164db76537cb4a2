"""Battery model: charge, voltage and current."""

from __future__ import annotations

from sim_node.autopilots.builtin.settings import Settings

CELLS, FULL_CELL, EMPTY_CELL = 4, 4.05, 3.6  # cell voltages at rest, V
CAPACITY = 5.0  # Ah
# Internal resistance of the pack, ohm.
RESISTANCE = 0.02
# Power of the electronics, as a fraction of the power in hover or at full speed.
IDLE = 0.02


class FlightBattery:
    """A battery pack that lasts `Settings.battery_endurance` seconds in hover, or at full speed for a rover.

    The voltage falls linearly with the charge, and with the current through the internal resistance. A failed cell is a
    short circuit: the others deliver the same power at a higher current.

    Attributes:
        remaining: Charge, 0 to 1.
        failed: Indices of failed cells, from 0.
    """

    def __init__(self) -> None:
        self.remaining, self.failed = 1.0, frozenset[int]()
        self._load, self._endurance = IDLE, 1200.0

    def drain(self, load: float, seconds: float, settings: Settings) -> None:
        """Draw the power of the actuators for some seconds.

        Args:
            load: Power as a fraction of that in hover or at full speed.
            seconds: Duration, s.
            settings: Endurance, and charge at which it stops draining.
        """
        sound = CELLS - len(self.failed)
        self._load = (load + IDLE) * CELLS / sound if sound else 0.0
        used = self._load * seconds / settings.battery_endurance
        floor = min(self.remaining, settings.battery_floor)
        self.remaining = max(floor, self.remaining - used) if sound else 0.0
        self._endurance = settings.battery_endurance

    @property
    def current(self) -> float:
        """Current, A: capacity over endurance, times the load."""
        return CAPACITY * 3600.0 / self._endurance * self._load

    @property
    def voltages(self) -> tuple[float, ...]:
        """Terminal voltage of each cell, V, not below 0."""
        sound = EMPTY_CELL + (FULL_CELL - EMPTY_CELL) * self.remaining - RESISTANCE / CELLS * self.current
        return tuple(0.0 if cell in self.failed else max(sound, 0.0) for cell in range(CELLS))

    @property
    def voltage(self) -> float:
        """Terminal voltage, V."""
        return sum(self.voltages)

    @property
    def consumed(self) -> float:
        """Charge drawn since the battery was full, Ah."""
        return CAPACITY * (1.0 - self.remaining)
