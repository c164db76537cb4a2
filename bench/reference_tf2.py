"""A plain buffer as tf2 has it: one object per transform, newest first, scanned one after the other.

It is the alternative that the transform tree is measured against: right, simple, and what one would write first.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True)
class Stored:
    """The child's place in its parent at one time."""

    stamp: int
    parent: str
    position: Vector
    rotation: Quaternion


@dataclass
class ReferenceBuffer:
    """Set and look up transforms; times in ns, None for the latest common time."""

    cache_ns: int = 10_000_000_000
    histories: dict[str, list[Stored]] = field(default_factory=dict)

    def set_transform(self, message: object) -> None:
        """Store a geometry_msgs/TransformStamped."""
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec  # type: ignore[attr-defined]
        t = message.transform  # type: ignore[attr-defined]
        stored = Stored(
            stamp,
            message.header.frame_id,  # type: ignore[attr-defined]
            (t.translation.x, t.translation.y, t.translation.z),
            (t.rotation.x, t.rotation.y, t.rotation.z, t.rotation.w),
        )
        history = self.histories.setdefault(message.child_frame_id, [])  # type: ignore[attr-defined]
        # Oldest first in memory, as a list grows at its end; the newest is history[-1].
        if not history or stamp > history[-1].stamp:
            history.append(stored)
        else:
            history.insert(bisect_left(history, stamp, key=lambda entry: entry.stamp), stored)
        while history[0].stamp < stamp - self.cache_ns:
            history.pop(0)

    def lookup(self, target: str, source: str, stamp: int | None = None) -> tuple[Vector, Quaternion]:
        """Return position and rotation of `source` in `target`."""
        if stamp is None:
            stamp = min(self.histories[frame][-1].stamp for frame in {*self._line(target), *self._line(source)}
                        if frame in self.histories)  # fmt: skip
        chains = []
        for end in (source, target):
            chain = [(end, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))]
            while chain[-1][0] in self.histories:
                frame, position, rotation = chain[-1]
                edge = self._at(frame, stamp)
                moved = rotate(edge.rotation, position)
                position = (
                    moved[0] + edge.position[0],
                    moved[1] + edge.position[1],
                    moved[2] + edge.position[2],
                )
                chain.append((edge.parent, position, multiply(edge.rotation, rotation)))
            chains.append(chain)
        heads = {frame: (position, rotation) for frame, position, rotation in chains[1]}
        frame, position, rotation = next(row for row in chains[0] if row[0] in heads)
        base, turn = heads[frame]
        back = (-turn[0], -turn[1], -turn[2], turn[3])
        apart = (position[0] - base[0], position[1] - base[1], position[2] - base[2])
        return rotate(back, apart), multiply(back, rotation)

    def _line(self, frame: str) -> list[str]:
        line = [frame]
        while line[-1] in self.histories:
            line.append(self.histories[line[-1]][-1].parent)
        return line

    def _at(self, frame: str, stamp: int) -> Stored:
        history = self.histories[frame]
        if not history[0].stamp <= stamp <= history[-1].stamp:
            raise LookupError(f"{frame} at {stamp} is outside {history[0].stamp} to {history[-1].stamp}")
        i = len(history) - 1
        while history[i].stamp > stamp:
            i -= 1
        before = history[i]
        if before.stamp == stamp or history[i + 1].parent != before.parent:
            return before
        after = history[i + 1]
        u = (stamp - before.stamp) / (after.stamp - before.stamp)
        (ax, ay, az), (bx, by, bz) = before.position, after.position
        position = (ax + u * (bx - ax), ay + u * (by - ay), az + u * (bz - az))
        return Stored(stamp, before.parent, position, slerp(before.rotation, after.rotation, u))


def rotate(q: Quaternion, v: Vector) -> Vector:
    """Turn a vector."""
    (x, y, z, w), (a, b, c) = q, v
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return (a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx)


def multiply(p: Quaternion, q: Quaternion) -> Quaternion:
    """Return the Hamilton product."""
    (ax, ay, az, aw), (bx, by, bz, bw) = p, q
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def slerp(a: Quaternion, b: Quaternion, u: float) -> Quaternion:
    """Interpolate along the shorter arc."""
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    sign, dot = (1.0, dot) if dot >= 0 else (-1.0, -dot)
    angle = math.acos(min(dot, 1.0))
    if angle < 1e-9:
        return a
    v, w = math.sin((1 - u) * angle) / math.sin(angle), sign * math.sin(u * angle) / math.sin(angle)
    return (v * a[0] + w * b[0], v * a[1] + w * b[1], v * a[2] + w * b[2], v * a[3] + w * b[3])
