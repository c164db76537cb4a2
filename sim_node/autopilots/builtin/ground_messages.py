"""MAVLink messages that the built-in autopilot accepts from ground stations. One function per message."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from sim_node.autopilots.builtin import mission_protocol, parameters, setpoints
from sim_node.autopilots.builtin.answers import GroundMessage
from sim_node.autopilots.builtin.autopilot import BuiltinAutopilot
from sim_node.autopilots.builtin.dialect import WARNING, Mode
from sim_node.autopilots.builtin.streams import DATA_STREAMS, MAX_DATA_RATE, MESSAGES
from sim_node.registry import Registry

Takes = Callable[[BuiltinAutopilot, GroundMessage], None]
GROUND_MESSAGES: Registry[str, Takes] = Registry(
    "message from the ground",
    shipped=("sim_node.autopilots.builtin.ground_messages", "sim_node.autopilots.builtin.commands"),
    group="sim_node.builtin",
)
# Decorator that registers the function for some messages.
ground_message = GROUND_MESSAGES.add


def handle(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Execute and answer a message. Messages that are not registered are ignored."""
    takes = GROUND_MESSAGES.get(received.message.name)
    if takes is not None:
        takes(autopilot, received)


@ground_message(*setpoints.NAMES)
def setpoint(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Fly a setpoint."""
    message = received.message
    autopilot.setpoints.receive(autopilot.flight, message.name, message.fields, received.now_ns)


@ground_message(*mission_protocol.NAMES)
def mission_item(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Continue the mission protocol."""
    autopilot.missions.receive(*received)


@ground_message(*parameters.NAMES)
def parameter(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Answer the parameter protocol."""
    message, connection, address, _ = received
    parameters.answer_parameters(autopilot.flight, autopilot.parameter_lists, message, connection, address)


_GROUND_STATION = 6  # MAV_TYPE


@ground_message("HEARTBEAT")
def heartbeat(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Note the heartbeat of a ground station."""
    if received.message.fields.type == _GROUND_STATION:
        autopilot.flight.failsafe.ground_station(autopilot.flight, received.now_ns)


@ground_message("TIMESYNC")
def time_sync(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Answer with the simulation time."""
    fields = received.message.fields
    if fields.tc1 == 0:
        received.answer("TIMESYNC", {"tc1": autopilot.flight.time_us * 1000, "ts1": fields.ts1})


@ground_message("PING")
def ping(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Answer a request. A PING with a target is itself an answer."""
    fields = received.message.fields
    if not fields.target_system and not fields.target_component:
        received.answer("PING", {"time_usec": fields.time_usec, "seq": fields.seq} | received.sender)


@ground_message("REQUEST_DATA_STREAM")
def set_data_stream(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Set the rates of a group of messages, or of all groups."""
    fields = received.message.fields
    asked = DATA_STREAMS.values() if fields.req_stream_id == 0 else [DATA_STREAMS.get(fields.req_stream_id, ())]
    for name in (name for names in asked for name in names):
        if MESSAGES[name].dialect in ("", autopilot.dialect.name):
            rate = min(fields.req_message_rate, MAX_DATA_RATE) if fields.start_stop else 0.0
            autopilot.streams.set_rate(name, rate)


@ground_message("LOG_REQUEST_LIST")
def list_logs(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Answer that there are no logs."""
    received.answer("LOG_ENTRY", {})


@ground_message("FILE_TRANSFER_PROTOCOL")
def transfer_file(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Answer that there are no files."""
    payload = refuse_file_transfer(received.message.fields.payload)
    received.answer("FILE_TRANSFER_PROTOCOL", received.sender | {"payload": payload})


# Sequence, session, opcode, size, requested opcode, burst complete, padding, offset.
_HEADER = struct.Struct("<HBBBBBBI")
_SIZE = 251
_ENDS = (0, 1, 2)  # none, terminate session, reset sessions
_ACK, _NAK = 128, 129
# The error code by opcode: no file to list or open, no session to read from, in part or in a burst.
_INVALID_SESSION, _UNKNOWN_COMMAND, _NOT_FOUND = 4, 7, 10
_ERRORS = {3: _NOT_FOUND, 4: _NOT_FOUND, 5: _INVALID_SESSION, 15: _INVALID_SESSION}


def refuse_file_transfer(payload: Sequence[int]) -> bytes:
    """Return the payload that answers a request of MAVLink FTP: an ACK for the end of sessions, otherwise a NAK."""
    sequence, session, opcode, *_ = _HEADER.unpack_from(bytes(payload[: _HEADER.size]).ljust(_HEADER.size, b"\0"))
    sequence = (sequence + 1) & 0xFFFF
    if opcode in _ENDS:
        return _HEADER.pack(sequence, session, _ACK, 0, opcode, 0, 0, 0).ljust(_SIZE, b"\0")
    error = bytes([_ERRORS.get(opcode, _UNKNOWN_COMMAND)])
    answer = _HEADER.pack(sequence, session, _NAK, 1, opcode, 0, 0, 0) + error
    return answer.ljust(_SIZE, b"\0")


# Unsupported messages that have no acknowledgement. Each is refused once by a text.
_NOT_DONE = {
    "FENCE_POINT": "upload geofences by the mission protocol",
    "MANUAL_CONTROL": "no mode of this vehicle is flown by sticks",
    "RALLY_POINT": "upload rally points by the mission protocol",
    "RC_CHANNELS_OVERRIDE": "there is no RC input; rovers take MANUAL_CONTROL in the mode MANUAL",
    "SET_ACTUATOR_CONTROL_TARGET": "no mode leaves the actuators to others",
    "SET_GPS_GLOBAL_ORIGIN": "the origin is that of the world",
    "SET_HOME_POSITION": "send MAV_CMD_DO_SET_HOME",
}


@ground_message(*_NOT_DONE)
def refuse(autopilot: BuiltinAutopilot, received: GroundMessage) -> None:
    """Send a text, once, about the alternative to an unsupported message.

    MANUAL_CONTROL is supported in dialects that have a manual mode.
    """
    name = received.message.name
    if name == "MANUAL_CONTROL" and Mode.MANUAL in autopilot.dialect.modes:
        autopilot.sticks.receive(autopilot.flight, received.message.fields, received.now_ns)
    elif name not in autopilot.refused:
        autopilot.refused.add(name)
        autopilot.report(WARNING, f"{name} is ignored: {_NOT_DONE[name]}")
