"""A vehicle's pose at any time of the recent past: position and attitude, received at different times, interpolated."""

from __future__ import annotations

import math
from bisect import bisect_right

from sim_node.spatial.frames import AttitudeEnu, Enu

# Duration of the history; more than any reasonable delay.
HISTORY_NS = 5_000_000_000
# Neighbours further apart than this are a gap in telemetry, across which nothing is interpolated.
MAX_GAP_NS = 1_000_000_000


class StampedTrack:
    """Values in the order of their stamps (ns), the last HISTORY_NS of them."""

    def __init__(self) -> None:
        self.stamps: list[int] = []
        self.values: list[tuple[float, ...]] = []

    def add(self, stamp_ns: int, value: tuple[float, ...]) -> None:
        """Add a value. If it is not newer than the last one, it replaces all that are not older: time went back."""
        stamps, values = self.stamps, self.values
        if stamps and stamp_ns <= stamps[-1]:
            if stamps[-1] - stamp_ns > HISTORY_NS:
                stamps.clear()
                values.clear()
            else:
                keep = bisect_right(stamps, stamp_ns - 1)
                del stamps[keep:], values[keep:]
        stamps.append(stamp_ns)
        values.append(value)
        if len(stamps) > 64 and stamps[len(stamps) // 2] < stamp_ns - HISTORY_NS:
            old = bisect_right(stamps, stamp_ns - HISTORY_NS)
            del stamps[:old], values[:old]

    def around(self, stamp_ns: int, ahead_ns: int) -> tuple[tuple[float, ...], tuple[float, ...], float] | None:
        """Return two values and the fraction between them; above 1 for a time up to ahead_ns after the last one."""
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
    """Receives positions (m, ENU) and attitudes [x, y, z, w], and interpolates poses."""

    def __init__(self) -> None:
        self.positions = StampedTrack()
        self.attitudes = StampedTrack()

    def add_position(self, stamp_ns: int, position: Enu) -> None:
        """Add a position in the map."""
        self.positions.add(stamp_ns, tuple(position))

    def add_attitude(self, stamp_ns: int, attitude: AttitudeEnu) -> None:
        """Add an attitude in the map."""
        self.attitudes.add(stamp_ns, attitude.xyzw)

    def newest_ns(self) -> int | None:
        """Return the newest stamp without extrapolation; None while position or attitude is missing."""
        if not self.positions.stamps or not self.attitudes.stamps:
            return None
        return min(self.positions.stamps[-1], self.attitudes.stamps[-1])

    def at(self, stamp_ns: int, ahead_ns: int = 0) -> tuple[float, ...] | None:
        """Return the pose [x y z qx qy qz qw]: position interpolated linearly, attitude by SLERP.

        Return None before the first value, across a gap, and more than ahead_ns after the last one. Up to there, both
        are extrapolated from the last two values.
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
    """Interpolate two quaternions as spatial.geometry.interpolation.slerp does, in plain floats; u may exceed 1."""
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    angle = math.acos(min(1.0, abs(dot)))
    if angle < 1e-9:
        return a
    sine = math.sin(angle)
    p, q = math.sin((1.0 - u) * angle) / sine, math.sin(u * angle) / sine
    if dot < 0.0:
        q = -q
    return p * a[0] + q * b[0], p * a[1] + q * b[1], p * a[2] + q * b[2], p * a[3] + q * b[3]
