"""How the noise of a measured twist adds up to the covariance of the pose that it is integrated to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.sensors.noise import Noise


class DriftCovariance:
    """The covariance (S, 6, 6) of [position, rotation about the fixed axes] of S dead-reckoned poses.

    Pose X is integrated as X exp(twist dt). With e the error of the measured twist [linear, angular], the error
    eta = log(X_measured inverse(X_true)) grows in each interval by F e, to first order, where

        F = dt Ad(X in the middle of the interval),   Ad(R, p) = [[R, skew(p) R], [0, R]]

    (Barfoot, State Estimation for Robotics, 2017, section 7.3), so that eta = sum of F_k e_k, and the error of a pose
    at position p is D eta with D = [[1, -skew(p)], [0, 1]]. An error of heading thus carries off only the way that
    comes after it. On a straight way of length v t this gives across it, where n is the density of white noise of the
    rate and b its bias,

        n^2 t v^2 t^2 / 3   and   b^2 t^2 v^2 t^2 / 4.

    Each term of a Noise enters as NoiseBank draws it: white noise by F W F'; a bias that walks or comes and goes (b' =
    keep b + kick, of variance P) by its covariance C with eta, C' = (C + F P) keep; what is drawn once per run (bias
    at turn-on, scale, misalignment) by the sum A of F times what it multiplies. Not counted: saturation and
    resolution. Right while the error of the orientation is small (0.1 rad adds a percent); the twist and the pose
    are the measured ones, as an odometer has no others.
    """

    def __init__(self, noises: Sequence[Sequence[Noise]], rate: float) -> None:
        """noises: of the six axes of each sensor; rate: readings per second."""
        table = [[_of(noise, rate) for noise in row] for row in noises]
        numbers = np.array(table).transpose(2, 0, 1)
        self._white = numbers[0]
        self._once = np.concatenate(numbers[1:4], axis=1)
        self._keep, self._kick, self._start = (np.stack(numbers[i : i + 2], axis=1) for i in (4, 6, 8))
        sensors = len(noises)
        # All that changes is one array, which is the state.
        self._parts = np.empty((sensors, 36 + 72 + 12 + 108))
        self._eta, self._cross, self._varying, self._sums = (
            part.reshape(sensors, *shape)
            for part, shape in zip(
                np.split(self._parts, (36, 108, 120), axis=1), ((6, 6), (2, 6, 6), (2, 6), (6, 18)), strict=True
            )
        )
        self.reset()

    def reset(self) -> None:
        """Begin: the pose is known."""
        self._parts[:] = 0.0
        self._varying[:] = self._start

    @property
    def parts(self) -> FloatArray:
        """All that changes (S, 228): to be kept, and put back in place."""
        return self._parts

    def add(self, middle: FloatArray, twist: FloatArray, seconds: FloatArray) -> None:
        """Count a reading: twists (S, 6) that lasted seconds (S, 1), about poses (S, 7) in the middle of that."""
        turn = quaternions.to_matrix(middle[:, 3:])
        gain = np.zeros((len(middle), 6, 6))
        gain[:, :3, :3] = gain[:, 3:, 3:] = turn
        gain[:, :3, 3:] = _skew(middle[:, :3]) @ turn
        gain *= seconds[:, :, None]

        mixed = gain @ self._cross.sum(axis=1).swapaxes(1, 2)
        varies = self._white + self._varying.sum(axis=1)
        self._eta += mixed + mixed.swapaxes(1, 2) + (gain * varies[:, None]) @ gain.swapaxes(1, 2)
        self._cross += gain[:, None] * self._varying[:, :, None]
        self._cross *= self._keep[:, :, None]
        self._varying *= self._keep**2
        self._varying += self._kick

        self._sums[:, :, :6] += gain
        self._sums[:, :, 6:12] += gain * twist[:, None]
        self._sums[:, :, 12:15] -= gain[:, :, :3] @ _skew(twist[:, :3])
        self._sums[:, :, 15:] -= gain[:, :, 3:] @ _skew(twist[:, 3:])

    def at(self, position: FloatArray) -> FloatArray:
        """The covariances (S, 6, 6) of poses at positions (S, 3)."""
        lever = np.tile(np.eye(6), (len(position), 1, 1))
        lever[:, :3, 3:] = -_skew(position)
        eta = self._eta + (self._sums * self._once[:, None]) @ self._sums.swapaxes(1, 2)
        covariance: FloatArray = lever @ eta @ lever.swapaxes(1, 2)
        return covariance


def _of(noise: Noise, rate: float) -> list[float]:
    """Variances: white, turn-on, scale, turn; then of what walks and what comes and goes: keep, kick, start."""
    keep = math.exp(-1.0 / (rate * noise.correlation_time))
    instability = noise.bias_instability**2
    return [
        noise.density**2 * rate + noise.deviation**2,
        noise.turn_on_bias**2,
        noise.scale_error**2,
        noise.misalignment**2,
        *(1.0, keep),
        *(noise.random_walk**2 / rate, instability * (1.0 - keep**2)),
        *(0.0, instability),
    ]


def _skew(v: FloatArray) -> FloatArray:
    """The matrices (S, 3, 3) of the cross product with v (S, 3)."""
    skew = np.zeros((len(v), 3, 3))
    skew[:, 0, 1], skew[:, 0, 2], skew[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    skew -= skew.swapaxes(1, 2).copy()
    return skew
