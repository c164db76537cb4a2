"""MAV_CMDs that the built-in autopilot takes, as COMMAND_LONG and COMMAND_INT. One entry per command."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.autopilot.builtin.flight import WARNING, Refused
from sim_node.autopilot.builtin.geo_reference import GLOBAL, MAX_DISTANCE, RELATIVE, yaw_of_degrees
from sim_node.autopilot.builtin.modes import Mode
from sim_node.autopilot.builtin.streams import MAX_RATE, MESSAGES, known
from sim_node.autopilot.builtin.tasks import Go
from sim_node.autopilot.codec import Message, enum_name
from sim_node.autopilot.links import Address
from sim_node.registry import Registry

if TYPE_CHECKING:
    from sim_node.autopilot.builtin.autopilot import BuiltinAutopilot
    from sim_node.autopilot.connection import Connection

ACCEPTED, TEMPORARILY_REJECTED, DENIED, UNSUPPORTED = 0, 1, 2, 3  # MAV_RESULT
_FORCE = 21196  # of MAV_CMD_COMPONENT_ARM_DISARM
_CUSTOM = 1  # MAV_MODE_FLAG_CUSTOM_MODE_ENABLED


@dataclass(frozen=True)
class Order:
    """A command: up to seven params; frame: MAV_FRAME of 5 to 7; where an answer goes."""

    params: Sequence[float]
    frame: int
    connection: Connection
    address: Address


class Denied(Refused):
    """What makes no sense at any time."""


Takes = Callable[["BuiltinAutopilot", Order], None]
COMMANDS: Registry[int, Takes] = Registry(
    "MAV_CMD", shipped=("sim_node.autopilot.builtin.commands",), group="sim_node.builtin"
)
# Registers what takes some MAV_CMDs; it raises Refused.
command = COMMANDS.add


def obey(autopilot: BuiltinAutopilot, message: Message, connection: Connection, address: Address) -> None:
    """Does what COMMAND_LONG or COMMAND_INT says, and acknowledges it; a refusal is told in words before."""
    fields = message.fields
    exact = message.name == "COMMAND_INT"
    frame = fields.frame if exact else RELATIVE[0]
    place = (fields.x * 1e-7, fields.y * 1e-7, fields.z) if exact else (fields.param5, fields.param6, fields.param7)
    order = Order((fields.param1, fields.param2, fields.param3, fields.param4, *place), frame, connection, address)
    takes = COMMANDS.get(fields.command)
    result = ACCEPTED if takes else UNSUPPORTED
    if takes is not None:
        try:
            takes(autopilot, order)
        except Refused as refusal:
            result = DENIED if isinstance(refusal, Denied) else TEMPORARILY_REJECTED
            name = enum_name("MAV_CMD", fields.command).removeprefix("MAV_CMD_").lower().replace("_", " ")
            autopilot.say(WARNING, f"{name}: {refusal}")
    answer = {"command": fields.command, "result": result}
    answer |= {"target_system": message.system, "target_component": message.component}
    autopilot.answer("COMMAND_ACK", answer, connection, address)
    autopilot.beat_if_changed()


@command(400)
def arm_disarm(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_COMPONENT_ARM_DISARM."""
    if order.params[0] == 1.0:
        autopilot.flight.arm()
    elif order.params[0] == 0.0:
        autopilot.flight.disarm(force=order.params[1] == _FORCE)
    else:
        raise Denied(f"param1 is {order.params[0]:g}; 1 arms, 0 disarms")


