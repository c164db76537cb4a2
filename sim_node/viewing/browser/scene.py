"""The scene of the page: its surroundings, and everything in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import BoolArray, FloatArray
from sim_node.viewing.browser.batches import Batches, Wall, place, walls_of
from sim_node.viewing.browser.drawings import Drawings, frame_poses
from sim_node.viewing.browser.drawn_source import DrawnSource, Located, locate
from sim_node.viewing.browser.overlays import (
    AxesOverlay,
    NameOverlays,
    Trails,
    bare_rows,
    lengths,
    main_rows,
    planned,
)
from sim_node.viewing.browser.sensor_topic_views import SensorTopicView
from sim_node.viewing.browser.sensor_views import VIEWS, SensorView
from sim_node.viewing.browser.start import FIELD_OF_VIEW, Opening, opening, start_view, subject_of
from sim_node.viewing.browser.surroundings import FLOOR_BY_NIGHT, PageSurroundings
from sim_node.viewing.extent import Extent, around, boxes_of, points_of
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.drawing import FIXED, Drawing
from sim_node.world import FrameTable
from sim_node.world.scene import Sky, Viewpoint

# The root node of everything else, so that following a frame moves a single node.
ROOT = "/world"
# Maximum length of axes, in half diagonals of a robot.
_AXES = 0.4
NO_PLACES: FloatArray = np.zeros((0, 3))


_FIXED = {FIXED: np.array(pose_math.IDENTITY)}


class _Sensor(NamedTuple):
    """A sensor on the page: the number of its node, its topic view, its appearance, and what draws it."""

    number: int
    topic: SensorTopicView
    view: SensorView
    source: DrawnSource


class Content(NamedTuple):
    """The content of a scene.

    Attributes:
        frames: The frames.
        in_root: Initial poses (N, 7) of all frames in the fixed frame, m.
        shapes: Shapes on the frames.
        places: Future positions of frames (P, 3), m.
        topic_views: Sensors of a world to show, by the names of their measurements.
        sources: Names of the topics to show.
        sky: The world's sky.
        plans: Planned paths of frames (K, 3), m.
        viewpoint: The world's initial viewpoint.
        own: Number of frames that belong to the page; the frames after them belong to ghosts.
    """

    frames: FrameTable
    in_root: FloatArray
    shapes: Sequence[DrawnShape]
    places: FloatArray
    topic_views: Mapping[str, SensorTopicView]
    sources: Collection[str]
    sky: Sky | None
    plans: Sequence[FloatArray]
    viewpoint: Viewpoint | None
    own: int


class PageScene:
    """The content of the page.

    Attributes:
        main: Rows of the most important frames.
        drawings: Drawings of topics of a bag or the graph.
        names: Names of frames.
        shapes: The shapes on its frames.
        own: Number of frames that do not belong to ghosts.
        field_of_view: Vertical field of view of pages, rad.

    Args:
        scene: viser's scene.
        content: The initial content.
    """

    def __init__(self, scene: Any, content: Content) -> None:
        self._scene = scene
        self._followed: int | None = None
        self._turning = False
        self.field_of_view = FIELD_OF_VIEW
        self.surroundings = PageSurroundings(scene, f"{ROOT}/ground")
        self._sensors: dict[str, _Sensor] = {}
        self._root = scene.add_frame(ROOT, show_axes=False)
        self._begin(content)
        frames, in_root, shapes = self.frames, content.in_root, self.shapes
        self.plans = DrawnSource(scene, f"{ROOT}/plans", "", self.extent.radius)
        self.plans.draw(locate(planned(content.plans), _FIXED))
        self._batches = Batches(scene, f"{ROOT}/shapes", shapes, frames.still, in_root, alone=self._walls())
        self.trails = Trails(scene, f"{ROOT}/trails", self.extent.radius)
        self._overlay(frames, in_root, shapes)
        self._set_views(content.topic_views)
        self.drawings = Drawings(scene, f"{ROOT}/topics", self.view, self.names)
        self.drawings.change(frames, self.extent.radius, self._robot(), content.sources, self._standing())
        self.trails.choose([row for row in self.main if not frames.still[row]], frames.names, in_root)
        self.names.choose(self.names.first, in_root)
        self.show(in_root)

    @property
    def followed_first(self) -> int | None:
        """The row that a page follows initially, that of the world's viewpoint or of a moving robot; or None."""
        if self._viewpoint is not None:
            follow = self._viewpoint.follow
            return None if follow is None else self.frames.index(follow)
        return None if self._subject is None else self._subject.base

    def opening(self, row: int | None = None) -> Opening:
        """Return the initial camera of a page, for the initially followed frame or for another row."""
        row, subject = self._followed if row is None else row, self._subject
        rows = [] if subject is None or row != subject.base else subject.rows
        if row is not None and not rows:
            rows = [below for below in range(len(self.frames)) if row in self.frames.chain(below)]
        robot = self._around(rows, self.drawings.around({self.frames.names[each] for each in rows}))
        viewpoint = self._viewpoint if row == self.followed_first else None
        if row is None:
            return opening(np.concatenate([self._points, *self.drawings.reaches.values()]), robot, viewpoint)
        return opening(NO_PLACES, pose_math.apply(self.root_pose, robot), viewpoint)

    def _walls(self) -> list[DrawnShape]:
        """Return the walls among the shapes. Parts of robots are not walls."""
        of_robots = self._of_robots()
        return walls_of(shape for shape in self.shapes if not of_robots[shape.row])

    def _standing(self) -> frozenset[str]:
        """Return the frames whose shapes count as walls."""
        return frozenset(
            name for name, of_robots in zip(self.frames.names, self._of_robots(), strict=True) if not of_robots
        )

    def _of_robots(self) -> BoolArray:
        """Return a mask (N,) of the frames that move or are part of the robot."""
        found = ~self.frames.still
        found[[] if self._subject is None else self._subject.rows] = True
        return found

    def beginning(self, row: int | None = None) -> dict[str, Any]:
        """Return `opening` for the pages' scripts, including the walls to look through."""
        return {**self.opening(row).message(self.field_of_view), "walls": self.walls()}

    def walls(self) -> list[Wall]:
        """Return the walls among the scene's shapes and those drawn by topics, for JSON."""
        return [*self._batches.walls(self.in_root), *self.drawings.walls()]

    def _around(self, rows: list[int], drawn: FloatArray = NO_PLACES) -> FloatArray:
        """Return points (P, 3) around frames in the fixed frame, m.

        The points enclose the frames' shapes. Without shapes, they are `drawn` (P, 3), which topics draw on the frames;
        without that, they enclose the frames' axes.
        """
        shown = points_of(self.in_root, [shape for shape in self.shapes if shape.row in rows], NO_PLACES)
        solid = shown[len(self.in_root) :]
        if len(solid) or not rows:
            return solid
        if len(drawn):
            return drawn
        origins = self.in_root[rows, :3]
        reach = _AXES * around(origins).radius
        return np.concatenate([origins - reach, origins + reach])

    def change(self, content: Content) -> None:
        """Replace the content. Unchanged parts are not sent again.

        Afterwards, the panel selects names, trails and the followed frame again.
        """
        self.follow(None)
        self.names.choose("none", self.in_root)
        self.axes.remove()
        self._begin(content)
        self.plans.draw(locate(planned(content.plans), _FIXED))
        self._batches.change(self.shapes, self.frames.still, self.in_root, self._walls())
        self._overlay(self.frames, self.in_root, self.shapes)
        self._set_views(content.topic_views)
        self.drawings.change(self.frames, self.extent.radius, self._robot(), content.sources, self._standing())
        self.drawings.arrange(self.view, self.names)

    def _begin(self, content: Content) -> None:
        """Find the most important frames and the extent, and draw the surroundings."""
        frames, in_root, shapes = content.frames, content.in_root, tuple(content.shapes)
        self.frames, self.shapes, self.in_root, self.main = frames, shapes, in_root, main_rows(frames)
        self.own = content.own
        self._subject = subject_of(frames, [row for row in self.main if row < content.own])
        self._viewpoint = content.viewpoint
        # The view is centred on a moving frame, if there is one.
        self.first = next((row for row in self.main if not frames.still[row]), self.main[0] if self.main else 0)
        self._points = points_of(in_root, shapes, content.places, _seen_rows(content))
        # State of the topics' drawings: the number of known extents, the frames with shapes, and the walls.
        self._drawn: tuple[int, frozenset[str], list[Wall]] = 0, frozenset(), []
        self.extent: Extent = around(self._points)
        self.view = start_view(self._points)
        self._boxes = boxes_of(len(frames), shapes)
        bare = {row for row in self.main if not frames.still[row] and np.isnan(self._boxes[row]).any()}
        if self._subject is not None and self._subject.base is not None:
            bare.add(self._subject.base)
        carried = {row: list[int]() for row in bare}
        for row in range(len(frames)):
            for above in bare.intersection(frames.chain(row)):
                carried[above].append(row)
        around_all = {row: _box_around(self._boxes, in_root, below, row) for row, below in carried.items()}
        for row, box in around_all.items():
            self._boxes[row] = box
        self.surroundings.change(shapes, in_root, self.extent, content.sky)

    def _overlay(self, frames: FrameTable, in_root: FloatArray, shapes: Sequence[DrawnShape]) -> None:
        sizes = lengths(frames, in_root, shapes, self.extent.radius)
        sizes = np.minimum(sizes, _AXES * self._robot())
        bare = bare_rows(frames, shapes)
        self.axes = AxesOverlay(self._scene, f"{ROOT}/axes", frames, sizes, bare, in_root)
        self.axes.choose("main")
        above = np.where(bare, sizes, 0.0)
        self.names = NameOverlays(
            self._scene, f"{ROOT}/names", frames, self.main, self._boxes, above, self._of_robots(), self.view, self.own
        )

    def _robot(self) -> float:
        """Return the radius of the robot that the page begins with, m; inf if there is none."""
        return math.inf if self._subject is None else around(self._around(self._subject.rows)).radius

    def _set_views(self, topic_views: Mapping[str, SensorTopicView]) -> None:
        """Create the views of sensors. Unchanged views are kept."""
        for name in [name for name, each in self._sensors.items() if not _is_same(topic_views.get(name), each.topic)]:
            self._sensors.pop(name).source.remove()
        used = {each.number for each in self._sensors.values()}
        free = (number for number in count() if number not in used)
        robot = self._robot()
        for name, topic in topic_views.items():
            if name not in self._sensors:
                number, view = next(free), VIEWS[topic.type](topic.frame, topic.fields)
                source = DrawnSource(self._scene, f"{ROOT}/sensors/{number}", name, self.extent.radius, robot)
                self._sensors[name] = _Sensor(number, topic, view, source)
                drawing = Drawing(topic.frame, view.before)
                at = {frame: self.in_root[self.frames.index(frame)] for frame in drawing.frames}
                source.draw(locate(drawing, {**at, **_FIXED}))

    def carriers(self) -> list[int]:
        """Return the rows of the frames that have shapes or sensors, except the fixed frame."""
        rows = {shape.row for shape in self.shapes if shape.kind != "plane"}
        named = {*(each.topic.frame for each in self._sensors.values()), *self.drawings.carriers()}
        rows |= {self.frames.index(name) for name in named if name in self.frames.names}
        return sorted(rows - {0})

    def hide(self, hidden: BoolArray) -> None:
        """Hide the shapes, sensors, axes and names of some frames, given a mask (N,), and show the others."""
        self._batches.hide(hidden)
        self.axes.hide(hidden)
        self.names.hide(hidden, self.in_root)
        self.drawings.hide(frozenset(self.frames.names[row] for row in np.flatnonzero(hidden)))
        for each in self._sensors.values():
            each.source.set_visible(not hidden[self.frames.index(each.topic.frame)])

    def on_pick(self, pick: Callable[[DrawnShape], None]) -> None:
        """Set the callback for clicks on shapes."""
        self._batches.on_pick(pick)
        self.drawings.on_pick(pick)

    def show(self, in_root: FloatArray) -> None:
        """Send all poses (N, 7) in the fixed frame, except those that have not changed."""
        self.in_root = in_root
        self._batches.show(in_root)
        self.axes.show(in_root)
        self.names.show(in_root)
        self.trails.follow(in_root)
        for each in self._sensors.values():
            each.source.carry(self.frames, in_root)
        self.drawings.carry(in_root)
        if self._followed is not None:
            place(self._root, self.root_pose)

    @property
    def root_pose(self) -> FloatArray:
        """Pose (7,) of the fixed frame on the page."""
        row = self._followed
        still = np.array(pose_math.IDENTITY)
        return still if row is None else _carried_along(self.in_root[row], turning=self._turning)

    def set_dark(self, dark: bool) -> None:
        """Switch to the colours of night, or of day."""
        self.surroundings.set_dark(dark)
        floors = FLOOR_BY_NIGHT if dark else None
        self._batches.paint_floors(floors)
        self.drawings.paint_floors(floors)

    def located(self, measurements: Mapping[str, tuple[npt.NDArray[Any] | Drawing, FloatArray]]) -> dict[str, Located]:
        """Transform measurements to drawings, by name. Slow for large clouds, so pages should not wait for it.

        measurements: values, and the poses (N, 7) of the frames in their parents at the time of measurement.
        """
        found = {}
        for name, (values, poses) in measurements.items():
            if isinstance(values, Drawing):
                if not self.drawings.has(name):
                    continue
                drawing = values
            elif name in self._sensors:
                _, topic, view, _ = self._sensors[name]
                drawing = Drawing(topic.frame, tuple(view.items(values)))
            else:
                continue
            found[name] = locate(drawing, frame_poses(drawing, self.frames, poses))
        return found

    def show_measurements(self, measured: Mapping[str, Located]) -> bool:
        """Send drawings of measurements, by name.

        Returns:
            Whether something was drawn that changes the initial view, the walls, or the frames with shapes.
        """
        for name, each in measured.items():
            if name in self._sensors:
                self._sensors[name][-1].draw(each)
            else:
                self.drawings.show(name, each)
        reaches = list(self.drawings.reaches.values())
        before, self._drawn = self._drawn, (len(reaches), self.drawings.carriers(), self.drawings.walls())
        if self._drawn[0] != before[0]:
            self.view = start_view(np.concatenate([self._points, *reaches]))
            self.drawings.arrange(self.view, self.names)
        self.drawings.label()
        return self._drawn != before

    def follow(self, row: int | None, *, turning: bool = False) -> None:
        """Keep a frame in the centre of the page, or none. turning: whether to follow its heading, too."""
        self._followed, self._turning = row, turning
        place(self._root, self.root_pose)


