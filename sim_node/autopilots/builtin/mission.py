"""Missions: the uploaded items, and the tasks that fly them. One function per MAV_CMD."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.autopilots.builtin.dialect import INFO, Mode, OrderRefused
from sim_node.autopilots.builtin.geo_reference import CommandPosition, position_of_ints
from sim_node.autopilots.builtin.tasks import Go, Guidance, Hold, Land, Task, Turn
from sim_node.mavlink.codec import enum_name
from sim_node.registry import Registry
from sim_node.spatial.frames import Heading

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.dialect import Dialect
    from sim_node.autopilots.builtin.flight import Flight

Item = Mapping[str, Any]
MAX_ITEMS = 1000
# A mission in which this many items in a row take no time is an endless loop.
MAX_AT_ONCE = 2 * MAX_ITEMS
DO_JUMP = 177
FOREVER = -1
DEFAULT_CIRCLE = 10.0  # m
_LAND, _SET_HOME, _CONDITION_YAW, _LOITER_TURNS, _DELAY, _SPEED = 21, 179, 115, 18, 93, 178
# Commands that move to their position.
_PLACED = (16, 17, _LOITER_TURNS, 19, _LAND, 22)
# Commands for multirotors only.
_FLOWN = (_LAND, 22)
# Commands for gimbals, cameras and grippers, which no vehicle has: stored, and skipped with a text.
SKIPPED = frozenset({195, 196, 197, 201, 202, 203, 204, 205, 206, 211, 214, 530, 531, 532, 1000, 1001, 2000, 2001, 2500,
                     2501})  # fmt: skip

# Returns the task of an item, or None if the item is done at once. Raises OrderRefused if it cannot be flown now.
Flown = Callable[[Item, "Flight"], Task | None]
ITEMS: Registry[int, Flown] = Registry(
    "mission item", shipped=("sim_node.autopilots.builtin.mission",), group="sim_node.builtin"
)
# Decorator that registers the function for the items of some MAV_CMDs.
item = ITEMS.add


class Mission:
    """A mission, and the progress through it.

    Attributes:
        items: Fields of MISSION_ITEM_INTs.
        first: Index of the first item that is flown; 1 if item 0 is home.
        current: Index of the item that is being flown, or comes next.
        jumped: Number of jumps so far of each DO_JUMP, by index.
    """

    def __init__(self, items: Sequence[Item] = (), current: int = 0, first: int = 0) -> None:
        self.items, self.first = tuple(items), first
        self.current = max(current, first)
        self.jumped: dict[int, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is no item to fly."""
        return len(self.items) <= self.first

    def places(self, flight: Flight) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """Yield the index and the position (3,), ENU, m, of each item that has one."""
        for sequence, entry in enumerate(self.items[self.first :], start=self.first):
            if entry["command"] in _PLACED and not _position(entry).is_here:
                yield sequence, _place(entry, flight)

    def fly(self, flight: Flight) -> Iterator[Task]:
        """Yield the tasks from the current item on. After the last one, the mission is reset to its first item."""
        at_once = 0
        while self.current < len(self.items) and at_once < MAX_AT_ONCE:
            sequence = self.current
            entry = self.items[sequence]
            if entry["command"] == DO_JUMP:
                self.current = max(self._after_jump(sequence, entry), self.first)
                at_once += 1
                continue
            task = self._task(sequence, entry, flight)
            flight.changed()
            if task is None:
                at_once += 1
            else:
                at_once = 0
                yield task
                flight.reached = sequence
            self.current = sequence + 1
        self.current = self.first
        self.jumped.clear()

    def _task(self, sequence: int, entry: Item, flight: Flight) -> Task | None:
        command = entry["command"]
        if command in SKIPPED:
            name = enum_name("MAV_CMD", command).removeprefix("MAV_CMD_")
            flight.report(INFO, f"mission item {sequence}: {name} skipped: no such device")
            return None
        try:
            return ITEMS[command](entry, flight)
        except OrderRefused as refusal:
            # Positions above home have changed if home has moved since the upload.
            flight.report(INFO, f"mission item {sequence} skipped: {refusal}")
            return None

    def _after_jump(self, sequence: int, entry: Item) -> int:
        times = int(entry["param2"])
        if times != FOREVER:
            self.jumped[sequence] = self.jumped.get(sequence, 0) + 1
            if self.jumped[sequence] > times:
                return sequence + 1
        return int(entry["param1"])


