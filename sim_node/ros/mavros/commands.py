"""MAVROS' services of commands, modes and streams."""

from __future__ import annotations

from typing import Any

from mavros_msgs import srv
from mavros_msgs.msg import VehicleInfo
from std_srvs.srv import Trigger

from sim_node.mavlink.commands import FAILED, SET_MESSAGE_INTERVAL, CommandLong, set_mode
from sim_node.mavlink.mavros.commands import COMMANDS, CommandRow, command_of
from sim_node.mavlink.modes import CUSTOM, mode_name
from sim_node.mavlink.transaction import TransactionRefused
from sim_node.ros.mavros.services import MavrosServices

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
        serving.send("COMMAND_INT", fields | ({"target_system": 0, "target_component": 0} if request.broadcast else {}))
        response.success = True

    async def mode(request: Any, response: Any) -> None:
        """As in MAVROS, the answer is that the mode exists and is sent; `state` tells whether it is taken."""
        name = request.custom_mode.upper()
        if not name:
            serving.send("SET_MODE", {"base_mode": request.base_mode})
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
        serving.send("REQUEST_DATA_STREAM", {**rate, "start_stop": int(request.on_off)})

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


# The modes in which setpoints are followed.
_GUIDED = ("OFFBOARD", "GUIDED")


def _command(serving: MavrosServices, row: CommandRow) -> Any:
    async def answer(request: Any, response: Any) -> None:
        if getattr(request, "broadcast", False):
            fields = {f"param{number}": getattr(request, f"param{number}") for number in range(1, 8)}
            to_all = {"target_system": 0, "target_component": 0, "command": request.command}
            serving.send("COMMAND_LONG", fields | to_all)
            response.success = True
            return
        result = await serving.commands.begin(lambda: command_of(row, request), engages=row.engages)
        response.success = result.ok
        # Without an answer, MAVROS leaves the result as it is; a failure is no lie.
        response.result = FAILED if result.value is None else result.value

    return answer
