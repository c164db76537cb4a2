"""The pilots and autopilots of vehicles in world files."""

from __future__ import annotations

import math

import numpy as np

from sim_node.world import bases
from sim_node.world.bases import BasePilot, BaseWaypoint
from sim_node.world.model import MAX_DISTANCE
from sim_node.world.readers.keys import Keys, choice, either, flag, listing, number, text, vector, whole, word
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import NULL, Table, Value, boolean
from sim_node.world.vehicle_checks import MAX_INSTANCES, PILOT_RANGES, WAYPOINT_RANGES
from sim_node.world.vehicles import AFTER, AUTOPILOT_TYPES, BUILTIN, LIKE, Autopilot, Pilot, Waypoint

AUTOPILOT_KEYS = Keys(
    {
        "type": choice("The type of autopilot.", AUTOPILOT_TYPES),
        "instance": whole("Its number, from which its ports and MAVLink system id follow.", 0, MAX_INSTANCES - 1),
        "start": flag("Whether the run starts it, if it is part of sim_node."),
        "links": listing("Additional ground links, as in udpout:127.0.0.1:14550.", text("")),
        "like": choice("What the built-in autopilot presents itself as.", LIKE),
        "signing_key": text("File with the MAVLink 2 signing key of its links."),
        "reset_vehicle": flag("Whether the vehicle goes back to its start when ArduPilot has started again."),
        "channels": listing("What its output channels command on a base, from channel 1 on.", text("")),
    },
    required=("type",),
    about="An autopilot in a process of its own.",
)
_LIMITS = {
    "wait": "Time before the take-off, s.",
    "take_off": "Height of the take-off, m.",
    "speed": "Maximum speed, m/s.",
    "acceleration": "Maximum acceleration, m/s^2.",
    "landing_speed": "Speed of descent when landing, m/s.",
    "yaw_rate": "Maximum yaw rate, rad/s.",
    "rate": "Rate of the controller, Hz.",
    "yaw": "Yaw, rad.",
    "hold": "How long the vehicle stays, s.",
    "radius": "How close the vehicle has to come, m.",
}
POINT = vector("Position [x, y, z], ENU, m.", 3, MAX_DISTANCE)
WAYPOINT_KEYS = Keys(
    {
        "position": POINT,
        "yaw_deg": number("Yaw, degrees.", *map(math.degrees, WAYPOINT_RANGES["yaw"])),
        **{key: number(_LIMITS[key], *limits) for key, limits in WAYPOINT_RANGES.items()},
    },
    required=("position",),
    at_most_one=(("yaw", "yaw_deg"),),
)
PILOT_KEYS = Keys(
    {
        **{key: number(_LIMITS[key], *limits) for key, limits in PILOT_RANGES.items()},
        "after": choice("What to do after the last waypoint.", AFTER),
        "waypoints": listing("The mission.", either("", POINT, WAYPOINT_KEYS)),
    },
    about="The built-in controller and its mission.",
)
BASE_POINT = vector("Position [x, y] in the fixed frame, ENU, m.", 2, MAX_DISTANCE)
BASE_WAYPOINT_KEYS = Keys(
    {
        "position": BASE_POINT,
        "yaw_deg": number("Yaw, degrees.", *map(math.degrees, bases.WAYPOINT_RANGES["yaw"])),
        **{key: number(_LIMITS[key], *limits) for key, limits in bases.WAYPOINT_RANGES.items()},
    },
    required=("position",),
    at_most_one=(("yaw", "yaw_deg"),),
)
BASE_PILOT_KEYS = Keys(
    {
        **{key: number(_LIMITS[key], *limits) for key, limits in bases.PILOT_RANGES.items()},
        "after": choice("What to do after the last waypoint.", bases.AFTER),
        "waypoints": listing("The mission.", either("", BASE_POINT, BASE_WAYPOINT_KEYS)),
    },
    about="The mission of the built-in autopilot.",
)
BASE_PILOT = either("The mission of the built-in autopilot.", word("", "none", None), BASE_PILOT_KEYS)
PILOT = either("The built-in controller and its mission.", word("", "none", None), PILOT_KEYS)
AUTOPILOT = either("An autopilot in a process of its own.", word("", "none", None), AUTOPILOT_KEYS)


def read_pilot(value: Value | None) -> Pilot | None:
    """Read `none`, which is the default, or a mapping."""
    if value is None or (isinstance(value.node, Scalar) and value.node.text in ("none", *NULL)):
        return None
    if not isinstance(value.node, Mapping):
        value.error(f"`none` or a mapping is needed ({', '.join(PILOT_KEYS)}), found {value.found()}")
        return None
    table = value.table(PILOT_KEYS)
    numbers = _numbers(table, PILOT_RANGES)
    waypoints = table.get("waypoints")
    return Pilot(
        () if waypoints is None else tuple(w for entry in waypoints.items() if (w := _waypoint(entry)) is not None),
        table.choice("after", AFTER, Pilot().after),
        **numbers,
    )


