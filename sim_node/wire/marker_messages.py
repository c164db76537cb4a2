"""visualization_msgs/MarkerArray as bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.wire.cdr_writer import CdrWriter

_ADD, _DELETE_ALL = 0, 3
_NO_POINTS = np.zeros((0, 3))
# What rviz wants of the pose and colour of a marker that draws nothing.
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
    """One thing to draw, fixed to a frame and moving with it.

    group: its namespace, which people switch on and off. pose (7,): in the frame; scale (3,): m, or as its type has it
    (arrows: length, width, height; lines: their width first; text: its height last). colour: red, green, blue, opacity.
    points (K, 3): of lines and triangles, m. mesh: a URI; with a colour of opacity 0 the file's own colours are drawn.
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
    """The CDR of markers that replace all that were drawn before them.

    Each has the stamp 0, which means the newest transform, and is locked to its frame: rviz moves it with every
    transform, and nothing is sent again. Ids count up within a group.
    """
    ids: dict[str, int] = {}
    writer = CdrWriter()
    given = list(markers)
    writer.number("I", len(given) + 1)
    _write(writer, Marker(fixed_frame, "", MarkerType.ARROW, _NOWHERE, _UNIT, _CLEAR), 0, _DELETE_ALL)
    for marker in given:
        ids[marker.group] = ids.get(marker.group, -1) + 1
        _write(writer, marker, ids[marker.group], _ADD)
    return writer.bytes()


def _write(writer: CdrWriter, marker: Marker, number: int, action: int) -> None:
    """visualization_msgs/Marker, as it is since ROS 2 Humble."""
    writer.header(0, marker.frame).text(marker.group).number("i", number, marker.type, action)
    writer.number("d", *marker.pose, *marker.scale).number("f", *marker.colour)
    # Lifetime: for ever.
    writer.number("i", 0).number("I", 0).number("?", True)
    writer.number("I", len(marker.points))
    if len(marker.points):
        writer.array(np.ascontiguousarray(marker.points, dtype="<f8"))
    # Colours of points; a texture, its picture and its coordinates.
    writer.number("I", 0).text("").header(0, "").text("").number("I", 0).number("I", 0)
    writer.text(marker.text).text(marker.mesh)
    # A mesh within the message.
    writer.text("").number("I", 0).number("?", bool(marker.mesh) and marker.colour[3] == 0.0)
