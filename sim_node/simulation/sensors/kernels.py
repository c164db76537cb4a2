"""The compiled inner loops of sensors: vectors along frames' axes, rays, pressures, and noise.

Arrays are contiguous float64 with a row for each sensor. Results are new arrays, since measurements are kept. Importing
this module imports numba; sensors import it when they are opened.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np
from numba import types

from sim_node.simulation.sensors.geopotential import EARTH_RADIUS, LOWEST
from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import axes, rotate

_ROWS = types.Array(types.float64, 2, "C", readonly=True)
_BLOCKS = types.Array(types.float64, 3, "C", readonly=True)
_BLOCKS_4 = types.Array(types.float64, 4, "C", readonly=True)
_NEW = types.float64[:, ::1]
_ROW, _NEW_ROW = types.Array(types.float64, 1, "C", readonly=True), types.float64[::1]


@kernel()
def _into(pose, row, x, y, z):
    """Rotate a vector from the fixed frame's axes to a frame's, by the conjugate of its quaternion."""
    return rotate(-pose[row, 3], -pose[row, 4], -pose[row, 5], pose[row, 6], x, y, z)


@kernel(_NEW(_ROWS, _ROWS, _ROWS, _ROWS))
def rate_and_force(pose, twist, acceleration, gravity):
    """Return [angular rate, specific force] (S, 6) along each frame's axes: acceleration minus gravity."""
    measured = np.empty((pose.shape[0], 6))
    # Assign elements, not slices: the compiler would take ten times as long, for the code that checks shapes.
    for row in range(pose.shape[0]):
        measured[row, 0], measured[row, 1], measured[row, 2] = _into(
            pose, row, twist[row, 3], twist[row, 4], twist[row, 5]
        )
        measured[row, 3], measured[row, 4], measured[row, 5] = _into(
            pose,
            row,
            acceleration[row, 0] - gravity[row, 0],
            acceleration[row, 1] - gravity[row, 1],
            acceleration[row, 2] - gravity[row, 2],
        )
    return measured


@kernel()
def poses_and_twists(pose, twist):
    """Return [pose, twist along the frames' axes] (S, 13), of twists (S, 6) along the fixed frame's."""
    measured = np.empty((len(pose), 13))
    for row in range(len(pose)):
        for part in range(7):
            measured[row, part] = pose[row, part]
        measured[row, 7], measured[row, 8], measured[row, 9] = _into(
            pose, row, twist[row, 0], twist[row, 1], twist[row, 2]
        )
        measured[row, 10], measured[row, 11], measured[row, 12] = _into(
            pose, row, twist[row, 3], twist[row, 4], twist[row, 5]
        )
    return measured


@kernel(_NEW(_ROWS, _ROWS, _BLOCKS))
def straight_field(pose, centre, gradient):
    """Return centre (S, 3) + gradient (S, 3, 3) times position (S, 3), along each frame's axes."""
    measured = np.empty((pose.shape[0], 3))
    for row in range(pose.shape[0]):
        field = np.empty(3)
        for axis in range(3):
            field[axis] = centre[row, axis]
            for along in range(3):
                field[axis] += gradient[row, axis, along] * pose[row, along]
        measured[row, 0], measured[row, 1], measured[row, 2] = _into(pose, row, field[0], field[1], field[2])
    return measured


@kernel(types.void(_ROWS, _BLOCKS, types.float64[:, :, ::1]), nogil=True)
def turn_rays(pose, fans, turned):
    """Rotate directions (S, R, 3) along the axes of frames with poses (S, 7) to the fixed frame's axes.

    A matrix product would use BLAS threads, which on few cores delay ray casting.
    """
    for s in range(fans.shape[0]):
        x, y, z, w = pose[s, 3], pose[s, 4], pose[s, 5], pose[s, 6]
        xx, xy, xz, yx, yy, yz, zx, zy, zz = axes(x, y, z, w)
        for r in range(fans.shape[1]):
            a, b, c = fans[s, r, 0], fans[s, r, 1], fans[s, r, 2]
            turned[s, r, 0] = xx * a + xy * b + xz * c
            turned[s, r, 1] = yx * a + yy * b + yz * c
            turned[s, r, 2] = zx * a + zy * b + zz * c


@kernel()
def _layer_of(altitude, layers):
    """Return the layer that an altitude (m) is in, and its geopotential height above the layer's base, m."""
    geometric = max(altitude, LOWEST)
    height = EARTH_RADIUS * geometric / (EARTH_RADIUS + geometric)
    layer = 0
    while layer + 1 < len(layers) and height >= layers[layer + 1, 0]:
        layer += 1
    return layer, height - layers[layer, 0]


@kernel()
def temperatures(altitudes, layers):
    """Return the temperatures (K,) at altitudes (K,), m, in an air of layers (L, 4); see `air_data.layers_of`."""
    found = np.empty(len(altitudes))
    for k in range(len(altitudes)):
        layer, above = _layer_of(altitudes[k], layers)
        found[k] = layers[layer, 2] + layers[layer, 1] * above
    return found


@kernel(_NEW_ROW(_ROW, _ROWS, types.float64))
def pressure_ratios(altitudes, layers, constant):
    """Return pressures (K,) relative to that at sea level; arguments as in `temperatures`. constant: g / R, K/m."""
    ratios = np.empty(len(altitudes))
    for k in range(len(altitudes)):
        layer, above = _layer_of(altitudes[k], layers)
        lapse, warmth, ratio = layers[layer, 1], layers[layer, 2], layers[layer, 3]
        if lapse == 0.0:
            ratios[k] = ratio * math.exp(-constant * above / warmth)
        else:
            ratios[k] = ratio * max(1.0 + lapse * above / warmth, 1e-9) ** (-constant / lapse)
    return ratios


@kernel(types.void(_BLOCKS_4, _NEW, _NEW, _ROWS, _ROWS, _ROWS, _ROWS, types.float64[:, :, ::1]))
def draw_errors(drawn, bias, drift, white, walk, memory, kick, errors):
    """Write the errors (B, S, C) of B measurements from normals (S, B, 3, C); bias and drift (S, C) advance by B steps.

    white, walk, kick (S, C): standard deviations of a measurement, and of a step of bias and of drift; memory (S, C):
    the factor by which the drift decays in a step.
    """
    sensors, measurements, _, channels = drawn.shape
    for row in range(sensors):
        for reading in range(measurements):
            for channel in range(channels):
                errors[reading, row, channel] = (
                    drawn[row, reading, 0, channel] * white[row, channel] + bias[row, channel] + drift[row, channel]
                )
                bias[row, channel] += drawn[row, reading, 1, channel] * walk[row, channel]
                drift[row, channel] *= memory[row, channel]
                drift[row, channel] += drawn[row, reading, 2, channel] * kick[row, channel]


@kernel()
def disturb(response, truth, errors, reading, saturation, resolution, measured):
    """Write a truth (S, C) as measured: response (S, C, C) times truth, plus errors[reading[0]], clipped and rounded.

    Values are clipped to ±saturation (S, C), then rounded to multiples of resolution (S, C) where that is not zero,
    half to even, as an analogue-to-digital converter does.
    """
    sensors, channels = truth.shape
    for row in range(sensors):
        for channel in range(channels):
            value = 0.0
            for cause in range(channels):
                value += response[row, channel, cause] * truth[row, cause]
            value += errors[reading[0], row, channel]
            value = min(max(value, -saturation[row, channel]), saturation[row, channel])
            step = resolution[row, channel]
            if step > 0.0:
                value = np.rint(value / step) * step
            measured[row, channel] = value
