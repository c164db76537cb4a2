"""Autopilot parameters as rcl_interfaces messages, for services of other naming schemes."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.msg import ParameterType, ParameterValue

from sim_node.mavlink.parameters import INT32, REAL32, ParamList, ParamSet, ParamValue, encoded
from sim_node.mavlink.transaction import Result, TransactionRefused
from sim_node.ros.dialect_vehicles import ServedVehicle


def pull_parameters(serving: ServedVehicle[Any]) -> None:
    """Request all parameters of an autopilot, unless a log is being played."""
    if serving.vehicle.route.accepts_commands:
        serving.commands.begin(ParamList, engages=True)


def parameter_value(found: ParamValue | None) -> ParameterValue:
    """Convert a parameter to a ROS value; not set for None."""
    if found is None:
        return ParameterValue()
    if isinstance(found.value, int):
        return ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=found.value)
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=found.value)


def _number(value: ParameterValue) -> float | None:
    numbers: dict[int, float] = {
        ParameterType.PARAMETER_BOOL: float(value.bool_value),
        ParameterType.PARAMETER_INTEGER: value.integer_value,
        ParameterType.PARAMETER_DOUBLE: value.double_value,
    }
    return numbers.get(value.type)


async def put_parameter(serving: ServedVehicle[Any], name: str, value: ParameterValue, *, known: bool = True) -> Result:
    """Set a parameter of an autopilot.

    Args:
        serving: The vehicle.
        name: The parameter.
        value: Its value: an integer, a double or a boolean.
        known: Whether the autopilot must have reported the parameter before.

    Returns:
        Whether it was set. The value of the result is a ParamValue.
    """
    number, found = _number(value), serving.names.parameters.get(name)
    autopilot = serving.vehicle.telemetry.autopilot
    if found is None and known:
        return Result(False, f"unknown parameter {name!r}; they are pulled first")
    if number is None:
        return Result(False, f"{name}: needs a whole number, a number or a boolean")
    kind = found.type if found else INT32 if value.type == ParameterType.PARAMETER_INTEGER else REAL32
    try:
        fields = encoded(number, autopilot, kind)
    except ValueError as error:
        return Result(False, f"{name}: {error}")
    result: Result = await serving.commands.begin(
        lambda: ParamSet(name, fields, autopilot) if len(name) <= 16 else TransactionRefused(name, "too long"),
        engages=True,
    )
    return result
