"""Views: a camera's pose and lens, and the projection of points to pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sim_node.simulation.sensors.context import Lens
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray

# Default field of view, about that of a 28 mm lens on 35 mm film.
DEFAULT_FOV = np.radians(60.0)
# Default viewing direction: from east of south, well above the ground.
_AZIMUTH, _ELEVATION = np.radians(-55.0), np.radians(26.0)
FORWARD = -np.array([np.cos(_AZIMUTH) * np.cos(_ELEVATION), np.sin(_AZIMUTH) * np.cos(_ELEVATION), np.sin(_ELEVATION)])
# Margin on each side, as a fraction of the picture.
_MARGIN = 0.06
# Radius of a view of a single point, m.
_CLOSEST = 0.1
# Clipping distances, as fractions of the distance to the subject.
_NEAR, _FAR = 0.01, 40.0


@dataclass(frozen=True, eq=False)
class View:
    """A camera: its pose (7,) in the fixed frame, FLU axes, and its lens. distance: distance to its subject, m."""

    pose: FloatArray
    lens: Lens
    distance: float

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return pixels (P, 2) [column, row], with pixel centres at integers, and depths (P,) along the axis, m.

        Points (P, 3) behind the camera have a negative depth. Hartley and Zisserman, Multiple View Geometry, 6.1.
        """
        forward, left, up = poses.apply(poses.invert(self.pose), points).T
        focal = 0.5 * self.lens.width / np.tan(0.5 * self.lens.horizontal_fov)
        middle = 0.5 * (self.lens.width - 1), 0.5 * (self.lens.height - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = np.stack([middle[0] - focal * left / forward, middle[1] - focal * up / forward], axis=1)
        return seen, forward

    def moved(self, by: FloatArray) -> View:
        """Return the same view, moved by a vector (3,)."""
        return replace(self, pose=np.concatenate([self.pose[:3] + by, self.pose[3:]]))


def looking(eye: FloatArray, at: FloatArray, size: tuple[int, int], fov: float = DEFAULT_FOV) -> View:
    """Return a view from one point to another with a level horizon. Looking straight down or up, north is up.

    fov: horizontal field of view, rad. Raises ValueError if the points are equal.
    """
    ahead = np.asarray(at, dtype=float) - eye
    distance = float(np.linalg.norm(ahead))
    if distance == 0.0:
        raise ValueError("the viewpoint and its target are the same point")
    forward = ahead / distance
    left = np.array([-forward[1], forward[0], 0.0])
    if np.linalg.norm(left) < 1e-9:
        left = np.array([-1.0, 0.0, 0.0])
    left /= np.linalg.norm(left)
    rotation = np.stack([forward, left, np.cross(forward, left)], axis=1)
    pose = poses.pose(eye, quaternions.from_matrix(rotation))
    return View(pose, Lens(*size, fov, _NEAR * distance, _FAR * distance, depth=False), distance)


def fitted(points: FloatArray, size: tuple[int, int], fov: float = DEFAULT_FOV, covered: float = 0.0) -> View:
    """Return the nearest view from the default direction that contains all points (P, 3).

    Each point is inside the four planes of the frustum. The tightest planes of each opposite pair determine the
    camera's lateral position and its minimum distance.

    covered: fraction of the picture's width that is covered on the right; the points are to the left of that.
    """
    forward = FORWARD
    right = np.array([-np.sin(_AZIMUTH), np.cos(_AZIMUTH), 0.0])
    up = np.cross(right, forward)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    offsets = points - middle
    tangent, within = np.tan(0.5 * fov), 1.0 - 2.0 * _MARGIN
    level, upright = within * tangent, within * tangent * size[1] / size[0]
    ahead = offsets @ forward
    # For each axis: the slopes of the planes on both sides, and how far the points extend beyond them.
    pairs = [
        (axis, slope, opposite, (offsets @ axis - slope * ahead).max(), (-offsets @ axis - opposite * ahead).max())
        for axis, slope, opposite in ((right, level - 2.0 * covered * tangent, level), (up, upright, upright))
    ]
    distance = max(_CLOSEST, *((above + below) / (slope + opposite) for _, slope, opposite, above, below in pairs))
    target = middle.copy()
    for axis, slope, opposite, above, below in pairs:
        target += 0.5 * (above - below + (opposite - slope) * distance) * axis
    return looking(target - distance * forward, target, size, fov)