def numbered(items: Sequence[Item], dialect: Dialect) -> Sequence[Item]:
    """Return the items of a vehicle's own mission, after home if item 0 is home in the dialect."""
    if not dialect.home_first or not items:
        return items
    moved = [
        {**entry, "seq": entry["seq"] + 1, "current": 0}
        | ({"param1": entry["param1"] + 1.0} if entry["command"] == DO_JUMP else {})
        for entry in items
    ]
    home = {**items[0], "command": 16, **dict.fromkeys(("param1", "param2", "param3", "param4"), 0.0)}
    return [home, *moved]


def fault(entry: Item, count: int, flight: Flight) -> str:
    """Return why an item is invalid in a mission of `count` items; empty if it is valid."""
    command, params = entry["command"], [entry[f"param{number}"] for number in (1, 2, 3, 4)]
    if command == DO_JUMP:
        target, times = params[:2]
        possible = math.isfinite(target) and 0 <= target < count and math.isfinite(times) and times >= FOREVER
        return "" if possible else f"jump to item {target:g} of {count}, {times:g} times"
    if command in SKIPPED:
        return ""
    if command in _FLOWN and not flight.craft.flies:
        return "a rover neither takes off nor lands"
    if command not in ITEMS:
        return f"MAV_CMD {command} is not supported here"
    if any(map(math.isinf, (*params, entry["z"]))):
        return "numbers that are not finite"
    return _params_fault(command, params) or _place_fault(entry, flight)


def _params_fault(command: int, params: Sequence[float]) -> str:
    if command == _DELAY and not params[0] >= 0.0:
        return f"a delay of {params[0]:g} s; a time of day is not supported"
    if command == _SPEED:
        return speed_fault(*params[:3])
    if command == _LOITER_TURNS and not params[0] > 0.0:
        return f"{params[0]:g} turns"
    return "no heading" if command == _CONDITION_YAW and not math.isfinite(params[0]) else ""


def _place_fault(entry: Item, flight: Flight) -> str:
    command = entry["command"]
    if command not in _PLACED and not (command == _SET_HOME and entry["param1"] != 1.0):
        return ""
    try:
        if command == _LOITER_TURNS:
            loiter_turns(entry, flight)
        flight.places.locate(_position(entry), flight.position)
    except OrderRefused as refusal:
        return str(refusal)
    return ""


def speed_fault(kind: float, speed: float, throttle: float) -> str:
    """Return why the first three params of DO_CHANGE_SPEED are invalid; empty if they are valid."""
    # Airspeed equals ground speed here; climb and descent speeds do not exist.
    if kind not in (0.0, 1.0) and not math.isnan(kind):
        return f"speed type {kind:g} is not supported; 0 or 1 is"
    if throttle > 0.0:
        return f"a throttle of {throttle:g} % is not supported"
    return "" if math.isnan(speed) or speed > 0.0 or speed in (-1.0, -2.0) else f"a speed of {speed:g} m/s"


