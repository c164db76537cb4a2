"""A vehicle's pose at any time of the near past: position and attitude, told at different times, interpolated."""

from __future__ import annotations

import math
from bisect import bisect_right

from sim_node.autopilot.axes import Quaternion, Vector

# Seconds of history; more than any sensible delay.
KEPT_NS = 5_000_000_000
# Neighbours further apart than this are a gap in telemetry: nothing is interpolated across it.
MAX_GAP_NS = 1_000_000_000


class Track:
    """Values in the order of their stamps (ns), the last KEPT_NS of them."""

    def __init__(self) -> None:
        self.stamps: list[int] = []
        self.values: list[tuple[float, ...]] = []

    def add(self, stamp_ns: int, value: tuple[float, ...]) -> None:
        """Takes a value; one as old as the newest or older replaces what is not older (time went back)."""
        stamps, values = self.stamps, self.values
        if stamps and stamp_ns <= stamps[-1]:
            if stamps[-1] - stamp_ns > KEPT_NS:
                stamps.clear()
                values.clear()
            else:
                keep = bisect_right(stamps, stamp_ns - 1)
                del stamps[keep:], values[keep:]
        stamps.append(stamp_ns)
        values.append(value)
        if len(stamps) > 64 and stamps[len(stamps) // 2] < stamp_ns - KEPT_NS:
            old = bisect_right(stamps, stamp_ns - KEPT_NS)
            del stamps[:old], values[:old]

    def around(self, stamp_ns: int, ahead_ns: int) -> tuple[tuple[float, ...], tuple[float, ...], float] | None:
        """Two values and the fraction of the way between them; above 1 where the time lies up to ahead_ns ahead."""
        stamps = self.stamps
        after = bisect_right(stamps, stamp_ns)
        if after == 0:
            return None
        if after == len(stamps):
            behind = stamp_ns - stamps[-1]
            if behind == 0:
                return self.values[-1], self.values[-1], 0.0
            if behind > ahead_ns or len(stamps) < 2:
                return None
            after -= 1
        before = after - 1
        span = stamps[after] - stamps[before]
        if span > MAX_GAP_NS:
            return None
        return self.values[before], self.values[after], (stamp_ns - stamps[before]) / span


class PoseStream:
    """Takes positions (m, ENU) and attitudes [x, y, z, w] as they come and gives poses in between."""

    def __init__(self) -> None:
        self.positions = Track()
        self.attitudes = Track()

    def add_position(self, stamp_ns: int, position: Vector) -> None:
        """A position in the map."""
        self.positions.add(stamp_ns, position)

    def add_attitude(self, stamp_ns: int, attitude: Quaternion) -> None:
        """An attitude in the map."""
        self.attitudes.add(stamp_ns, attitude)

    def newest_ns(self) -> int | None:
        """Up to when poses can be told without looking ahead; None while one of the two is missing."""
        if not self.positions.stamps or not self.attitudes.stamps:
            return None
        return min(self.positions.stamps[-1], self.attitudes.stamps[-1])

    def at(self, stamp_ns: int, ahead_ns: int = 0) -> tuple[float, ...] | None:
        """The pose [x y z qx qy qz qw]: position along the chord, attitude by SLERP.

        None before the first value, across a gap, and more than ahead_ns after the last: up to there both go on as
        they did between the last two values.
        """
        positions, attitudes = self.positions.around(stamp_ns, ahead_ns), self.attitudes.around(stamp_ns, ahead_ns)
        if positions is None or attitudes is None:
            return None
        a, b, u = positions
        return (
            a[0] + u * (b[0] - a[0]),
            a[1] + u * (b[1] - a[1]),
            a[2] + u * (b[2] - a[2]),
            *_slerp(*attitudes),
        )


def _slerp(a: tuple[float, ...], b: tuple[float, ...], u: float) -> tuple[float, ...]:
    """sim_node.geometry.interpolation.slerp for one pair in plain floats; u may be above 1."""
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    angle = math.acos(min(1.0, abs(dot)))
    if angle < 1e-9:
        return a
    sine = math.sin(angle)
    p, q = math.sin((1.0 - u) * angle) / sine, math.sin(u * angle) / sine
    if dot < 0.0:
        q = -q
    return p * a[0] + q * b[0], p * a[1] + q * b[1], p * a[2] + q * b[2], p * a[3] + q * b[3]
