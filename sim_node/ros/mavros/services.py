"""MAVROS services of a vehicle: commands, modes and streams, missions, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mavros_msgs import srv
from mavros_msgs.msg import VehicleInfo
from rcl_interfaces import srv as parameters
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from std_srvs.srv import Trigger

from sim_node.mavlink.commands import FAILED, SET_MESSAGE_INTERVAL, CommandLong, set_mode
from sim_node.mavlink.mavros.commands import COMMANDS, CommandRow, command_of
from sim_node.mavlink.mavros.names import MavrosNames
from sim_node.mavlink.mavros.state import publish_waypoints
from sim_node.mavlink.mavros.waypoints import upload_of, waypoint, waypoint_of
from sim_node.mavlink.mission import Clear, Download, SetCurrent
from sim_node.mavlink.modes import CUSTOM, mode_name
from sim_node.mavlink.parameters import ParamList
from sim_node.mavlink.transaction import TransactionRefused
from sim_node.ros.dialect_parameters import parameter_value, pull_parameters, put_parameter
from sim_node.ros.dialect_vehicles import ServedVehicle

MavrosServices = ServedVehicle[MavrosNames]

_HOME_POSITION = 242
_REQUEST_MESSAGE = 512


def serve_commands(serving: MavrosServices) -> None:
    """Offer cmd/*, set_mode, set_stream_rate, set_message_interval, vehicle_info_get and home_position/req_update."""
    for row in COMMANDS:
        serving.serve(getattr(srv, row.type), row.name, _command(serving, row))
    commands, vehicle = serving.commands, serving.vehicle

    async def command_int(request: Any, response: Any) -> None:
        names = ("frame", "command", "current", "autocontinue", *(f"param{n}" for n in range(1, 5)), "x", "y", "z")
        fields = {name: getattr(request, name) for name in names}
        serving.send(
            [("COMMAND_INT", fields | ({"target_system": 0, "target_component": 0} if request.broadcast else {}))]
        )
        response.success = True

    async def mode(request: Any, response: Any) -> None:
        """Reply, as MAVROS does, whether the mode exists and was sent. `state` shows whether it is accepted."""
        name = request.custom_mode.upper()
        if not name:
            serving.send([("SET_MODE", {"base_mode": request.base_mode})])
            response.mode_sent = True
            return
        transaction = set_mode(name, vehicle.telemetry)
        response.mode_sent = not isinstance(transaction, TransactionRefused)
        if response.mode_sent:
            await commands.begin(lambda: transaction, engages=name in _GUIDED)
        else:
            serving.refuse("set_mode", transaction.result.text if transaction.result else "")

    async def stream_rate(request: Any, response: Any) -> None:
        rate = {"req_stream_id": request.stream_id, "req_message_rate": request.message_rate}
        serving.send([("REQUEST_DATA_STREAM", {**rate, "start_stop": int(request.on_off)})])

    async def interval(request: Any, response: Any) -> None:
        rate = request.message_rate
        microseconds = -1.0 if rate < 0.0 else 1e6 / rate if rate > 0.0 else 0.0
        params = float(request.message_id), microseconds
        transaction = CommandLong("message interval", SET_MESSAGE_INTERVAL, *params)
        response.success = (await commands.begin(lambda: transaction, engages=True)).ok

    async def info(request: Any, response: Any) -> None:
        wanted = (request.sysid, request.compid)
        beat = vehicle.telemetry.heartbeat
        if beat is None or not (request.get_all or wanted in ((0, 0), (vehicle.system, vehicle.component))):
            return
        found = VehicleInfo(available_info=VehicleInfo.HAVE_INFO_HEARTBEAT, sysid=vehicle.system)
        found.header.stamp = serving.node.get_clock().now().to_msg()
        found.compid, found.autopilot, found.type = vehicle.component, beat.autopilot, beat.type
        found.system_status, found.base_mode, found.custom_mode = beat.system_status, beat.base_mode, beat.custom_mode
        found.mode, found.mode_id = mode_name(beat), beat.custom_mode if beat.base_mode & CUSTOM else beat.base_mode
        response.success, response.vehicles = True, [found]

    async def request_home(request: Any, response: Any) -> None:
        transaction = CommandLong("home", _REQUEST_MESSAGE, float(_HOME_POSITION))
        result = await commands.begin(lambda: transaction, engages=True)
        response.success, response.message = result.ok, result.text

    serving.serve(srv.CommandInt, "cmd/command_int", command_int)
    serving.serve(srv.SetMode, "set_mode", mode)
    serving.serve(srv.StreamRate, "set_stream_rate", stream_rate)
    serving.serve(srv.MessageInterval, "set_message_interval", interval)
    serving.serve(srv.VehicleInfoGet, "vehicle_info_get", info)
    serving.serve(Trigger, "home_position/req_update", request_home)


# Modes that follow setpoints.
_GUIDED = ("OFFBOARD", "GUIDED")


def _command(serving: MavrosServices, row: CommandRow) -> Any:
    async def answer(request: Any, response: Any) -> None:
        if getattr(request, "broadcast", False):
            fields = {f"param{number}": getattr(request, f"param{number}") for number in range(1, 8)}
            to_all = {"target_system": 0, "target_component": 0, "command": request.command}
            serving.send([("COMMAND_LONG", fields | to_all)])
            response.success = True
            return
        result = await serving.commands.begin(lambda: command_of(row, request), engages=row.engages)
        response.success = result.ok
        # Without an acknowledgement, MAVROS leaves the result unset; reporting a failure is accurate.
        response.result = FAILED if result.value is None else result.value

    return answer


def serve_missions(serving: MavrosServices) -> None:
    """Offer mission/pull, push, clear and set_current, and pull once, as MAVROS does."""
    names, commands = serving.names, serving.commands

    def show(points: list[Mapping[str, Any]]) -> None:
        def act(now_ns: int) -> None:
            names.waypoints = points
            publish_waypoints(names)

        serving.bridge.post(act)

    async def pull(request: Any, response: Any) -> None:
        result = await commands.begin(Download, engages=True)
        response.success = result.ok
        if result.ok:
            points = [waypoint(each) for each in result.value]
            response.wp_received = len(points)
            show(list(points))

    async def push(request: Any, response: Any) -> None:
        new = [waypoint_of(each) for each in request.waypoints]
        known = list(names.waypoints or ())
        start = request.start_index
        if start + len(new) > len(known) and start:
            serving.refuse("mission/push", f"waypoints {start} to {start + len(new) - 1} of {len(known)}")
            return
        # If part of a mission is replaced, all of it is sent, because not all autopilots accept partial uploads.
        points = [*known[:start], *new, *known[start + len(new) :]] if start else new
        result = await commands.begin(lambda: upload_of(points), engages=True)
        response.success = result.ok
        if result.ok:
            response.wp_transfered = len(new)
            show(list(points))

    async def clear(request: Any, response: Any) -> None:
        response.success = (await commands.begin(Clear, engages=True)).ok
        if response.success:
            show([])

    async def set_current(request: Any, response: Any) -> None:
        number = request.wp_seq
        response.success = (await commands.begin(lambda: SetCurrent(number), engages=True)).ok

    serving.serve(srv.WaypointPull, "mission/pull", pull)
    serving.serve(srv.WaypointPush, "mission/push", push)
    serving.serve(srv.WaypointClear, "mission/clear", clear)
    serving.serve(srv.WaypointSetCurrent, "mission/set_current", set_current)
    if serving.vehicle.route.accepts_commands:
        first = commands.begin(Download, engages=True)

        def pulled(future: Any) -> None:
            result = future.result()
            if result.ok:
                show([waypoint(each) for each in result.value])

        first.add_done_callback(pulled)


def _serve_reading(serving: MavrosServices) -> None:
    names = serving.names

    async def get(request: Any, response: Any) -> None:
        response.values = [parameter_value(names.parameters.get(name)) for name in request.names]

    async def types(request: Any, response: Any) -> None:
        response.types = bytes(parameter_value(names.parameters.get(name)).type for name in request.names)

    async def set_atomically(request: Any, response: Any) -> None:
        response.result = SetParametersResult(successful=False, reason="autopilots do not set several at once")

    async def describe(request: Any, response: Any) -> None:
        found = ((name, names.parameters.get(name)) for name in request.names)
        response.descriptors = [
            ParameterDescriptor(name=name if each else "", type=parameter_value(each).type) for name, each in found
        ]

    async def listed(request: Any, response: Any) -> None:
        response.result.names = list(names.parameters.copy())

    serving.serve(parameters.GetParameters, "param/get_parameters", get)
    serving.serve(parameters.GetParameterTypes, "param/get_parameter_types", types)
    serving.serve(parameters.SetParametersAtomically, "param/set_parameters_atomically", set_atomically)
    serving.serve(parameters.DescribeParameters, "param/describe_parameters", describe)
    serving.serve(parameters.ListParameters, "param/list_parameters", listed)


def serve_parameters(serving: MavrosServices) -> None:
    """Offer param/*, and pull all parameters once, as MAVROS does."""
    names, commands = serving.names, serving.commands

    async def pull(request: Any, response: Any) -> None:
        if request.force_pull or not names.parameters:
            response.success = (await commands.begin(ParamList, engages=True)).ok
        else:
            response.success = True
        response.param_received = len(names.parameters)

    async def set_one(request: Any, response: Any) -> None:
        result = await put_parameter(serving, request.param_id, request.value, known=not request.force_set)
        response.success, response.value = result.ok, parameter_value(result.value)
        if not result.ok:
            serving.refuse("param/set", result.text)

    async def set_all(request: Any, response: Any) -> None:
        results = []
        for each in request.parameters:
            result = await put_parameter(serving, each.name, each.value)
            results.append(SetParametersResult(successful=result.ok, reason="" if result.ok else result.text))
        response.results = results

    serving.serve(srv.ParamPull, "param/pull", pull)
    serving.serve(srv.ParamSetV2, "param/set", set_one)
    serving.serve(parameters.SetParameters, "param/set_parameters", set_all)
    _serve_reading(serving)
    pull_parameters(serving)
