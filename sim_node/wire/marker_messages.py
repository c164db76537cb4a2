"""visualization_msgs/MarkerArray as bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.wire.encoding import encode

_ADD, _DELETE_ALL = 0, 3
_NO_POINTS = np.zeros((0, 3))
# rviz checks pose and colour even of a marker that draws nothing.
_NOWHERE, _CLEAR, _UNIT = poses.IDENTITY, (0.0, 0.0, 0.0, 0.0), np.ones(3)


class MarkerType(IntEnum):
    """visualization_msgs/Marker's types."""

    ARROW = 0
    CUBE = 1
    SPHERE = 2
    CYLINDER = 3
    LINE_STRIP = 4
    LINE_LIST = 5
    TEXT_VIEW_FACING = 9
    MESH_RESOURCE = 10
    TRIANGLE_LIST = 11


@dataclass(frozen=True, eq=False)
class Marker:
    """One marker, fixed to a frame and moving with it.

    Attributes:
        frame: Frame of the marker.
        group: Its namespace, which users can switch on and off.
        type: Its shape.
        pose: (7,) [x y z qx qy qz qw] in the frame, m.
        scale: (3,) m, as its type defines it (arrows: length, width, height; lines: width first; text: height last).
        colour: Red, green, blue and opacity, 0 to 1.
        points: (K, 3) of lines and triangles, in the marker's pose, m.
        text: The text of a text marker.
        mesh: A URI; with opacity 0 the file's own colours are used.
    """

    frame: str
    group: str
    type: MarkerType
    pose: FloatArray = field(default_factory=lambda: np.array(poses.IDENTITY))
    scale: FloatArray = field(default_factory=lambda: np.ones(3))
    colour: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    points: FloatArray = field(default_factory=lambda: _NO_POINTS)
    text: str = ""
    mesh: str = ""


def marker_array(fixed_frame: str, markers: Iterable[Marker]) -> bytes:
    """Return the CDR of markers that replace all earlier ones.

    Each has the stamp 0, which means the latest transform, and is locked to its frame: rviz moves it with every
    transform. Ids count up within a group.

    Args:
        fixed_frame: Frame of the marker that deletes the earlier ones.
        markers: The markers.

    Returns:
        The CDR of a visualization_msgs/MarkerArray.
    """
    ids: dict[str, int] = {}
    rows = [_fields(Marker(fixed_frame, "", MarkerType.ARROW, _NOWHERE, _UNIT, _CLEAR), 0, _DELETE_ALL)]
    for marker in markers:
        ids[marker.group] = ids.get(marker.group, -1) + 1
        rows.append(_fields(marker, ids[marker.group], _ADD))
    return encode("visualization_msgs/msg/MarkerArray", {"markers": rows})


def _fields(marker: Marker, number: int, action: int) -> dict[str, Any]:
    """Return the fields of a visualization_msgs/Marker; a lifetime of zero means forever."""
    return {
        "header.frame_id": marker.frame,
        "ns": marker.group,
        "id": number,
        "type": int(marker.type),
        "action": action,
        "pose": marker.pose,
        "scale": marker.scale,
        "color": marker.colour,
        "frame_locked": True,
        "points": marker.points,
        "text": marker.text,
        "mesh_resource": marker.mesh,
        "mesh_use_embedded_materials": bool(marker.mesh) and marker.colour[3] == 0.0,
    }
