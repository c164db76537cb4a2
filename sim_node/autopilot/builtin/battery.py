"""The battery: charge that the rotors' power drains, and the voltage and current that telemetry shows."""

from __future__ import annotations

from sim_node.autopilot.builtin.settings import Settings
from sim_node.control import Airframe
from sim_node.geometry.arrays import FloatArray

CELLS, FULL_CELL, EMPTY_CELL = 4, 4.05, 3.6  # volts of a cell at rest
CAPACITY = 5.0  # Ah
# Of the whole pack, ohm.
RESISTANCE = 0.02
# What electronics draw while the motors stand, of the power in hover.
IDLE = 0.02


class Battery:
    """A pack that lasts `Settings.battery_endurance` seconds of hover.

    The power of a rotor is proportional to the cube of its speed, and so of its command. Voltage falls linearly with
    the charge, and by the current through the pack's resistance.

    Attributes:
        remaining: charge, of 1.
    """

    def __init__(self, airframe: Airframe, gravity: float) -> None:
        lift = airframe.lift
        # Thrust is proportional to the square of the command.
        hover = min(1.0, airframe.mass * gravity / lift) if lift > 0.0 else 1.0
        self._hover = max(hover**1.5, 1e-6)
        self.remaining = 1.0
        self._load, self._endurance = IDLE, 1200.0

    def drain(self, commands: FloatArray, seconds: float, settings: Settings) -> None:
        """Take what the rotors use in some seconds at their commands (R,), 0 to 1."""
        cubes = [command * command * command for command in commands.tolist()]
        self._load = sum(cubes) / (len(cubes) * self._hover) + IDLE
        used = self._load * seconds / settings.battery_endurance
        floor = min(self.remaining, settings.battery_floor)
        self.remaining = max(floor, self.remaining - used)
        self._endurance = settings.battery_endurance

    @property
    def current(self) -> float:
        """Amperes: the capacity over the time that it lasts, times the load."""
        return CAPACITY * 3600.0 / self._endurance * self._load

    @property
    def voltage(self) -> float:
        """Volts at the terminals."""
        return CELLS * (EMPTY_CELL + (FULL_CELL - EMPTY_CELL) * self.remaining) - RESISTANCE * self.current

    @property
    def consumed(self) -> float:
        """Ampere hours since it was full."""
        return CAPACITY * (1.0 - self.remaining)
