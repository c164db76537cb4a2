"""Kinds of mission items: their keys in a file, and the MAV_CMD of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sim_node.spatial.frames import Heading
from sim_node.world.readers.yaml_values import Table, Value

# Maximum distance and height of an item (m): small vehicles do not fly further.
MAX_DISTANCE = 1e6


@dataclass(frozen=True)
class Item:
    """A mission item.

    Attributes:
        command: MAV_CMD.
        params: Up to four params.
        place: Position, if the command has one, in the plan's frame: east, north and up of home (m), or latitude,
            longitude (degrees) and height above home (m).
    """

    command: int
    params: tuple[float, ...] = ()
    place: tuple[float, float, float] | None = None


class ItemParam(NamedTuple):
    """A key of items: the index of its param, its range, and its default, which is None if the key is required.

    A yaw is in degrees counterclockwise from east in files, as everywhere in ROS, and clockwise from north in params,
    where NaN leaves it to the autopilot. North is 360 there, since some autopilots return 0 for a param that was never
    set.
    """

    number: int
    low: float
    high: float
    default: float | None = None
    is_yaw: bool = False

    def read(self, value: Value | None) -> float:
        """Return the param for a value, or the default."""
        given = self.default or 0.0 if value is None else value.number(self.low, self.high)
        return Heading.of_yaw_degrees(given).degrees or 360.0 if self.is_yaw else given

    def written(self, param: float) -> float | None:
        """Return the value in a file for the param; None for none."""
        if not self.is_yaw:
            return param
        return Heading(param).to_yaw_degrees() if math.isfinite(param) and param != 0.0 else None


@dataclass(frozen=True)
class ItemKind:
    """A kind of items.

    Attributes:
        command: MAV_CMD.
        place: Whether items have a position: "required", "optional", or "" for never.
        keys: Keys other than type and position, with their params.
        params: Params of an item without keys.
    """

    command: int
    place: str
    keys: Mapping[str, ItemParam]
    params: tuple[float, ...] = ()

    def read(self, table: Table) -> tuple[float, ...]:
        """Return the params of an item."""
        params = list(self.params)
        for name, param in self.keys.items():
            params[param.number - 1] = param.read(table.get(name))
        return tuple(params)

    def written(self, params: Sequence[float]) -> dict[str, float]:
        """Return the keys and numbers of an item's params."""
        given = ((name, param.written(params[param.number - 1])) for name, param in self.keys.items())
        return {name: number for name, number in given if number is not None}


_LONGEST = 86_400.0
KINDS: Mapping[str, ItemKind] = {
    "waypoint": ItemKind(
        *(16, "required"),
        {
            "hold": ItemParam(1, 0.0, _LONGEST, 0.0),
            "radius": ItemParam(2, 0.0, 1e4, 0.0),
            "yaw_deg": ItemParam(4, -360.0, 360.0, math.nan, is_yaw=True),
        },
        (0.0, 0.0, 0.0, math.nan),
    ),
    "loiter": ItemKind(19, "required", {"hold": ItemParam(1, 0.0, _LONGEST)}, (0.0,)),
    "takeoff": ItemKind(22, "", {"height": ItemParam(1, 0.5, 1e4)}, (0.0,)),
    "land": ItemKind(21, "optional", {}, (0.0, 0.0, 0.0, math.nan)),
    "return": ItemKind(20, "", {}),
    "speed": ItemKind(178, "", {"speed": ItemParam(2, 0.1, 200.0)}, (1.0, 0.0, -1.0, 0.0)),
}


def read_item(value: Value, lla: bool) -> Item | None:
    """Read an entry of a plan's items; None if it has faults, which are recorded."""
    known = sorted({"type", "position", *(key for made in KINDS.values() for key in made.keys)})
    name = value.table(known, ("type",)).get("type")
    if name is None:
        return None
    word = name.choice(KINDS, "")
    if not word:
        return None
    made = KINDS[word]
    position = ["position"] if made.place else []
    required = [name for name, param in made.keys.items() if param.default is None]
    required += position if made.place == "required" else []
    table = value.table(("type", *position, *made.keys), tuple(required))
    place = _place(table.get("position"), lla)
    return Item(made.command, made.read(table), place)


def _place(value: Value | None, lla: bool) -> tuple[float, float, float] | None:
    if value is None:
        return None
    numbers = value.vector(3, MAX_DISTANCE)
    if numbers is None:
        return None
    if lla and (abs(numbers[0]) > 90.0 or abs(numbers[1]) > 180.0):
        value.error(f"latitude {numbers[0]:g}, longitude {numbers[1]:g}: needs [-90, 90] and [-180, 180] degrees")
    return numbers[0], numbers[1], numbers[2]


def item_fields(
    command: int, frame: int, params: Sequence[float] = (), x: int = 0, y: int = 0, z: float = 0.0, goes_on: bool = True
) -> dict[str, Any]:
    """Return the fields of a MISSION_ITEM_INT, except for its number. Missing params are zero."""
    four = {f"param{number}": value for number, value in enumerate((*params, 0.0, 0.0, 0.0, 0.0)[:4], start=1)}
    return {"frame": frame, "command": command, "autocontinue": int(goes_on), **four, "x": x, "y": y, "z": z}


def numbered(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the fields of a mission's items with their numbers; the first is the current one."""
    return [{**item, "seq": seq, "current": int(seq == 0)} for seq, item in enumerate(items)]
