"""Turbulence of the Dryden model, sampled exactly at any timestep."""

from __future__ import annotations

import math

import numpy as np

from sim_node.randomness import stream
from sim_node.simulation.columns import Array
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.kernel import kernel
from sim_node.world.forces import Gusts

# Number of timesteps whose gusts are drawn at once, to amortise the cost of numpy calls.
BLOCK = 1024
# Number of filter states: one along the wind, two across it and two upwards.
STATES = 5
# Number of correlation times after which the past has no effect beyond rounding.
MAX_STEP = 30.0


class Dryden:
    """Gusts drawn in blocks of BLOCK timesteps, each block from its own random stream.

    Restoring a state in the middle of a run only draws that block again. Gusts along the wind, across it and upwards
    are white noise through the shaping filters of MIL-F-8785C (and MIL-HDBK-1797), with T = scale_length / speed:

        H_u(s) = sigma sqrt(2 T / pi) / (1 + T s)
        H_v(s), H_w(s) = sigma sqrt(T / pi) (1 + sqrt(3) T s) / (1 + T s)^2

    The filters are integrated exactly from one timestep to the next and start in their stationary state. The standard
    deviation is therefore the intensity and the spectrum is Dryden's, whatever the timestep.

    Attributes:
        table: Velocity, mean and gust (BLOCK, 9) at each timestep of the current block, in the fixed frame, m/s.
        at: Index of the current timestep in the block.
    """

    def __init__(self, gusts: Gusts, mean: FloatArray, timestep: float) -> None:
        steps = [timestep * gusts.speed / length for length in gusts.scale_length.tolist()]
        self._intensity, self._turn = gusts.intensity, _along(mean)
        self._steps = np.array([_first_order(steps[0]), *(_second_order(step) for step in steps[1:])])
        self.at, self.table = 0, np.empty((BLOCK, 9))
        self.table[:, 3:6] = mean

    def reset(self, seed: int) -> None:
        """Go back to the start of a run, with filters drawn from their stationary distribution."""
        self._seed = seed
        drawn = stream(seed, "wind", "start").standard_normal(STATES)
        self.go_on(0, 0, drawn * (1.0, 0.5, 0.5, 0.5, 0.5))

    def catch_up(self) -> None:
        """Draw the blocks up to the one that contains `at`."""
        while self.at >= BLOCK:
            self.go_on(self._number + 1, self.at - BLOCK, self._next)

    def present(self) -> tuple[Array, ...]:
        """Return the number of the block, the timestep in it, and the initial state (STATES,) of its filters."""
        return np.array([self._number]), np.array([self.at]), self._first

    def go_on(self, number: int, at: int, first: FloatArray) -> None:
        """Draw a block, starting from a state of the filters, and go to a timestep in it."""
        self._number, self.at, self._first, self._next = number, at, first, np.array(first)
        white = stream(self._seed, "wind", f"gusts {number}").standard_normal((BLOCK, STATES))
        gusts = np.empty((BLOCK, 3))
        _shape(white, self._steps, self._intensity, self._next, gusts)
        self.table[:, 6:] = gusts @ self._turn
        self.table[:, :3] = self.table[:, 3:6] + self.table[:, 6:]


def _along(mean: FloatArray) -> FloatArray:
    """Return rows: the directions along the horizontal wind (east without one), across it to the left, and up."""
    speed = math.hypot(mean[0], mean[1])
    east, north = (mean[0] / speed, mean[1] / speed) if speed > 0.0 else (1.0, 0.0)
    return np.array([[east, north, 0.0], [-north, east, 0.0], [0.0, 0.0, 1.0]])


def _first_order(step: float) -> list[float]:
    """Return the transition factor and noise amplitude of x' = -x + white noise, of variance 1, over time `step`."""
    return [math.exp(-step), math.sqrt(-math.expm1(-2.0 * step)), 0.0, 0.0, 0.0, 0.0, 0.0]


def _second_order(step: float) -> list[float]:
    """Return the same for x'' + 2 x' + x = white noise: exp(A step), and the Cholesky factor of the noise covariance.

    Noise from a time s ago has become exp(A s) (0, 1) = exp(-s) (s, 1 - s); its covariance is integrated over s.
    """
    decay = math.exp(-step)
    i0, i1, i2 = _moments(step)
    low = math.sqrt(i2)
    across = (i1 - i2) / low
    rest = math.sqrt(max(i0 - 2.0 * i1 + i2 - across**2, 0.0))
    return [decay * (1.0 + step), decay * step, -decay * step, decay * (1.0 - step), low, across, rest]


def _moments(step: float) -> list[float]:
    """Return the integrals of s^k exp(-2 s) for k = 0, 1, 2 from 0 to `step`, accurate for small steps too."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    half = 0.5 * min(step, MAX_STEP)
    s = half * (nodes + 1.0)
    return [float(half * np.sum(weights * s**k * np.exp(-2.0 * s))) for k in range(3)]


@kernel(nogil=True)
def _shape(white: FloatArray, steps: FloatArray, intensity: FloatArray, state: FloatArray, gusts: FloatArray) -> None:
    """Filter white noise (T, 5), starting from `state` (5,), which is set to the final state."""
    for t in range(white.shape[0]):
        gusts[t, 0] = intensity[0] * state[0]
        state[0] = steps[0, 0] * state[0] + steps[0, 1] * white[t, 0]
        for axis in (1, 2):
            f = steps[axis]
            at = 2 * axis - 1
            x, rate = state[at], state[at + 1]
            # In units of the correlation time, the stationary variances are 1/4 each, and this sum has variance 1.
            gusts[t, axis] = intensity[axis] * (x + math.sqrt(3.0) * rate)
            state[at] = f[0] * x + f[1] * rate + f[4] * white[t, at]
            state[at + 1] = f[2] * x + f[3] * rate + f[5] * white[t, at] + f[6] * white[t, at + 1]