@item(16)
def waypoint(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_WAYPOINT: hold time (s), acceptance radius (m), yaw."""
    radius = entry["param2"] if entry["param2"] > 0.0 else flight.settings.radius
    return _go(entry, flight, hold=entry["param1"], radius=radius)


@item(19)
def loiter(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_LOITER_TIME: time (s)."""
    return _go(entry, flight, hold=entry["param1"])


@item(17)
def loiter_forever(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_LOITER_UNLIM."""
    return _go(entry, flight, hold=math.inf)


@item(_LOITER_TURNS)
def loiter_turns(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_LOITER_TURNS: number of turns, radius (m) in param3, positive for clockwise."""
    radius = entry["param3"] if math.isfinite(entry["param3"]) and entry["param3"] else DEFAULT_CIRCLE
    return flight.craft.circle(_place(entry, flight), -radius, entry["param1"])


@item(22)
def take_off(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_TAKEOFF: straight up, then to the position if there is one."""
    height = _place(entry, flight)[2] if math.isfinite(entry["z"]) else flight.above(flight.settings.takeoff_height)[2]
    up = np.array([*flight.states[0, :2], height])
    return Climb(up, None if _position(entry).is_here else _place(entry, flight), _yaw(entry, flight))


@item(_LAND)
def land(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_LAND: at the position, or straight down without one."""
    return Land() if _position(entry).is_here else LandAt(_place(entry, flight), flight)


@item(20)
def go_home(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_RETURN_TO_LAUNCH: enter the return mode."""
    return _Return(flight)


@item(_DELAY, 112)
def delay(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_NAV_DELAY and MAV_CMD_CONDITION_DELAY: time (s)."""
    return flight.craft.hold(max(0.0, entry["param1"]))


@item(_CONDITION_YAW)
def turn(entry: Item, flight: Flight) -> Task:
    """MAV_CMD_CONDITION_YAW: angle (degrees), rate (degrees/s), direction, whether relative to the present heading."""
    return turn_of([entry[f"param{number}"] for number in (1, 2, 3, 4)], flight)


@item(_SPEED)
def change_speed(entry: Item, flight: Flight) -> None:
    """MAV_CMD_DO_CHANGE_SPEED: speed (m/s), or -2 for the default."""
    flight.change_speed(entry["param2"])


@item(_SET_HOME)
def set_home(entry: Item, flight: Flight) -> None:
    """MAV_CMD_DO_SET_HOME: to the present position, or to the item's."""
    flight.set_home(flight.position if entry["param1"] == 1.0 else _place(entry, flight))


class Climb(Go):
    """Climb straight up, then fly to a position at that height.

    Args:
        up: Position (3,) to climb to, ENU, m.
        over: Position (3,) to fly to afterwards, ENU, m, of which the height is ignored; None to stay.
        yaw: Yaw from east, rad; NaN to keep it.
    """

    def __init__(self, up: np.ndarray[Any, Any], over: np.ndarray[Any, Any] | None, yaw: float) -> None:
        super().__init__(up, yaw)
        self._over = over

    def advance(self, flight: Guidance) -> bool:
        """Climb and fly. The task is done at the last position."""
        if not super().advance(flight):
            return False
        if self._over is None:
            return True
        self.goal[:2], self._over, self._held = self._over[:2], None, -1.0
        return False


class LandAt(Land):
    """Fly to above a position (3,), ENU, m, then land."""

    def __init__(self, place: np.ndarray[Any, Any], flight: Guidance) -> None:
        place[2] = max(flight.states[0, 2], flight.reference[2])
        self._route = Go(place)
        self._above = False

    def advance(self, flight: Guidance) -> bool:
        """Fly and descend. The task is done when the vehicle stands."""
        self._above = self._above or self._route.advance(flight)
        return self._above and super().advance(flight)


class _Return(Hold):
    def __init__(self, flight: Flight) -> None:
        super().__init__()
        self._flight = flight

    def advance(self, flight: Guidance) -> bool:
        self._flight.reached = self._flight.mission.current
        self._flight.set_mode(Mode.RETURN)
        return False


def turn_of(params: Sequence[float], flight: Flight) -> Turn:
    """Return the task of a CONDITION_YAW: degrees, degrees/s, 1 for clockwise, 1 for relative.

    A direction of 0 takes the shorter way to an absolute heading. Relative turns are clockwise unless the direction is
    -1.
    """
    degrees, rate, direction, relative = params
    sense = -int(math.copysign(1.0, direction)) if math.isfinite(direction) and direction else 0
    rate = math.radians(rate) if math.isfinite(rate) and rate > 0.0 else 0.0
    if relative == 1.0:
        now = float(flight.reference[9])
        return flight.craft.turn(now + (sense or -1) * math.radians(degrees), rate, sense)
    return flight.craft.turn(Heading(degrees).to_enu().radians, rate, sense)


def _go(entry: Item, flight: Flight, *, hold: float, radius: float | None = None) -> Task:
    hold = hold if hold > 0.0 else 0.0
    radius = flight.settings.radius if radius is None else radius
    return flight.craft.go(_place(entry, flight), _yaw(entry, flight), hold=hold, radius=radius)


def _yaw(entry: Item, flight: Flight) -> float:
    # Ground stations for ArduCopter write 0 for the yaw, which its missions do not have.
    unused = flight.dialect.degrees and entry["param4"] == 0.0
    return math.nan if unused else Heading(entry["param4"]).to_enu().radians


def _position(entry: Item) -> CommandPosition:
    return position_of_ints(entry["frame"], entry["x"], entry["y"], entry["z"])


def _place(entry: Item, flight: Flight) -> np.ndarray[Any, Any]:
    return flight.places.locate(_position(entry), flight.reference[:3] if flight.airborne else flight.position)
