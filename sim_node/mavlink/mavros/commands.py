"""Table of MAVROS' services that are commands: the MAV_CMD of each, and its seven parameters."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from sim_node.mavlink.commands import CommandLong

_ZERO = "0"


class CommandRow(NamedTuple):
    """A service that sends a command.

    Attributes:
        name: Name below MAVROS' namespace.
        type: Service of mavros_msgs.
        command: MAV_CMD; 0 for that of the request's field `command`.
        params: Fields of the request, or 0, separated by spaces; the rest are zero.
        engages: Whether it is used together with setpoints. All others end a setpoint stream under our own names.
    """

    name: str
    type: str
    command: int
    params: str
    engages: bool = False


COMMANDS: tuple[CommandRow, ...] = (
    CommandRow("cmd/command", "CommandLong", 0, " ".join(f"param{number}" for number in range(1, 8)), True),
    CommandRow("cmd/arming", "CommandBool", 400, "value", True),
    CommandRow("cmd/set_home", "CommandHome", 179, "current_gps 0 0 yaw latitude longitude altitude", True),
    CommandRow("cmd/takeoff", "CommandTOL", 22, "min_pitch 0 0 yaw latitude longitude altitude"),
    CommandRow("cmd/takeoff_local", "CommandTOLLocal", 24, "min_pitch 0 rate yaw position.y position.x position.z"),
    CommandRow("cmd/land", "CommandTOL", 21, "0 0 0 yaw latitude longitude altitude"),
    CommandRow("cmd/land_local", "CommandTOLLocal", 23, "0 offset rate yaw position.y position.x position.z"),
    CommandRow(
        "cmd/trigger_control", "CommandTriggerControl", 2003, "trigger_enable sequence_reset trigger_pause", True
    ),
    CommandRow("cmd/trigger_interval", "CommandTriggerInterval", 214, "cycle_time integration_time", True),
    CommandRow("cmd/vtol_transition", "CommandVtolTransition", 3000, "state"),
)


def command_of(row: CommandRow, request: Any) -> CommandLong:
    """Return the command of a request."""
    number = row.command or request.command
    params = (0.0 if word == _ZERO else float(attrgetter(word)(request)) for word in row.params.split())
    return CommandLong(row.name.removeprefix("cmd/"), number, *params)
