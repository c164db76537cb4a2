"""Missions: the items that are stored, flown one after the other. One entry per MAV_CMD."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.autopilot.builtin.geo_reference import LOCAL_NED, MAX_DISTANCE, yaw_of_degrees
from sim_node.autopilot.builtin.tasks import Go, Hold, Land, Task
from sim_node.frames import InvalidCoordinates
from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry

if TYPE_CHECKING:
    from sim_node.autopilot.builtin.flight import Flight

Item = Mapping[str, Any]
MAX_ITEMS = 1000
# So many items on end that take no time are a circle.
MAX_AT_ONCE = 2 * MAX_ITEMS
DO_JUMP = 177
FOREVER = -1
_LOCAL_SCALE = 1e-4  # m, of x and y in local frames
_DEFAULT_RADIUS = 0.5
_LAND = 21
# Commands whose place counts.
_PLACED = (16, 17, 19, 22)

# What an item has the vehicle do; None for what is done at once.
Flown = Callable[[Item, "Flight"], Task | None]
ITEMS: Registry[int, Flown] = Registry(
    "mission item", shipped=("sim_node.autopilot.builtin.mission",), group="sim_node.builtin"
)
# Registers what flies the items of some MAV_CMDs.
item = ITEMS.add


class Mission:
    """items: the fields of MISSION_ITEM_INTs. current: the one that is flown, or comes next.

    jumped: how often each DO_JUMP has jumped.
    """

    def __init__(self, items: Sequence[Item] = (), current: int = 0) -> None:
        self.items, self.current = tuple(items), current
        self.jumped: dict[int, int] = {}

    def fly(self, flight: Flight) -> Iterator[Task]:
        """The tasks from the current item on; after the last the mission is at its beginning again."""
        at_once = 0
        while self.current < len(self.items) and at_once < MAX_AT_ONCE:
            sequence = self.current
            entry = self.items[sequence]
            if entry["command"] == DO_JUMP:
                self.current = self._after_jump(sequence, entry)
                at_once += 1
                continue
            task = ITEMS[entry["command"]](entry, flight)
            flight.changed()
            if task is None:
                at_once += 1
            else:
                at_once = 0
                yield task
                flight.reached = sequence
            self.current = sequence + 1
        self.current = 0
        self.jumped.clear()

    def _after_jump(self, sequence: int, entry: Item) -> int:
        times = int(entry["param2"])
        if times != FOREVER:
            self.jumped[sequence] = self.jumped.get(sequence, 0) + 1
            if self.jumped[sequence] > times:
                return sequence + 1
        return int(entry["param1"])


def fault(entry: Item, count: int, flight: Flight) -> str:
    """What is wrong with an item of a mission of `count` items; empty where nothing is."""
    command = entry["command"]
    if command == DO_JUMP:
        target, times = entry["param1"], entry["param2"]
        if not (math.isfinite(target) and 0 <= target < count and math.isfinite(times) and times >= FOREVER):
            return f"jump to item {target:g} of {count}, {times:g} times"
        return ""
    if command not in ITEMS:
        return f"MAV_CMD {command} is not flown here"
    if not all(math.isfinite(entry[key]) for key in ("param1", "param2", "z")):
        return "numbers that are not finite"
    if command not in _PLACED and not (command == _LAND and _somewhere(entry)):
        return ""
    try:
        place = _place(entry, flight)
    except InvalidCoordinates as error:
        return str(error)
    if place is None:
        return f"MAV_FRAME {entry['frame']} is not known here"
    return "" if np.abs(place).max() <= MAX_DISTANCE else "a place further away than anybody flies"


@item(16)
def waypoint(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_WAYPOINT: hold s, radius m, yaw."""
    return _go(
        entry, flight, hold=entry["param1"], radius=entry["param2"] if entry["param2"] > 0.0 else _DEFAULT_RADIUS
    )


@item(19)
def loiter(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_LOITER_TIME: s."""
    return _go(entry, flight, hold=entry["param1"])


@item(17)
def loiter_forever(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_LOITER_UNLIM."""
    return _go(entry, flight, hold=math.inf)


@item(22)
def take_off(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_TAKEOFF: straight up."""
    place = _place(entry, flight)
    height = flight.above(0.0)[2] if place is None else place[2]
    return Go(np.array([*flight.states[0, :2], height]), _yaw(entry), speed=flight.speed)


@item(_LAND)
def land(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_LAND: where the item is, or straight down where it is nowhere."""
    return _LandAt(entry, flight) if _somewhere(entry) else Land()


@item(20)
def go_home(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_RETURN_TO_LAUNCH: by its mode."""
    return _Return()


@item(178)
def change_speed(entry: Item, flight: Flight) -> None:
    """MAV_CMD_DO_CHANGE_SPEED: m/s, up to the craft's own; below zero as it was."""
    if entry["param2"] > 0.0:
        flight.speed = min(entry["param2"], flight.parameters.max_speed)


class _LandAt(Land):
    """Flies over a place first."""

    def __init__(self, entry: Item, flight: Flight) -> None:
        goal = _place(entry, flight)
        assert goal is not None
        goal[2] = max(flight.states[0, 2], flight.reference[2])
        self._way = Go(goal, speed=flight.speed)
        self._above = False

    def advance(self, flight: Flight) -> bool:
        self._above = self._above or self._way.advance(flight)
        return self._above and super().advance(flight)


class _Return(Hold):
    def advance(self, flight: Flight) -> bool:
        from sim_node.autopilot.builtin.modes import Mode

        flight.set_mode(Mode.RTL)
        return False


def _go(entry: Item, flight: Flight, *, hold: float, radius: float = _DEFAULT_RADIUS) -> Task:
    place = _place(entry, flight)
    assert place is not None
    return Go(place, _yaw(entry), speed=flight.speed, hold=hold, radius=radius)


def _somewhere(entry: Item) -> bool:
    return bool(entry["x"] or entry["y"])


def _yaw(entry: Item) -> float:
    return yaw_of_degrees(entry["param4"])


def _place(entry: Item, flight: Flight) -> FloatArray | None:
    if entry["frame"] == LOCAL_NED:
        return np.array([entry["y"] * _LOCAL_SCALE, entry["x"] * _LOCAL_SCALE, -entry["z"]])
    return flight.places.local(entry["frame"], entry["x"] * 1e-7, entry["y"] * 1e-7, entry["z"])
