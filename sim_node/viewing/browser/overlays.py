"""Overlays of the scene: axes, names and trails of frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import BoolArray, FloatArray, IntArray
from sim_node.viewing.browser.batches import MAX_NODES, WXYZ, place
from sim_node.viewing.meshes import DrawnShape, linear
from sim_node.viewing.messages.drawing import FIXED, Drawing, Lines, in_one_colour, strip
from sim_node.viewing.view import View
from sim_node.world import FrameTable

# Axis lengths, as fractions of the scene's radius and of a frame's distance from its parent, if that is shorter.
_OF_RADIUS, _OF_DISTANCE = 0.06, 0.5
_THICKNESS = 0.03
# Lines between frames that are otherwise invisible: maximum number, colour, and width, pixels.
MAX_LINKS, _LINK, _LINK_WIDTH = 200, (118, 132, 155), 3.0


class AxesOverlay:
    """Red, green and blue arrows at no frames, at frames that are otherwise invisible, or at all frames.

    A line connects each otherwise invisible frame to its parent, if that moves, too.

    Args:
        scene: viser's scene.
        node: The node of the axes.
        frames: The frames.
        lengths: Lengths (N,), m.
        bare: Mask (N,) of the frames that are otherwise invisible.
        in_root: Initial poses (N, 7) in the fixed frame, m.
    """

    def __init__(
        self, scene: Any, node: str, frames: FrameTable, lengths: FloatArray, bare: BoolArray, in_root: FloatArray
    ) -> None:
        self._lengths, self._bare, self._mode = lengths, bare, "main"
        self._factor, self._hidden = 1.0, np.zeros(len(frames), dtype=bool)
        self._sets: list[tuple[Any, BoolArray]] = []
        self._moving = ~frames.still
        # As separate nodes, they stay aligned with labels; see Batches.
        moving = np.flatnonzero(self._moving).tolist()
        self._alone = moving if len(moving) <= MAX_NODES else []
        sets = [("still", frames.still), *([] if self._alone else [("moving", self._moving)])]
        for row in self._alone:
            alone = np.zeros(len(frames), dtype=bool)
            alone[row] = True
            handle = scene.add_batched_axes(
                f"{node}/{row}",
                np.array([[1.0, 0.0, 0.0, 0.0]]),
                np.zeros((1, 3)),
                self._lengths[alone],
                axes_length=1.0,
                axes_radius=_THICKNESS,
                position=in_root[row, :3],
                wxyz=in_root[row, WXYZ],
            )
            self._sets.append((handle, alone))
        self._shown = np.array(in_root)
        parents = frames.parents
        self._joined = np.flatnonzero(bare & bare[parents] & self._moving[parents])[:MAX_LINKS]
        self._parents = parents[self._joined]
        self._links: Any = None
        if len(self._joined):
            ends = self._ends()
            colours = linear(np.full(ends.shape, _LINK) / 255.0)
            self._links = scene.add_line_segments(
                f"{node}/links", ends, colours, thickness=_LINK_WIDTH, thickness_units="screen"
            )
        for name, rows in sets:
            if rows.any():
                handle = scene.add_batched_axes(
                    f"{node}/{name}",
                    in_root[rows][:, WXYZ],
                    in_root[rows, :3],
                    self._lengths[rows],
                    axes_length=1.0,
                    axes_radius=_THICKNESS,
                )
                self._sets.append((handle, rows))

    def show(self, in_root: FloatArray) -> None:
        """Send the poses of moving frames."""
        for (handle, _), row in zip(self._sets, self._alone, strict=False):
            if not np.array_equal(in_root[row], self._shown[row]):
                place(handle, in_root[row])
        self._shown = np.array(in_root)
        if self._moving.any() and not self._alone:
            placed = in_root[self._moving].astype(np.float32)
            handle, _ = self._sets[-1]
            handle.batched_positions = placed[:, :3]
            handle.batched_wxyzs = placed[:, WXYZ]
        if self._links is not None and not np.array_equal(ends := self._ends(), self._links.points):
            self._links.points = ends

    def _ends(self) -> npt.NDArray[np.float32]:
        """Return the lines (K, 2, 3) between frames and their parents. Lines of hidden frames have zero length."""
        ends = self._shown[np.stack([self._parents, self._joined], axis=1), :3]
        ends[self._hidden[self._joined], 0] = ends[self._hidden[self._joined], 1]
        return ends.astype(np.float32)

    def choose(self, mode: str) -> None:
        """Select one of MODES."""
        self._mode = mode
        if self._links is not None:
            self._links.visible = mode != "none"
        self.resize(self._factor)

    def resize(self, factor: float) -> None:
        """Scale all axes."""
        self._factor = factor
        hidden = self._hidden | (~self._bare & (self._mode == "main"))
        lengths = np.where(hidden, 1e-6, factor) * self._lengths
        for handle, rows in self._sets:
            handle.batched_scales = lengths[rows].astype(np.float32)
            # Shapes too small to be seen take as long to draw as others.
            handle.visible = self._mode != "none" and not hidden[rows].all()

    def hide(self, hidden: BoolArray) -> None:
        """Hide the axes of some frames, given a mask (N,), and show the others."""
        self._hidden = hidden
        self.resize(self._factor)
        if self._links is not None:
            self._links.points = self._ends()

    def remove(self) -> None:
        """Remove the axes from the page."""
        if self._links is not None:
            self._links.remove()
        for handle, _ in self._sets:
            handle.remove()


def bare_rows(frames: FrameTable, shapes: Sequence[DrawnShape]) -> BoolArray:
    """Return a mask (N,) of the frames without visible shapes: neither their own nor an ancestor's."""
    shown = np.zeros(len(frames), dtype=bool)
    shown[[shape.row for shape in shapes if shape.row and not shape.is_ground]] = True
    for row, parent in enumerate(frames.parents.tolist()):
        shown[row] |= parent > 0 and shown[parent]
    return ~shown


