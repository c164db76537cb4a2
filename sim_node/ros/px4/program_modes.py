"""Modes registered by external programs, as with px4-ros2-interface-lib. The vehicle flies them as OFFBOARD."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from px4_msgs.msg import ArmingCheckReply, ArmingCheckRequest, RegisterExtComponentReply, VehicleStatus
from rclpy.node import Node

from sim_node.mavlink.commands import DO_SET_MODE
from sim_node.mavlink.px4.inputs import OFFBOARD_FIELDS, hold
from sim_node.mavlink.px4.names import SET_NAV_STATE, Px4Names, px4_topic, versioned
from sim_node.mavlink.px4.state import EXTERNAL_1, EXTERNALS
from sim_node.mavlink.setpoints import SetpointRefused
from sim_node.mavlink.topics import Profile
from sim_node.mavlink.transaction import Outgoing
from sim_node.ros.publishers import profile

# As in PX4's Commander: the request period, s, and the number of unanswered requests after which a mode is unavailable.
ASK_S, UNANSWERED = 0.3, 3
_TEMPORARILY_REJECTED = 1
_ACK = px4_topic("vehicle_command_ack", "VehicleCommandAck")
# Fields of VehicleControlMode that correspond to those of OffboardControlMode.
_FLAGS = dict(
    zip(OFFBOARD_FIELDS[:-1], ("position", "velocity", "acceleration", "attitude", "rates", "allocation"), strict=True)
)
# Request fields that are not supported here.
_WITHOUT = ("register_mode_executor", "enable_replace_internal_mode", "activate_mode_immediately")


@dataclass
class ProgramMode:
    """A mode of an external program.

    Attributes:
        name: Its name, as in the request.
        controls: What it controls, by field of OffboardControlMode.
        ready: Whether the program's last reply was that the mode can run.
        unanswered: Number of unanswered requests since then.
    """

    name: bytes
    controls: dict[str, bool] = field(default_factory=lambda: {"position": True})
    ready: bool = False
    unanswered: int = 0

    @property
    def can_fly(self) -> bool:
        """Whether the mode can be selected or continued."""
        return self.ready and self.unanswered < UNANSWERED


class ProgramModes:
    """The modes that external programs have registered at a vehicle. Use it in the executor's thread only.

    Args:
        node: The node that publishes and subscribes.
        fmu: The prefix in front of in/ and out/.
        names: The vehicle in PX4's naming scheme.
        send: Sends messages to the vehicle.
        post: Calls a function in the bridge's thread, with the time, ns.
    """

    def __init__(
        self,
        node: Node,
        fmu: str,
        names: Px4Names,
        send: Callable[[list[Outgoing]], None],
        post: Callable[[Callable[[int], None]], None],
    ) -> None:
        self._node, self._names, self._send, self._post = node, names, send, post
        # By number, from 0 to EXTERNALS - 1
        self._modes: dict[int, ProgramMode] = {}
        self._asked = 0
        kind = profile(Profile.PX4.value)
        self._replies, self._questions = (
            [node.create_publisher(type, topic, kind) for topic in versioned(f"{fmu}out/{name}", type.__name__)]
            for name, type in (
                ("register_ext_component_reply", RegisterExtComponentReply),
                ("arming_check_request", ArmingCheckRequest),
            )
        )
        node.create_timer(ASK_S, self._ask)

    @property
    def flown(self) -> bool:
        """Whether a program's mode is active or selected."""
        return self._names.program_mode != 0

    def register(self, request: Any) -> None:
        """Assign a number to a program's mode. If that fails, send a negative reply and raise SetpointRefused."""
        reply = RegisterExtComponentReply(request_id=request.request_id, name=request.name)
        reply.px4_ros2_api_version = version = request.LATEST_PX4_ROS2_API_VERSION
        reply.arming_check_id = reply.mode_id = reply.mode_executor_id = -1
        name = bytes(bytearray(request.name)).rstrip(b"\0")
        number = next(
            (n for n, mode in self._modes.items() if mode.name == name),
            next((n for n in range(EXTERNALS) if n not in self._modes), None),
        )
        why = ""
        if request.px4_ros2_api_version != version:
            why = f"px4_ros2_api_version is {request.px4_ros2_api_version}; {version} is needed"
        elif lost := [each for each in _WITHOUT if getattr(request, each)]:
            why = f"{', '.join(lost)}: only PX4 itself has that"
        elif not (request.register_mode and request.register_arming_check):
            why = "a mode and its arming check are needed"
        elif number is None:
            why = f"there are {EXTERNALS} modes of programs already"
        if not why:
            assert number is not None
            self._modes[number] = ProgramMode(name)
            reply.success, reply.arming_check_id, reply.mode_id = True, number, EXTERNAL_1 + number
        self._publish(self._replies, reply)
        if why:
            raise SetpointRefused(f"{name.decode(errors='replace')!r} is not registered: {why}")

    def unregister(self, message: Any) -> None:
        """Remove a mode. The vehicle continues as if its program had fallen silent."""
        self._modes.pop(message.mode_id - EXTERNAL_1, None)

    def configure(self, message: Any) -> None:
        """Set what a mode controls, from a VehicleControlMode."""
        mode = self._modes.get(message.source_id - EXTERNAL_1)
        if mode is None:
            raise SetpointRefused(f"source_id: no program has registered the mode {message.source_id}")
        mode.controls = {name: bool(getattr(message, f"flag_control_{flag}_enabled")) for name, flag in _FLAGS.items()}
        if self._names.program_mode == message.source_id:
            self._names.offboard = mode.controls

    def answer(self, message: ArmingCheckReply) -> None:
        """Process a program's reply to the latest request."""
        mode = self._modes.get(message.registration_id)
        if mode is not None and message.request_id == self._asked:
            mode.ready, mode.unanswered = bool(message.can_arm_and_run), 0

    def commanded(self, forward: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a VehicleCommand callback that selects modes of programs, and forwards all other commands."""

        def receive(message: Any) -> None:
            if message.command not in (DO_SET_MODE, SET_NAV_STATE):
                forward(message)
                return
            number = message.param1 - EXTERNAL_1
            if message.command == SET_NAV_STATE and (mode := self._modes.get(number)) is not None:
                self._select(int(number), mode, message)
            else:
                self._names.program_mode = 0
            forward(message)
            self._names.selecting = message.command == SET_NAV_STATE

        return receive

    def _select(self, number: int, mode: ProgramMode, message: Any) -> None:
        """Rewrite a command for a mode as one for OFFBOARD. Raises SetpointRefused, after a reply."""
        if not mode.can_fly:
            ack = {"command": SET_NAV_STATE, "result": _TEMPORARILY_REJECTED}
            ack |= {"target_system": message.source_system, "target_component": message.source_component}
            self._post(lambda now_ns: self._names.encode(_ACK, ack))
            raise SetpointRefused(f"mode {EXTERNAL_1 + number}: its program does not say that it can be flown")
        self._names.offboard, self._names.program_mode = mode.controls, EXTERNAL_1 + number
        self._send([hold()])
        message.param1 = float(VehicleStatus.NAVIGATION_STATE_OFFBOARD)

    def _ask(self) -> None:
        """Send requests to the programs, and hold setpoints, because PX4 enters OFFBOARD only during a stream."""
        if not self._modes:
            return
        for mode in self._modes.values():
            mode.unanswered += 1
        self._asked = (self._asked + 1) % 256
        mask = sum(1 << number for number in self._modes)
        self._publish(self._questions, ArmingCheckRequest(request_id=self._asked, valid_registrations_mask=mask))
        flies = self._names.nav_state == VehicleStatus.NAVIGATION_STATE_OFFBOARD or self.flown
        if not flies and any(mode.can_fly for mode in self._modes.values()):
            self._send([hold()])

    def _publish(self, publishers: list[Any], message: Any) -> None:
        message.timestamp = self._node.get_clock().now().nanoseconds // 1000
        for publisher in publishers:
            publisher.publish(message)
