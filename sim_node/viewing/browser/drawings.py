"""The drawings of sources on the page: topics of a bag or of the graph, each below a node of its own with its label."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.viewing.browser.batches import WXYZ, Batches, Wall, place, walls_of
from sim_node.viewing.browser.overlays import Edges, NameOverlays, PlacedLabel, apart_in, shortened
from sim_node.viewing.browser.sensor_views import Frustum, by_distance, dot
from sim_node.viewing.extent import points_of
from sim_node.viewing.meshes import DrawnShape, linear
from sim_node.viewing.messages.drawing import (
    FIXED,
    Attitude,
    Colours,
    Drawing,
    Item,
    Lines,
    Picture,
    Points,
    Poses,
    Raster,
    Solids,
    TextLabel,
)
from sim_node.viewing.messages.frames import conversion_of
from sim_node.viewing.view import View
from sim_node.world import FrameTable

# Lengths of axes, as fractions of the scene's radius: of poses, and of attitudes, which lie on the axes of a frame.
_AXES, _ATTITUDE, _THICKNESS = 0.05, 0.1, 0.03
# Rasters with more cells are shown with fewer; those with less than this along an edge with sharp edges of cells.
_MOST_CELLS, _FEW_CELLS = 2048, 512
# Labels nearer to each other than this fraction of the radius are one, of this length.
_TOGETHER, _MOST_LETTERS = 0.03, 60
# Below the names of frames, which are above their places, if there is room.
_ANCHORS = ("top-left", "bottom-left", "top-right", "bottom-right")
# Points and axes are as in a scene no larger than this many of its robots, and frustums as in one twice as large.
_ROBOTS = 6.0
# How many points of larger clouds quality.js shows while something moves, where there is no graphics card.
THINNED = 100_000
# Texts of a source; each is an element of the page.
_MOST_TEXTS = 100


class Located(NamedTuple):
    """A drawing, where it was measured.

    Attributes:
        drawing: The drawing.
        at: Poses (7,) of all its frames in the fixed frame, m.
        points: Those of its clouds (n, 3) in the fixed frame, m; the first ones of many are evenly among all.
        colours: Of the points (n, 3), in sRGB.
    """

    drawing: Drawing
    at: Mapping[str, FloatArray]
    points: npt.NDArray[np.float32]
    colours: Colours


def locate(drawing: Drawing, at: Mapping[str, FloatArray]) -> Located:
    """Return a drawing where its frames are at poses (7,) in the fixed frame. Of large clouds, this takes long."""
    clouds = [each for each in drawing.items if isinstance(each, Points)]
    if not clouds:
        return Located(drawing, at, np.zeros((0, 3), np.float32), np.zeros((0, 3), np.uint8))
    points = np.concatenate([pose_math.apply(at[each.frame], each.positions) for each in clouds]).astype(np.float32)
    colours = np.concatenate(
        [
            by_distance(np.linalg.norm(each.positions, axis=-1)) if each.colours is None else each.colours
            for each in clouds
        ]
    )
    if len(points) > THINNED:
        order = spread(len(points))
        points, colours = points.take(order, axis=0), colours.take(order, axis=0)
    return Located(drawing, at, points, colours)


class DrawnSource:
    """One source on the page. All of it is in the fixed frame, except for what follows a frame.

    Attributes:
        about: Its name, its frame and how it was converted.
        frame: Its frame.
        place: Where its label is (3,), in the fixed frame, m; None while it shows nothing.
        drew: Whether it has shown anything yet.
        walls: Those of its shapes that are walls.

    Args:
        scene: viser's scene.
        node: Its node.
        name: Its name, on its label.
        radius: Of the scene, m.
        robot: Radius of the robot that the page begins with, m: what is drawn is smaller beside a small one.
    """

    def __init__(self, scene: Any, node: str, name: str, radius: float, robot: float = math.inf) -> None:
        self._scene, self._node, self.name = scene, node, name
        reach = min(radius, _ROBOTS * robot)
        self._dot, self._axes, self._attitude = dot(reach), _AXES * reach, _ATTITUDE * reach
        self._frustum = 0.06 * min(radius, 2.0 * _ROBOTS * robot)
        self._root = scene.add_frame(node, show_axes=False)
        self._handles: dict[str, Any] = {}
        self._frustums: list[tuple[str, tuple[tuple[float, float], bool], Frustum]] = []
        self._rasters = self._texts = 0
        self._solids: Batches | None = None
        # The frames of its shapes, by row, and those that carry them.
        self._shaped: list[str] = []
        self._carriers: list[str] = []
        self._carried = np.zeros((0, 7))
        self.about = self.frame = ""
        self.place: FloatArray | None = None
        self.visible, self.drew = True, False
        self.walls: list[Wall] = []
        self._shapes: list[DrawnShape] = []
        self._floors: Sequence[float] | None = None
        self._pick: Callable[[str, DrawnShape], None] | None = None

    def draw(self, located: Located, standing: Collection[str] = ()) -> None:
        """Replace what is shown.

        Args:
            located: What is shown.
            standing: The frames on which shapes are walls.
        """
        drawing, at = located.drawing, located.at
        items = drawing.items
        self._draw_points(located.points, located.colours)
        self._draw_lines([each for each in items if isinstance(each, Lines)], at)
        self._draw_axes(items, at)
        self._draw_solids([each for each in items if isinstance(each, Solids)], at, standing)
        self._draw_pictures([each for each in items if isinstance(each, Picture)], at)
        self._draw_rasters([each for each in items if isinstance(each, Raster)], at)
        self._draw_texts([each for each in items if isinstance(each, TextLabel)], at)
        self.frame, pose = drawing.frame, at[drawing.frame]
        place_of_label = pose[:3] if drawing.place is None else pose_math.apply(pose, drawing.place)
        self.place = place_of_label if drawing.items else None
        self.drew = self.drew or bool(drawing.items)
        words = (self.name, drawing.frame, drawing.conversion or conversion_of(drawing.frame))
        self.about = " · ".join(word for word in words if word)

    def carry(self, frames: FrameTable, in_root: FloatArray) -> None:
        """Move what follows its frame; frames that no longer exist leave it where it is."""
        known = {name: in_root[frames.index(name)] for name in self._following() if name in frames.names}
        for frame, _, frustum in self._frustums:
            if frame in known:
                frustum.carry(known[frame])
        if self._solids is not None and any(self._carriers):
            for row, frame in enumerate(self._carriers):
                if frame in known:
                    self._carried[row] = known[frame]
            self._solids.show(self._carried)

    @property
    def carriers(self) -> Collection[str]:
        """The frames that have its shapes."""
        return self._shaped

    def hide(self, frames: Collection[str]) -> None:
        """Hide its shapes on some frames, and show the others."""
        if self._solids is not None:
            self._solids.hide(np.array([name in frames for name in self._shaped], dtype=bool))

    def paint_floors(self, colour: Sequence[float] | None) -> None:
        """Give its floors a colour in sRGB, 0 to 1, now and when they come; None: their own."""
        self._floors = colour
        if self._solids is not None:
            self._solids.paint_floors(colour)

    def around(self, frames: Collection[str]) -> FloatArray:
        """Return points (P, 3) around its shapes on some frames, in the fixed frame, m."""
        shapes = [shape for shape in self._shapes if self._shaped[shape.row] in frames]
        return points_of(self._carried, shapes, np.zeros((0, 3)), np.zeros(len(self._carried), dtype=bool))

    def on_pick(self, pick: Callable[[str, DrawnShape], None]) -> None:
        """Tell which of its shapes a page's user clicked, and its frame, from now on."""
        self._pick = pick
        if self._solids is not None:
            self._solids.on_pick(lambda shape: pick(self._shaped[shape.row], shape))

    def set_visible(self, visible: bool) -> None:
        """Show or hide it."""
        self.visible = self._root.visible = visible

    def placed(self) -> list[PlacedLabel]:
        """Return its texts, which names of what moves go before."""
        texts = [self._handles[f"text/{number}"] for number in range(self._texts if self.visible else 0)]
        return [PlacedLabel(text, np.asarray(text.position)) for text in texts]

    def remove(self) -> None:
        """Remove it from the page."""
        self._root.remove()

    def _following(self) -> set[str]:
        return {frame for frame, _, _ in self._frustums} | {frame for frame in self._carriers if frame}

    def _draw_points(self, points: npt.NDArray[np.float32], colours: Colours) -> None:
        handle = self._handles.get("points")
        if handle is None and len(points):
            handle = self._handles["points"] = self._scene.add_point_cloud(
                f"{self._node}/points",
                points,
                colours,
                point_size=self._dot,
                precision="float32",
                point_shape="circle",
            )
        elif handle is not None:
            handle.points = points
            handle.colors = colours

    def _draw_lines(self, lines: list[Lines], at: Mapping[str, FloatArray]) -> None:
        ends = [pose_math.apply(at[each.frame], each.ends.reshape(-1, 3)).reshape(-1, 2, 3) for each in lines]
        segments = np.concatenate(ends).astype(np.float32) if ends else np.zeros((0, 2, 3), np.float32)
        handle = self._handles.get("lines")
        if not len(segments):
            if handle is not None:
                handle.visible = False
            return
        colours = linear(np.concatenate([each.colours for each in lines]) / 255.0)
        if handle is None:
            self._handles["lines"] = self._scene.add_line_segments(
                f"{self._node}/lines", segments, colours, thickness=lines[0].width, thickness_units="screen"
            )
        else:
            handle.points, handle.colors, handle.visible = segments, colours, True

    def _draw_axes(self, items: Iterable[Item], at: Mapping[str, FloatArray]) -> None:
        items = [item for item in items if isinstance(item, (Poses, Attitude))]
        if not items and "axes" not in self._handles:
            return
        placed, lengths = [np.zeros((0, 7))], [np.zeros(0)]
        for item in items:
            if isinstance(item, Poses):
                placed.append(pose_math.compose(at[item.frame], item.poses))
                lengths.append(np.full(len(item.poses), self._axes))
            elif isinstance(item, Attitude):
                placed.append(np.concatenate([at[item.frame][:3], item.quaternion])[None])
                lengths.append(np.array([self._attitude]))
        poses, scales = np.concatenate(placed).astype(np.float32), np.concatenate(lengths).astype(np.float32)
        handle = self._handles.get("axes")
        if handle is not None and len(handle.batched_positions) == len(poses):
            handle.batched_positions, handle.batched_wxyzs = poses[:, :3], poses[:, WXYZ]
            return
        if handle is not None:
            self._handles.pop("axes").remove()
        if len(poses):
            self._handles["axes"] = self._scene.add_batched_axes(
                f"{self._node}/axes", poses[:, WXYZ], poses[:, :3], scales, axes_length=1.0, axes_radius=_THICKNESS
            )

    def _draw_solids(self, solids: list[Solids], at: Mapping[str, FloatArray], standing: Collection[str]) -> None:
        if not solids and self._solids is None:
            return
        # One row for each frame, and another one for what stays where it was.
        rows = dict.fromkeys((each.frame, each.follows) for each in solids)
        index = {key: row for row, key in enumerate(rows)}
        self._shaped = [frame for frame, _ in rows]
        self._carriers = [frame if follows else "" for frame, follows in rows]
        self._carried = np.array([at[frame] for frame, _ in rows]).reshape(-1, 7)
        shapes = [replace(shape, row=index[each.frame, each.follows]) for each in solids for shape in each.shapes]
        self._shapes = shapes
        moving = np.zeros(len(rows), dtype=bool)
        walls = walls_of(shape for shape in shapes if self._shaped[shape.row] in standing)
        if self._solids is None and shapes:
            self._solids = Batches(self._scene, f"{self._node}/solids", shapes, moving, self._carried, alone=walls)
            self._solids.paint_floors(self._floors)
            if self._pick is not None:
                self.on_pick(self._pick)
        elif self._solids is not None:
            self._solids.change(shapes, moving, self._carried, walls)
            self._solids.show(self._carried)
        if self._solids is not None:
            self.walls = self._solids.walls(self._carried)

    def _draw_pictures(self, pictures: list[Picture], at: Mapping[str, FloatArray]) -> None:
        for number, each in enumerate(pictures):
            looks = (each.fov, each.pixels is None)
            if number >= len(self._frustums) or self._frustums[number][1] != looks:
                node = f"{self._node}/image/{number}"
                made = Frustum(self._scene, node, each.fov, self._frustum)
                self._frustums[number : number + 1] = [(each.frame, looks, made)]
            frustum = self._frustums[number][2]
            frustum.carry(at[each.frame])
            if each.pixels is not None:
                frustum.show(each.pixels)
        for _, _, gone in self._frustums[len(pictures) :]:
            gone.remove()
        del self._frustums[len(pictures) :]

    def _draw_rasters(self, rasters: list[Raster], at: Mapping[str, FloatArray]) -> None:
        for number, each in enumerate(rasters):
            rows, columns = each.cells.shape[:2]
            step, times = max(1, -(-max(rows, columns) // _MOST_CELLS)), max(1, _FEW_CELLS // max(rows, columns))
            middle = np.array([0.5 * columns * each.size, 0.5 * rows * each.size, 0.0, 0.0, 0.0, 0.0, 1.0])
            pose = pose_math.compose(pose_math.compose(at[each.frame], each.pose), middle)
            # viser draws images in the xy plane with their first row at the smallest y, as a raster has it.
            handle = self._scene.add_image(
                f"{self._node}/raster/{number}",
                each.cells[::step, ::step].repeat(times, axis=0).repeat(times, axis=1),
                columns * each.size,
                rows * each.size,
                format="png",
                cast_shadow=False,
                receive_shadow=False,
            )
            place(handle, pose)
        for number in range(len(rasters), self._rasters):
            self._scene.remove_by_name(f"{self._node}/raster/{number}")
        self._rasters = len(rasters)

    def _draw_texts(self, texts: list[TextLabel], at: Mapping[str, FloatArray]) -> None:
        shown = texts[:_MOST_TEXTS]
        for number, each in enumerate(shown):
            position, key = pose_math.apply(at[each.frame], each.position), f"text/{number}"
            handle = self._handles.get(key)
            if handle is None:
                self._handles[key] = self._scene.add_label(
                    f"{self._node}/{key}", each.text, position=position, depth_test=False
                )
                continue
            handle.position = position
            if handle.text != each.text:
                handle.text = each.text
        for number in range(len(shown), self._texts):
            self._handles.pop(f"text/{number}").remove()
        self._texts = len(shown)


def spread(count: int) -> IntArray:
    """Return an order (count,) whose first elements, however many, are evenly among all.

    Steps of the golden section leave gaps of three lengths at most, the largest of which is divided next: Ravenstein,
    The three gap theorem (Steinhaus conjecture), 1988.
    """
    step = round(count * (math.sqrt(5.0) - 1.0) / 2.0)
    while math.gcd(step, count) != 1:
        step += 1
    return np.asarray(np.arange(count) * step % count)


def frame_poses(drawing: Drawing, frames: FrameTable, poses: FloatArray) -> dict[str, FloatArray]:
    """Return the poses (7,) of a drawing's frames in the fixed frame; poses (N, 7): of all frames in their parents."""
    at = {frame: frames.lookup(poses, frames.names[0], frame) for frame in drawing.frames}
    return {**at, FIXED: np.array(pose_math.IDENTITY)}


def reach(drawing: Drawing, at: Mapping[str, FloatArray]) -> FloatArray:
    """Return the corners (2, 3) of a box around what is drawn, without a hundredth at each end, in the fixed frame, m.

    Empty (0, 3) if nothing is. at: poses (7,) of all frames of the drawing in the fixed frame.
    """
    placed = [np.zeros((0, 3))]
    for item in drawing.items:
        pose = at[item.frame]
        if isinstance(item, Points):
            placed.append(pose_math.apply(pose, item.positions))
        elif isinstance(item, Lines):
            placed.append(pose_math.apply(pose, item.ends.reshape(-1, 3)))
        elif isinstance(item, Poses):
            placed.append(pose_math.compose(pose, item.poses)[:, :3])
        elif isinstance(item, Raster):
            rows, columns = item.cells.shape[:2]
            corners = item.size * np.array(
                [[0.0, 0.0, 0.0], [columns, 0.0, 0.0], [0.0, rows, 0.0], [columns, rows, 0.0]]
            )
            placed.append(pose_math.apply(pose_math.compose(pose, item.pose), corners))
    points = np.concatenate(placed)
    points = points[np.isfinite(points).all(axis=1)]
    return np.asarray(np.percentile(points, (1.0, 99.0), axis=0)) if len(points) else points


class Drawings:
    """The sources of a page, by name.

    Attributes:
        sources: Those that have been drawn.
        reaches: Of each of them, corners (2, 3) around what was drawn first, in the fixed frame, m.

    Args:
        scene: viser's scene.
        node: The node of all of them.
        view: Where a page begins.
        names: Those of frames, which labels keep off.
    """

    def __init__(self, scene: Any, node: str, view: View, names: NameOverlays) -> None:
        self._scene, self._node = scene, node
        self.arrange(view, names)
        self.sources: dict[str, DrawnSource] = {}
        self._frames: FrameTable | None = None
        self._radius, self._robot = 1.0, math.inf
        self._numbers: dict[str, int] = {}
        self._hidden: frozenset[str] = frozenset()
        # Frames whose shapes are hidden, and those on which shapes are walls.
        self._unseen: frozenset[str] = frozenset()
        self._standing: frozenset[str] = frozenset()
        self._floors: Sequence[float] | None = None
        self._pick: Callable[[DrawnShape], None] | None = None
        self._labels: dict[int, Any] = {}
        # Of each label, its anchor, and whether it is shown where nothing hides and shows labels: on exported pages.
        self._looks: list[tuple[str, bool]] = []
        self._labelled = True
        self.reaches: dict[str, FloatArray] = {}

    def change(
        self,
        frames: FrameTable,
        radius: float,
        robot: float,
        names: Iterable[str],
        standing: Collection[str] = (),
    ) -> None:
        """Set the frames, and the sources that there are. What stays is not sent again.

        Args:
            frames: The frames.
            radius: Of the scene, m.
            robot: Radius of the robot that the page begins with, m.
            names: Of the sources.
            standing: The frames on which shapes are walls.
        """
        self._frames, self._radius, self._robot, names = frames, radius, robot, tuple(names)
        self._standing = frozenset((*standing, FIXED))
        for name in set(self.sources) - set(names):
            self.sources.pop(name).remove()
            self.reaches.pop(name, None)
        for name in names:
            self._numbers.setdefault(name, len(self._numbers))

    def arrange(self, view: View, names: NameOverlays) -> None:
        """Keep labels off each other, and off names of frames, in another view."""
        self._view, self._names = view, names
        # What the labels' anchors were chosen for: they keep them while sources move.
        self._arranged: tuple[list[str], list[Edges]] | None = None

    def has(self, name: str) -> bool:
        """Return whether a source is shown; topics of ghosts in a run are not."""
        return name in self._numbers

    def show(self, name: str, located: Located) -> None:
        """Show a source's drawing."""
        source = self.sources.get(name)
        if source is None:
            source = self.sources[name] = DrawnSource(
                self._scene, f"{self._node}/{self._numbers[name]}", name, self._radius, self._robot
            )
            source.set_visible(name not in self._hidden)
            source.on_pick(self._picked)
            source.paint_floors(self._floors)
        source.draw(located, self._standing)
        if self._unseen:
            source.hide(self._unseen)
        if name not in self.reaches:
            found = reach(located.drawing, located.at)
            if len(found):
                self.reaches[name] = found

    def carry(self, in_root: FloatArray) -> None:
        """Move what follows frames, at poses (N, 7) in the fixed frame."""
        if self._frames is not None:
            for source in self.sources.values():
                source.carry(self._frames, in_root)

    def carriers(self) -> frozenset[str]:
        """Return the frames that have shapes of sources."""
        return frozenset(name for source in self.sources.values() for name in source.carriers)

    def walls(self) -> list[Wall]:
        """Return the walls among the shapes of sources that are shown."""
        return [wall for source in self.sources.values() if source.visible for wall in source.walls]

    def hide(self, frames: frozenset[str]) -> None:
        """Hide shapes on some frames, now and when they come, and show the others."""
        self._unseen = frames
        for source in self.sources.values():
            source.hide(frames)

    def paint_floors(self, colour: Sequence[float] | None) -> None:
        """Give floors a colour in sRGB, 0 to 1, now and when they come; None: their own."""
        self._floors = colour
        for source in self.sources.values():
            source.paint_floors(colour)

    def around(self, frames: Collection[str]) -> FloatArray:
        """Return points (P, 3) around the shapes of sources on some frames, in the fixed frame, m."""
        found = [source.around(frames) for source in self.sources.values() if source.visible]
        return np.concatenate([np.zeros((0, 3)), *found])

    def on_pick(self, pick: Callable[[DrawnShape], None]) -> None:
        """Tell which shape a page's user clicked, with the row of its frame, from now on."""
        self._pick = pick

    def _picked(self, frame: str, shape: DrawnShape) -> None:
        if self._pick is not None and self._frames is not None:
            at = frame or self._frames.names[0]
            if at in self._frames.names:
                self._pick(replace(shape, row=self._frames.index(at)))

    def choose(self, hidden: Iterable[str], *, labelled: bool) -> None:
        """Hide sources, now and when they come, and all labels unless `labelled`."""
        self._hidden, self._labelled = frozenset(hidden), labelled
        for name, source in self.sources.items():
            source.set_visible(name not in self._hidden)
        self.label()

    def placed(self) -> list[PlacedLabel]:
        """Return the labels of sources, and then their texts; names of what moves go before these."""
        labels = [PlacedLabel(label, np.asarray(label.position)) for label in self._labels.values()]
        return [*labels, *(text for _, source in sorted(self.sources.items()) for text in source.placed())]

    def label(self) -> None:
        """Label the sources, in front of what would cut labels; those at one place share one.

        Those that would be on others where a page begins are hidden, until there is room for them on a page. What they
        say, and which are hidden, is the same in whatever order messages came.
        """
        texts: list[tuple[FloatArray, str]] = []
        for _, source in sorted(self.sources.items()) if self._labelled else ():
            if source.place is None or not source.visible:
                continue
            # Where the origin is makes labels longer than a phone is wide: the tab of sources has it.
            about = source.about.partition(" about ")[0]
            for number, (place_, text) in enumerate(texts):
                if np.linalg.norm(place_ - source.place) < _TOGETHER * self._radius:
                    texts[number] = place_, f"{text}, {about}"
                    break
            else:
                texts.append((source.place, about))
        shown = [shortened(text, _MOST_LETTERS) for _, text in texts]
        arranged = shown, self._names.edges
        if arranged != self._arranged:
            self._arranged = arranged
            places = np.array([place_ for place_, _ in texts]).reshape(-1, 3)
            apart = apart_in(self._view, shown, places, _ANCHORS, self._names.edges)
            self._looks = [
                (apart[number][0], True) if number in apart else (_ANCHORS[0], False) for number in range(len(shown))
            ]
        for number, (anchor, visible) in enumerate(self._looks):
            label, position = self._labels.get(number), texts[number][0]
            if label is not None and (label.text, label.anchor, label.visible) == (shown[number], anchor, visible):
                label.position = position
            else:
                self._labels[number] = self._scene.add_label(
                    f"{self._node}/labels/{number}",
                    shown[number],
                    position=position,
                    font_screen_scale=0.7,
                    depth_test=False,
                    anchor=anchor,
                    visible=visible,
                )
        for number in self._labels.keys() - set(range(len(shown))):
            self._labels.pop(number).remove()