def lengths(frames: FrameTable, in_root: FloatArray, shapes: Sequence[DrawnShape], radius: float) -> FloatArray:
    """Return axis lengths (N,), m, from the frames' shapes and the distances to their parents."""
    largest = _OF_RADIUS * radius
    sizes = np.zeros(len(frames))
    for shape in shapes:
        if shape.kind in ("box", "sphere", "cylinder"):
            sizes[shape.row] = max(sizes[shape.row], float(shape.scale.max()))
    length = np.where(sizes > 0.0, np.clip(0.9 * sizes, 0.2 * largest, largest), largest)
    for row, parent in enumerate(frames.parents.tolist()):
        if parent > 0:
            away = float(np.linalg.norm(in_root[row, :3] - in_root[parent, :3]))
            length[row] = min(length[parent], max(_OF_DISTANCE * away, 0.4 * length[parent]))
    return length


MODES = ("none", "main", "all")
# Each name is a separate element of the page. More would be neither legible nor fast.
MAX_NAMES = 100
# Maximum length of a label.
MAX_LENGTH = 40
# Maximum number of labels that do not obscure the scene.
FEW = 30
# Size of a letter with its share of the label's edge, pixels, of the largest font of labels; the part of it that names
# have; distance of a label from its shape, in distances of the view.
_LETTER, _HEIGHT, SCALE = 7.5, 20.0, 0.8
_GAP = 0.005
_ANCHOR = "bottom-center"


# Where a label is from its place: its left and right edges in widths, its upper and lower ones in heights.
_ACROSS = {"left": (0.0, 1.0), "center": (-0.5, 0.5), "right": (-1.0, 0.0)}
_UPRIGHT = {"top": (0.0, 1.0), "center": (-0.5, 0.5), "bottom": (-1.0, 0.0)}
# The left, right, upper and lower edges of a label, pixels.
Edges = tuple[float, float, float, float]


