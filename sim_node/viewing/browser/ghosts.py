"""Ghosts: where other sources have the bodies of a page, drawn translucent beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.viewing.browser.start import BASES
from sim_node.viewing.browser.stream import Instant, Latest
from sim_node.viewing.meshes import FLAT, DrawnShape, TriangleMesh, parts_of
from sim_node.viewing.messages.drawing import Drawing, Poses
from sim_node.world import FrameTable

# What the colours of a ghost are mixed with, how opaque it is, and how much larger than its body, which it may cover.
_TINT, _OPACITY, _LARGER = np.array([0.25, 0.5, 1.0]), 0.45, 1.015


class GhostScene(NamedTuple):
    """The frames of a ghost by their own names, their first poses (N, 7) in their parents, m, and its shapes.

    Of what does not move, nothing is drawn. Shapes: None for those that the page has on frames of the same names.
    """

    frames: FrameTable
    poses: FloatArray
    shapes: Sequence[DrawnShape] | None


class Ghost(Protocol):
    """A source of a ghost."""

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
    """

    def __init__(self, topic: str, frame: str) -> None:
        self.topic, self._frame = topic, frame
        self._rows: list[int] = []
        self._pose: FloatArray | None = None
        # Where frames of estimates are that nothing else has, such as `odom` of dead reckoning.
        self._origins: dict[str, FloatArray] = {}
        self.frame = ""

    def scene(self, frames: FrameTable, poses: FloatArray) -> GhostScene:
        """Return the body and what is below it, with its shapes."""
        self._frames, body = frames, self._body(frames)
        self.frame = frames.names[body] if body else ""
        self._rows = [0, *(row for row in range(len(frames)) if body and body in frames.chain(row))]
        names = tuple(frames.names[row] for row in self._rows)
        parents = [max(frames.parents[row], 0) for row in self._rows[1:]]
        above = [-1, *(self._rows.index(parent) if parent in self._rows else 0 for parent in parents)]
        static = np.array([row != body and bool(frames.static[row]) for row in self._rows])
        own = poses[self._rows]
        if body:
            own[1] = frames.in_root(poses)[body] if self._pose is None else self._pose
        scales = frames.scales[self._rows]
        return GhostScene(FrameTable(names, np.array(above, dtype=np.int32), static, scales), own, None)

    def poses(self, instant: Instant, since_ns: int) -> FloatArray:
        """Return the poses at an instant of the page: what is below the body moves as on the page."""
        own = instant.poses[self._rows]
        drawing, then = instant.measurements.get(self.topic, (None, instant.poses))
        axes = [each for each in drawing.items if isinstance(each, Poses)] if isinstance(drawing, Drawing) else []
        if axes:
            self._pose = pose_math.compose(self._origin(axes[0], then), axes[0].poses[-1])
        if len(own) > 1:
            body = self._frames.in_root(instant.poses)[self._rows[1]] if self._pose is None else self._pose
            own[1] = body
        return own

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
    """A ghost on the page: its moving rows, and which of them are on what stands, with the poses (T, 7) of that, m."""

    source: Ghost
    rows: IntArray
    tops: IntArray
    mounts: FloatArray

    def placed(self, poses: FloatArray) -> FloatArray:
        """Return the poses of its moving frames in their parents on the page."""
        found = np.array(poses[self.rows])
        found[self.tops] = pose_math.compose(self.mounts, found[self.tops])
        return found


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
            joined = _Joined(source, rows, tops, mounts)
            frames = FrameTable(
                (*frames.names, *(prefix + theirs.names[row] for row in rows)),
                np.array([*frames.parents, *(places.get(row, own.index(root)) for row in above)], dtype=np.int32),
                np.array([*frames.static, *([False] * len(rows))]),
                np.concatenate([frames.scales, theirs.scales[rows]]),
            )
            poses = np.concatenate([poses, joined.placed(first)])
            if drawn is None:
                on = {own.index(theirs.names[row]): row for row in places if theirs.names[row] in own.names}
                drawn = [replace(shape, row=on[shape.row]) for shape in shapes if shape.row in on]
            all_shapes += [
                ghostly(replace(shape, row=places[shape.row]))
                for shape in drawn
                if shape.row in places and shape.kind not in FLAT
            ]
            self._joined.append(joined)
            self.of |= {prefix + theirs.names[row]: theirs.names[row] for row in rows if theirs.names[row] in own.names}
        return frames, poses, all_shapes

    def follow(self, topic: str) -> bool:
        """Return whether one of them follows a topic."""
        return any(isinstance(each, TopicGhost) and each.topic == topic for each in self.sources)

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
        return np.concatenate([each.placed(each.source.poses(instant, since_ns)) for each in self._joined])


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
