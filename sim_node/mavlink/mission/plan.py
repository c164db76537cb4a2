"""Mission files: parsing of YAML or JSON, with every fault located, and conversion to and from MISSION_ITEM_INT."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sim_node.mavlink.mission.ground_station_files import WPL, Stored, is_qgc_plan, read_qgc_plan, read_wpl
from sim_node.mavlink.mission.items import KINDS, Item, item_fields, numbered, read_item
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Home
from sim_node.spatial.frames import Frame, Position
from sim_node.world.problems import Problem, WorldError, refuse_any
from sim_node.world.readers.report import Report
from sim_node.world.readers.unread import report_unread, unread
from sim_node.world.readers.yaml_nodes import compose
from sim_node.world.readers.yaml_values import Value

MISSION, GLOBAL_RELATIVE_ALT_INT = 2, 6  # MAV_FRAME
MAX_ITEMS = 1000
FRAMES = ("enu", "lla")
_WAYPOINT, _LAND, _TAKEOFF, _JUMP = 16, 21, 22, 177


@dataclass(frozen=True)
class Plan:
    """A mission: items in one frame, or the contents of a ground station's file.

    Attributes:
        frame: Frame of the items' positions: "enu" (east, north, up of home, m) or "lla" (latitude and longitude in
            degrees, m above home).
        items: Items, in order.
        stored: MISSION_ITEM_INTs of a ground station's file, instead of items.
        unread: Contents of the file that are not in the mission.
    """

    frame: str
    items: tuple[Item, ...] = ()
    stored: Stored | None = None
    unread: tuple[Problem, ...] = ()


def read_plan(text: str, name: str) -> Plan:
    """Parse a mission file: the project's own YAML or JSON, QGC WPL 110, or a .plan of QGroundControl.

    Args:
        text: The contents of the file.
        name: The file's name, for error messages.

    Returns:
        The mission, with up to 1000 items.

    Raises:
        WorldError: The file is invalid; all faults are listed, each with its line and column.
    """
    report = Report(name)
    if text.startswith(WPL):
        stored = read_wpl(text, report)
        return _checked(Plan("lla", stored=stored), report)
    root = compose(text, report)
    if root is None:
        report.error("is empty; a mission has frame and items")
        raise WorldError(report.errors)
    if is_qgc_plan(Value(root, report)):
        stored = read_qgc_plan(Value(root, report))
        report_unread(unread(root), report)
        return _checked(Plan("lla", stored=stored), report)
    table = Value(root, report).table(("frame", "items"), ("frame", "items"))
    frame = table.choice("frame", FRAMES, "enu")
    listed = table.get("items")
    values = [] if listed is None else list(listed.items())
    if listed is not None and not values and not report.errors:
        listed.error("is empty; a mission has one item at least")
    if listed is not None and len(values) > MAX_ITEMS:
        listed.error(f"has {len(values)} items; allowed: up to {MAX_ITEMS}")
        values = []
    items = [item for value in values if (item := read_item(value, frame == "lla")) is not None]
    report_unread(unread(root), report)
    return _checked(Plan(frame, tuple(items)), report)


def _checked(plan: Plan, report: Report) -> Plan:
    if plan.stored is not None and max(map(len, plan.stored)) > MAX_ITEMS:
        report.error(f"has {max(map(len, plan.stored))} items; allowed: up to {MAX_ITEMS}")
    refuse_any(report.errors)
    return replace(plan, unread=tuple(report.warnings))


def as_messages(plan: Plan, home: Home, autopilot: int) -> list[dict[str, Any]]:
    """Return the fields of the plan's MISSION_ITEM_INTs. For ArduPilot, whose item 0 is home, home is inserted."""
    if plan.stored is not None:
        return _stored_messages(plan.stored.items, home, autopilot)
    items = _with_landing_places(plan, home) if autopilot == PX4 else plan.items
    messages = [_message(item, plan.frame, home) for item in items]
    if autopilot == ARDUPILOT:
        at_home = Item(_WAYPOINT, (0.0, 0.0, 0.0, 0.0), (home.latitude, home.longitude, 0.0))
        messages.insert(0, _message(at_home, "lla", home))
    return numbered(messages)