def shortened(text: str, length: int) -> str:
    """Return the text of a label, truncated with an ellipsis if it is longer than a number of letters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def edges_at(pixel: FloatArray, text: str, anchor: str, scale: float = SCALE) -> Edges:
    """Return the edges of a label whose place is at a pixel (2,), with a part of the largest font."""
    upright, _, across = anchor.partition("-")
    (left, right), (upper, lower) = _ACROSS[across], _UPRIGHT[upright]
    lines, (x, y) = text.split("\n"), pixel.tolist()
    width, height = scale * _LETTER * (max(map(len, lines)) + 1), scale * _HEIGHT * len(lines)
    return x + left * width, x + right * width, y + upper * height, y + lower * height


def inwards(pixel: FloatArray, text: str, anchor: str, size: tuple[int, int], scale: float = SCALE) -> str | None:
    """Return the anchor with which a label is not cut by the edges of a page of a size, pixels; None if there is none.

    It is the given one, or turned away from these edges.
    """
    width, height = size
    left, right, upper, lower = edges_at(pixel, text, anchor, scale)
    if right <= 0.0 or left >= width or lower <= 0.0 or upper >= height:
        return anchor
    upright, _, across = anchor.partition("-")
    across = "left" if left < 0.0 else "right" if right > width else across
    upright = "top" if upper < 0.0 else "bottom" if lower > height else upright
    turned = f"{upright}-{across}"
    left, right, upper, lower = edges_at(pixel, text, turned, scale)
    return turned if left >= 0.0 and right <= width and upper >= 0.0 and lower <= height else None


def is_free(edges: Edges, taken: Iterable[Edges]) -> bool:
    """Return whether a label lies on none of the others."""
    return all(
        edges[1] <= other[0] or other[1] <= edges[0] or edges[3] <= other[2] or other[3] <= edges[2] for other in taken
    )


def apart_in(
    view: View, texts: Sequence[str], places: FloatArray, anchors: Sequence[str], taken: Iterable[Edges] = ()
) -> dict[int, tuple[str, Edges]]:
    """Return the labels, at positions (P, 3), that overlap neither each other nor taken areas in a view, by index.

    Nearer labels take precedence. Each label uses the first of its anchors that is free; its edges are also returned.
    """
    pixels, depths = view.project(places)
    others, found = list(taken), {}
    for number in np.argsort(depths, kind="stable").tolist():
        for anchor in anchors:
            edges = edges_at(pixels[number], texts[number], anchor)
            if is_free(edges, others):
                found[number] = anchor, edges
                others.append(edges)
                break
    return found


class PlacedLabel(NamedTuple):
    """viser's handle of a label, its position (3,) in the fixed frame, m, and its rank (lower ones go first)."""

    handle: Any
    place: FloatArray
    rank: int = 2


