"""The drawings of sources on the page: topics of a bag or of the graph, with their labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.batches import Wall
from sim_node.viewing.browser.drawn_source import DrawnSource, Located
from sim_node.viewing.browser.overlays import Edges, NameOverlays, PlacedLabel, apart_in, shortened
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.drawing import FIXED, Drawing, Lines, Points, Poses, Raster
from sim_node.viewing.view import View
from sim_node.world import FrameTable

# Labels nearer to each other than this fraction of the radius are one, of this length.
_TOGETHER, _MOST_LETTERS = 0.03, 60
# Below their position, while names of frames are above theirs, if there is room.
_ANCHORS = ("top-left", "bottom-left", "top-right", "bottom-right")


def frame_poses(drawing: Drawing, frames: FrameTable, poses: FloatArray) -> dict[str, FloatArray]:
    """Return the poses (7,) of a drawing's frames in the fixed frame. poses (N, 7): all frames in their parents."""
    at = {frame: frames.lookup(poses, frames.names[0], frame) for frame in drawing.frames}
    return {**at, FIXED: np.array(pose_math.IDENTITY)}


def reach(drawing: Drawing, at: Mapping[str, FloatArray]) -> FloatArray:
    """Return the corners (2, 3) of a box around a drawing in the fixed frame, m, without the outer 1 % at each end.

    Returns (0, 3) if nothing is drawn. at: poses (7,) of all frames of the drawing in the fixed frame.
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
        sources: The sources that have been drawn.
        reaches: For each of them, corners (2, 3) around its first drawing, in the fixed frame, m.

    Args:
        scene: viser's scene.
        node: The parent node of the sources.
        view: The view that a page begins with.
        names: Names of frames, which labels must not overlap.
    """

    def __init__(self, scene: Any, node: str, view: View, names: NameOverlays) -> None:
        self._scene, self._node = scene, node
        self.arrange(view, names)
        self.sources: dict[str, DrawnSource] = {}
        self._frames: FrameTable | None = None
        self._radius, self._robot = 1.0, math.inf
        self._numbers: dict[str, int] = {}
        self._hidden: frozenset[str] = frozenset()
        # Frames whose shapes are hidden, and frames whose shapes count as walls.
        self._unseen: frozenset[str] = frozenset()
        self._standing: frozenset[str] = frozenset()
        self._floors: Sequence[float] | None = None
        self._pick: Callable[[DrawnShape], None] | None = None
        self._labels: dict[int, Any] = {}
        # The anchor of each label, and whether it is shown on exported pages, where labels are not rearranged.
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
        """Set the frames and the available sources. Unchanged sources are not sent again.

        Args:
            frames: The frames.
            radius: Radius of the scene, m.
            robot: Radius of the robot that the page begins with, m.
            names: Names of the sources.
            standing: The frames whose shapes count as walls.
        """
        self._frames, self._radius, self._robot, names = frames, radius, robot, tuple(names)
        self._standing = frozenset((*standing, FIXED))
        for name in set(self.sources) - set(names):
            self.sources.pop(name).remove()
            self.reaches.pop(name, None)
        for name in names:
            self._numbers.setdefault(name, len(self._numbers))

    def arrange(self, view: View, names: NameOverlays) -> None:
        """Keep labels clear of each other, and of the names of frames, in another view."""
        self._view, self._names = view, names
        # The texts and edges that the anchors were chosen for. Anchors are kept while sources move.
        self._arranged: tuple[list[str], list[Edges]] | None = None

    def has(self, name: str) -> bool:
        """Return whether a source is shown. Topics that only drive ghosts of a run are not."""
        return name in self._numbers

    def show(self, name: str, located: Located) -> None:
        """Show the drawing of a source."""
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
        """Move the parts that follow frames, given poses (N, 7) in the fixed frame."""
        if self._frames is not None:
            for source in self.sources.values():
                source.carry(self._frames, in_root)

    def carriers(self) -> frozenset[str]:
        """Return the frames that carry shapes of sources."""
        return frozenset(name for source in self.sources.values() for name in source.carriers)

    def walls(self) -> list[Wall]:
        """Return the walls among the visible shapes of sources."""
        return [wall for source in self.sources.values() if source.visible for wall in source.walls]

    def hide(self, frames: frozenset[str]) -> None:
        """Hide shapes on some frames, present and future ones, and show the others."""
        self._unseen = frames
        for source in self.sources.values():
            source.hide(frames)

    def paint_floors(self, colour: Sequence[float] | None) -> None:
        """Set the colour of floors in sRGB, 0 to 1, present and future ones; None restores their own."""
        self._floors = colour
        for source in self.sources.values():
            source.paint_floors(colour)

    def around(self, frames: Collection[str]) -> FloatArray:
        """Return points (P, 3) around the shapes of sources on some frames, in the fixed frame, m."""
        found = [source.around(frames) for source in self.sources.values() if source.visible]
        return np.concatenate([np.zeros((0, 3)), *found])

    def on_pick(self, pick: Callable[[DrawnShape], None]) -> None:
        """Set the callback for clicks on shapes, which also gets the row of the shape's frame."""
        self._pick = pick

    def _picked(self, frame: str, shape: DrawnShape) -> None:
        if self._pick is not None and self._frames is not None:
            at = frame or self._frames.names[0]
            if at in self._frames.names:
                self._pick(replace(shape, row=self._frames.index(at)))

    def choose(self, hidden: Iterable[str], *, labelled: bool) -> None:
        """Hide sources, present and future ones, and all labels unless `labelled`."""
        self._hidden, self._labelled = frozenset(hidden), labelled
        for name, source in self.sources.items():
            source.set_visible(name not in self._hidden)
        self.label()

    def placed(self) -> list[PlacedLabel]:
        """Return the labels of sources and then their texts. Names of moving frames rank between them."""
        labels = [PlacedLabel(label, np.asarray(label.position)) for label in self._labels.values()]
        return [*labels, *(text for _, source in sorted(self.sources.items()) for text in source.placed())]

    def label(self) -> None:
        """Label the sources, drawn on top of the scene. Sources at the same place share a label.

        Labels that would overlap others in the initial view are hidden until a page has room for them. Texts and
        visibility do not depend on the order of messages.
        """
        texts: list[tuple[FloatArray, str]] = []
        for _, source in sorted(self.sources.items()) if self._labelled else ():
            if source.place is None or not source.visible:
                continue
            # The origin is left out, because it makes labels wider than a phone's screen. The sources tab shows it.
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
