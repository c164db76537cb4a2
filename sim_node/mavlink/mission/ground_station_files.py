"""Mission files of ground stations: QGC WPL 110 (Mission Planner, MAVProxy, QGroundControl) and .plan.

https://mavlink.io/en/file_formats/ and https://docs.qgroundcontrol.com/master/en/qgc-dev-guide/file_formats/plan.html
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sim_node.mavlink.mission.items import item_fields
from sim_node.world.readers.numbers import as_number
from sim_node.world.readers.report import Report
from sim_node.world.readers.unread import mark
from sim_node.world.readers.yaml_nodes import Mapping as Node
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_values import NULL, Table, Value, boolean

Fields = Mapping[str, Any]
WPL = "QGC WPL"
_WPL_VERSION = "110"
_COLUMNS = 12
_WAYPOINT, _JUMP = 16, 177
_POLYGON_IN, _POLYGON_OUT, _CIRCLE_IN, _CIRCLE_OUT, _RALLY_POINT = 5001, 5002, 5003, 5004, 5100  # MAV_CMD
_RELATIVE = 3  # MAV_FRAME
# Integer frames of latitude and longitude in degrees.
_INT_FRAMES = {0: 5, 3: 6, 10: 11}
_LOCAL = (1, 7)
_MIN_VERTICES = 3
# Keys that a ground station writes for itself: its name, numbers of items, and how it shows heights.
_OWN = ("groundStation", "MISSION_ITEM_ID", "AMSLAltAboveTerrain", "globalPlanAltitudeMode")
# MAV_FRAMEs of QGroundControl's AltitudeMode: relative to home, above mean sea level, calculated above terrain,
# terrain.
_FRAMES_OF_MODES = {1: (3, 6), 2: (0, 5), 3: (0, 5), 4: (10, 11)}
_UNUSED = 0x7FFFFFFF
_HOME = "has no effect here: the home of the vehicle is used"


class _PlanItem(NamedTuple):
    """A simple item: its message, its number for jumps if it has one, and the location of its params."""

    fields: dict[str, Any]
    jump_id: int | None
    params: Value


class Stored(NamedTuple):
    """Contents of a file: fields of MISSION_ITEM_INTs. Item 0 of a mission is home, by which its jumps count."""

    items: tuple[Fields, ...]
    fence: tuple[Fields, ...] = ()
    rally: tuple[Fields, ...] = ()


def read_wpl(text: str, report: Report) -> Stored:
    """Parse lines of numbers separated by tabs or spaces. Faults are added to the report."""
    first, *lines = text.splitlines()
    if first.split() != [*WPL.split(), _WPL_VERSION]:
        report.error(f"found {first[:40]!r}; allowed: {WPL} {_WPL_VERSION}", (1, 1))
    items: list[Fields] = []
    for number, line in enumerate(lines, start=2):
        if not line.strip() or line.startswith("#"):
            continue
        values = _numbers(line, number, report)
        if values is None:
            continue
        sequence, current, frame, command, *params, latitude, longitude, height, go_on = values
        if sequence != len(items):
            report.error(f"item {sequence:g}; {len(items)} is next", (number, 1))
        elif not (_is_number(frame) and _is_number(command)):
            report.error(f"frame {frame:g} and command {command:g} are not numbers of MAVLink", (number, 1))
        elif not _fits(int(frame), latitude, longitude):
            report.error(f"{latitude:g} {longitude:g} is no place in MAVLink", (number, 1))
        else:
            if not items and (latitude or longitude or height):
                report.warning(_HOME, (number, 1), "item 0")
            items.append(_fields(int(command), int(frame), params, (latitude, longitude, height), bool(go_on)))
            if current != 0.0 and sequence != 0.0:
                report.warning("has no effect here: a mission begins with its first item", (number, 1), "current")
    if not items and not report.errors:
        report.error("is empty; a mission has one item at least")
    return Stored(tuple(items))


def _numbers(line: str, number: int, report: Report) -> list[float] | None:
    """Return the numbers of a line; None after faults."""
    cells = line.split()
    if len(cells) != _COLUMNS:
        report.error(f"{_COLUMNS} columns are needed, found {len(cells)}", (number, 1))
        return None
    values = [as_number(cell) for cell in cells]
    wrong = [cell for cell, value in zip(cells, values, strict=True) if math.isnan(value) and cell.lower() != "nan"]
    for cell in wrong:
        report.error(f"a number is needed, found {cell[:20]!r}", (number, line.index(cell) + 1))
    return None if wrong else values


def read_qgc_plan(root: Value) -> Stored:
    """Read a .plan: simple items, and the items that complex ones (surveys, corridors) consist of."""
    table = _table(root, ("fileType", "mission"), version=1)
    table.choice("fileType", ("Plan",), "Plan")
    mission = table.get("mission")
    items: list[Fields] = []
    if mission is not None:
        inner = _table(mission, ("items",), version=2)
        home = inner.get("plannedHomePosition")
        place = None if home is None else _geographic(home, 3)
        if home is not None:
            home.warning(_HOME)
        items.append(
            _fields(_WAYPOINT, 0, [0.0] * 4, (place[0], place[1], place[2]) if place else (0.0, 0.0, 0.0), True)
        )
        listed = inner.get("items")
        entries = [] if listed is None else list(listed.items())
        for entry in entries:
            if _is_complex(entry):  # reported once
                entry.warning("is flown by its stored items; what they were made from has no effect here")
                break
        items += _with_jumps([item for entry in entries for item in _plan_items(entry)])
    fence, rally = table.get("geoFence"), table.get("rallyPoints")
    return Stored(
        tuple(items),
        () if fence is None else tuple(_fence(_table(fence, version=2))),
        () if rally is None else tuple(_rally(_table(rally, version=2))),
    )


def is_qgc_plan(root: Value) -> bool:
    """Return whether a document declares itself a .plan."""
    return isinstance(root.node, Node) and "fileType" in root.node.entries


def _is_complex(entry: Value) -> bool:
    kind = entry.node.entries.get("type") if isinstance(entry.node, Node) else None
    return kind is not None and isinstance(kind[1], Scalar) and kind[1].text == "ComplexItem"


def _plan_items(entry: Value) -> Iterator[_PlanItem]:
    table = _table(entry, ("type",))
    table.choice("type", ("SimpleItem", "ComplexItem"), "SimpleItem")
    if _is_complex(entry):
        style = table.get("TransectStyleComplexItem")
        inner = None if style is None else _table(style, ("Items",)).get("Items")
        mark(entry.node)  # the rest is data from which the editor made these items
        if inner is None:
            name = table.get("complexItemType")
            entry.error(
                f"{name.text() if name else 'this complex item'} has no items of its own; allowed: surveys, corridors"
            )
            return
        for simple in inner.items():
            yield from _plan_items(simple)
        return
    table = _table(entry, ("command", "frame", "params"))
    command, frame, params = (table.get(key) for key in ("command", "frame", "params"))
    if command is None or frame is None or params is None:
        return
    numbers = [math.nan if _is_null(value) else value.number() for value in params.items()]
    if len(numbers) != 7:
        params.error(f"a list of 7 numbers is needed, found {len(numbers)}")
        return
    number = int(frame.number(0, 255))
    if not _fits(number, numbers[4], numbers[5]):
        params.error(f"{numbers[4]:g} {numbers[5]:g} is no place in MAVLink")
        return
    _mark_repeated(table, number, numbers[6])
    jump_id = table.get("doJumpId")
    fields = _fields(
        int(command.number(0, 65535)),
        number,
        numbers[:4],
        (numbers[4], numbers[5], numbers[6]),
        boolean(table, "autoContinue", True),
    )
    yield _PlanItem(fields, None if jump_id is None else int(jump_id.number()), params)


def _mark_repeated(table: Table, frame: int, height: float) -> None:
    """Mark the height and its mode as read if they repeat the params and the frame of an item."""
    altitude, mode = table.get("Altitude"), table.get("AltitudeMode")
    if altitude is not None:
        altitude.node.read = _is_null(altitude) or altitude.number() == height
    if mode is not None:
        number = mode.number()
        mode.node.read = number == 0 or frame in _FRAMES_OF_MODES.get(int(number), ())


def _with_jumps(items: list[_PlanItem]) -> list[Fields]:
    """Return the items with jump targets as indices. A file has the doJumpId of the target, if that has one."""
    places: dict[int, int] = {}
    for place, item in enumerate(items, start=1):
        places.setdefault(place if item.jump_id is None else item.jump_id, place)
    for item in items:
        target = item.fields["param1"]
        if item.fields["command"] != _JUMP:
            continue
        if target in places:
            item.fields["param1"] = float(places[target])
        else:
            item.params.error(f"jumps to {target:g}, which is the doJumpId of no item")
    return [item.fields for item in items]


def _fence(table: Table) -> Iterator[Fields]:
    polygons, circles = table.get("polygons"), table.get("circles")
    for entry in [] if polygons is None else polygons.items():
        inner = _table(entry, ("polygon",), version=1)
        corners = inner.get("polygon")
        places = [] if corners is None else [place for corner in corners.items() if (place := _geographic(corner, 2))]
        if corners is not None and len(places) < _MIN_VERTICES:
            corners.error(f"a polygon has {_MIN_VERTICES} corners at least, found {len(places)}")
        command = _POLYGON_IN if boolean(inner, "inclusion", True) else _POLYGON_OUT
        for latitude, longitude in places:
            yield _fields(command, _RELATIVE, [float(len(places)), 0.0, 0.0, 0.0], (latitude, longitude, 0.0), True)
    for entry in [] if circles is None else circles.items():
        outer = _table(entry, ("circle",), version=1)
        circle = outer.get("circle")
        if circle is None:
            continue
        inner = _table(circle, ("center", "radius"))
        centre, radius = inner.get("center"), inner.get("radius")
        place = None if centre is None else _geographic(centre, 2)
        if place is not None and radius is not None:
            command = _CIRCLE_IN if boolean(outer, "inclusion", True) else _CIRCLE_OUT
            params = [radius.number(0.1, 1e6), 0.0, 0.0, 0.0]
            yield _fields(command, _RELATIVE, params, (place[0], place[1], 0.0), True)


def _rally(table: Table) -> Iterator[Fields]:
    points = table.get("points")
    for entry in [] if points is None else points.items():
        place = _geographic(entry, 3)
        if place is not None:
            yield _fields(_RALLY_POINT, _RELATIVE, [0.0] * 4, (place[0], place[1], place[2]), True)


def _fields(
    command: int, frame: int, params: list[float], place: tuple[float, float, float], goes_on: bool
) -> dict[str, Any]:
    x, y = (_scaled(each, _scale(frame)) for each in place[:2])
    return item_fields(command, _INT_FRAMES.get(frame, frame), params, x, y, place[2], goes_on)


def _scale(frame: int) -> float:
    return 1e4 if frame in _LOCAL else 1e7


def _fits(frame: int, *coordinates: float) -> bool:
    """Return whether coordinates fit into the integers of a message; NaN stands for none."""
    return not any(abs(each * _scale(frame)) >= _UNUSED for each in coordinates)


def _scaled(value: float, scale: float) -> int:
    return _UNUSED if math.isnan(value) else round(value * scale)


def _table(value: Value, required: tuple[str, ...] = (), version: int | None = None) -> Table:
    """Read a mapping with any keys, and a version if any: ground stations store much that vehicles do not need."""
    entries = value.node.entries if isinstance(value.node, Node) else {}
    for name in _OWN:
        if name in entries:
            mark(entries[name][1])
    table = value.table(entries or required, required)
    found = None if version is None else table.get("version")
    if found is not None and (number := found.number()) != version:
        found.warning(f"version {number:g} is read as version {version}")
    return table


def _geographic(value: Value, size: int) -> list[float] | None:
    """Read latitude and longitude, and a height if there are 3 numbers. Return None with the fault recorded."""
    place = value.vector(size)
    if place is not None and (abs(place[0]) > 90.0 or abs(place[1]) > 180.0):
        value.error(f"latitude {place[0]:g}, longitude {place[1]:g}: needs [-90, 90] and [-180, 180] degrees")
        return None
    return place


def _is_null(value: Value) -> bool:
    return isinstance(value.node, Scalar) and value.node.plain and value.node.text in NULL


def _is_number(value: float) -> bool:
    return value.is_integer() and 0 <= value <= 65535 if math.isfinite(value) else False
