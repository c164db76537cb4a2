"""A source on the page, such as a topic of a bag or of the graph: all that it draws is below a node of its own."""

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
from sim_node.viewing.browser.overlays import PlacedLabel
from sim_node.viewing.browser.sensor_views import Frustum, by_distance, dot
from sim_node.viewing.extent import points_of
from sim_node.viewing.meshes import DrawnShape, linear
from sim_node.viewing.messages.drawing import (
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
from sim_node.world import FrameTable

# Lengths of axes, as fractions of the scene's radius: of poses, and of attitudes, which lie on the axes of a frame.
_AXES, _ATTITUDE, _THICKNESS = 0.05, 0.1, 0.03
# Rasters with more cells are shown with fewer; those with less than this along an edge with sharp edges of cells.
_MOST_CELLS, _FEW_CELLS = 2048, 512
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
