"""The initial camera of a page: on the robot of a scene, or with the whole scene in view."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.view import FORWARD, View, fitted, looking
from sim_node.world import FrameTable
from sim_node.world.scene import Viewpoint

# Initial vertical field of view, rad.
FIELD_OF_VIEW = math.radians(52.0)
# Size of a typical page, and the width of the panel including its margin, pixels. The page's script knows its own size.
PAGE, PANEL = (1280, 720), 335
# Minimum radius of the view, m.
MIN_RADIUS = 0.1
# Fraction of the picture that a robot fills; base frames of a mobile robot (REP 105); and for other robots, the
# fraction of all moving frames that they must exceed, and their minimum number of moving frames.
SHARE, BASES, MOST, LEAST = 0.36, ("base_link", "base_footprint"), 0.5, 4
_CORNERS = np.array([[k & 1, k & 2, k & 4] for k in range(8)], dtype=bool)


class Subject(NamedTuple):
    """The main robot of a scene: its rows, and the row of its base; None for the base of a stationary robot."""

    rows: list[int]
    base: int | None


def subject_of(frames: FrameTable, main: list[int]) -> Subject | None:
    """Return the main robot of a scene, given its most important frames; None if there is none.

    It is the first robot whose `base_link` moves. Otherwise, it is a branch with more than half of the moving frames: a
    stationary arm, or a humanoid, whose parent is the fixed frame.
    """
    found, rows = None, range(len(frames))
    branches = {top: [row for row in rows if top in frames.chain(row)] for top in main if not frames.still[top]}
    moving = sum(map(len, branches.values()))
    for top, below in branches.items():
        base = next((row for row in below if frames.names[row].rpartition("/")[2] in BASES), None)
        if base is not None:
            return Subject([row for row in below if base in frames.chain(row)], base)
        if len(below) < LEAST or len(below) <= MOST * moving:
            continue
        if frames.parents[top] == 0:
            found = Subject(below, top)
        elif frames.parents[top] > 0 and frames.parents[frames.parents[top]] >= 0:
            prefix = frames.names[top].rpartition("/")[0]
            mount = [row for row, name in enumerate(frames.names) if prefix and name.startswith(f"{prefix}/")]
            found = Subject(sorted({*below, *mount}), None)
    return found


class Opening(NamedTuple):
    """An initial view, relative to the followed frame (made upright) or to the fixed frame.

    Attributes:
        points: Points (P, 3) to be in view beside the panel, m, if there is no robot.
        box: Centre and half extents (6,) of the robot, which fills SHARE of the picture and must not be hidden by
            walls; or None.
        eye, at: Position (3,) of a given camera and the point (3,) that it looks at, m, instead; or None.
    """

    points: FloatArray
    box: FloatArray | None = None
    eye: FloatArray | None = None
    at: FloatArray | None = None

    def view(self) -> View:
        """Return the view for a typical page."""
        if self.eye is not None and self.at is not None:
            return looking(self.eye, self.at, PAGE, _horizontal())
        if self.box is None:
            return start_view(self.points)
        away = float(np.linalg.norm(self.box[3:])) / (SHARE * math.tan(0.5 * FIELD_OF_VIEW))
        return looking(self.box[:3] - away * FORWARD, self.box[:3], PAGE, _horizontal())

    def message(self, field_of_view: float) -> dict[str, Any]:
        """Return the view for the script of a page with a vertical field of view, rad."""
        given = {"eye": self.eye, "at": self.at, "box": self.box, "forward": FORWARD}
        if self.box is None:
            given["points"] = _box_of(self.points)
        arrays = {key: each.round(6).tolist() for key, each in given.items() if each is not None}
        return {"fov": field_of_view, "share": SHARE, **arrays}


def opening(points: FloatArray, robot: FloatArray, viewpoint: Viewpoint | None) -> Opening:
    """Return the initial view.

    Args:
        points: Points (P, 3) around the whole scene.
        robot: Points (R, 3) around the robot; none to show the whole scene.
        viewpoint: The world's viewpoint, or None.
    """
    box = None
    if len(robot):
        low, high = robot.min(axis=0), robot.max(axis=0)
        box = np.concatenate([0.5 * (low + high), np.maximum(0.5 * (high - low), MIN_RADIUS / math.sqrt(3.0))])
    return Opening(points, box, *((viewpoint.position, viewpoint.look_at) if viewpoint is not None else ()))


def start_view(points: FloatArray) -> View:
    """Return the view for a typical page that shows the points (P, 3) beside its panel.

    A scene smaller than MIN_RADIUS is treated as if it were that large. Points that are not finite are ignored.
    """
    return fitted(_box_of(points, exact=True), PAGE, _horizontal(), covered=PANEL / PAGE[0])


def _box_of(points: FloatArray, *, exact: bool = False) -> FloatArray:
    """Return the corners (8, 3) of a box of at least MIN_RADIUS around the finite points.

    exact: return the points themselves unless they are too close together.
    """
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    if np.linalg.norm(high - low) < 2.0 * MIN_RADIUS:
        middle, half = 0.5 * (low + high), MIN_RADIUS / math.sqrt(3.0)
        return np.asarray(middle + np.where(_CORNERS, half, -half))
    return points if exact else np.asarray(np.where(_CORNERS, high, low))


def _horizontal() -> float:
    return 2.0 * math.atan(math.tan(0.5 * FIELD_OF_VIEW) * PAGE[0] / PAGE[1])