def read_base_pilot(value: Value | None) -> BasePilot | None:
    """Read `none`, which is the default, or a mapping."""
    if value is None or (isinstance(value.node, Scalar) and value.node.text in ("none", *NULL)):
        return None
    if not isinstance(value.node, Mapping):
        value.error(f"`none` or a mapping is needed ({', '.join(BASE_PILOT_KEYS)}), found {value.found()}")
        return None
    table = value.table(BASE_PILOT_KEYS)
    waypoints = table.get("waypoints")
    read = [] if waypoints is None else map(_base_waypoint, waypoints.items())
    return BasePilot(
        tuple(waypoint for waypoint in read if waypoint is not None),
        table.choice("after", bases.AFTER, BasePilot().after),
        **_numbers(table, bases.PILOT_RANGES),
    )


def read_autopilot(value: Value | None, context: Context) -> Autopilot | None:
    """Read `none`, which is the default, or a mapping.

    Whether the key's file exists is left to the run: it is not recorded with the world.
    """
    if value is None or (isinstance(value.node, Scalar) and value.node.text in ("none", *NULL)):
        return None
    table = value.table(AUTOPILOT_KEYS)
    instance = table.get("instance")
    number = 0.0 if instance is None else instance.number(0, MAX_INSTANCES - 1)
    if instance is not None and number % 1.0:
        instance.error(f"found {instance.found()}; a whole number is needed")
    links = table.get("links")
    urls = () if links is None else tuple(entry.text() for entry in links.items())
    kind, start = table.choice("type", AUTOPILOT_TYPES, "px4"), boolean(table, "start", True)
    # The instance of an autopilot that the run does not start is given by whoever starts it.
    is_any = instance is None and start and kind == BUILTIN
    likeness = table.get("like")
    if likeness is not None and kind != BUILTIN:
        likeness.error(f"{kind} is like itself; only mavlink_builtin can be like another")
    key = table.get("signing_key")
    if key is not None and kind != BUILTIN:
        key.error(f"the links of {kind} are its own; only mavlink_builtin takes a key")
    path = None if key is None else context.path_of(key)
    outputs = table.get("channels")
    channels = () if outputs is None else tuple(entry.text() for entry in outputs.items())
    resets, asked = boolean(table, "reset_vehicle", False), table.get("reset_vehicle")
    if resets and asked is not None and not AUTOPILOT_TYPES[kind].restarts:
        telling = ", ".join(name for name, each in AUTOPILOT_TYPES.items() if each.restarts)
        asked.error(f"{kind} does not tell that it has started again; allowed for: {telling}")
    like = table.choice("like", LIKE, LIKE[0])
    return Autopilot(kind, int(number), start, urls, is_any, like, path, channels, resets)


def _numbers(table: Table, ranges: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Read the numbers that a table has."""
    return {key: value.number(*ranges[key]) for key in ranges if (value := table.get(key)) is not None}


def _waypoint(entry: Value) -> Waypoint | None:
    """Read a position, or a mapping."""
    if isinstance(entry.node, Sequence):
        position = entry.vector(3, limit=MAX_DISTANCE)
        return None if position is None else Waypoint(np.array(position))
    table = entry.table(WAYPOINT_KEYS)
    value = table.get("position")
    position = None if value is None else value.vector(3, limit=MAX_DISTANCE)
    fields = _waypoint_numbers(table, WAYPOINT_RANGES)
    return None if position is None else Waypoint(np.array(position), **fields)


def _base_waypoint(entry: Value) -> BaseWaypoint | None:
    """Read a position, or a mapping."""
    if isinstance(entry.node, Sequence):
        position = entry.vector(2, limit=MAX_DISTANCE)
        return None if position is None else BaseWaypoint((position[0], position[1]))
    table = entry.table(BASE_WAYPOINT_KEYS)
    value = table.get("position")
    position = None if value is None else value.vector(2, limit=MAX_DISTANCE)
    fields = _waypoint_numbers(table, bases.WAYPOINT_RANGES)
    return None if position is None else BaseWaypoint((position[0], position[1]), **fields)


def _waypoint_numbers(table: Table, ranges: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Read the numbers of a waypoint, with its yaw in either unit."""
    degrees = table.get("yaw_deg")
    fields = _numbers(table, ranges)
    if degrees is not None:
        if "yaw" in fields:
            degrees.error("cannot be combined with yaw; give one of them")
        fields["yaw"] = math.radians(degrees.number(*map(math.degrees, WAYPOINT_RANGES["yaw"])))
    return fields
