"""Kinematics that are a matrix: bases without steered wheels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray


class LinearKinematics:
    """Kinematics of K bases: rates of wheels are a matrix times the twist.

    Args:
        matrices: (K, D, 3), rad/s for each m/s or rad/s.
        sideways: Whether the bases can move sideways.
    """

    def __init__(self, matrices: FloatArray, *, sideways: bool) -> None:
        self._matrices, self._inverses = matrices, np.linalg.pinv(matrices)
        self._allowed = np.array([1.0, float(sideways), 1.0])
        self._no_angles = np.zeros((len(matrices), 0))

    def nearest(self, twists: FloatArray) -> FloatArray:
        """Return twists without the sideways velocity, where wheels do not allow one."""
        return np.asarray(twists * self._allowed)

    def inverse(self, twists: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rates (K, D), and no angles."""
        return np.asarray(np.matmul(self._matrices, twists[:, :, None])[:, :, 0]), self._no_angles

    def forward(self, rates: FloatArray, angles: FloatArray) -> FloatArray:
        """Return twists (K, 3), by the pseudoinverse."""
        return np.asarray(np.matmul(self._inverses, rates[:, :, None])[:, :, 0])


def rolling_rows(
    positions: Sequence[tuple[float, float]], headings: Sequence[float], rollers: Sequence[float], radius: float
) -> FloatArray:
    """Return the matrix (D, 3) of wheels from the twist of their base.

    A wheel at the rate w moves its rim by w r along its heading, and a roller turns freely across its own axis: along
    that axis, the wheel's velocity is that of its rim. (Siegwart and Nourbakhsh, Introduction to Autonomous Mobile
    Robots, section 3.2.3, the rolling constraint of a Swedish wheel.)

    Args:
        positions: [x y] of each wheel in the base, m.
        headings: The direction in which each wheel rolls, rad from the base's x axis.
        rollers: The angle from the heading to the axis of the roller on the ground, rad; 0 for wheels without rollers,
            and for those that rollers let slide along their own axis.
        radius: That of the wheels, m.

    Returns:
        rad/s for each m/s or rad/s.
    """
    x, y = np.array(positions).T
    heading, along = np.array(headings), np.array(headings) + np.array(rollers)
    gain = 1.0 / (radius * np.cos(along - heading))
    rows = np.stack([np.cos(along), np.sin(along), x * np.sin(along) - y * np.cos(along)], axis=1)
    return np.asarray(rows * gain[:, None])
