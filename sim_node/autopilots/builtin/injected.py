"""Failures injected by MAVLink, and their effects on the autopilot itself."""

from __future__ import annotations

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray

# FAILURE_TYPE and FAILURE_UNIT.
OK, OFF, STUCK, WRONG = 0, 1, 2, 4
GYRO, ACCEL, MAG, BARO, GPS, VIO, AIRSPEED = 0, 1, 2, 3, 4, 6, 8
BATTERY, MOTOR = 100, 101


class Injected:
    """Failures injected into a flight.

    Attributes:
        types: FAILURE_TYPE by FAILURE_UNIT and instance; instance 0 stands for all instances.
    """

    def __init__(self) -> None:
        self.types: dict[tuple[int, int], int] = {}
        self._rate: FloatArray | None = None

    def inject(self, unit: int, instance: int, type: int) -> None:
        """Set the failure of an instance of a unit, or of all instances (0); OK ends it."""
        for key in [key for key in self.types if key[0] == unit and instance in (0, key[1])]:
            del self.types[key]
        if type != OK:
            self.types[unit, instance] = type

    def type_of(self, unit: int, instance: int = 1) -> int:
        """Return the FAILURE_TYPE of an instance, from 1."""
        return self.types.get((unit, instance), self.types.get((unit, 0), OK))

    def gyroscope(self, rate: FloatArray) -> FloatArray:
        """Return the rates (3,) that the gyroscope measures: the last ones if it is stuck, zero if it is off."""
        kind = self.type_of(GYRO) if self.types else OK
        if kind == OFF:
            return np.zeros(3)
        if kind == STUCK and self._rate is not None:
            return self._rate
        self._rate = np.array(rate)
        return rate

    def motors(self, commands: FloatArray) -> None:
        """Stop the motors that are off, in commands (R,)."""
        for number in range(len(commands) if self.types else 0):
            if self.type_of(MOTOR, number + 1) == OFF:
                commands[number] = 0.0
