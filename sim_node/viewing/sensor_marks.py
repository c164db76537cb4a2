"""Sensor fields of view as lines: frustums of cameras, fans of lidars, cones of rangefinders; arrows and names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sim_node.messages.marker_messages import FrameMarker, MarkerType
from sim_node.names import last
from sim_node.registry import Registry
from sim_node.simulation.sensors import groups_of
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.markers import marker_group
from sim_node.world import FrameTable, World

# The namespaces of these markers.
SENSORS, FIELDS, NAMES = "sensors", "fields_of_view", "sensor_names"
_LINE, _COLOUR, _FIELD, _WHITE = 0.01, (0.3, 0.9, 0.9, 0.9), (0.3, 0.9, 0.9, 0.35), (1.0, 1.0, 1.0, 1.0)
# Length of a camera's frustum, length of an arrow and height of a letter, m.
_FRUSTUM, _ARROW, _LETTER = 0.5, 0.12, 0.06
# Vertices of an arc.
_ARC = 48

# Returns pairs of points (2 K, 3) in a sensor's frame, the ends of lines that show its field of view.
Outline = Callable[[Any], FloatArray]
OUTLINES: Registry[str, Outline] = Registry(
    "outline of a sensor", shipped=("sim_node.viewing.sensor_marks",), group="sim_node.sensor_outlines"
)
# Registers the outline of a sensor type.
outline = OUTLINES.add


@marker_group(SENSORS, FIELDS, NAMES)
def sensor_marks(world: World, frames: FrameTable) -> Iterator[FrameMarker]:
    """Yield the markers of a world's sensors, in the sensors' frames."""
    line = np.array([_LINE, 0.0, 0.0])
    for group in groups_of(world):
        for name, sensor in zip(group.names, group.sensors, strict=True):
            if group.kind in OUTLINES:
                points = OUTLINES[group.kind](sensor)
                yield FrameMarker(name, FIELDS, MarkerType.LINE_LIST, scale=line, colour=_FIELD, points=points)
            size = np.array([_ARROW, 0.15 * _ARROW, 0.15 * _ARROW])
            yield FrameMarker(name, SENSORS, MarkerType.ARROW, scale=size, colour=_COLOUR)
            above, height = np.array([0.0, 0.0, _ARROW, 0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, _LETTER])
            yield FrameMarker(name, NAMES, MarkerType.TEXT_VIEW_FACING, above, height, _WHITE, text=last(name))


@outline("camera")
@outline("depth_camera")
def frustum(camera: Any) -> FloatArray:
    """Return the four edges of the field of view up to half a metre, and the image plane there."""
    lens = camera.lens()
    depth = min(_FRUSTUM, lens.far)
    across = depth * np.tan(0.5 * lens.horizontal_fov)
    up = across * lens.height / lens.width
    corners = np.array([[depth, y * across, z * up] for y, z in ((1, 1), (-1, 1), (-1, -1), (1, -1))])
    edges = np.stack([np.zeros((4, 3)), corners], axis=1)
    return np.concatenate([edges.reshape(-1, 3), _pairs(np.concatenate([corners, corners[:1]]))])


@outline("lidar_2d")
def fan(lidar: Any) -> FloatArray:
    """Return the sector that a scan covers, to its maximum range."""
    return _sector(lidar.angle_min, lidar.angle_max, 0.0, lidar.range_max)


@outline("lidar_3d")
def bands(lidar: Any) -> FloatArray:
    """Return the sectors of the lowest and the highest ring."""
    elevations = sorted({lidar.vertical_min, lidar.vertical_max})
    angles = lidar.angle_min, lidar.angle_max
    return np.concatenate([_sector(*angles, elevation, lidar.range_max) for elevation in elevations])


@outline("rangefinder")
def cone(rangefinder: Any) -> FloatArray:
    """Return the axis and the rim of a rangefinder's cone."""
    turn, off = np.linspace(0.0, 2.0 * np.pi, _ARC), 0.5 * rangefinder.field_of_view
    rim = np.stack([np.full(_ARC, np.cos(off)), np.sin(off) * np.cos(turn), np.sin(off) * np.sin(turn)], axis=-1)
    edges = np.stack([np.zeros((4, 3)), rim[:: _ARC // 4][:4]], axis=1).reshape(-1, 3)
    lines = np.concatenate([edges, _pairs(rim)])
    return np.asarray(rangefinder.range_max * lines)


def _sector(first: float, last: float, elevation: float, reach: float) -> FloatArray:
    """Return an arc of constant elevation and the two rays to its ends."""
    azimuth = np.linspace(first, last, _ARC)
    flat = np.stack([np.cos(azimuth), np.sin(azimuth)], axis=-1) * np.cos(elevation)
    arc = reach * np.column_stack([flat, np.full(_ARC, np.sin(elevation))])
    ends = np.stack([np.zeros((2, 3)), arc[[0, -1]]], axis=1).reshape(-1, 3)
    return np.concatenate([ends, _pairs(arc)])


def _pairs(points: FloatArray) -> FloatArray:
    """Convert a line through points (K, 3) to the ends (2 K - 2, 3) of its segments."""
    return np.stack([points[:-1], points[1:]], axis=1).reshape(-1, 3)
