"""The compiled loops of odometry: mean twists, and dead reckoning with its covariance.

Importing this module imports numba; sensors import it when they are opened.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np
from numba import types

from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import as_pose, axes, compose, cross, exp, log, relative, write_pose

# Columns of the noise table (S, 6, NOISES): variances of white noise, and of errors drawn once per run (turn-on bias,
# scale, misalignment); then, for the random-walk and the Gauss-Markov bias, the factor by which it decays from one
# reading to the next, the variance of its increment, and its initial variance.
WHITE, ONCE, KEEP, KICK, START, NOISES = 0, 1, 4, 6, 8, 10
# Error statistics of a pose (S, PARTS): eta (6, 6), its covariance; cross (2, 6, 6), its covariances with the two
# varying biases; varying (2, 6), the variances of these; sums (6, 18), of F times the factor of each error drawn once.
ETA, CROSS, VARYING, SUMS, PARTS = 0, 36, 108, 120, 228

_IN = types.Array(types.float64, 2, "C", readonly=True)
_ROWS = types.float64[:, ::1]


@kernel(_ROWS(_ROWS, _IN, types.float64), error_model="numpy")
def mean_twists(before, pose, seconds):
    """Return [twist along the frames' axes, seconds] (S, 7) between poses `before` and `pose` (S, 7).

    `before` becomes `pose`.
    """
    measured = np.empty((len(pose), 7))
    for s in range(len(pose)):
        here = as_pose(pose[s])
        vx, vy, vz, wx, wy, wz = log(relative(as_pose(before[s]), here))
        row = measured[s]
        row[0], row[1], row[2] = vx / seconds, vy / seconds, vz / seconds
        row[3], row[4], row[5] = wx / seconds, wy / seconds, wz / seconds
        row[6] = seconds
        write_pose(before[s], here)
    return measured


@kernel()
def _split(parts):
    """Return eta, cross, varying and sums of a row (PARTS,), as views."""
    return (
        parts[ETA:CROSS].reshape((6, 6)),
        parts[CROSS:VARYING].reshape((2, 6, 6)),
        parts[VARYING:SUMS].reshape((2, 6)),
        parts[SUMS:PARTS].reshape((6, 18)),
    )


@kernel()
def _adjoint(pose, scale, out):
    """Write scale times Ad(R, p) (6, 6) of a pose, for [linear, angular]; its lower left block stays zero."""
    x, y, z, qx, qy, qz, qw = pose
    r = axes(qx, qy, qz, qw)
    for column in range(3):
        a, b, c = scale * r[column], scale * r[3 + column], scale * r[6 + column]
        out[0, column] = out[3, 3 + column] = a
        out[1, column] = out[4, 3 + column] = b
        out[2, column] = out[5, 3 + column] = c
        out[0, 3 + column], out[1, 3 + column], out[2, 3 + column] = cross(x, y, z, a, b, c)


@kernel()
def _add_errors(gain, twist, noises, parts):
    """Add the errors of a reading. gain (6, 6): F of its interval; twist (7,); noises (6, NOISES)."""
    eta, mixed, varying, sums = _split(parts)
    for i in range(6):
        for j in range(6):
            grown = 0.0
            for n in range(6):
                varies = noises[n, WHITE] + varying[0, n] + varying[1, n]
                grown += gain[i, n] * (mixed[0, j, n] + mixed[1, j, n] + varies * gain[j, n])
                grown += gain[j, n] * (mixed[0, i, n] + mixed[1, i, n])
            eta[i, j] += grown
    for k in range(2):
        for j in range(6):
            keep = noises[j, KEEP + k]
            for i in range(6):
                mixed[k, i, j] = (mixed[k, i, j] + gain[i, j] * varying[k, j]) * keep
            varying[k, j] = varying[k, j] * keep * keep + noises[j, KICK + k]
    for i in range(6):
        for j in range(6):
            sums[i, j] += gain[i, j]
            sums[i, 6 + j] += gain[i, j] * twist[j]
        for first in (0, 3):
            f, v = gain[i, first : first + 3], twist[first : first + 3]
            x, y, z = cross(f[0], f[1], f[2], v[0], v[1], v[2])
            sums[i, 12 + first] -= x
            sums[i, 13 + first] -= y
            sums[i, 14 + first] -= z


@kernel()
def _write_variances(lever, noises, parts, variances):
    """Write the diagonal (6,) of D C D', where D is `lever` and C the covariance of eta, errors drawn once included."""
    eta, _, _, sums = _split(parts)
    for i in range(6):
        variance = 0.0
        for j in range(6):
            for n in range(6):
                variance += lever[i, j] * eta[j, n] * lever[i, n]
        for m in range(18):
            total = 0.0
            for j in range(6):
                total += lever[i, j] * sums[j, m]
            variance += noises[m % 6, ONCE + m // 6] * total * total
        variances[i] = variance


@kernel(_ROWS(_IN, types.Array(types.float64, 3, "C", readonly=True), _ROWS, _ROWS), error_model="numpy")
def dead_reckon(measured, noises, pose, parts):
    """Return [pose, twist, variances of position and of rotation about the fixed axes] (S, 19) after a reading.

    measured (S, 7): [twist, duration in s]. noises (S, 6, NOISES), pose (S, 7) and parts (S, PARTS) are as above; the
    last two are updated in place. Pose X is integrated as X exp(twist dt). With e the error of the measured twist
    [linear, angular], the error eta = log(X_measured inverse(X_true)) grows in each interval by F e, to first order:

        F = dt Ad(X in the middle of the interval),   Ad(R, p) = [[R, skew(p) R], [0, R]]

    (Barfoot, State Estimation for Robotics, 2017, section 7.3), so that eta = sum of F_k e_k, and the error of a pose
    at position p is D eta with D = [[1, -skew(p)], [0, 1]]. A heading error thus affects only the subsequent path. On a
    straight path of length v t, the lateral variance is, for a yaw rate with white noise of density n and a bias b,

        n^2 t v^2 t^2 / 3   and   b^2 t^2 v^2 t^2 / 4.

    Each term of a Noise is included as NoiseBank draws it: white noise by F W F'; a varying bias (b' = keep b + kick,
    of variance P) by its covariance C with eta, C' = (C + F P) keep; errors drawn once per run by the sum A of F times
    their factors. Saturation and resolution are neglected. This is valid while the orientation error is small (0.1 rad
    adds a percent). Twist and pose are the measured ones, since an odometer has no others.
    """
    published = np.empty((len(measured), 19))
    gain, lever = np.zeros((6, 6)), np.zeros((6, 6))
    for s in range(len(measured)):
        vx, vy, vz, wx, wy, wz, dt = as_pose(measured[s])
        start, half = as_pose(pose[s]), 0.5 * dt
        _adjoint(compose(start, exp(half * vx, half * vy, half * vz, half * wx, half * wy, half * wz)), dt, gain)
        _add_errors(gain, measured[s], noises[s], parts[s])

        x, y, z, qx, qy, qz, qw = compose(start, exp(dt * vx, dt * vy, dt * vz, dt * wx, dt * wy, dt * wz))
        size = math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
        write_pose(pose[s], (x, y, z, qx / size, qy / size, qz / size, qw / size))
        _adjoint((-x, -y, -z, 0.0, 0.0, 0.0, 1.0), 1.0, lever)
        # Assign elements, not slices: the compiler would take twice as long, for the code that checks shapes.
        for i in range(7):
            published[s, i] = pose[s, i]
        for i in range(6):
            published[s, 7 + i] = measured[s, i]
        _write_variances(lever, noises[s], parts[s], published[s, 13:])
    return published
