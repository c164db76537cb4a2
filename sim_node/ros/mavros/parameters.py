"""MAVROS' services of an autopilot's parameters: param/pull and set, and those that all nodes of ROS 2 have."""

from __future__ import annotations

from typing import Any

from mavros_msgs import srv as mavros
from rcl_interfaces import srv
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue, SetParametersResult

from sim_node.mavlink.parameters import INT32, REAL32, ParamList, ParamSet, ParamValue, encoded
from sim_node.mavlink.transaction import Result, TransactionRefused
from sim_node.ros.mavros.services import MavrosServices


def _value(found: ParamValue | None) -> ParameterValue:
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


def _serve_reading(serving: MavrosServices) -> None:
    names = serving.names

    async def get(request: Any, response: Any) -> None:
        response.values = [_value(names.parameters.get(name)) for name in request.names]

    async def types(request: Any, response: Any) -> None:
        response.types = bytes(_value(names.parameters.get(name)).type for name in request.names)

    async def set_atomically(request: Any, response: Any) -> None:
        response.result = SetParametersResult(successful=False, reason="autopilots do not set several at once")

    async def describe(request: Any, response: Any) -> None:
        found = ((name, names.parameters.get(name)) for name in request.names)
        response.descriptors = [
            ParameterDescriptor(name=name if each else "", type=_value(each).type) for name, each in found
        ]

    async def listed(request: Any, response: Any) -> None:
        response.result.names = list(names.parameters.copy())

    serving.serve(srv.GetParameters, "param/get_parameters", get)
    serving.serve(srv.GetParameterTypes, "param/get_parameter_types", types)
    serving.serve(srv.SetParametersAtomically, "param/set_parameters_atomically", set_atomically)
    serving.serve(srv.DescribeParameters, "param/describe_parameters", describe)
    serving.serve(srv.ListParameters, "param/list_parameters", listed)


def serve_parameters(serving: MavrosServices) -> None:
    """Offer param/*, and pull all parameters once, as MAVROS does."""
    names, commands, vehicle = serving.names, serving.commands, serving.vehicle

    async def put(name: str, value: ParameterValue, *, known: bool = True) -> Result:
        """Set a parameter. known: whether it has to be one that the autopilot has sent."""
        number, found = _number(value), names.parameters.get(name)
        autopilot = vehicle.telemetry.autopilot
        if found is None and known:
            return Result(False, f"unknown parameter {name!r}; mavros pulls them first")
        if number is None:
            return Result(False, f"{name}: needs a whole number, a number or a boolean")
        kind = found.type if found else INT32 if value.type == ParameterType.PARAMETER_INTEGER else REAL32
        try:
            fields = encoded(number, autopilot, kind)
        except ValueError as error:
            return Result(False, f"{name}: {error}")
        result: Result = await commands.begin(
            lambda: ParamSet(name, fields, autopilot) if len(name) <= 16 else TransactionRefused(name, "too long"),
            engages=True,
        )
        return result

    async def pull(request: Any, response: Any) -> None:
        if request.force_pull or not names.parameters:
            response.success = (await commands.begin(ParamList, engages=True)).ok
        else:
            response.success = True
        response.param_received = len(names.parameters)

    async def set_one(request: Any, response: Any) -> None:
        result = await put(request.param_id, request.value, known=not request.force_set)
        response.success, response.value = result.ok, _value(result.value)
        if not result.ok:
            serving.refuse("param/set", result.text)

    async def set_all(request: Any, response: Any) -> None:
        results = []
        for each in request.parameters:
            result = await put(each.name, each.value)
            results.append(SetParametersResult(successful=result.ok, reason="" if result.ok else result.text))
        response.results = results

    serving.serve(mavros.ParamPull, "param/pull", pull)
    serving.serve(mavros.ParamSetV2, "param/set", set_one)
    serving.serve(srv.SetParameters, "param/set_parameters", set_all)
    _serve_reading(serving)
    if vehicle.route.accepts_commands:
        commands.begin(ParamList, engages=True)
