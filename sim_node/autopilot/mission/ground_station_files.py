"""Missions as ground stations write them: QGC WPL 110 (Mission Planner, MAVProxy, QGroundControl) and .plan.

https://mavlink.io/en/file_formats/ and https://docs.qgroundcontrol.com/master/en/qgc-dev-guide/file_formats/plan.html
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
_WAYPOINT = 16
_POLYGON_IN, _POLYGON_OUT, _CIRCLE_IN, _CIRCLE_OUT, _RALLY_POINT = 5001, 5002, 5003, 5004, 5100  # MAV_CMD
_RELATIVE = 3  # MAV_FRAME
# Of latitude and longitude in degrees, their frames with integers.
_INT_FRAMES = {0: 5, 3: 6, 10: 11}
_LOCAL = (1, 7)
_MIN_VERTICES = 3
# What a ground station writes for itself: numbers of its items and versions, and what the params of an item repeat.
_OWN = ("fileType", "version", "groundStation", "doJumpId", "MISSION_ITEM_ID")
_REPEATED = ("Altitude", "AltitudeMode", "AMSLAltAboveTerrain", "globalPlanAltitudeMode")
_UNUSED = 0x7FFFFFFF


class Stored(NamedTuple):
    """What a file holds: the fields of MISSION_ITEM_INTs. Item 0 of a mission is home, as its jumps count."""

    items: tuple[Fields, ...]
    fence: tuple[Fields, ...] = ()
    rally: tuple[Fields, ...] = ()


def read_wpl(text: str, report: Report) -> Stored:
    """Read lines of numbers that are separated by tabs or spaces. Faults go to the report."""
    first, *lines = text.splitlines()
    if first.split() != [*WPL.split(), _WPL_VERSION]:
        report.error(f"found {first[:40]!r}; allowed: {WPL} {_WPL_VERSION}", (1, 1))
    items: list[Fields] = []
    for number, line in enumerate(lines, start=2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split()
        if len(cells) != _COLUMNS:
            report.error(f"{_COLUMNS} columns are needed, found {len(cells)}", (number, 1))
            continue
        values = [as_number(cell) for cell in cells]
        wrong = [cell for cell, value in zip(cells, values, strict=True) if math.isnan(value) and cell.lower() != "nan"]
        for cell in wrong:
            report.error(f"a number is needed, found {cell[:20]!r}", (number, line.index(cell) + 1))
        if wrong:
            continue
        sequence, current, frame, command, *params, latitude, longitude, height, go_on = values
        if sequence != len(items):
            report.error(f"item {sequence:g}; {len(items)} is next", (number, 1))
        elif not (_is_number(frame) and _is_number(command)):
            report.error(f"frame {frame:g} and command {command:g} are not numbers of MAVLink", (number, 1))
        else:
            items.append(_fields(int(command), int(frame), params, (latitude, longitude, height), bool(go_on)))
            if current != 0.0 and sequence != 0.0:
                report.warning("has no effect here: a mission begins with its first item", (number, 1), "current")
    if not items and not report.errors:
        report.error("is empty; a mission has one item at least")
    return Stored(tuple(items))


def read_qgc_plan(root: Value) -> Stored:
    """Read a .plan: simple items, and the items that complex ones (surveys, corridors) consist of."""
    table = _table(root, ("mission",))
    mission = table.get("mission")
    items: list[Fields] = []
    if mission is not None:
        inner = _table(mission, ("items",))
        home = inner.get("plannedHomePosition")
        place = None if home is None else home.vector(3)
        items.append(
            _fields(_WAYPOINT, 0, [0.0] * 4, (place[0], place[1], place[2]) if place else (0.0, 0.0, 0.0), True)
        )
        listed = inner.get("items")
        items += [] if listed is None else [item for entry in listed.items() for item in _plan_items(entry)]
    fence, rally = table.get("geoFence"), table.get("rallyPoints")
    return Stored(
        tuple(items),
        () if fence is None else tuple(_fence(_table(fence))),
        () if rally is None else tuple(_rally(_table(rally))),
    )


def is_qgc_plan(root: Value) -> bool:
    """Whether a document says of itself that it is a .plan."""
    return isinstance(root.node, Node) and "fileType" in root.node.entries


def _plan_items(entry: Value) -> Iterator[Fields]:
    table = _table(entry, ("type",))
    kind = table.choice("type", ("SimpleItem", "ComplexItem"), "SimpleItem")
    if kind == "ComplexItem":
        style = table.get("TransectStyleComplexItem")
        inner = None if style is None else _table(style, ("Items",)).get("Items")
        mark(entry.node)  # the rest is what the editor made these items of
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
    yield _fields(
        int(command.number(0, 65535)),
        int(frame.number(0, 255)),
        numbers[:4],
        (numbers[4], numbers[5], numbers[6]),
        boolean(table, "autoContinue", True),
    )


def _fence(table: Table) -> Iterator[Fields]:
    polygons, circles = table.get("polygons"), table.get("circles")
    for entry in [] if polygons is None else polygons.items():
        inner = _table(entry, ("polygon",))
        corners = inner.get("polygon")
        places = [] if corners is None else [place for corner in corners.items() if (place := corner.vector(2))]
        if corners is not None and len(places) < _MIN_VERTICES:
            corners.error(f"a polygon has {_MIN_VERTICES} corners at least, found {len(places)}")
        command = _POLYGON_IN if boolean(inner, "inclusion", True) else _POLYGON_OUT
        for latitude, longitude in places:
            yield _fields(command, _RELATIVE, [float(len(places)), 0.0, 0.0, 0.0], (latitude, longitude, 0.0), True)
    for entry in [] if circles is None else circles.items():
        outer = _table(entry, ("circle",))
        circle = outer.get("circle")
        if circle is None:
            continue
        inner = _table(circle, ("center", "radius"))
        centre, radius = inner.get("center"), inner.get("radius")
        place = None if centre is None else centre.vector(2)
        if place is not None and radius is not None:
            command = _CIRCLE_IN if boolean(outer, "inclusion", True) else _CIRCLE_OUT
            params = [radius.number(0.1, 1e6), 0.0, 0.0, 0.0]
            yield _fields(command, _RELATIVE, params, (place[0], place[1], 0.0), True)


def _rally(table: Table) -> Iterator[Fields]:
    points = table.get("points")
    for entry in [] if points is None else points.items():
        place = entry.vector(3)
        if place is not None:
            yield _fields(_RALLY_POINT, _RELATIVE, [0.0] * 4, (place[0], place[1], place[2]), True)


def _fields(
    command: int, frame: int, params: list[float], place: tuple[float, float, float], goes_on: bool
) -> dict[str, Any]:
    scale = 1e4 if frame in _LOCAL else 1e7
    return {
        "frame": _INT_FRAMES.get(frame, frame),
        "command": command,
        "autocontinue": int(goes_on),
        **{f"param{number}": value for number, value in enumerate(params, start=1)},
        "x": _scaled(place[0], scale),
        "y": _scaled(place[1], scale),
        "z": place[2],
    }


def _scaled(value: float, scale: float) -> int:
    return round(value * scale) if abs(value * scale) < _UNUSED else _UNUSED


def _table(value: Value, required: tuple[str, ...] = ()) -> Table:
    """A mapping with any keys: ground stations store much that no vehicle needs."""
    entries = value.node.entries if isinstance(value.node, Node) else {}
    for name in (*_OWN, *_REPEATED):
        if name in entries:
            mark(entries[name][1])
    return value.table(entries or required, required)


def _is_null(value: Value) -> bool:
    return isinstance(value.node, Scalar) and value.node.plain and value.node.text in NULL


def _is_number(value: float) -> bool:
    return value.is_integer() and 0 <= value <= 65535 if math.isfinite(value) else False
