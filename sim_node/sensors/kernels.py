"""The compiled inner loops of sensors that read often: vectors along frames' axes, and noise.

Arrays are contiguous float64 with a row for each sensor. Results are new arrays: readings are kept. Importing this
imports numba; sensors do so when they are opened.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit, types

from sim_node.geometry.kernel_cache import CACHE

_ROWS = types.Array(types.float64, 2, "C", readonly=True)
_BLOCKS = types.Array(types.float64, 3, "C", readonly=True)
_NEW = types.float64[:, ::1]


@njit(cache=CACHE)
def _into(pose, row, x, y, z):
    """A vector along the fixed frame's axes, along those of a frame: rotated by the conjugate."""
    qx, qy, qz, qw = -pose[row, 3], -pose[row, 4], -pose[row, 5], pose[row, 6]
    tx, ty, tz = 2.0 * (qy * z - qz * y), 2.0 * (qz * x - qx * z), 2.0 * (qx * y - qy * x)
    return x + qw * tx + qy * tz - qz * ty, y + qw * ty + qz * tx - qx * tz, z + qw * tz + qx * ty - qy * tx


@njit(_NEW(_ROWS, _ROWS), cache=CACHE)
def into_frames(pose, vectors):
    """Vectors (S, 3) along the fixed frame's axes, along those of frames with poses (S, 7)."""
    turned = np.empty((pose.shape[0], 3))
    for row in range(pose.shape[0]):
        turned[row] = _into(pose, row, vectors[row, 0], vectors[row, 1], vectors[row, 2])
    return turned


@njit(_NEW(_ROWS, _ROWS, _ROWS, _ROWS), cache=CACHE)
def rate_and_force(pose, twist, acceleration, gravity):
    """[angular rate, specific force] (S, 6) along each frame's axes; specific force is acceleration less gravity."""
    measured = np.empty((pose.shape[0], 6))
    for row in range(pose.shape[0]):
        measured[row, :3] = _into(pose, row, twist[row, 3], twist[row, 4], twist[row, 5])
        measured[row, 3:] = _into(
            pose,
            row,
            acceleration[row, 0] - gravity[row, 0],
            acceleration[row, 1] - gravity[row, 1],
            acceleration[row, 2] - gravity[row, 2],
        )
    return measured


@njit(_NEW(_BLOCKS, _ROWS, _BLOCKS, types.int64, _ROWS, _ROWS), cache=CACHE)
def disturbed(response, truth, errors, reading, saturation, resolution):
    """A truth (S, C) as measured: response (S, C, C) times truth, plus errors[reading], cut and rounded.

    As the converter behind a sensor does, cut at ±saturation (S, C), then rounded to steps of resolution (S, C) where
    that is not zero, halves to even.
    """
    sensors, channels = truth.shape
    measured = np.empty((sensors, channels))
    for row in range(sensors):
        for channel in range(channels):
            value = 0.0
            for cause in range(channels):
                value += response[row, channel, cause] * truth[row, cause]
            value += errors[reading, row, channel]
            value = min(max(value, -saturation[row, channel]), saturation[row, channel])
            step = resolution[row, channel]
            if step > 0.0:
                value = np.rint(value / step) * step
            measured[row, channel] = value
    return measured
