"""The sections `body_commands` and `vehicle_commands` of a world file: what is commanded on topics."""

from __future__ import annotations

from sim_node.world.commands import ACCEPTED, MAX_TIME_S, BodyCommands, VehicleCommands
from sim_node.world.readers.keys import Keys, choice, frame, listing, number, text
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import Table, Value

BODY_KEYS = Keys(
    {
        "body": frame("The body that wrenches act on."),
        "duration": number("How long a wrench acts, s.", 0.0, MAX_TIME_S),
    },
    required=("body",),
)
VEHICLE_KEYS = Keys(
    {
        "vehicle": text("The multirotor that is commanded."),
        "accept": listing("Which commands it takes.", choice("", ACCEPTED), least=1),
        "timeout": number("How long a command holds, s.", 0.0, MAX_TIME_S),
    },
    required=("vehicle",),
)


@section("body_commands", listing("Bodies that wrenches on topics push.", BODY_KEYS))
def read_body_commands(value: Value, context: Context) -> None:
    """Read a list of bodies on which wrenches act."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(BODY_KEYS)
        body, duration = table.get("body"), _seconds(table, "duration", BodyCommands("").duration)
        name = "" if body is None else body.text()
        if body is not None and len(entry.report.errors) == errors:
            context.add(BodyCommands(name, duration, body.place))


@section("vehicle_commands", listing("Multirotors that topics fly.", VEHICLE_KEYS))
def read_vehicle_commands(value: Value, context: Context) -> None:
    """Read a list of multirotors that are commanded."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(VEHICLE_KEYS)
        vehicle, accept = table.get("vehicle"), table.get("accept")
        timeout = _seconds(table, "timeout", VehicleCommands("").timeout)
        words = ACCEPTED if accept is None else tuple(each.choice(ACCEPTED, "") for each in accept.items())
        name = "" if vehicle is None else vehicle.text()
        if accept is not None and not words and len(entry.report.errors) == errors:
            accept.error(f"is empty; allowed: {', '.join(ACCEPTED)}")
        if vehicle is not None and len(entry.report.errors) == errors:
            context.add(VehicleCommands(name, words, timeout, vehicle.place))


def _seconds(table: Table, key: str, default: float) -> float:
    value = table.get(key)
    return default if value is None else value.number(0.0, MAX_TIME_S)
