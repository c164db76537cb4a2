"""Views of measurements: clouds, scans, rays and images, each at its sensor's frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sim_node.registry import Registry
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.batches import place

# Anchors of the viridis colour map (matplotlib; van der Walt and Smith, 2015), from near to far.
_ANCHORS = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
_RAY = (230, 60, 40)
# Depth shown as the lightest grey, m; horizontal field of view of images of unknown cameras, rad.
_DEPTH, _FIELD_OF_VIEW = 10.0, 1.2
# Columns of an image on a frustum, at most.
_COLUMNS = 320


class View(Protocol):
    """Part of the page that shows a sensor's measurements."""

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """Show a measurement; pose (7,): of the sensor's frame in the fixed frame when it measured."""

    def carry(self, pose: FloatArray) -> None:
        """Update the pose of the sensor's frame, if the view moves with it."""


# By message type: creates the view below a node, from constant fields of the messages and the scene's radius.
VIEWS: Registry[str, Callable[[Any, str, Mapping[str, Any], float], View]] = Registry(
    "view of messages", shipped=("sim_node.viewing.browser.sensor_views",), group="sim_node.sensor_views"
)


class Points:
    """Points (n, 3) in the sensor's frame, coloured by distance.

    They are sent in the fixed frame: a page may draw a node's pose and its points in different frames.
    """

    def __init__(self, scene: Any, node: str, size: float) -> None:
        self._cloud = scene.add_point_cloud(
            node,
            np.zeros((0, 3)),
            np.zeros((0, 3), np.uint8),
            point_size=size,
            precision="float32",
            point_shape="circle",
        )

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """Show the finite points."""
        points = values[np.isfinite(values).all(axis=-1)]
        self._cloud.points = pose_math.apply(pose, points).astype(np.float32)
        self._cloud.colors = by_distance(np.linalg.norm(points, axis=-1))

    def carry(self, pose: FloatArray) -> None:
        """Do nothing: points stay where they were measured."""


class Cloud(Points):
    """The points (rings, samples, 4) of a 3D lidar."""

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """Show them without intensities."""
        super().show(values.reshape(-1, values.shape[-1])[:, :3], pose)


class Scan(Points):
    """The ranges (n,) of a 2D lidar, at equal angle increments from the first."""

    def __init__(self, scene: Any, node: str, size: float, angle_min: float, angle_increment: float) -> None:
        super().__init__(scene, node, size)
        self._first, self._step = angle_min, angle_increment
        self._fan = np.zeros((0, 3))

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """As points."""
        if len(values) != len(self._fan):
            angles = self._first + self._step * np.arange(len(values))
            self._fan = np.stack([np.cos(angles), np.sin(angles), np.zeros(len(values))], axis=-1)
        super().show(np.where(np.isfinite(values), values, np.nan)[:, None] * self._fan, pose)


class Ray:
    """The range (1,) of a rangefinder: a line of that length, or none."""

    def __init__(self, scene: Any, node: str) -> None:
        self._line = scene.add_line_segments(node, np.zeros((1, 2, 3)), _RAY, thickness=2.0, thickness_units="screen")

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """Show the line along x."""
        length = float(values.ravel()[0])
        ends = np.array([[0.0, 0.0, 0.0], [length if np.isfinite(length) else 0.0, 0.0, 0.0]])
        self._line.points = pose_math.apply(pose, ends)[None].astype(np.float32)

    def carry(self, pose: FloatArray) -> None:
        """Do nothing: the line stays where it was measured."""


class Picture:
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
            color=(70, 80, 95),
            cast_shadow=False,
            receive_shadow=False,
            format="jpeg",
            jpeg_quality=80,
        )

    def carry(self, pose: FloatArray) -> None:
        """Move the frustum with the camera."""
        place(self._node, pose)

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """Show an image at display size: colours (height, width, 3), or depths (height, width) in grey."""
        self._frustum.image = as_colours(values, _COLUMNS)

    def remove(self) -> None:
        """Remove it from the page."""
        self._node.remove()


def as_colours(values: npt.NDArray[Any], columns: int) -> npt.NDArray[np.uint8]:
    """Return an image with about `columns` columns at most: colours, or depths (height, width), m, in grey."""
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
    share = distances / max(float(np.percentile(distances, 95)), 1e-9) * (len(_ANCHORS) - 1)
    at = np.arange(len(_ANCHORS))
    return np.stack([np.interp(share, at, _ANCHORS[:, k]) for k in range(3)], axis=-1).astype(np.uint8)


def dot(radius: float) -> float:
    """Return the size of points in a scene of a radius, m."""
    return float(np.clip(0.003 * radius, 0.008, 0.2))


@VIEWS.add("sensor_msgs/msg/PointCloud2")
def _cloud(scene: Any, node: str, fields: Mapping[str, Any], radius: float) -> View:
    return Cloud(scene, node, dot(radius))


@VIEWS.add("sensor_msgs/msg/LaserScan")
def _scan(scene: Any, node: str, fields: Mapping[str, Any], radius: float) -> View:
    return Scan(scene, node, dot(radius), fields["angle_min"], fields["angle_increment"])


@VIEWS.add("sensor_msgs/msg/Range")
def _ray(scene: Any, node: str, fields: Mapping[str, Any], radius: float) -> View:
    return Ray(scene, node)


@VIEWS.add("sensor_msgs/msg/Image")
def _picture(scene: Any, node: str, fields: Mapping[str, Any], radius: float) -> View:
    """Create the view of a camera. k: the camera matrix of CameraInfo, if known."""
    width, height, matrix = fields["width"], fields["height"], fields.get("k")
    focal = 0.5 * width / math.tan(0.5 * _FIELD_OF_VIEW)
    fx, fy = (focal, focal) if matrix is None else np.ravel(matrix)[[0, 4]].tolist()
    return Picture(scene, node, (2.0 * math.atan(0.5 * width / fx), 2.0 * math.atan(0.5 * height / fy)), 0.06 * radius)
