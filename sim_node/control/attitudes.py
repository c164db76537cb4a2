"""Thrust and yaw to moments: tilting first, then turning about the thrust."""

from __future__ import annotations

import math

from sim_node.geometry.arrays import FloatArray
from sim_node.geometry.kernel import kernel
from sim_node.geometry.pose_kernels import axes


@kernel(nogil=True, error_model="numpy")
def control_attitudes(
    states: FloatArray, demands: FloatArray, gains: FloatArray, inertias: FloatArray, wrenches: FloatArray
) -> None:
    """Writes wrenches (V, 4); gains (V, G) are rows of Gains, inertias (V, 3, 3) are about the centre of mass, kg m^2.

    The shortest turn that takes the body's z to the demanded thrust gives the rates about x and y, from any attitude,
    upside down too; what then remains to the demanded yaw, the rate about the thrust. Brescianini & D'Andrea,
    Tilt-prioritized quadrocopter attitude control, IEEE TCST 28(2), 2020. Moments make the rates follow and cancel the
    gyroscopic ones, J dw/dt = M - w x J w. Thrust is the demand's part along z: Lee, Leok & McClamroch, Geometric
    tracking control of a quadrotor UAV on SE(3), CDC 2010, equation 19.
    """
    for v in range(states.shape[0]):
        g, j = gains[v], inertias[v]
        attitude, yaw_gain, rate, max_turn, max_yaw, mass = g[3], g[4], g[5], g[7], g[8], g[10]
        qx, qy, qz, qw = states[v, 3], states[v, 4], states[v, 5], states[v, 6]
        # Rows of the world's axes in the body's.
        xx, xy, xz, yx, yy, yz, zx, zy, zz = axes(qx, qy, qz, qw)

        fx, fy, fz = demands[v, 0], demands[v, 1], demands[v, 2]
        size = math.sqrt(fx * fx + fy * fy + fz * fz)
        # The demanded thrust's direction in the body.
        dx, dy, dz = 0.0, 0.0, 1.0
        if size > 0.0:
            dx = (xx * fx + yx * fy + zx * fz) / size
            dy = (xy * fx + yy * fy + zy * fz) / size
            dz = (xz * fx + yz * fy + zz * fz) / size
        # Half the tilt's quaternion; straight upside down any way round will do.
        norm = math.sqrt(dx * dx + dy * dy + (1.0 + dz) * (1.0 + dz))
        tx, ty, tw = (-dy / norm, dx / norm, (1.0 + dz) / norm) if norm > 1e-6 else (1.0, 0.0, 0.0)
        wx, wy = 2.0 * attitude * tx, 2.0 * attitude * ty
        turn = math.sqrt(wx * wx + wy * wy)
        if turn > max_turn:
            wx, wy = wx * max_turn / turn, wy * max_turn / turn

        # The body's x after the tilt, in the body as it is, and the demanded heading: x less what is along the thrust.
        bx, by, bz = 1.0 - 2.0 * ty * ty, 2.0 * tx * ty, -2.0 * ty * tw
        cosine, sine = math.cos(demands[v, 3]), math.sin(demands[v, 3])
        hx, hy, hz = xx * cosine + yx * sine, xy * cosine + yy * sine, xz * cosine + yz * sine
        cx, cy, cz = dy * bz - dz * by, dz * bx - dx * bz, dx * by - dy * bx
        error = math.atan2(hx * cx + hy * cy + hz * cz, hx * bx + hy * by + hz * bz)
        spin = min(max(yaw_gain * error + demands[v, 4], -max_yaw), max_yaw) * tw * tw
        wx, wy, wz = wx + spin * dx, wy + spin * dy, spin * dz

        # The rates in the body.
        ux, uy, uz = states[v, 10], states[v, 11], states[v, 12]
        rx, ry, rz = xx * ux + yx * uy + zx * uz, xy * ux + yy * uy + zy * uz, xz * ux + yz * uy + zz * uz
        ax, ay, az = rate * (wx - rx), rate * (wy - ry), rate * (wz - rz)
        lx = j[0, 0] * rx + j[0, 1] * ry + j[0, 2] * rz
        ly = j[1, 0] * rx + j[1, 1] * ry + j[1, 2] * rz
        lz = j[2, 0] * rx + j[2, 1] * ry + j[2, 2] * rz
        wrenches[v, 0] = mass * max(xz * fx + yz * fy + zz * fz, 0.0)
        wrenches[v, 1] = j[0, 0] * ax + j[0, 1] * ay + j[0, 2] * az + ry * lz - rz * ly
        wrenches[v, 2] = j[1, 0] * ax + j[1, 1] * ay + j[1, 2] * az + rz * lx - rx * lz
        wrenches[v, 3] = j[2, 0] * ax + j[2, 1] * ay + j[2, 2] * az + rx * ly - ry * lx
