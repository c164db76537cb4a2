"""MAV_CMD_INJECT_FAILURE, answered as PX4 does, and what such failures do to the autopilot itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sim_node.autopilots.builtin.commands import Order, command
from sim_node.autopilots.builtin.dialect import WARNING, Denied, Unsupported
from sim_node.mavlink.codec import enum_name
from sim_node.spatial.geometry.arrays import FloatArray

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.autopilot import BuiltinAutopilot


# FAILURE_TYPE and FAILURE_UNIT.
OK, OFF, STUCK, WRONG = 0, 1, 2, 4
GYRO, ACCEL, MAG, BARO, GPS, VIO, AIRSPEED = 0, 1, 2, 3, 4, 6, 8
BATTERY, MOTOR = 100, 101


class Injected:
    """The failures that were injected into a flight.

    Attributes:
        types: The type of each failure by unit and instance; instance 0 stands for all of them.
    """

    def __init__(self) -> None:
        self.types: dict[tuple[int, int], int] = {}
        self._rate: FloatArray | None = None

    def inject(self, unit: int, instance: int, type: int) -> None:
        """Let instances of a unit fail, or be sound again."""
        for key in [key for key in self.types if key[0] == unit and instance in (0, key[1])]:
            del self.types[key]
        if type != OK:
            self.types[unit, instance] = type

    def type_of(self, unit: int, instance: int = 1) -> int:
        """Return the type of the failure of an instance, from 1; OK for none."""
        return self.types.get((unit, instance), self.types.get((unit, 0), OK))

    def gyroscope(self, rate: FloatArray) -> FloatArray:
        """Return the rates (3,) that the gyroscope shows: the last ones if it is stuck, and none if it is off."""
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


# Which types of failures PX4 1.17 simulates of a unit, and the last instance that it knows of it, or None where it
# accepts any, without a look at it: SimulatorMavlink.cpp (check_failure_injections), BatterySimulator.cpp
# (updateCommands) and FailureInjector.cpp.
_KNOWN: Mapping[int, tuple[tuple[int, ...], int | None]] = {
    GYRO: ((OK, OFF, STUCK), None),
    ACCEL: ((OK, OFF, STUCK), None),
    MAG: ((OK, OFF, STUCK), None),
    BARO: ((OK, OFF, STUCK), None),
    GPS: ((OK, OFF, STUCK, WRONG), None),
    VIO: ((OK, OFF), None),
    AIRSPEED: ((OK, OFF, WRONG), None),
    BATTERY: ((OK, OFF), 0),
    MOTOR: ((OK, OFF, STUCK, WRONG), 8),
}


def is_simulated(unit: int, type: int, instance: int) -> bool:
    """Return whether PX4 simulates a failure, and so accepts its injection.

    Args:
        unit: FAILURE_UNIT.
        type: FAILURE_TYPE.
        instance: The instance, from 1; 0 for all.
    """
    types, last = _KNOWN.get(unit, ((), 0))
    return type in types and instance >= 0 and (last is None or instance <= last)


class _Failure(NamedTuple):
    unit: int
    type: int
    instance: int


@command(420)
def inject_failure(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_INJECT_FAILURE: unit, type and instance, 0 for all, if SYS_FAILURE_EN allows it."""
    flight = autopilot.flight
    if "SYS_FAILURE_EN" not in flight.dialect.parameters:
        raise Unsupported("ArduPilot has no such command; its SIM_ parameters let sensors fail")
    if not flight.settings.failures_enabled:
        raise Denied("SYS_FAILURE_EN is 0")  # mavlink_receiver.cpp
    numbers = order.params[0], order.params[1], 0.0 if math.isnan(order.params[2]) else order.params[2]
    if any(math.isnan(number) or number % 1.0 for number in numbers):
        raise Denied("unit, type and instance are whole numbers")
    failure = _Failure(*map(int, numbers))
    unit, type = enum_name("FAILURE_UNIT", failure.unit), enum_name("FAILURE_TYPE", failure.type)
    if not is_simulated(*failure):
        raise Unsupported(f"{unit} cannot be {type} (instance {failure.instance})")
    flight.injected.inject(failure.unit, failure.instance, failure.type)
    autopilot.report(WARNING, f"inject failure unit: {unit}, type: {type}, instance: {failure.instance}")