@command(22)
def take_off(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_NAV_TAKEOFF: above home, or above mean sea level in a COMMAND_INT that says so."""
    height = order.params[6]
    flight = autopilot.flight
    if not math.isfinite(height):
        raise Denied("no height")
    if order.frame in GLOBAL and flight.places.home:
        height -= flight.places.sea_level(flight.places.ellipsoid(flight.places.home)[2])
    flight.take_off(height)


@command(21)
def land(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_NAV_LAND: here."""
    autopilot.flight.set_mode(Mode.LAND)


@command(20)
def go_home(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_NAV_RETURN_TO_LAUNCH."""
    autopilot.flight.set_mode(Mode.RTL)


@command(17)
def loiter(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_NAV_LOITER_UNLIM: here."""
    autopilot.flight.set_mode(Mode.HOLD)


@command(176)
def set_mode(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_SET_MODE: custom modes only."""
    base, custom = order.params[0], order.params[1]
    if not (math.isfinite(base) and int(base) & _CUSTOM):
        raise Denied("only custom modes")
    autopilot.flight.set_mode(mode_of(custom))


@command(178)
def change_speed(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_CHANGE_SPEED: m/s, up to the craft's own."""
    speed = order.params[1]
    if not speed > 0.0:
        raise Denied(f"speed is {speed:g} m/s; above 0 is needed")
    autopilot.flight.speed = min(speed, autopilot.parameters.max_speed)


@command(179)
def set_home(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_SET_HOME: here, or at a place."""
    flight = autopilot.flight
    place = flight.position if order.params[0] == 1.0 else _place(autopilot, order)
    flight.places.home = (float(place[0]), float(place[1]), float(place[2]))
    flight.changed()
    autopilot.tell_all("HOME_POSITION")


@command(192)
def reposition(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_REPOSITION: to a place in GUIDED; param4 is a yaw in degrees from north, NaN to keep it."""
    flight = autopilot.flight
    if not flight.airborne:
        raise Refused("on the ground")
    goal = _place(autopilot, order)
    flight.set_mode(Mode.GUIDED)
    speed = min(order.params[0], autopilot.parameters.max_speed) if order.params[0] > 0.0 else flight.speed
    flight.guide(Go(goal, yaw_of_degrees(order.params[3]), speed=speed))


@command(193)
def pause(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_PAUSE_CONTINUE: of a mission."""
    flight = autopilot.flight
    if order.params[0] == 1.0:
        flight.set_mode(Mode.AUTO)
    else:
        flight.set_mode(Mode.HOLD)


@command(300)
def start_mission(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_MISSION_START: from an item on."""
    if not autopilot.flight.armed:
        raise Refused("not armed")
    autopilot.flight.set_mode(Mode.AUTO)


@command(224)
def set_item(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_DO_SET_MISSION_CURRENT."""
    if not math.isfinite(order.params[0]):
        raise Denied("no item")
    autopilot.flight.fly_item(int(order.params[0]))
    autopilot.tell_all("MISSION_CURRENT")


@command(511)
def set_interval(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_SET_MESSAGE_INTERVAL: us, 0 for what is usual, -1 for never."""
    name, interval = _known(order.params[0]), order.params[1]
    if not math.isfinite(interval) or 0.0 < interval < 1e6 / MAX_RATE:
        raise Denied(f"every {interval:g} us; {1e6 / MAX_RATE:g} is the shortest")
    usual = MESSAGES[name].rate
    autopilot.streams.set_rate(name, usual if interval == 0.0 else 0.0 if interval < 0.0 else 1e6 / interval)


@command(510)
def get_interval(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_GET_MESSAGE_INTERVAL, answered by MESSAGE_INTERVAL."""
    rate = autopilot.streams.rates.get(_known(order.params[0]), 0.0)
    fields = {"message_id": int(order.params[0]), "interval_us": round(1e6 / rate) if rate else -1}
    autopilot.answer("MESSAGE_INTERVAL", fields, order.connection, order.address)


@command(512)
def request(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_REQUEST_MESSAGE."""
    _answer_with(autopilot, _known(order.params[0]), order)


@command(520)
def capabilities(autopilot: BuiltinAutopilot, order: Order) -> None:
    """MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES, the older way to AUTOPILOT_VERSION."""
    _answer_with(autopilot, "AUTOPILOT_VERSION", order)


def mode_of(number: float) -> Mode:
    """The mode of a custom_mode. Raises Denied."""
    try:
        return Mode(int(number))
    except (ValueError, OverflowError):
        there_are = ", ".join(f"{mode.value} {mode.name}" for mode in Mode)
        raise Denied(f"no mode {number:g} ({there_are})") from None


def _known(number: float) -> str:
    name = known(int(number)) if math.isfinite(number) else None
    if name is None:
        raise Denied(f"message {number:g} is not told here")
    return name


def _answer_with(autopilot: BuiltinAutopilot, name: str, order: Order) -> None:
    fields: Any = MESSAGES[name].tell(autopilot)
    if fields is None:
        raise Refused(f"no {name} yet")
    autopilot.answer(name, fields, order.connection, order.address)


def _place(autopilot: BuiltinAutopilot, order: Order) -> Any:
    latitude, longitude, height = order.params[4:7]
    if not all(map(math.isfinite, (latitude, longitude, height))) or abs(latitude) > 90.0 or abs(longitude) > 180.0:
        raise Denied(f"{latitude:g}, {longitude:g}, {height:g} is no place")
    place = autopilot.flight.places.local(order.frame, latitude, longitude, height)
    if place is None:
        raise Denied(f"MAV_FRAME {order.frame} is not known here")
    if np.abs(place).max() > MAX_DISTANCE:
        raise Denied(f"{latitude:g}, {longitude:g}, {height:g} is further away than anybody flies")
    return place
