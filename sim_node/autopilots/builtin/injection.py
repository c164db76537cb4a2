"""MAV_CMD_INJECT_FAILURE, with the results of PX4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from sim_node.autopilots.builtin.autopilot import BuiltinAutopilot
from sim_node.autopilots.builtin.commands import Order, command
from sim_node.autopilots.builtin.dialect import WARNING, Denied, Unsupported
from sim_node.autopilots.builtin.injected import (
    ACCEL,
    AIRSPEED,
    BARO,
    BATTERY,
    GPS,
    GYRO,
    MAG,
    MOTOR,
    OFF,
    OK,
    STUCK,
    VIO,
    WRONG,
)
from sim_node.mavlink.codec import enum_name

# Failure types that PX4 1.17 simulates for each unit, and the last instance that it supports, or None if it accepts any
# instance unchecked: SimulatorMavlink.cpp (check_failure_injections), BatterySimulator.cpp (updateCommands) and
# FailureInjector.cpp.
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
        instance: Instance from 1, or 0 for all.
    """
    types, last = _KNOWN.get(unit, ((), 0))
    return type in types and instance >= 0 and (last is None or instance <= last)


class _Failure(NamedTuple):
    unit: int
    type: int
    instance: int


@command(420)
def inject_failure(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_INJECT_FAILURE: unit, type, and instance (0 for all), if SYS_FAILURE_EN allows it."""
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
