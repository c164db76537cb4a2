"""Zones: named regions of space, such as a flying field, and the distance of points to their edge."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import Fault, declared, given, place_of, rule
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.quantities import ListOf, Name, Number, Vector

_MAX_DISTANCE = 1e9
_HEIGHT = Number(-_MAX_DISTANCE, _MAX_DISTANCE)


@declared
class Zone:
    """A prism over a polygon or a circle, between two heights, in the fixed frame."""

    name: str = given(Name(), "Its name, as in inside(drone, field)")
    polygon: tuple[FloatArray, ...] = given(
        ListOf(Vector(2, _MAX_DISTANCE)), "Corners [x, y] of its outline, in order", "m", default=()
    )
    centre: FloatArray = given(Vector(2, _MAX_DISTANCE), "Centre of a circle", "m", default=(0.0, 0.0))
    radius: float | None = given(Number(1e-6, _MAX_DISTANCE), "Radius of a circle", "m", default=None)
    floor: float = given(_HEIGHT, "Least height", "m", default=-_MAX_DISTANCE, omit=True)
    ceiling: float = given(_HEIGHT, "Largest height", "m", default=_MAX_DISTANCE, omit=True)
    place: Place = place_of(default=NO_PLACE)

    @rule
    def _is_some_space(self) -> Iterator[Fault]:
        if bool(self.polygon) == (self.radius is not None):
            yield "", "`polygon` or `radius` is needed, and not both"
        elif self.polygon and len(self.polygon) < 3:
            yield "polygon", f"found {len(self.polygon)} corners; allowed: 3 or more"
        if self.floor >= self.ceiling:
            yield "ceiling", f"found {self.ceiling:g}; the floor is at {self.floor:g}"

    def depth(self, points: FloatArray) -> FloatArray:
        """Return the distance of points to the edge: the smaller of the horizontal and the vertical distance.

        Args:
            points: Points (T, 3), m.

        Returns:
            Distances (T,), m; negative outside.
        """
        if self.radius is not None:
            sideways = self.radius - np.hypot(points[:, 0] - self.centre[0], points[:, 1] - self.centre[1])
        else:
            sideways = _depth(np.asarray(self.polygon), points[:, :2])
        return np.asarray(np.minimum(sideways, np.minimum(points[:, 2] - self.floor, self.ceiling - points[:, 2])))


def _depth(corners: FloatArray, points: FloatArray) -> FloatArray:
    """Return the distance (T,) of points (T, 2) to a polygon's edge, negative outside by the even-odd rule."""
    ends = np.roll(corners, -1, axis=0)
    (along_x, along_y), (start_x, start_y), end_y = (ends - corners).T, corners.T, ends[:, 1]
    x, y = points[:, :1], points[:, 1:]
    off_x, off_y = x - start_x, y - start_y
    length = along_x**2 + along_y**2
    # An edge of zero length is a point.
    part = np.clip((off_x * along_x + off_y * along_y) / np.where(length == 0.0, 1.0, length), 0.0, 1.0)
    nearest = np.hypot(off_x - part * along_x, off_y - part * along_y).min(axis=1)
    crosses = (start_y > y) != (end_y > y)
    slope = along_x / np.where(along_y == 0.0, 1.0, along_y)  # a level edge is not crossed
    inside = (crosses & (off_x < off_y * slope)).sum(axis=1) % 2 == 1
    return np.asarray(np.where(inside, nearest, -nearest))
