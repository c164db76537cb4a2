"""The scene of the page: the ground, and all that stands on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.geometry import poses as pose_math
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.browser.batches import WXYZ, Batches
from sim_node.viewing.browser.overlays import Axes, Names, Trails, lengths, main_rows
from sim_node.viewing.browser.sensor_topic_views import SensorTopicView
from sim_node.viewing.browser.sensor_views import VIEWS, View, place
from sim_node.viewing.extent import Extent, extent_of
from sim_node.viewing.meshes import Shape
from sim_node.world import FrameTable

_LINES, _BOLD_LINES, _PLANE = (205, 210, 216), (168, 176, 186), (244, 245, 246)
# Cells of the grid across a scene's radius, about.
_CELLS = 8.0


def add_ground(scene: Any, node: str, shapes: Sequence[Shape], in_root: FloatArray, extent: Extent) -> None:
    """Grids with cells of 1, 10, 100 ... m or parts of one, by the size of the scene."""
    cell = 10.0 ** round(math.log10(extent.radius / _CELLS))
    planes = [pose_math.compose(in_root[shape.row], shape.pose) for shape in shapes if shape.kind == "plane"]
    for number, pose in enumerate(planes or [np.array(pose_math.IDENTITY)]):
        scene.add_grid(
            f"{node}/{number}",
            infinite_grid=True,
            cell_size=cell,
            section_size=10.0 * cell,
            cell_color=_LINES,
            section_color=_BOLD_LINES,
            cell_thickness=0.8,
            section_thickness=1.2,
            fade_distance=12.0 * extent.radius,
            shadow_opacity=0.0,
            plane_color=_PLANE,
            plane_opacity=1.0 if planes else 0.0,
            position=pose[:3],
            wxyz=pose[WXYZ],
        )


# All else hangs on it, so that following a frame moves one node.
ROOT = "/world"
NO_PLACES: FloatArray = np.zeros((0, 3))


class Scene:
    """What is in the page. main: the rows that matter most.

    in_root (N, 7): poses of all frames in the fixed frame, of the start; places (P, 3): where frames will go;
    instruments: what sees something, by the names that its readings have.
    """

    def __init__(
        self,
        scene: Any,
        frames: FrameTable,
        in_root: FloatArray,
        shapes: Sequence[Shape] = (),
        places: FloatArray = NO_PLACES,
        topic_views: Mapping[str, SensorTopicView] | None = None,
    ) -> None:
        self.frames, self.main = frames, main_rows(frames)
        # What to look at first: what moves, if anything does.
        self.first = next((row for row in self.main if not frames.still[row]), self.main[0] if self.main else 0)
        self.extent: Extent = extent_of(in_root, shapes, places)
        self.in_root = in_root
        radius = self.extent.radius
        self._root = scene.add_frame(ROOT, show_axes=False)
        add_ground(scene, f"{ROOT}/ground", shapes, in_root, self.extent)
        self._batches = Batches(scene, f"{ROOT}/shapes", shapes, frames.still, in_root)
        self.axes = Axes(scene, f"{ROOT}/axes", frames, lengths(frames, in_root, shapes, radius), in_root)
        self.names = Names(scene, f"{ROOT}/names", frames, self.main)
        self.trails = Trails(scene, f"{ROOT}/trails", radius)
        self.views: dict[str, tuple[int, View]] = {
            name: (frames.index(each.frame), VIEWS[each.type](scene, f"{ROOT}/sensors/{number}", each.fields, radius))
            for number, (name, each) in enumerate((topic_views or {}).items())
        }
        self._followed: int | None = None
        self._turning = False
        self.trails.choose([row for row in self.main if not frames.still[row]], in_root)
        self.names.choose(self.names.first, in_root)
        self.show(in_root)

    def show(self, in_root: FloatArray) -> None:
        """Sends where everything is: poses (N, 7) in the fixed frame. What has not moved is not sent."""
        self.in_root = in_root
        self._batches.show(in_root)
        self.axes.show(in_root)
        self.names.show(in_root)
        self.trails.follow(in_root)
        for row, view in self.views.values():
            view.carry(in_root[row])
        if self._followed is not None:
            place(self._root, _carried_along(in_root[self._followed], turning=self._turning))

    def sense(self, told: Mapping[str, tuple[npt.NDArray[Any], FloatArray]]) -> None:
        """Sends readings: by name the values, and each frame's pose (N, 7) in its parent when they were read."""
        for name, (values, poses) in told.items():
            if name in self.views:
                row, view = self.views[name]
                view.show(values, self._in_root(row, poses))

    def follow(self, row: int | None, *, turning: bool = False) -> None:
        """Keeps a frame in the middle of the page, or nothing; turning: and its heading, too."""
        self._followed, self._turning = row, turning
        still = np.array(pose_math.IDENTITY)
        place(self._root, still if row is None else _carried_along(self.in_root[row], turning=turning))

    def _in_root(self, row: int, poses: FloatArray) -> FloatArray:
        pose = np.array(pose_math.IDENTITY)
        for above in self.frames.chain(row):
            pose = pose_math.compose(poses[above], pose)
        return pose


def _carried_along(pose: FloatArray, *, turning: bool) -> FloatArray:
    """Where the fixed frame is (7,) as seen from a frame at a pose (7,), upright, and turned with it or not."""
    yaw = quaternions.to_rpy(pose[3:])[2] if turning else 0.0
    return pose_math.invert(np.concatenate([pose[:3], quaternions.from_axis_angle([0.0, 0.0, 1.0], yaw)]))
