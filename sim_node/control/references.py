"""Setpoints that lead to a goal which may change at any time, within a speed and an acceleration."""

from __future__ import annotations

import math

from sim_node.geometry.arrays import FloatArray
from sim_node.geometry.kernel import kernel

# How fast the last of the way decays, 1/s: slower than the loop on the position, which then follows without overshoot.
ARRIVING = 1.5
# The same for headings, 1/s.
TURNING = 2.0


@kernel(nogil=True, error_model="numpy")
def approach(reference: FloatArray, goal: FloatArray, speed: float, acceleration: float, period: float) -> float:
    """Takes reference (11,) a period in s towards goal (3,), to rest there; the distance that is left, m.

    reference: a row of setpoints, [x y z vx vy vz ax ay az yaw yaw_rate], from any state of motion. Its speed is what
    can still be braked, sqrt(2 a d), and near the goal ARRIVING times the distance, where that asks for less braking.
    """
    dx, dy, dz = goal[0] - reference[0], goal[1] - reference[1], goal[2] - reference[2]
    left = math.sqrt(dx * dx + dy * dy + dz * dz)
    near = acceleration / (ARRIVING * ARRIVING)
    fast = ARRIVING * left if left <= near else math.sqrt(2.0 * acceleration * (left - 0.5 * near))
    share = min(fast, speed) / left if left > 0.0 else 0.0
    glide(reference, dx * share, dy * share, dz * share, acceleration, period)
    return left


@kernel(nogil=True, error_model="numpy")
def glide(reference: FloatArray, vx: float, vy: float, vz: float, acceleration: float, period: float) -> None:
    """Takes reference (11,), as of `approach`, a period in s on, its velocity towards one that is asked for, m/s."""
    ax, ay, az = (vx - reference[3]) / period, (vy - reference[4]) / period, (vz - reference[5]) / period
    size = math.sqrt(ax * ax + ay * ay + az * az)
    if size > acceleration:
        ax, ay, az = ax * acceleration / size, ay * acceleration / size, az * acceleration / size
    reference[0] += period * (reference[3] + 0.5 * period * ax)
    reference[1] += period * (reference[4] + 0.5 * period * ay)
    reference[2] += period * (reference[5] + 0.5 * period * az)
    reference[3] += period * ax
    reference[4] += period * ay
    reference[5] += period * az
    reference[6], reference[7], reference[8] = ax, ay, az


@kernel(nogil=True, error_model="numpy")
def turn_to(reference: FloatArray, yaw: float, rate: float, period: float) -> float:
    """Turns reference (11,) a period in s towards a yaw, the short way round; what is left of it, rad."""
    left = yaw - reference[9]
    left -= 2.0 * math.pi * math.floor(left / (2.0 * math.pi) + 0.5)
    reference[10] = min(max(TURNING * left, -rate), rate)
    reference[9] += period * reference[10]
    return math.fabs(left)