class NameOverlays:
    """Names of no frames, of the main ones, or of all. Static frames at the same place share a label.

    Labels are created on demand up to a limit, moving frames first, above the shapes of their frames. Labels of robots
    and moving frames are drawn on top of all shapes; others may be hidden by shapes.

    Attributes:
        edges: Edges of the main labels in the initial view, which further labels avoid.

    Args:
        scene: viser's scene.
        node: The node of the names.
        frames: The frames.
        main: Rows of the most important frames.
        boxes: Corners (N, 8, 3) of boxes around the frames' shapes, in the frames' axes, m; NaN for none.
        axes: Lengths (N,) of the axes of frames without shapes, m.
        in_front: Mask (N,) of the frames whose names are drawn on top of all shapes.
        view: The initial view.
        own: Number of frames that do not belong to ghosts.
    """

    def __init__(
        self,
        scene: Any,
        node: str,
        frames: FrameTable,
        main: list[int],
        boxes: FloatArray,
        axes: FloatArray,
        in_front: BoolArray,
        view: View,
        own: int,
    ) -> None:
        self._scene, self._node, self._frames, self._view, self._own = scene, node, frames, view, own
        self._in_front = in_front
        self._boxes, self._solid = np.nan_to_num(boxes), np.isfinite(boxes[:, 0, 0])
        self._above = np.where(self._solid, _GAP * view.distance, 1.1 * axes)
        self._rows = {"none": [], "main": main, "all": list(range(len(frames)))}
        self._labels: list[tuple[int, Any]] = []
        self.edges: list[Edges] = []
        self._mode, self._hidden = "none", np.zeros(len(frames), dtype=bool)
        # Initial mode
        self.first = "main" if len(main) <= FEW else "none"

    def choose(self, mode: str, in_root: FloatArray) -> None:
        """Select one of MODES, at poses (N, 7) in the fixed frame."""
        self._mode = mode
        for _, label in self._labels:
            label.remove()
        texts = self._texts([row for row in self._rows[mode] if not self._hidden[row]], in_root)
        places = self._places(in_root)
        chosen = sorted(texts, key=lambda row: bool(self._frames.still[row]))[:MAX_NAMES]
        self.edges = []
        if mode == "main":
            found = apart_in(self._view, [texts[row] for row in chosen], places[chosen], (_ANCHOR,))
            self.edges = [edges for _, edges in found.values()]
        self._labels = [
            (
                row,
                self._scene.add_label(
                    f"{self._node}/{row}",
                    texts[row],
                    position=places[row],
                    font_screen_scale=SCALE,
                    depth_test=not self._in_front[row],
                    anchor=_ANCHOR,
                ),
            )
            for row in chosen
        ]

    def hide(self, hidden: BoolArray, in_root: FloatArray) -> None:
        """Hide the names of some frames, given a mask (N,), and show the others."""
        if not np.array_equal(hidden, self._hidden):
            self._hidden = hidden
            self.choose(self._mode, in_root)

    def show(self, in_root: FloatArray) -> None:
        """Send the positions of moving frames."""
        moving = [(row, label) for row, label in self._labels if not self._frames.still[row]]
        if moving:
            rows = np.array([row for row, _ in moving])
            for (_, label), place in zip(moving, self._places(in_root[rows], rows), strict=True):
                label.position = place

    def placed(self) -> list[PlacedLabel]:
        """Return the labels. Those of moving frames rank first, with those of ghosts last among them."""
        ranks = np.where(self._frames.still, 2, np.arange(len(self._frames)) >= self._own).tolist()
        return [PlacedLabel(label, np.asarray(label.position), ranks[row]) for row, label in self._labels]

    def _places(self, in_root: FloatArray, rows: IntArray | slice = slice(None)) -> FloatArray:
        """Return label positions (P, 3) of rows: above the centre of a frame's shapes, or above its axes."""
        corners = poses.apply(in_root[:, None], self._boxes[rows])
        middle = corners.mean(axis=1)
        middle[:, 2] = corners[..., 2].max(axis=1) + self._above[rows]
        return np.asarray(middle)

    def _texts(self, rows: Sequence[int], in_root: FloatArray) -> dict[int, str]:
        """Return the label of each row that has one. Of those at one place, a row with shapes has it, above these."""
        texts: dict[int, str] = {}
        first: dict[tuple[float, ...], int] = {}
        for row in sorted(rows, key=lambda row: not self._solid[row]):
            name = self._frames.names[row]
            if self._frames.still[row]:
                place = tuple(np.round(in_root[row, :3], 3).tolist())
                at = first.setdefault(place, row)
                texts[at] = f"{texts[at]}, {name}" if at in texts else name
            else:
                texts[row] = name
        return {row: shortened(text, MAX_LENGTH) for row, text in texts.items()}


def main_rows(frames: FrameTable) -> list[int]:
    """Return the frames on the fixed frame, and the first moving ones of each branch."""
    parents = frames.parents
    first = ~frames.still & ((parents < 0) | frames.still[parents])
    rows: list[int] = np.flatnonzero(first | (parents == 0)).tolist()
    return rows


