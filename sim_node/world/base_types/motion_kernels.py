"""Compiled loops over bases: commands within their limits, and odometry by exact arcs."""

from __future__ import annotations

import math

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.kernel import kernel

# Angle (rad) below which a chord is as long as its arc, to the last bit.
_STRAIGHT = 1e-8


@kernel(nogil=True, error_model="numpy")
def unexpired(commands: FloatArray, now: float, wanted: FloatArray) -> None:
    """Write the twists (K, 3) commanded at a time, s. Commands (K, 4) expire at the time in their last column."""
    for k in range(commands.shape[0]):
        alive = commands[k, 3] > now
        for i in range(3):
            wanted[k, i] = commands[k, i] if alive else 0.0


@kernel(nogil=True, error_model="numpy")
def approach_twists(
    wanted: FloatArray,
    fastest: FloatArray,
    most: FloatArray,
    jerks: FloatArray,
    setpoints: FloatArray,
    changes: FloatArray,
) -> None:
    """Move setpoints (K, 3) towards wanted twists (K, 3) within limits, and update changes (K, 3) per timestep.

    Limits are those in the positive, then in the negative direction. fastest (K, 2, 2): maximum m/s and rad/s; a larger
    twist is scaled down as a whole. most (K, 2, 3): maximum changes. jerks (K, 2, 3): maximum changes of the changes.
    """
    for k in range(wanted.shape[0]):
        forwards, leftwards = fastest[k, int(wanted[k, 0] < 0.0), 0], fastest[k, int(wanted[k, 2] < 0.0), 1]
        over = max(math.hypot(wanted[k, 0], wanted[k, 1]) / forwards, abs(wanted[k, 2]) / leftwards, 1.0)
        for i in range(3):
            change = wanted[k, i] / over - setpoints[k, i]
            if jerks[k, 0, i] < math.inf or jerks[k, 1, i] < math.inf:
                change = changes[k, i] + min(max(change - changes[k, i], -jerks[k, 1, i]), jerks[k, 0, i])
            changes[k, i] = min(max(change, -most[k, 1, i]), most[k, 0, i])
            setpoints[k, i] += changes[k, i]


@kernel(nogil=True, error_model="numpy")
def count_odometry(twists: FloatArray, seconds: float, odometry: FloatArray) -> None:
    """Advance odometry (K, 8) [x y yaw vx vy wz path turned] at constant twists (K, 3); see motion.arcs."""
    for k in range(twists.shape[0]):
        vx, vy, turn = twists[k, 0] * seconds, twists[k, 1] * seconds, twists[k, 2] * seconds
        half = 0.5 * turn
        chord = 1.0 if abs(half) < _STRAIGHT else math.sin(half) / half
        yaw = odometry[k, 2] + half
        cosine, sine = chord * math.cos(yaw), chord * math.sin(yaw)
        odometry[k, 0] += vx * cosine - vy * sine
        odometry[k, 1] += vx * sine + vy * cosine
        odometry[k, 2] += turn
        odometry[k, 3], odometry[k, 4], odometry[k, 5] = twists[k, 0], twists[k, 1], twists[k, 2]
        odometry[k, 6] += abs(chord) * math.hypot(vx, vy)
        odometry[k, 7] += abs(turn)