def fence_messages(plan: Plan) -> list[dict[str, Any]]:
    """Return the fields of the plan's geofence, as MISSION_ITEM_INTs."""
    return [{**item, "seq": seq} for seq, item in enumerate(plan.stored.fence if plan.stored else ())]


def rally_messages(plan: Plan) -> list[dict[str, Any]]:
    """Return the fields of the plan's rally points, as MISSION_ITEM_INTs."""
    return [{**item, "seq": seq} for seq, item in enumerate(plan.stored.rally if plan.stored else ())]


def _stored_messages(stored: Sequence[Mapping[str, Any]], home: Home, autopilot: int) -> list[dict[str, Any]]:
    """Return the items of a file, whose item 0 is home: for ArduPilot with the vehicle's home, for PX4 without."""
    items = [dict(item) for item in stored]
    if autopilot == ARDUPILOT:
        items[0] |= {"x": round(home.latitude * 1e7), "y": round(home.longitude * 1e7), "z": home.altitude_msl}
    else:
        del items[0]
        for item in items:
            if item["command"] == _JUMP:
                item["param1"] -= 1.0
    return numbered(items)


def from_messages(messages: Sequence[Any], autopilot: int) -> list[dict[str, Any]]:
    """Return the entries of a plan in lla from MISSION_ITEM_INTs. Commands that have no kind are given by number."""
    return [_entry(fields) for fields in (messages[1:] if autopilot == ARDUPILOT else messages)]


def as_json(entries: Sequence[Mapping[str, Any]]) -> str:
    """Write a mission in the frame "lla" as JSON.

    Args:
        entries: Items as returned by `from_messages`.

    Returns:
        Text for `read_plan`, unless it contains entries of type "command", which have no kind, or null, for numbers
        that are not finite.
    """
    return json.dumps({"frame": "lla", "items": [_finite(entry) for entry in entries]}, indent=2)


def _finite(value: Any) -> Any:
    """Return a value for JSON, which has neither NaN nor infinities."""
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value if not isinstance(value, float) or math.isfinite(value) else None


def _with_landing_places(plan: Plan, home: Home) -> list[Item]:
    """Return the items with a position for every landing: PX4 interprets latitude and longitude 0 as a position."""
    items = []
    latest = (0.0, 0.0, 0.0) if plan.frame == "enu" else (home.latitude, home.longitude, 0.0)
    for item in plan.items:
        if item.command == _LAND and item.place is None:
            item = replace(item, place=(*latest[:2], 0.0))
        latest = item.place or latest
        items.append(item)
    return items


def _message(item: Item, frame: str, home: Home) -> dict[str, Any]:
    """Return the fields of an item. Without a position, its frame is MISSION, as PX4 requires for such commands."""
    params: Sequence[float] = item.params
    latitude = longitude = height = 0.0
    if item.command == _TAKEOFF:
        params, latitude, longitude, height = [0.0, 0.0, 0.0, math.nan], home.latitude, home.longitude, item.params[0]
    elif item.place is not None and frame == "lla":
        latitude, longitude, height = item.place
    elif item.place is not None:
        # Up is not altitude: at a distance of 1 km the ellipsoid is 8 cm below the tangent plane.
        about = (home.latitude, home.longitude, home.altitude_msl)
        lla = Position(item.place, Frame.ENU, about).to(Frame.LLA)
        latitude, longitude, altitude = lla.in_frame(Frame.LLA).tolist()
        height = altitude - home.altitude_msl
    is_bare = item.place is None and item.command not in (_TAKEOFF, _LAND)
    frame_number = MISSION if is_bare else GLOBAL_RELATIVE_ALT_INT
    return item_fields(item.command, frame_number, params, round(latitude * 1e7), round(longitude * 1e7), height)


def _entry(fields: Any) -> dict[str, Any]:
    params = (fields.param1, fields.param2, fields.param3, fields.param4)
    place = [fields.x * 1e-7, fields.y * 1e-7, fields.z]
    for name, kind in KINDS.items():
        if kind.command != fields.command:
            continue
        if fields.command == _TAKEOFF:
            return {"type": name, "height": fields.z}
        entry: dict[str, Any] = {"type": name, **kind.written(params)}
        return entry | {"position": place} if kind.place and (fields.x or fields.y) else entry
    return {"type": "command", "command": fields.command, "params": list(params), "position": place}