# Points per trail, their minimum distance as a fraction of the scene's radius, and the maximum number of trails.
POINTS, APART, MAX_TRAILS = 600, 0.004, 32
COLOURS = ((31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40), (148, 103, 189), (23, 190, 207))


class Trails:
    """One line object for all trails, created again when others are selected, and a node at the end of each trail.

    Each trail is a ring buffer of POINTS positions (3,), initially filled with the first one: its memory never grows.
    Lines are sent less often than poses, and a page draws them one picture later, so its script draws the last segment
    of each trail to the node at its end; see together.js.
    """

    def __init__(self, scene: Any, node: str, radius: float) -> None:
        self._scene, self._node, self._apart = scene, node, APART * radius
        scene.add_frame(node, show_axes=False)
        self._rows = np.zeros(0, dtype=np.intp)
        self._names: list[str] = []
        self._points = np.zeros((0, POINTS, 3), np.float32)
        self._made = 0
        self._handle: Any = None
        self._ends: list[Any] = []
        self._changed = False

    def choose(self, rows: Sequence[int], names: Sequence[str], in_root: FloatArray) -> None:
        """Select the frames that have trails from now on, up to a limit. Existing trails continue.

        rows: rows of the frames. names: names of all frames.
        """
        before = dict(zip(self._names, self._points, strict=True))
        self._rows = np.array(rows[:MAX_TRAILS], dtype=np.intp)
        self._names = [names[row] for row in rows[:MAX_TRAILS]]
        self.clear(in_root)
        for trail, name in enumerate(self._names):
            if name in before:
                self._points[trail] = before[name]
        self.show()

    def clear(self, in_root: FloatArray) -> None:
        """Restart all trails at their frames, as new line objects, so that no segment leads to the old positions."""
        self._points = np.repeat(in_root[self._rows, None, :3], POINTS, axis=1).astype(np.float32)
        self._changed = True
        if self._handle is not None:
            self._handle.remove()
            self._handle, self._ends = None, []

    def restart(self, passed: FloatArray) -> None:
        """Restart all trails with past poses (T, N, 7), at least one, up to now."""
        self.clear(passed[0])
        for in_root in passed[1:]:
            self.follow(in_root)

    def follow(self, in_root: FloatArray) -> None:
        """Add the current positions of frames."""
        if not len(self._rows):
            return
        here = in_root[self._rows, :3].astype(np.float32)
        gone = np.flatnonzero(np.linalg.norm(here - self._points[:, -2], axis=1) > self._apart)
        for end, position in zip(self._ends, here, strict=False):
            end.position = position
        self._points[:, -1] = here
        if len(gone):
            self._points[gone, :-1] = self._points[gone, 1:]
            self._changed = True

    def show(self) -> None:
        """Send the trails if they have grown."""
        if not self._changed or not len(self._rows):
            return
        self._changed = False
        if self._handle is not None:
            self._handle.points = self._segments()
            return
        colours = linear(np.array([COLOURS[k % len(COLOURS)] for k in range(len(self._rows))]) / 255.0)
        self._made += 1
        node = f"{self._node}/{self._made}"
        self._handle = self._scene.add_line_segments(
            node,
            self._segments(),
            np.repeat(colours, 2 * (POINTS - 1), axis=0).reshape(-1, 2, 3),
            thickness=2.0,
            thickness_units="screen",
        )
        self._ends = [
            self._scene.add_frame(f"{node}/{trail}", show_axes=False, position=points[-1])
            for trail, points in enumerate(self._points)
        ]

    def _segments(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return np.stack([self._points[:, :-1], self._points[:, 1:]], axis=2).reshape(-1, 2, 3)


# Colour of plans, visible by day and by night.
_PLAN = (118, 132, 155)


def planned(ways: Sequence[FloatArray]) -> Drawing:
    """Return thin lines along the planned paths of frames, each through points (K, 3) in the fixed frame, m."""
    lines = [strip(way) for way in ways]
    return Drawing(FIXED, tuple(Lines(FIXED, ends, in_one_colour(ends, _PLAN), width=1.0) for ends in lines))
