"""The kinds of mission items: keys in a file, and the MAV_CMD that each becomes. One entry per kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from sim_node.spatial.frames import Heading
from sim_node.world.readers.yaml_values import Table, Value

# Places beyond this are no flight of a small vehicle (m, or above home).
MAX_DISTANCE = 1e6


@dataclass(frozen=True)
class Item:
    """One item: MAV_CMD, up to four params, and a place where the command has one.

    place: east, north, up of home in metres, or latitude, longitude (degrees) and metres above home: the plan's frame.
    """

    command: int
    params: tuple[float, ...] = ()
    place: tuple[float, float, float] | None = None
    kind: str = ""


@dataclass(frozen=True)
class ItemKind:
    """How items of a kind are read and written.

    write: an item's keys beside type and position, for the file. Every kind's keys are known and none is more than
    a number.
    """

    command: int
    keys: tuple[str, ...]
    placed: bool
    read: Callable[[Table], tuple[float, ...]]
    write: Callable[[tuple[float, ...]], dict[str, float]]
    required: tuple[str, ...] = field(default=())


KINDS: dict[str, ItemKind] = {}


def kind(name: str, made: ItemKind) -> None:
    """Registers a kind of item. Raises ValueError for a name that is there already."""
    if name in KINDS:
        raise ValueError(f"mission item {name!r} is there already")
    KINDS[name] = made


def read_item(value: Value, lla: bool) -> Item | None:
    """One entry of a plan's items, None with the fault recorded."""
    known = sorted({"type", "position", *(key for made in KINDS.values() for key in made.keys)})
    name = value.table(known, ("type",)).get("type")
    if name is None:
        return None
    word = name.choice(KINDS, "")
    if not word:
        return None
    made = KINDS[word]
    required = (*made.required, *(("position",) if made.placed and word != "land" else ()))
    table = value.table(("type", *(("position",) if made.placed else ()), *made.keys), required)
    place = _place(table.get("position"), lla)
    return Item(made.command, made.read(table), place, word)


def number(table: Table, key: str, default: float, low: float, high: float) -> float:
    """A number under a key, or the default."""
    value = table.get(key)
    return default if value is None else value.number(low, high, default)


def _place(value: Value | None, lla: bool) -> tuple[float, float, float] | None:
    if value is None:
        return None
    numbers = value.vector(3, MAX_DISTANCE)
    if numbers is None:
        return None
    if lla and (abs(numbers[0]) > 90.0 or abs(numbers[1]) > 180.0):
        value.error(f"latitude {numbers[0]:g}, longitude {numbers[1]:g}: needs [-90, 90] and [-180, 180] degrees")
    return numbers[0], numbers[1], numbers[2]


def _yaw_in(table: Table) -> float:
    """Degrees counterclockwise from east, as in all of ROS, to clockwise from north; NaN leaves it to the autopilot.

    North is 360, since some autopilots give 0 back for what was never set.
    """
    yaw = number(table, "yaw_deg", math.nan, -360.0, 360.0)
    return Heading.of_yaw_degrees(yaw).degrees or 360.0


def _yaw_out(yaw: float) -> dict[str, float]:
    if not math.isfinite(yaw) or yaw == 0.0:
        return {}
    return {"yaw_deg": Heading(yaw).to_yaw_degrees()}


def _waypoint_in(table: Table) -> tuple[float, ...]:
    hold, radius = number(table, "hold", 0.0, 0.0, 86_400.0), number(table, "radius", 0.0, 0.0, 1e4)
    return hold, radius, 0.0, _yaw_in(table)


def _waypoint_out(params: tuple[float, ...]) -> dict[str, float]:
    return {"hold": params[0], "radius": params[1], **_yaw_out(params[3])}


kind("waypoint", ItemKind(16, ("hold", "radius", "yaw_deg"), True, _waypoint_in, _waypoint_out))
kind(
    "loiter",
    ItemKind(
        19,
        ("hold",),
        True,
        lambda table: (number(table, "hold", 0.0, 0.0, 86_400.0),),
        lambda params: {"hold": params[0]},
        ("hold",),
    ),
)
kind(
    "takeoff",
    ItemKind(
        22,
        ("height",),
        False,
        lambda table: (number(table, "height", 1.0, 0.5, 1e4),),
        lambda params: {"height": params[0]},
        ("height",),
    ),
)
kind("land", ItemKind(21, (), True, lambda table: (0.0, 0.0, 0.0, math.nan), lambda params: {}))
kind("return", ItemKind(20, (), False, lambda table: (), lambda params: {}))
kind(
    "speed",
    ItemKind(
        178,
        ("speed",),
        False,
        lambda table: (1.0, number(table, "speed", 1.0, 0.1, 200.0), -1.0, 0.0),
        lambda params: {"speed": params[1]},
        ("speed",),
    ),
)
