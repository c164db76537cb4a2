"""What sensors see: clouds, scans, rays and pictures, each at its sensor's frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.names import CAMERAS
from sim_node.registry import Registry
from sim_node.viewing.browser.batches import WXYZ

# Anchors of the viridis colour map (matplotlib; van der Walt and Smith, 2015), from near to far.
_ANCHORS = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
_RAY = (230, 60, 40)
# A frame looks along x, a frustum of the page along z with x to the right (REP 103): [w x y z].
_OPTICAL = np.array([0.5, -0.5, 0.5, -0.5])
# What the depth pictures' lightest grey stands for, m.
_DEPTH = 10.0


class View(Protocol):
    """Something in the page that a sensor fills."""

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """Sends one reading; pose (7,): of the sensor's frame in the fixed frame when it read."""

    def carry(self, pose: FloatArray) -> None:
        """Sends where the sensor's frame is by now, where that matters."""


# By the type of a sensor: makes its view below a node, given the sensor and the scene's radius.
VIEWS: Registry[str, Callable[[Any, str, Any, float], View]] = Registry(
    "view of a sensor", shipped=("sim_node.viewing.browser.senses",), group="sim_node.sensor_views"
)


def view_of(scene: Any, node: str, kind: str, sensor: Any, radius: float) -> View:
    """The view of a sensor of a kind in VIEWS."""
    return VIEWS[kind](scene, node, sensor, radius)


def place(node: Any, pose: FloatArray) -> None:
    """Moves a node of the page to a pose (7,)."""
    node.position = pose[:3]
    node.wxyz = pose[WXYZ]


class Points:
    """Points (n, 3) in the sensor's frame, coloured by their distance.

    They are sent in the fixed frame: a page may draw a node's pose and its points in different pictures.
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
        """Sends the finite ones."""
        points = values[np.isfinite(values).all(axis=-1)]
        self._cloud.points = pose_math.apply(pose, points).astype(np.float32)
        self._cloud.colors = by_distance(np.linalg.norm(points, axis=-1))

    def carry(self, pose: FloatArray) -> None:
        """Points stay where they were measured."""


class Cloud(Points):
    """A 3D lidar's points (rings, samples, 4)."""

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """Without their intensities."""
        super().show(values.reshape(-1, values.shape[-1])[:, :3], pose)


class Scan(Points):
    """A 2D lidar's ranges (n,) at angles from the first to the last."""

    def __init__(self, scene: Any, node: str, size: float, angle_min: float, angle_max: float, count: int) -> None:
        super().__init__(scene, node, size)
        angles = np.linspace(angle_min, angle_max, count)
        self._fan = np.stack([np.cos(angles), np.sin(angles), np.zeros(count)], axis=-1)

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """As points."""
        super().show(np.where(np.isfinite(values), values, np.nan)[:, None] * self._fan, pose)


class Ray:
    """A rangefinder's reading (1,): a line as long as that, or none."""

    def __init__(self, scene: Any, node: str) -> None:
        self._line = scene.add_line_segments(node, np.zeros((1, 2, 3)), _RAY, thickness=2.0, thickness_units="screen")

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """The line along x."""
        length = float(values.ravel()[0])
        ends = np.array([[0.0, 0.0, 0.0], [length if np.isfinite(length) else 0.0, 0.0, 0.0]])
        self._line.points = pose_math.apply(pose, ends)[None].astype(np.float32)

    def carry(self, pose: FloatArray) -> None:
        """The line stays where it was measured."""


class Picture:
    """A camera's pictures on its frustum, which moves with the camera."""

    def __init__(
        self, scene: Any, node: str, width: int, height: int, horizontal_fov: float, size: float, turn: FloatArray
    ) -> None:
        upright = 2.0 * np.arctan(np.tan(0.5 * horizontal_fov) * height / width)
        self._node = scene.add_frame(node, show_axes=False)
        self._frustum = scene.add_camera_frustum(
            f"{node}/frustum",
            fov=float(upright),
            aspect=width / height,
            scale=size,
            thickness=1.5,
            thickness_units="screen",
            color=(70, 80, 95),
            wxyz=turn,
            cast_shadow=False,
            receive_shadow=False,
            format="jpeg",
            jpeg_quality=80,
        )
        self._step = max(1, width // 320)

    def carry(self, pose: FloatArray) -> None:
        """The frustum goes with the camera."""
        place(self._node, pose)

    def show(self, values: npt.NDArray[Any], pose: FloatArray) -> None:
        """The picture, no larger than is looked at: colours (height, width, 3), or depths (height, width) in grey."""
        small = values[:: self._step, :: self._step]
        if small.ndim == 2:
            grey = np.clip(1.0 - np.nan_to_num(small, posinf=np.inf) / _DEPTH, 0.0, 1.0)
            small = np.repeat((grey * 255.0).astype(np.uint8)[..., None], 3, axis=-1)
        self._frustum.image = np.ascontiguousarray(small)


def by_distance(distances: FloatArray) -> npt.NDArray[np.uint8]:
    """Colours (n, 3) of distances (n,), from the nearest to the far ones, of which few are farther."""
    if not len(distances):
        return np.zeros((0, 3), np.uint8)
    share = distances / max(float(np.percentile(distances, 95)), 1e-9) * (len(_ANCHORS) - 1)
    at = np.arange(len(_ANCHORS))
    return np.stack([np.interp(share, at, _ANCHORS[:, k]) for k in range(3)], axis=-1).astype(np.uint8)


def _dot(radius: float) -> float:
    return float(np.clip(0.003 * radius, 0.008, 0.2))


@VIEWS.add("lidar_3d")
def _cloud(scene: Any, node: str, sensor: Any, radius: float) -> View:
    return Cloud(scene, node, _dot(radius))


@VIEWS.add("lidar_2d")
def _scan(scene: Any, node: str, sensor: Any, radius: float) -> View:
    return Scan(scene, node, _dot(radius), sensor.angle_min, sensor.angle_max, sensor.samples)


@VIEWS.add("rangefinder")
def _ray(scene: Any, node: str, sensor: Any, radius: float) -> View:
    return Ray(scene, node)


@VIEWS.add(*CAMERAS)
def _camera(scene: Any, node: str, sensor: Any, radius: float) -> View:
    return Picture(scene, node, sensor.width, sensor.height, sensor.horizontal_fov, 0.06 * radius, _OPTICAL)


@VIEWS.add("optical_camera")
def _optical_camera(scene: Any, node: str, sensor: Any, radius: float) -> View:
    """Of a frame that looks along z, as those of messages do."""
    here = np.array([1.0, 0.0, 0.0, 0.0])
    return Picture(scene, node, sensor.width, sensor.height, sensor.horizontal_fov, 0.06 * radius, here)
