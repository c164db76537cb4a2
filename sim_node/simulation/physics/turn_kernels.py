"""The compiled correction of MuJoCo's Runge-Kutta timestep for bodies that turn about changing axes.

MuJoCo averages the angular velocities of the four stages as if rotations commuted, and turns by that: an error of the
third order in the timestep h, so that results are of second order. The first term of Magnus's series that is missing is
h^2 / 12 w0 x w1 along the body's axes, with the angular velocities w0 and w1 before and after the timestep: Munthe-Kaas
and Owren, Computations in a free Lie algebra, Phil. Trans. R. Soc. A 357, 1999.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The types are numba's.

from __future__ import annotations

import math

from sim_node.spatial.geometry.kernel import kernel


@kernel(nogil=True)
def correct_turns(places, before, qpos, qvel, timestep):
    """Rotate quaternions by the missing term.

    Args:
        places: Indices (J, 2) of each ball or free joint's quaternion [w x y z] in qpos, and of its angular velocity in
            qvel.
        before: qvel (nv,) before the timestep.
        qpos: qpos (nq,) after the timestep, changed in place.
        qvel: qvel (nv,) after the timestep.
        timestep: Timestep, s.
    """
    scale = timestep * timestep / 24.0  # of half the angle
    for row in range(len(places)):
        q, v = places[row]
        ax, ay, az, bx, by, bz = before[v], before[v + 1], before[v + 2], qvel[v], qvel[v + 1], qvel[v + 2]
        x, y, z = scale * (ay * bz - az * by), scale * (az * bx - ax * bz), scale * (ax * by - ay * bx)
        if x == 0.0 and y == 0.0 and z == 0.0:
            continue
        w, i, j, k = qpos[q], qpos[q + 1], qpos[q + 2], qpos[q + 3]
        nw, ni = w - i * x - j * y - k * z, i + w * x + j * z - k * y
        nj, nk = j + w * y + k * x - i * z, k + w * z + i * y - j * x
        norm = math.sqrt(nw * nw + ni * ni + nj * nj + nk * nk)
        qpos[q], qpos[q + 1], qpos[q + 2], qpos[q + 3] = nw / norm, ni / norm, nj / norm, nk / norm
