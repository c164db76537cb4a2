"""Joint trajectories, interpolated as in ROS 2's joint_trajectory_controller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray

# Coefficients of the powers of u in [0, 1] for the values at both ends, in rows: p0, p1, T v0, T v1, T^2 a0, T^2 a1.
_LINEAR = np.array([[1.0, -1.0], [0.0, 1.0]])
_CUBIC = np.array([[1.0, 0, -3, 2], [0.0, 0, 3, -2], [0.0, 1, -2, 1], [0.0, 0, -1, 1]])
_QUINTIC = np.array(
    [
        [1.0, 0, 0, -10, 15, -6],
        [0.0, 0, 0, 10, -15, 6],
        [0.0, 1, 0, -6, 8, -3],
        [0.0, 0, 0, -4, 7, -3],
        [0.0, 0, 0.5, -1.5, 1.5, -0.5],
        [0.0, 0, 0, 0.5, -1, 0.5],
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class JointTrajectory:
    """Positions of J joints at P times, with optional velocities and accelerations.

    Between two points, positions are a polynomial: linear if only positions are given at both, cubic with velocities,
    quintic with accelerations, too. Before the first and after the last point, joints rest.

    Attributes:
        times: Times (P,), s, strictly increasing.
        positions: Positions (P, J), m or rad.
        velocities: Velocities (P, J), m/s or rad/s; rows of NaN if not given.
        accelerations: Accelerations (P, J), m/s^2 or rad/s^2; rows of NaN if not given.
    """

    times: FloatArray
    positions: FloatArray
    velocities: FloatArray
    accelerations: FloatArray

    @property
    def end(self) -> float:
        """Time of the last point, s."""
        return float(self.times[-1])

    def starting_at(self, time: float, position: FloatArray, velocity: FloatArray) -> JointTrajectory:
        """Return the trajectory preceded by the joints' state at an earlier time.

        Args:
            time: Time, s. If it is not before the first point, the trajectory is returned unchanged.
            position: Positions (J,), m or rad.
            velocity: Velocities (J,), m/s or rad/s.
        """
        if time >= self.times[0]:
            return self
        return JointTrajectory(
            np.concatenate([[time], self.times]),
            np.vstack([position, self.positions]),
            np.vstack([velocity, self.velocities]),
            np.vstack([np.full(len(position), np.nan), self.accelerations]),
        )

    def at(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Return positions (J,) and velocities (J,) at a time, s."""
        after = int(np.searchsorted(self.times, time, side="right"))
        if after in (0, len(self.times)):
            return self.positions[min(after, len(self.times) - 1)].copy(), np.zeros(self.positions.shape[1])
        ends, span = [after - 1, after], float(self.times[after] - self.times[after - 1])
        given = [self.positions[ends]]
        if np.isfinite(self.velocities[ends]).all():
            given.append(self.velocities[ends] * span)
            if np.isfinite(self.accelerations[ends]).all():
                given.append(self.accelerations[ends] * span**2)
        coefficients = (_LINEAR, _CUBIC, _QUINTIC)[len(given) - 1].T @ np.concatenate(given)
        u = (time - float(self.times[after - 1])) / span
        order = np.arange(len(coefficients))
        return u**order @ coefficients, (order[1:] * u ** order[:-1]) @ coefficients[1:] / span
