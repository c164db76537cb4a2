"""MAV_CMDs that the built-in autopilot executes, from COMMAND_LONG and COMMAND_INT. One function per command."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sim_node.autopilots.builtin.answers import Answers, GroundMessage, answer
from sim_node.autopilots.builtin.autopilot import BuiltinAutopilot
from sim_node.autopilots.builtin.dialect import WARNING, Denied, Failed, Mode, OrderRefused, Unsupported
from sim_node.autopilots.builtin.fence import ALL
from sim_node.autopilots.builtin.geo_reference import GLOBAL, CommandPosition, position_of_ints
from sim_node.autopilots.builtin.ground_messages import ground_message
from sim_node.autopilots.builtin.mission import speed_fault, turn_of
from sim_node.autopilots.builtin.streams import MAX_RATE, MESSAGES, known
from sim_node.autopilots.builtin.telemetry import AVAILABLE_MODES, available_modes
from sim_node.mavlink.codec import enum_name
from sim_node.mavlink.links import Address
from sim_node.registry import Registry
from sim_node.spatial.frames import Heading, YawNed
from sim_node.spatial.geometry.arrays import FloatArray

ACCEPTED, TEMPORARILY_REJECTED, DENIED, UNSUPPORTED, FAILED = 0, 1, 2, 3, 4  # MAV_RESULT
_RESULTS: dict[type[OrderRefused], int] = {Denied: DENIED, Unsupported: UNSUPPORTED, Failed: FAILED}
_FORCE = 21196  # of MAV_CMD_COMPONENT_ARM_DISARM
_CUSTOM = 1  # MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
_CHANGE_MODE = 1  # MAV_DO_REPOSITION_FLAGS
_SET_HOME, _SET_MODE = 179, 176


@dataclass(frozen=True)
class Order:
    """A received command.

    Attributes:
        params: Params 1 to 4, NaN if unused.
        position: Position of the command.
        connection: Link for the answer.
        address: Peer for the answer.
    """

    params: Sequence[float]
    position: CommandPosition
    connection: Answers
    address: Address


Executes = Callable[[BuiltinAutopilot, Order], None]
COMMANDS: Registry[int, Executes] = Registry(
    "MAV_CMD",
    shipped=("sim_node.autopilots.builtin.commands", "sim_node.autopilots.builtin.injection"),
    group="sim_node.builtin",
)
# Decorator that registers the function for some MAV_CMDs. It may raise OrderRefused.
command = COMMANDS.add


@ground_message("COMMAND_LONG", "COMMAND_INT", "SET_MODE")
def obey(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Execute and acknowledge a command. A text explains a refusal."""
    number, execute = _ordered(autopilot, received)
    result = UNSUPPORTED if execute is None else _result(autopilot, number, execute)
    received.answer("COMMAND_ACK", {"command": number, "result": result} | received.sender)
    autopilot.beat_if_changed()


def _ordered(autopilot: BuiltinAutopilot, received: GroundMessage) -> tuple[int, Callable[[], None] | None]:
    """Return the MAV_CMD of a message, and the function that executes it; None for an unknown command."""
    message, connection, address, _ = received
    fields = message.fields
    if message.name == "SET_MODE":
        # As in PX4's mavlink_receiver.cpp, which turns it into DO_SET_MODE.
        return _SET_MODE, lambda: autopilot.enter(autopilot.dialect.mode_of_custom(fields.custom_mode))
    if message.name == "COMMAND_INT":
        position = position_of_ints(fields.frame, fields.x, fields.y, fields.z)
    else:
        frame = GLOBAL[0] if fields.command == _SET_HOME else autopilot.flight.dialect.long_frame
        position = CommandPosition(frame, fields.param5, fields.param6, fields.param7)
    params = fields.param1, fields.param2, fields.param3, fields.param4
    found = COMMANDS.get(fields.command)
    if found is None:
        return fields.command, None

    def execute() -> None:
        if any(map(math.isinf, (*params, *position[1:]))):
            raise Denied("a parameter is infinite")
        found(autopilot, Order(params, position, connection, address))

    return fields.command, execute


def _result(autopilot: BuiltinAutopilot, number: int, execute: Callable[[], None]) -> int:
    """Execute a command and return its MAV_RESULT. If it is refused, send a text with the reason."""
    try:
        execute()
    except OrderRefused as refusal:
        name = enum_name("MAV_CMD", number).removeprefix("MAV_CMD_").lower().replace("_", " ")
        autopilot.report(WARNING, f"{name}: {refusal}")
        return _RESULTS.get(type(refusal), TEMPORARILY_REJECTED)
    return ACCEPTED


