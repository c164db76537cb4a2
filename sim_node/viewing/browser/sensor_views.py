"""How measurements of sensors are drawn: clouds, scans, rays and images, like those in messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.registry import Registry
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.batches import place
from sim_node.viewing.messages.drawing import Item, Picture, Points
from sim_node.viewing.messages.images import FIELD_OF_VIEW
from sim_node.viewing.messages.scans import ray_of, scanned

# Anchors of the viridis colour map (matplotlib; van der Walt and Smith, 2015), from near to far.
_ANCHORS = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
# The map, precomputed from its anchors, because interpolating for each point takes three times as long.
_COLOURS = np.stack(
    [np.interp(np.linspace(0.0, len(_ANCHORS) - 1.0, 256), np.arange(len(_ANCHORS)), each) for each in _ANCHORS.T],
    axis=-1,
).astype(np.uint8)
# Depth shown as the lightest grey, m.
_DEPTH = 10.0
# Colour of frustums, visible by day and by night.
_EDGES = (105, 119, 142)
# Maximum width of an image on a frustum, pixels.
_COLUMNS = 320


class SensorView(NamedTuple):
    """How the measurements of a sensor are drawn.

    Attributes:
        items: Returns the drawing of a measurement, in the sensor's frame.
        before: The drawing before the first measurement.
    """

    items: Callable[[npt.NDArray[Any]], Sequence[Item]]
    before: tuple[Item, ...] = ()


# By message type: a function that creates the view from the sensor's frame and the constant fields of its messages.
VIEWS: Registry[str, Callable[[str, Mapping[str, Any]], SensorView]] = Registry(
    "view of messages", shipped=("sim_node.viewing.browser.sensor_views",), group="sim_node.sensor_views"
)


@VIEWS.add("sensor_msgs/msg/PointCloud2")
def _cloud(frame: str, fields: Mapping[str, Any]) -> SensorView:
    """Create the view of a 3D lidar. Its points are (rings, samples, 4), with the intensity last."""

    def items(values: npt.NDArray[Any]) -> Sequence[Item]:
        points = values.reshape(-1, values.shape[-1])[:, :3]
        return (Points(frame, points[np.isfinite(points).all(axis=-1)]),)

    return SensorView(items)


@VIEWS.add("sensor_msgs/msg/LaserScan")
def _scan(frame: str, fields: Mapping[str, Any]) -> SensorView:
    return SensorView(lambda ranges: (scanned(frame, ranges, fields["angle_min"], fields["angle_increment"]),))


@VIEWS.add("sensor_msgs/msg/Range")
def _ray(frame: str, fields: Mapping[str, Any]) -> SensorView:
    return SensorView(lambda values: (ray_of(frame, float(values.ravel()[0])),))


@VIEWS.add("sensor_msgs/msg/Image")
def _picture(frame: str, fields: Mapping[str, Any]) -> SensorView:
    """Create the view of a camera. k: the camera matrix of CameraInfo, if known."""
    width, height, matrix = fields["width"], fields["height"], fields.get("k")
    focal = 0.5 * width / math.tan(0.5 * FIELD_OF_VIEW)
    fx, fy = (focal, focal) if matrix is None else np.ravel(matrix)[[0, 4]].tolist()
    fov = 2.0 * math.atan(0.5 * width / fx), 2.0 * math.atan(0.5 * height / fy)
    return SensorView(lambda pixels: (Picture(frame, pixels, fov),), (Picture(frame, None, fov),))


class Frustum:
    """The images of a camera on its frustum, which moves with the optical frame (z forward, REP 103)."""

    def __init__(self, scene: Any, node: str, fov: tuple[float, float], size: float) -> None:
        across, upright = fov
        self._node = scene.add_frame(node, show_axes=False)
        self._frustum = scene.add_camera_frustum(
            f"{node}/frustum",
            fov=upright,
            aspect=math.tan(0.5 * across) / math.tan(0.5 * upright),
            scale=size,
            thickness=1.5,
            thickness_units="screen",
            color=_EDGES,
            cast_shadow=False,
            receive_shadow=False,
            format="jpeg",
            jpeg_quality=80,
        )

    def carry(self, pose: FloatArray) -> None:
        """Move the frustum with the camera."""
        place(self._node, pose)

    def show(self, values: npt.NDArray[Any]) -> None:
        """Show an image at display resolution: colours (height, width, 3), or depths (height, width) in grey."""
        self._frustum.image = as_colours(values, _COLUMNS)

    def remove(self) -> None:
        """Remove the frustum from the page."""
        self._node.remove()


def as_colours(values: npt.NDArray[Any], columns: int) -> npt.NDArray[np.uint8]:
    """Return an image of at most about `columns` columns: colours, or depths (height, width), m, in grey."""
    step = max(1, values.shape[1] // columns)
    small = values[::step, ::step]
    if small.ndim == 2:
        grey = np.clip(1.0 - np.nan_to_num(small, posinf=np.inf) / _DEPTH, 0.0, 1.0)
        small = np.repeat((grey * 255.0).astype(np.uint8)[..., None], 3, axis=-1)
    return np.ascontiguousarray(small)


def by_distance(distances: FloatArray) -> npt.NDArray[np.uint8]:
    """Return colours (n, 3) of distances (n,), from near to far, ignoring outliers."""
    if not len(distances):
        return np.zeros((0, 3), np.uint8)
    scale = (len(_COLOURS) - 1) / max(float(np.percentile(distances, 95)), 1e-9)
    return _COLOURS.take(np.minimum(distances * scale, len(_COLOURS) - 1).astype(np.uint8), axis=0)


def dot(radius: float) -> float:
    """Return the point size for a scene with a radius, m."""
    return float(np.clip(0.003 * radius, 0.008, 0.2))
