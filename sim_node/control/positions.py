"""Position to thrust: which way a vehicle's thrust has to point, and how strong it has to be."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sim_node.control.gains import LEAST_HOVER, STEEPEST
from sim_node.geometry.arrays import FloatArray
from sim_node.geometry.kernel import kernel

_SLOPE = math.tan(STEEPEST)


@kernel(nogil=True, error_model="numpy")
def control_positions(
    states: FloatArray,
    setpoints: FloatArray,
    gains: FloatArray,
    gravity: float,
    period: float,
    running: npt.NDArray[np.int64],
    integrals: FloatArray,
    demands: FloatArray,
) -> None:
    """Writes demands (V, 5), and integrals (V, 3), for a period in s; gains (V, G) are rows of Gains.

    A P loop on the position gives a velocity, a PI loop on that an acceleration; what the setpoint says of both is
    fed forward. The integral waits while a limit is reached. The thrust of hovering, and no more than is there, points
    no steeper than STEEPEST. gravity: m/s^2, downwards. Motors that stand still, where running (V,) is 0, leave the
    integral at zero.
    """
    for v in range(states.shape[0]):
        if not running[v]:
            integrals[v] = 0.0
        g = gains[v]
        position, velocity, integral, max_speed, max_thrust = g[0], g[1], g[2], g[6], g[9]
        dx = position * (setpoints[v, 0] - states[v, 0])
        dy = position * (setpoints[v, 1] - states[v, 1])
        dz = position * (setpoints[v, 2] - states[v, 2])
        speed = math.sqrt(dx * dx + dy * dy + dz * dz)
        if speed > max_speed:
            dx, dy, dz = dx * max_speed / speed, dy * max_speed / speed, dz * max_speed / speed
        ex = setpoints[v, 3] + dx - states[v, 7]
        ey = setpoints[v, 4] + dy - states[v, 8]
        ez = setpoints[v, 5] + dz - states[v, 9]
        ax = setpoints[v, 6] + velocity * ex + integrals[v, 0]
        ay = setpoints[v, 7] + velocity * ey + integrals[v, 1]
        az = setpoints[v, 8] + velocity * ez + integrals[v, 2] + gravity

        up = min(max(az, LEAST_HOVER * gravity), max_thrust)
        aside = math.sqrt(ax * ax + ay * ay)
        max_aside = min(_SLOPE * up, math.sqrt(max(max_thrust * max_thrust - up * up, 0.0)))
        if aside > max_aside:
            ax, ay = ax * max_aside / aside, ay * max_aside / aside
        else:
            integrals[v, 0] += integral * period * ex
            integrals[v, 1] += integral * period * ey
        if up == az:
            integrals[v, 2] += integral * period * ez
        demands[v, 0], demands[v, 1], demands[v, 2] = ax, ay, up
        demands[v, 3], demands[v, 4] = setpoints[v, 9], setpoints[v, 10]
