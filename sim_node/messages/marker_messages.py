"""Serialized visualization_msgs/MarkerArray messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count, filterfalse
from typing import Any

import numpy as np

from sim_node.messages.encoding import encode
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray

_ADD, _DELETE, _DELETE_ALL = 0, 2, 3
_NO_POINTS = np.zeros((0, 3))
# rviz validates pose and colour even for markers that draw nothing.
_NOWHERE, _CLEAR, _UNIT = poses.IDENTITY, (0.0, 0.0, 0.0, 0.0), np.ones(3)


class MarkerType(IntEnum):
    """Types of visualization_msgs/Marker."""

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
class FrameMarker:
    """A marker that is fixed to a frame and moves with it.

    Attributes:
        frame: Frame of the marker.
        group: Its namespace, which users can show or hide.
        type: Its shape.
        pose: (7,) [x y z qx qy qz qw] in the frame, m.
        scale: (3,) m, as its type defines it (arrows: length, width, height; lines: width first; text: height last).
        colour: Red, green, blue and opacity, 0 to 1.
        points: Points (K, 3) of lines and triangles, in the marker's pose, m.
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


# Identifies a marker across changes of a world: its group, its frame, and its index among those of both.
_Key = tuple[str, str, int]


class MarkerArrays:
    """Messages for the markers of a world, before and after changes of the world.

    All markers have stamp 0, which means the latest transform, and are locked to their frames, so that rviz moves them
    with every transform. Ids count up within a group. Remaining markers keep their ids; removed ones are reused.
    """

    def __init__(self) -> None:
        self._ids: dict[_Key, int] = {}
        # The end of the ids that have ever been used in each group
        self._ends: dict[str, int] = {}
        self._rows: list[dict[str, Any]] = []
        self._fixed_frame = ""

    def renew(self, fixed_frame: str, markers: Iterable[FrameMarker]) -> None:
        """Replace the markers.

        Args:
            fixed_frame: Frame of the markers that delete others.
            markers: All markers from now on.
        """
        self._fixed_frame = fixed_frame
        keyed = dict(_keyed(markers))
        kept = {key: number for key, number in self._ids.items() if key in keyed}
        used: dict[str, set[int]] = {}
        for (group, *_), number in kept.items():
            used.setdefault(group, set()).add(number)
        free: dict[str, Iterator[int]] = {}
        for key in keyed:
            if key not in kept:
                group = key[0]
                numbers = free.setdefault(group, filterfalse(used.get(group, set()).__contains__, count()))
                kept[key] = next(numbers)
                self._ends[group] = max(self._ends.get(group, 0), kept[key] + 1)
        self._ids = kept
        self._rows = [_fields(marker, kept[key], _ADD) for key, marker in keyed.items()]

    def all(self) -> bytes:
        """Return the CDR of a visualization_msgs/MarkerArray that replaces all markers of a viewer."""
        return self._array([self._deletion("", 0, _DELETE_ALL)])

    def changes(self) -> bytes:
        """Return the CDR of a visualization_msgs/MarkerArray for viewers that have earlier markers.

        It contains all markers and deletes every id that is no longer used, because viewers may have missed earlier
        messages, and those that join later only receive this one.
        """
        used = {(group, number) for (group, *_), number in self._ids.items()}
        gone = [
            self._deletion(group, number, _DELETE)
            for group, end in self._ends.items()
            for number in range(end)
            if (group, number) not in used
        ]
        return self._array(gone)

    def _array(self, first: list[dict[str, Any]]) -> bytes:
        return encode("visualization_msgs/msg/MarkerArray", {"markers": [*first, *self._rows]})

    def _deletion(self, group: str, number: int, action: int) -> dict[str, Any]:
        return _fields(FrameMarker(self._fixed_frame, group, MarkerType.ARROW, _NOWHERE, _UNIT, _CLEAR), number, action)


def _keyed(markers: Iterable[FrameMarker]) -> Iterator[tuple[_Key, FrameMarker]]:
    counts: dict[tuple[str, str], int] = {}
    for marker in markers:
        both = marker.group, marker.frame
        counts[both] = place = counts.get(both, -1) + 1
        yield (*both, place), marker


def _fields(marker: FrameMarker, number: int, action: int) -> dict[str, Any]:
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
