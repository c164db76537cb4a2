"""State of a vehicle's centre of mass, from the pose and velocity of its body."""

from __future__ import annotations

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import axes


@kernel(nogil=True, error_model="numpy")
def observe(
    position: FloatArray,
    attitude: FloatArray,
    velocity: FloatArray,
    rate: FloatArray,
    centre: FloatArray,
    state: FloatArray,
) -> None:
    """Write the controller's state of the centre of mass.

    Args:
        position: Position (3,) of the body, ENU, m.
        attitude: Attitude (4,) [x, y, z, w] of the body (FLU) in ENU.
        velocity: Velocity (3,) of the body's origin, ENU, m/s.
        rate: Angular velocity (3,) in the body's axes (FLU), rad/s.
        centre: Centre of mass (3,) in the body, m.
        state: Output (13,), [x y z qx qy qz qw vx vy vz wx wy wz], both velocities along the axes of ENU.
    """
    x, y, z, w = attitude
    rows = axes(x, y, z, w)
    arm = np.empty(3)
    for i in range(3):
        a, b, c = rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]
        arm[i] = a * centre[0] + b * centre[1] + c * centre[2]
        state[10 + i] = a * rate[0] + b * rate[1] + c * rate[2]
    wx, wy, wz = state[10], state[11], state[12]
    state[0], state[1], state[2] = position[0] + arm[0], position[1] + arm[1], position[2] + arm[2]
    state[3], state[4], state[5], state[6] = x, y, z, w
    state[7] = velocity[0] + wy * arm[2] - wz * arm[1]
    state[8] = velocity[1] + wz * arm[0] - wx * arm[2]
    state[9] = velocity[2] + wx * arm[1] - wy * arm[0]