@command(400)
def arm_disarm(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_COMPONENT_ARM_DISARM."""
    if order.params[0] == 1.0:
        autopilot.flight.arm()
    elif order.params[0] == 0.0:
        autopilot.flight.disarm(force=order.params[1] == _FORCE)
    else:
        raise Denied(f"param1 is {order.params[0]:g}; 1 arms, 0 disarms")


@command(401)
def check_prearm(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_RUN_PREARM_CHECKS: the result is always in SYS_STATUS."""
    if autopilot.flight.armed:
        raise OrderRefused("armed already")


@command(22)
def take_off(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_NAV_TAKEOFF: to an altitude, or to the default height; then to the position if there is one."""
    flight, position = autopilot.flight, order.position
    height = math.nan
    place = flight.places.locate(position, flight.position)
    if math.isfinite(position.z):
        height = float(place[2]) - (flight.places.home[2] if flight.places.home else 0.0)
    flight.take_off(height, None if position.is_here else place, _yaw(autopilot, order))


@command(21)
def land(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_NAV_LAND: straight down, or at a position."""
    flight = autopilot.flight
    flight.land(None if order.position.is_here else _place(autopilot, order))


@command(20)
def go_home(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_NAV_RETURN_TO_LAUNCH."""
    autopilot.flight.set_mode(Mode.RETURN)


@command(17)
def loiter(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_NAV_LOITER_UNLIM: here, or at a position."""
    if order.position.is_here:
        autopilot.flight.set_mode(Mode.HOLD)
    else:
        place = _place(autopilot, order)
        autopilot.flight.go_to(place, _yaw(autopilot, order))


@command(115)
def turn(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_CONDITION_YAW: angle (degrees), rate (degrees/s), direction, whether relative to the present heading."""
    if not math.isfinite(order.params[0]):
        raise Denied("no heading")
    task = turn_of(order.params, autopilot.flight)
    autopilot.flight.turn(task, task.yaw)


@command(_SET_MODE)
def set_mode(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_SET_MODE: custom modes only, the main mode in param2 and the sub mode in param3."""
    base, main, sub = (0.0 if math.isnan(param) else param for param in order.params[:3])
    if any(number % 1.0 or not 0.0 <= number < 2**32 for number in (base, main, sub)):
        raise Denied(f"{base:g}, {main:g}, {sub:g} is not a mode")
    if not int(base) & _CUSTOM:
        raise Denied("only custom modes")
    autopilot.enter(autopilot.flight.dialect.mode_of(int(main), int(sub)))


@command(262)
def set_standard_mode(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_SET_STANDARD_MODE: a MAV_STANDARD_MODE."""
    number = order.params[0]
    if math.isnan(number) or number % 1.0:
        raise Denied(f"no standard mode {number:g}")
    autopilot.enter(autopilot.flight.dialect.mode_of_standard(int(number)))


@command(178)
def change_speed(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_CHANGE_SPEED: speed (m/s) up to the vehicle's maximum, or -2 for the default."""
    why = speed_fault(*order.params[:3])
    if why:
        raise Denied(why)
    autopilot.flight.change_speed(order.params[1])


@command(_SET_HOME)
def set_home(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_SET_HOME: to the present position, or to a given one."""
    flight = autopilot.flight
    if order.params[0] != 1.0 and any(map(math.isnan, order.position[1:])):
        raise Denied("no position")
    flight.set_home(flight.position if order.params[0] == 1.0 else _place(autopilot, order))
    autopilot.send_to_all("HOME_POSITION")


@command(410)
def get_home(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_GET_HOME_POSITION, the deprecated request of HOME_POSITION."""
    _answer_with(autopilot, "HOME_POSITION", order)


@command(192)
def reposition(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_REPOSITION: speed (m/s), flags, radius, yaw in the dialect's unit. Unused values do not change."""
    flight = autopilot.flight
    speed, flags, _, yaw = order.params
    if not (flags == _CHANGE_MODE or flight.mode is flight.dialect.goto_mode):
        raise Denied(f"param2 is {flags:g}; 1 allows the change of mode that is needed")
    goal = _place(autopilot, order)
    turned = _yaw(autopilot, order) if flight.dialect.degrees else YawNed(yaw).to_enu().radians
    flight.go_to(goal, turned, speed if speed > 0.0 else None)


@command(186)
def change_altitude(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_CHANGE_ALTITUDE: altitude (m) above mean sea level; as in PX4, the frame in param2 is ignored."""
    flight = autopilot.flight
    if not flight.dialect.drops_targets:
        raise Unsupported("ArduPilot's copters and rovers have no such command")
    if math.isnan(order.params[0]):
        raise Denied("no altitude")
    altitude = CommandPosition(GLOBAL[0], math.nan, math.nan, order.params[0])
    flight.go_to(flight.places.locate(altitude, flight.position), what="Altitude change")


@command(207)
def enable_fence(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_FENCE_ENABLE: 1 to enable or 0 to disable the kinds of limits in param2, 0 for all."""
    flight = autopilot.flight
    if flight.dialect.drops_targets:
        raise Unsupported("GF_ACTION and the upload of a geofence enable it")
    enabled, kinds = (0 if math.isnan(param) else int(param) for param in order.params[:2])
    if enabled not in (0, 1):
        raise Failed(f"param1 is {enabled}; 1 enables, 0 disables, and there is no floor to disable")
    kinds = kinds or ALL
    if enabled and not kinds & flight.fence.kinds(flight.settings):
        raise Failed("there is no such fence")
    flight.enable_fence(kinds, enabled=bool(enabled))


@command(193)
def pause(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_PAUSE_CONTINUE: pause or continue the mission."""
    if order.params[0] not in (0.0, 1.0):
        raise Denied(f"param1 is {order.params[0]:g}; 0 pauses, 1 continues")
    autopilot.flight.set_mode(Mode.MISSION if order.params[0] else Mode.HOLD)


@command(300)
def start_mission(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_MISSION_START: from an item to the end."""
    flight = autopilot.flight
    first, last = (0 if math.isnan(param) else int(param) for param in order.params[:2])
    if flight.mission.is_empty:
        raise OrderRefused("no mission")
    if last not in (0, len(flight.mission.items) - 1):
        raise Denied(f"a mission ends with its last item, {len(flight.mission.items) - 1}, and not with {last}")
    if not flight.armed and not flight.dialect.arms_for_mission:
        raise OrderRefused("not armed")
    if first:
        flight.fly_item(first)
    flight.set_mode(Mode.MISSION)
    flight.arm("mission start")


@command(224)
def set_item(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_SET_MISSION_CURRENT. Counters of jumps are always reset, whatever param2 says."""
    number = order.params[0]
    if math.isnan(number) or number % 1.0:
        raise Denied(f"no item {number:g}")
    if number != -1.0:
        autopilot.flight.fly_item(int(number))
    autopilot.send_to_all("MISSION_CURRENT")


@command(246)
def reboot(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN: reboot the autopilot, on the ground only."""
    if order.params[0] != 1.0 or any(param > 0.0 for param in order.params[1:]):
        raise Unsupported("only a reboot of the autopilot, param1 = 1")
    if autopilot.flight.armed:
        raise OrderRefused("armed")
    autopilot.reboot()


@command(511)
def set_interval(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_SET_MESSAGE_INTERVAL: interval (us), 0 for the default, -1 to stop."""
    name, interval = _known(autopilot, order.params[0]), order.params[1]
    if not math.isfinite(interval) or 0.0 < interval < 1e6 / MAX_RATE:
        raise Denied(f"every {interval:g} us; {1e6 / MAX_RATE:g} is the shortest")
    usual = MESSAGES[name].rate
    autopilot.streams.set_rate(name, usual if interval == 0.0 else 0.0 if interval < 0.0 else 1e6 / interval)


@command(510)
def get_interval(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_GET_MESSAGE_INTERVAL, answered by MESSAGE_INTERVAL."""
    rate = autopilot.streams.rates.get(_known(autopilot, order.params[0]), 0.0)
    fields = {"message_id": int(order.params[0]), "interval_us": round(1e6 / rate) if rate else -1}
    answer("MESSAGE_INTERVAL", fields, order.connection, order.address)


@command(512)
def request(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_REQUEST_MESSAGE. For AVAILABLE_MODES, param2 is the index, or 0 for all."""
    name = _known(autopilot, order.params[0])
    if name != AVAILABLE_MODES:
        _answer_with(autopilot, name, order)
        return
    modes = available_modes(autopilot.flight)
    index = int(order.params[1]) if math.isfinite(order.params[1]) else 0
    if not 0 <= index <= len(modes):
        raise Denied(f"no mode {index}; there are {len(modes)}")
    for fields in modes[index - 1 : index] if index else modes:
        answer(AVAILABLE_MODES, fields, order.connection, order.address)


@command(520)
def capabilities(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES, the deprecated request of AUTOPILOT_VERSION."""
    _answer_with(autopilot, "AUTOPILOT_VERSION", order)


def _known(autopilot: BuiltinAutopilot, number: float) -> str:
    name = known(int(number), autopilot.flight.dialect.name) if math.isfinite(number) else None
    if name is None:
        raise Denied(f"message {number:g} is not sent here")
    return name


def _answer_with(autopilot: BuiltinAutopilot, name: str, order: Order) -> None:
    fields: Any = MESSAGES[name].make(autopilot.flight)
    if fields is None:
        raise OrderRefused(f"no {name} yet")
    answer(name, fields, order.connection, order.address)


def _place(autopilot: BuiltinAutopilot, order: Order) -> FloatArray:
    return autopilot.flight.places.locate(order.position, autopilot.flight.position)


def _yaw(autopilot: BuiltinAutopilot, order: Order) -> float:
    # ArduCopter's navigation commands have no yaw, and clients that rely on that send zeros.
    unused = autopilot.flight.dialect.degrees and order.params[3] == 0.0
    return math.nan if unused else Heading(order.params[3]).to_enu().radians
