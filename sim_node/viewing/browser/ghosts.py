"""Ghosts: translucent copies of a page's bodies at the poses that other sources give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import MAX_LINE, did_you_mean, shown, some_of
from sim_node.viewing.browser.start import BASES
from sim_node.viewing.browser.stream import Instant, Latest
from sim_node.viewing.meshes import DrawnShape, TriangleMesh, parts_of
from sim_node.viewing.messages.drawing import Drawing, Poses
from sim_node.world import FrameTable

# The tint mixed into a ghost's colours, its opacity, and its scale relative to its body, which it may have to cover.
_TINT, _OPACITY, _LARGER = np.array([0.25, 0.5, 1.0]), 0.45, 1.015


class GhostScene(NamedTuple):
    """The frames of a ghost by their own names, their initial poses (N, 7) in their parents, m, and its shapes.

    Static shapes are not drawn. If shapes is None, those of the page's frames with the same names are used, including
    descendants on the page that the ghost lacks; these move as on the page.
    """

    frames: FrameTable
    poses: FloatArray
    shapes: Sequence[DrawnShape] | None


class Ghost(Protocol):
    """A source of a ghost."""

    @property
    def lives(self) -> bool:
        """Whether it keeps moving while the page's time stands still."""

    @property
    def stale(self) -> bool:
        """Whether its frames differ by now from those that `scene` returned."""

    def scene(self, frames: FrameTable, poses: FloatArray) -> GhostScene:
        """Return the scene to draw, given the frames of the page and their poses (N, 7) in their parents, m."""

    def poses(self, instant: Instant, since_ns: int) -> FloatArray:
        """Return the poses (N, 7) of its frames in their parents at an instant of the page, m.

        since_ns: start of the page's time.
        """

    def close(self) -> None:
        """Close its files."""


class TopicGhost:
    """A body of the page at the poses in a topic's messages, such as an estimate; initially at its own pose.

    Args:
        topic: The topic. Its messages must be drawn as axes.
        frame: The frame of the body; empty for the first `base_link` in the topic's namespace, or else on the page.
        report: Called once if the page lacks the frame; None if frames may appear later, as reported by `stray`.
    """

    lives = stale = False

    def __init__(self, topic: str, frame: str, report: Callable[[str], object] | None = None) -> None:
        self.topic, self._frame, self._report = topic, frame, report
        self._pose: FloatArray | None = None
        # Poses of frames that only the estimate uses, such as `odom` of dead reckoning.
        self._origins: dict[str, FloatArray] = {}
        self.frame = ""

    def scene(self, frames: FrameTable, poses: FloatArray) -> GhostScene:
        """Return the body alone. Its descendants on the page are added automatically."""
        self._frames, body = frames, self._body(frames)
        self.frame = frames.names[body] if body else ""
        if self._report is not None and self.stray:
            self._report(self.stray)
            self._report = None
        rows = [0, body] if body else [0]
        parents, static = np.arange(-1, len(rows) - 1, dtype=np.int32), np.arange(len(rows)) == 0
        table = FrameTable(tuple(frames.names[row] for row in rows), parents, static, frames.scales[rows])
        return GhostScene(table, self._placed(poses), None)

    @property
    def stray(self) -> str:
        """The message about a requested frame that the page lacks; empty if there is none."""
        if not self._frame or self.frame:
            return ""
        names = self._frames.names[1:]
        hint = did_you_mean(self._frame, names) or (f"; there are {some_of(names)}" if names else "")
        return shown(f"--ghost {self.topic}={self._frame}: there is no frame {self._frame!r}{hint}", MAX_LINE)

    def poses(self, instant: Instant, since_ns: int) -> FloatArray:
        """Return the poses at an instant of the page."""
        drawing, then = instant.measurements.get(self.topic, (None, instant.poses))
        axes = [each for each in drawing.items if isinstance(each, Poses)] if isinstance(drawing, Drawing) else []
        if axes:
            self._pose = pose_math.compose(self._origin(axes[0], then), axes[0].poses[-1])
        return self._placed(instant.poses)

    def _placed(self, poses: FloatArray) -> FloatArray:
        """Return the poses (2, 7) of root and body, or (1, 7) without a body, given those (N, 7) of the page."""
        if not self.frame:
            return poses[:1]
        body = self._frames.in_root(poses)[self._frames.index(self.frame)] if self._pose is None else self._pose
        return np.stack([poses[0], body])

    def close(self) -> None:
        """Do nothing."""

    def _origin(self, axes: Poses, then: FloatArray) -> FloatArray:
        """Return the pose (7,) of an estimate's frame. An unknown frame is placed such that the body fits initially."""
        in_root = self._frames.in_root(then)
        frame = axes.frame or self._frames.names[0]
        if frame in self._frames.names:
            return np.asarray(in_root[self._frames.index(frame)])
        if frame not in self._origins:
            body = in_root[self._frames.index(self.frame)] if self.frame else in_root[0]
            self._origins[frame] = pose_math.compose(body, pose_math.invert(axes.poses[-1]))
        return self._origins[frame]

    def _body(self, frames: FrameTable) -> int:
        """Return the row of the body, or 0."""
        moving = np.flatnonzero(~frames.still).tolist()
        if self._frame in frames.names:
            return frames.index(self._frame)
        bases = [row for row in moving if frames.names[row].rpartition("/")[2] in BASES]
        near = [row for row in bases if self.topic.startswith(f"/{frames.names[row].rpartition('/')[0]}/")]
        return next(iter((near or bases or moving) if not self._frame else ()), 0)


