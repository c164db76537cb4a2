"""Missions of a vehicle on the graph: a file or a text up, what the autopilot has down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

from sim_node.autopilot.commands import set_mode_for
from sim_node.autopilot.mission import Clear, Download, Upload, as_json, read_plan
from sim_node.autopilot.mission.plan import as_messages, fence_messages, from_messages, rally_messages
from sim_node.autopilot.mission.transfer import FENCE, RALLY
from sim_node.autopilot.topics import Profile
from sim_node.autopilot.transaction import Refusal, Transaction
from sim_node.autopilot.vehicle import Vehicle
from sim_node.nodes.qos import profile
from sim_node.nodes.vehicle_commands import VehicleCommands
from sim_node.world import WorldError

MAX_FILE = 1_000_000


class VehicleMissions:
    """mission/push, pull, clear and start, mission/upload, and mission/waypoints with what was pulled."""

    def __init__(self, node: Node, vehicle: Vehicle, name: str, commands: VehicleCommands) -> None:
        self._node, self._vehicle, self._commands = node, vehicle, commands
        prefix = f"{name}/" if name else ""
        self._waypoints = node.create_publisher(String, prefix + "mission/waypoints", profile(Profile.LATCHED.value))
        commands.serve(Trigger, "mission/push", lambda request: self._push(), engages=True)
        commands.serve(Trigger, "mission/clear", lambda request: Clear(), engages=True)
        commands.serve(Trigger, "mission/start", lambda request: set_mode_for("mission", vehicle.telemetry))
        commands.hear(String, "mission/upload", lambda message: self._upload(message.data, "mission"), engages=True)
        node.create_service(Trigger, prefix + "mission/pull", self._pull)

    def _push(self) -> Transaction:
        path = self._node.get_parameter("mission_file").value
        if not path:
            return Refusal(Upload.name, "the parameter mission_file names no file")
        try:
            with Path(path).open(encoding="utf-8") as file:
                text = file.read(MAX_FILE + 1)
        except (OSError, UnicodeDecodeError) as error:
            return Refusal(Upload.name, f"mission_file {path!r}: {getattr(error, 'strerror', None) or error}")
        if len(text) > MAX_FILE:
            return Refusal(Upload.name, f"mission_file {path!r}: is larger than {MAX_FILE} characters")
        return self._upload(text, path)

    def _upload(self, text: str, name: str) -> Transaction:
        telemetry = self._vehicle.telemetry
        try:
            plan = read_plan(text, name)
        except WorldError as error:
            return Refusal(Upload.name, str(error))
        if telemetry.home is None:
            return Refusal(Upload.name, "no HOME_POSITION yet, and places count from home")
        others = {FENCE: fence_messages(plan), RALLY: rally_messages(plan)}
        return Upload(as_messages(plan, telemetry.home, telemetry.autopilot), others)

    async def _pull(self, request: Any, response: Any) -> Any:
        result = await self._commands.begin(Download, engages=True)
        response.success, response.message = result.ok, result.text
        if result.ok:
            entries = from_messages(result.value, self._vehicle.telemetry.autopilot)
            self._waypoints.publish(String(data=as_json(entries)))
        return response
