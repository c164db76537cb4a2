"""Where a picture is taken from: a camera's pose and lens, and the pixels that points are seen at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.sensors.context import Lens

# Of a viewpoint that does not say: about that of a 28 mm lens on 35 mm film.
DEFAULT_FOV = np.radians(60.0)
# From where a world is seen if nothing is said: east of south, well above the ground.
_AZIMUTH, _ELEVATION = np.radians(-55.0), np.radians(26.0)
# Of the picture, left free on each side.
_MARGIN = 0.06
# Of a view of one point, m.
_CLOSEST = 0.1
# Shares of the distance to what is looked at.
_NEAR, _FAR = 0.01, 40.0


@dataclass(frozen=True, eq=False)
class View:
    """A camera: its pose (7,) in the fixed frame, FLU axes, and its lens. distance: to what it is about, m."""

    pose: FloatArray
    lens: Lens
    distance: float

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pixels (P, 2), [column, row], whole numbers being their centres, and depths (P,) along the axis in m.

        As a `camera` sees points (P, 3): what is behind it has a depth below zero. Hartley and Zisserman, Multiple View
        Geometry, 6.1.
        """
        forward, left, up = poses.apply(poses.invert(self.pose), points).T
        focal = 0.5 * self.lens.width / np.tan(0.5 * self.lens.horizontal_fov)
        middle = 0.5 * (self.lens.width - 1), 0.5 * (self.lens.height - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = np.stack([middle[0] - focal * left / forward, middle[1] - focal * up / forward], axis=1)
        return seen, forward

    def moved(self, by: FloatArray) -> View:
        """The same, by a vector (3,) farther."""
        return replace(self, pose=np.concatenate([self.pose[:3] + by, self.pose[3:]]))


def looking(eye: FloatArray, at: FloatArray, size: tuple[int, int], fov: float = DEFAULT_FOV) -> View:
    """From one point at another, horizon level; straight down or up, north is up in the picture. fov: across, rad.

    Raises ValueError where the two are one.
    """
    ahead = np.asarray(at, dtype=float) - eye
    distance = float(np.linalg.norm(ahead))
    if distance == 0.0:
        raise ValueError("the viewpoint and what it looks at are one point")
    forward = ahead / distance
    left = np.array([-forward[1], forward[0], 0.0])
    if np.linalg.norm(left) < 1e-9:
        left = np.array([-1.0, 0.0, 0.0])
    left /= np.linalg.norm(left)
    rotation = np.stack([forward, left, np.cross(forward, left)], axis=1)
    pose = poses.pose(eye, quaternions.from_matrix(rotation))
    return View(pose, Lens(*size, fov, _NEAR * distance, _FAR * distance, depth=False), distance)


def fitted(points: FloatArray, size: tuple[int, int], fov: float = DEFAULT_FOV) -> View:
    """The nearest view from the usual direction that has all points (P, 3) in the picture.

    They are between two planes of the frustum where the camera is no farther across than the tighter ones allow: for
    both pairs of planes that gives its place across and its least distance.
    """
    ca, sa, ce, se = np.cos(_AZIMUTH), np.sin(_AZIMUTH), np.cos(_ELEVATION), np.sin(_ELEVATION)
    forward = np.array([-ca * ce, -sa * ce, -se])
    right = np.array([-sa, ca, 0.0])
    up = np.cross(right, forward)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    offsets = points - middle
    tangent = np.tan(0.5 * fov) * (1.0 - 2.0 * _MARGIN)
    target, distance = middle.copy(), _CLOSEST
    for axis, slope in ((right, tangent), (up, tangent * size[1] / size[0])):
        across, nearer = offsets @ axis, slope * (offsets @ forward)
        above, below = (across - nearer).max(), (-across - nearer).max()
        distance = max(distance, (above + below) / (2.0 * slope))
        target += 0.5 * (above - below) * axis
    return looking(target - distance * forward, target, size, fov)