def _seen_rows(content: Content) -> BoolArray:
    """Return a mask (N,) of the frames that an overview shows: those with shapes, not those that mark a place."""
    solid = [shape.row for shape in content.shapes if not shape.is_ground]
    rows = ~content.frames.still if solid else np.ones(len(content.frames), dtype=bool)
    rows[[*solid, *(content.frames.index(each.frame) for each in content.topic_views.values())]] = True
    return rows


def _box_around(boxes: FloatArray, in_root: FloatArray, rows: list[int], base: int) -> FloatArray:
    """Return the corners (8, 3) of a box around the boxes (N, 8, 3) of some frames, in the axes of `base`; or NaN."""
    placed = pose_math.compose(pose_math.invert(in_root[base]), in_root[rows])
    corners = pose_math.apply(placed[:, None], boxes[rows]).reshape(-1, 3)
    corners = corners[np.isfinite(corners).all(axis=1)]
    if not len(corners):
        return np.full((8, 3), np.nan)
    ends = zip(corners.min(axis=0), corners.max(axis=0), strict=True)
    return np.stack(np.meshgrid(*ends), axis=-1).reshape(8, 3)


def _is_same(view: SensorTopicView | None, other: SensorTopicView) -> bool:
    """Return whether two views show the same messages of the same frame."""
    return (
        view is not None
        and (view.frame, view.type, view.of) == (other.frame, other.type, other.of)
        and view.fields.keys() == other.fields.keys()
        and all(np.array_equal(value, other.fields[name]) for name, value in view.fields.items())
    )


def _carried_along(pose: FloatArray, *, turning: bool) -> FloatArray:
    """Return the pose (7,) of the fixed frame relative to a pose (7,) made upright, with or without its heading."""
    yaw = quaternions.to_rpy(pose[3:])[2] if turning else 0.0
    return pose_math.invert(np.concatenate([pose[:3], quaternions.from_axis_angle([0.0, 0.0, 1.0], yaw)]))
