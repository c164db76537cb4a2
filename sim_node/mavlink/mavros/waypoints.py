"""Conversion between waypoints of mavros_msgs and MAVLink's mission items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sim_node.mavlink.codec import EncodeError, kind_named
from sim_node.mavlink.mission import Clear, Upload
from sim_node.mavlink.transaction import Transaction, TransactionRefused

# Factor of degrees in MISSION_ITEM_INT, by MAV_FRAME. Local frames have 1e4 per metre.
_GLOBAL, _LOCAL = (0, 3, 5, 6, 10, 11), (1, 4, 7, 8, 9, 12, 20, 21)
_PARAMS = tuple(f"param{number}" for number in range(1, 5))
_KEPT = ("frame", "command", "autocontinue", *_PARAMS)


def _factor(frame: int) -> float:
    return 1e7 if frame in _GLOBAL else 1e4 if frame in _LOCAL else 1.0


def waypoint(item: Any) -> dict[str, Any]:
    """Return the fields of a mavros_msgs/Waypoint from those of a MISSION_ITEM_INT."""
    factor = _factor(item.frame)
    place = {"x_lat": item.x / factor, "y_long": item.y / factor, "z_alt": float(item.z)}
    kept = {name: getattr(item, name) for name in _KEPT}
    return {**kept, "autocontinue": bool(item.autocontinue), "is_current": bool(item.current), **place}


def waypoint_of(message: Any) -> dict[str, Any]:
    """Return the fields of a mavros_msgs/Waypoint as a mapping."""
    return {name: getattr(message, name) for name in (*_KEPT, "is_current", "x_lat", "y_long", "z_alt")}


def item(number: int, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a MISSION_ITEM_INT.

    Raises:
        ValueError: A coordinate is not finite.
    """
    factor = _factor(point["frame"])
    place = point["x_lat"] * factor, point["y_long"] * factor, point["z_alt"]
    if not all(map(math.isfinite, place)):
        raise ValueError(f"waypoint {number}: its place is not finite")
    kept = {name: point[name] for name in _KEPT}
    fields = {"seq": number, "x": round(place[0]), "y": round(place[1]), "z": place[2]}
    return {**kept, **fields, "current": int(point["is_current"])}


def upload_of(points: Sequence[Mapping[str, Any]]) -> Transaction:
    """Return the upload of waypoints; if there are none, the deletion of the mission."""
    try:
        items = [item(number, point) for number, point in enumerate(points)]
        for fields in items:
            kind_named("MISSION_ITEM_INT").pack(fields)
    except (ValueError, EncodeError) as error:
        return TransactionRefused(Upload.name, str(error))
    return Upload(items) if items else Clear()
