"""Ghosts: where other sources have the bodies of a page, drawn translucent beside them."""

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

# What the colours of a ghost are mixed with, how opaque it is, and how much larger than its body, which it may cover.
_TINT, _OPACITY, _LARGER = np.array([0.25, 0.5, 1.0]), 0.45, 1.015


class GhostScene(NamedTuple):
    """The frames of a ghost by their own names, their first poses (N, 7) in their parents, m, and its shapes.

    Of what does not move, nothing is drawn. Shapes: None for those that the page has on frames of the same names, and
    on what is below these on the page and not among them, which moves as on the page.
    """

    frames: FrameTable
    poses: FloatArray
    shapes: Sequence[DrawnShape] | None


class Ghost(Protocol):
    """A source of a ghost."""

    @property
    def lives(self) -> bool:
        """Whether it moves on while the page stands."""

    @property
    def stale(self) -> bool:
        """Whether it has other frames by now than `scene` returned."""

    def scene(self, frames: FrameTable, poses: FloatArray) -> GhostScene:
        """Return what is drawn, given the frames of the page and their poses (N, 7) in their parents, m."""

    def poses(self, instant: Instant, since_ns: int) -> FloatArray:
        """Return the poses (N, 7) of its frames in their parents at an instant of the page, m.

        since_ns: where the time of the page begins.
        """

    def close(self) -> None:
        """Close its files."""


class TopicGhost:
    """A body of the page at the poses of a topic's messages, such as what an autopilot estimates; at first, as it is.

    Args:
        topic: The topic, whose messages are drawn as axes.
        frame: The frame of the body; empty for the first `base_link` in the namespace of the topic, else on the page.
        report: Called once if the page does not have that frame; None where frames come later, as `stray` says.
    """

    lives = stale = False

    def __init__(self, topic: str, frame: str, report: Callable[[str], object] | None = None) -> None:
        self.topic, self._frame, self._report = topic, frame, report
        self._pose: FloatArray | None = None
        # Where frames of estimates are that nothing else has, such as `odom` of dead reckoning.
        self._origins: dict[str, FloatArray] = {}
        self.frame = ""

    def scene(self, frames: FrameTable, poses: FloatArray) -> GhostScene:
        """Return the body alone: what is below it on the page comes with it."""
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
        """What is said of a frame that was asked for and that the page does not have; empty if there is none."""
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
        """Return the poses (2, 7) of the root and the body, given those (N, 7) of the page; (1, 7) without a body."""
        if not self.frame:
            return poses[:1]
        body = self._frames.in_root(poses)[self._frames.index(self.frame)] if self._pose is None else self._pose
        return np.stack([poses[0], body])

    def close(self) -> None:
        """Do nothing."""

    def _origin(self, axes: Poses, then: FloatArray) -> FloatArray:
        """Return the pose (7,) of the frame of an estimate: one that nothing else has begins where it fits the body."""
        in_root = self._frames.in_root(then)
        frame = axes.frame or self._frames.names[0]
        if frame in self._frames.names:
            return np.asarray(in_root[self._frames.index(frame)])
        if frame not in self._origins:
            body = in_root[self._frames.index(self.frame)] if self.frame else in_root[0]
            self._origins[frame] = pose_math.compose(body, pose_math.invert(axes.poses[-1]))
        return self._origins[frame]

    def _body(self, frames: FrameTable) -> int:
        """Return the row of the body, 0 for none."""
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
        tops: Which of them are on what stands.
        mounts: The poses (T, 7) of that, m.
        below: The frames of the page that are below its own, and move as on the page.
    """

    source: Ghost
    rows: IntArray
    tops: IntArray
    mounts: FloatArray
    below: list[int]

    def placed(self, poses: FloatArray, of_page: FloatArray) -> FloatArray:
        """Return the poses of its frames in their parents on the page, given its own and those of the page."""
        found = np.array(poses[self.rows])
        found[self.tops] = pose_math.compose(self.mounts, found[self.tops])
        return np.concatenate([found, of_page[self.below]])


class Ghosts:
    """The ghosts of a page. Their frames are after those of the page; the first one's names begin with `ghost/`."""

    def __init__(self) -> None:
        self.sources: list[Ghost] = []
        self._joined: list[_Joined] = []
        # The frames of ghosts by name, with those of the page that they are the ghosts of.
        self.of: dict[str, str] = {}

    def join(
        self, frames: FrameTable, poses: FloatArray, shapes: Sequence[DrawnShape]
    ) -> tuple[FrameTable, FloatArray, Sequence[DrawnShape]]:
        """Return the frames, their poses (N, 7) in their parents, and the shapes of the page with its ghosts."""
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
        """The topics that they follow."""
        return [each.topic for each in self.sources if isinstance(each, TopicGhost)]

    @property
    def strays(self) -> list[str]:
        """What is said of frames that were asked for and that the page does not have."""
        return [text for each in self.sources if isinstance(each, TopicGhost) and (text := each.stray)]

    @property
    def live(self) -> bool:
        """Whether one of them moves on while the page stands."""
        return any(each.lives for each in self.sources)

    @property
    def stale(self) -> bool:
        """Whether one of them has other frames than were joined last."""
        return any(each.stale for each in self.sources)

    def close(self) -> None:
        """Close the sources."""
        for each in self.sources:
            each.close()

    def extended(self, instant: Instant, since_ns: int) -> Instant:
        """Return an instant of the page with the poses of its ghosts."""
        if not self._joined:
            return instant
        theirs = self._poses(instant, since_ns)
        measured: Latest = {
            name: (values, np.concatenate([then, theirs])) for name, (values, then) in instant.measurements.items()
        }
        return instant._replace(poses=np.concatenate([instant.poses, theirs]), measurements=measured)

    def passed(self, instants: Sequence[Instant], since_ns: int) -> list[FloatArray]:
        """Return the poses (N, 7) of the page and its ghosts at each of the instants before one that was sought."""
        if not self._joined or not instants:
            return [each.poses for each in instants]
        # A ghost that was elsewhere begins where it is first stated to be.
        first = {name: each for instant in reversed(instants) for name, each in instant.measurements.items()}
        self._poses(instants[0]._replace(measurements=first), since_ns)
        return [np.concatenate([each.poses, self._poses(each, since_ns)]) for each in instants]

    def _poses(self, instant: Instant, since_ns: int) -> FloatArray:
        return np.concatenate(
            [each.placed(each.source.poses(instant, since_ns), instant.poses) for each in self._joined]
        )


def ghostly(shape: DrawnShape) -> DrawnShape:
    """Return the shape of a ghost."""
    mesh, colour = shape.mesh, np.array(shape.colour[:3])
    if shape.kind == "glb" and shape.file is not None:  # drawn in its own colours, which nothing can be seen through
        parts = list(parts_of(shape.file))
        starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
        faces = [part.faces + start for part, start in zip(parts, starts, strict=False)]
        vertices = np.concatenate([part.vertices for part in parts])
        mesh = TriangleMesh(vertices.astype(np.float32), np.concatenate(faces).astype(np.uint32))
        shape = replace(shape, kind="mesh", mesh=mesh)
    mixed = tuple((0.45 * colour + 0.55 * _TINT).tolist())
    return replace(shape, colour=(*mixed, _OPACITY), finish=None, scale=shape.scale * _LARGER)