class _Joined(NamedTuple):
    """A ghost on the page.

    Attributes:
        source: The ghost.
        rows: Its moving frames.
        tops: Those of them whose parent is static.
        mounts: Poses (T, 7) of these parents, m.
        below: Frames of the page that are descendants of its own and move as on the page.
    """

    source: Ghost
    rows: IntArray
    tops: IntArray
    mounts: FloatArray
    below: list[int]

    def placed(self, poses: FloatArray, of_page: FloatArray) -> FloatArray:
        """Return the poses of its frames in their parents on the page, given its own poses and those of the page."""
        found = np.array(poses[self.rows])
        found[self.tops] = pose_math.compose(self.mounts, found[self.tops])
        return np.concatenate([found, of_page[self.below]])


class Ghosts:
    """The ghosts of a page. Their frames come after those of the page; the first ghost's names begin with `ghost/`."""

    def __init__(self) -> None:
        self.sources: list[Ghost] = []
        self._joined: list[_Joined] = []
        # The page's frame for each ghost frame, by name.
        self.of: dict[str, str] = {}

    def join(
        self, frames: FrameTable, poses: FloatArray, shapes: Sequence[DrawnShape]
    ) -> tuple[FrameTable, FloatArray, Sequence[DrawnShape]]:
        """Append the ghosts to the frames, their poses (N, 7) in their parents, and the shapes of the page."""
        self._joined, self.of = [], {}
        all_shapes, own = list(shapes), frames
        for number, source in enumerate(self.sources, 1):
            theirs, first, drawn = source.scene(own, poses[: len(own)])
            prefix = f"ghost{number if number > 1 else ''}/"
            rows = np.flatnonzero(~theirs.still)
            places = {row: len(frames) + place for place, row in enumerate(rows.tolist())}
            above = [int(theirs.parents[row]) for row in rows]
            tops = np.array([place for place, parent in enumerate(above) if parent not in places], dtype=np.intp)
            root = theirs.names[0] if theirs.names[0] in own.names else own.names[0]
            mounts = theirs.in_root(first)[[above[place] for place in tops]]
            at = {theirs.names[row]: place for row, place in places.items()}
            below: list[int] = []
            for row in range(1, len(own)) if drawn is None else ():
                name = own.names[row]
                if name not in theirs.names and own.parents[row] >= 0 and own.names[own.parents[row]] in at:
                    at[name] = len(frames) + len(rows) + len(below)
                    below.append(row)
            joined = _Joined(source, rows, tops, mounts, below)
            parents = [places.get(row, own.index(root)) for row in above]
            parents += [at[own.names[own.parents[row]]] for row in below]
            frames = FrameTable(
                (*frames.names, *(prefix + name for name in at)),
                np.array([*frames.parents, *parents], dtype=np.int32),
                np.array([*frames.static, *([False] * len(at))]),
                np.concatenate([frames.scales, theirs.scales[rows], own.scales[below]]),
            )
            poses = np.concatenate([poses, joined.placed(first, poses)])
            seen, names = (shapes, own.names) if drawn is None else (drawn, theirs.names)
            all_shapes += [
                ghostly(replace(shape, row=at[names[shape.row]]))
                for shape in seen
                if names[shape.row] in at and not shape.is_ground
            ]
            self._joined.append(joined)
            self.of |= {prefix + name: name for name in at if name in own.names}
        return frames, poses, all_shapes

    @property
    def topics(self) -> list[str]:
        """The topics that ghosts follow."""
        return [each.topic for each in self.sources if isinstance(each, TopicGhost)]

    @property
    def strays(self) -> list[str]:
        """Messages about requested frames that the page lacks."""
        return [text for each in self.sources if isinstance(each, TopicGhost) and (text := each.stray)]

    @property
    def live(self) -> bool:
        """Whether any ghost keeps moving while the page's time stands still."""
        return any(each.lives for each in self.sources)

    @property
    def stale(self) -> bool:
        """Whether the frames of any ghost have changed since the last `join`."""
        return any(each.stale for each in self.sources)

    def close(self) -> None:
        """Close the sources."""
        for each in self.sources:
            each.close()

    def extended(self, instant: Instant, since_ns: int) -> Instant:
        """Append the poses of the ghosts to an instant of the page."""
        if not self._joined:
            return instant
        theirs = self._poses(instant, since_ns)
        measured: Latest = {
            name: (values, np.concatenate([then, theirs])) for name, (values, then) in instant.measurements.items()
        }
        return instant._replace(poses=np.concatenate([instant.poses, theirs]), measurements=measured)

    def passed(self, instants: Sequence[Instant], since_ns: int) -> list[FloatArray]:
        """Return the poses (N, 7) of the page and its ghosts at each of the instants that lead to a seek time."""
        if not self._joined or not instants:
            return [each.poses for each in instants]
        # Start each ghost at its first known pose, not at the pose before the seek.
        first = {name: each for instant in reversed(instants) for name, each in instant.measurements.items()}
        self._poses(instants[0]._replace(measurements=first), since_ns)
        return [np.concatenate([each.poses, self._poses(each, since_ns)]) for each in instants]

    def _poses(self, instant: Instant, since_ns: int) -> FloatArray:
        return np.concatenate(
            [each.placed(each.source.poses(instant, since_ns), instant.poses) for each in self._joined]
        )


def ghostly(shape: DrawnShape) -> DrawnShape:
    """Return the ghost of a shape."""
    mesh, colour = shape.mesh, np.array(shape.colour[:3])
    if shape.kind == "glb" and shape.file is not None:  # would be drawn in its own opaque colours
        parts = list(parts_of(shape.file))
        starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
        faces = [part.faces + start for part, start in zip(parts, starts, strict=False)]
        vertices = np.concatenate([part.vertices for part in parts])
        mesh = TriangleMesh(vertices.astype(np.float32), np.concatenate(faces).astype(np.uint32))
        shape = replace(shape, kind="mesh", mesh=mesh)
    mixed = tuple((0.45 * colour + 0.55 * _TINT).tolist())
    return replace(shape, colour=(*mixed, _OPACITY), finish=None, scale=shape.scale * _LARGER)
