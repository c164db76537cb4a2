"""The battery: charge that the actuators' power drains, and the voltage and current that telemetry shows."""

from __future__ import annotations

from sim_node.autopilots.builtin.settings import Settings

CELLS, FULL_CELL, EMPTY_CELL = 4, 4.05, 3.6  # volts of a cell at rest
CAPACITY = 5.0  # Ah
# Of the whole pack, ohm.
RESISTANCE = 0.02
# What electronics draw while the motors stand, of the power in hover or at full speed.
IDLE = 0.02


class FlightBattery:
    """A pack that lasts `Settings.battery_endurance` seconds of hover, or of driving at full speed.

    Voltage falls linearly with the charge, and by the current through the pack's resistance. A failed cell is a short:
    the others give the same power by more current.

    Attributes:
        remaining: charge, of 1.
        failed: The indices of its failed cells, from 0.
    """

    def __init__(self) -> None:
        self.remaining, self.failed = 1.0, frozenset[int]()
        self._load, self._endurance = IDLE, 1200.0

    def drain(self, load: float, seconds: float, settings: Settings) -> None:
        """Take what actuators use in some seconds at a load, which is 1 in hover or at full speed."""
        sound = CELLS - len(self.failed)
        self._load = (load + IDLE) * CELLS / sound if sound else 0.0
        used = self._load * seconds / settings.battery_endurance
        floor = min(self.remaining, settings.battery_floor)
        self.remaining = max(floor, self.remaining - used) if sound else 0.0
        self._endurance = settings.battery_endurance

    @property
    def current(self) -> float:
        """Amperes: the capacity over the time that it lasts, times the load."""
        return CAPACITY * 3600.0 / self._endurance * self._load

    @property
    def voltages(self) -> tuple[float, ...]:
        """Volts of each cell at the terminals, none below zero."""
        sound = EMPTY_CELL + (FULL_CELL - EMPTY_CELL) * self.remaining - RESISTANCE / CELLS * self.current
        return tuple(0.0 if cell in self.failed else max(sound, 0.0) for cell in range(CELLS))

    @property
    def voltage(self) -> float:
        """Volts at the terminals."""
        return sum(self.voltages)

    @property
    def consumed(self) -> float:
        """Ampere hours since it was full."""
        return CAPACITY * (1.0 - self.remaining)
