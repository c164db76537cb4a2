"""Rotors: their speeds, thrusts, torques, drag and failures, and the drag of the bodies that carry them."""

from __future__ import annotations

import math

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import axes
from sim_node.world.vehicles import SPINS, Rotor

# Columns of the rotor table that depend on the propeller: thrust and drag coefficients.
_BLADES = (6, 8)


def rotor_rows(rotors: tuple[Rotor, ...], centre: FloatArray, timestep: float) -> FloatArray:
    """Return the rotor table (R, 17) for `push`: positions relative to the body's centre of mass, and parameters.

    The columns are [x y z, axis x y z, thrust coefficient, ratio of torque to thrust (signed against the spin), drag
    coefficient, minimum speed, speed range], then three for speeding up and three for slowing down: the fraction of a
    speed error that is left after a timestep, its mean during the timestep, and the mean of its square.
    """
    rows = np.zeros((len(rotors), 17))
    for row, rotor in zip(rows, rotors, strict=True):
        row[0:3], row[3:6] = rotor.position - centre, rotor.axis
        row[6], row[7] = rotor.thrust_coefficient, -SPINS[rotor.spin] * rotor.moment_coefficient
        row[8], row[9], row[10] = rotor.drag_coefficient, rotor.min_speed, rotor.max_speed - rotor.min_speed
        for at, lag in ((11, rotor.time_constant_up), (14, rotor.time_constant_down)):
            if lag > 0.0:
                left = math.exp(-timestep / lag)
                row[at : at + 3] = left, lag / timestep * (1.0 - left), 0.5 * lag / timestep * (1.0 - left * left)
    return rows


@kernel(nogil=True, error_model="numpy")
def observe(
    xipos: FloatArray,
    xquat: FloatArray,
    cvel: FloatArray,
    subtree_com: FloatArray,
    bodies: IntArray,
    states: FloatArray,
) -> None:
    """Write the states (V, 13) of vehicles from MuJoCo's body arrays (B, ...).

    A row is [x y z qx qy qz qw vx vy vz wx wy wz]: the centre of mass and the body's attitude in the world, and their
    velocities along the world's axes. bodies (V, 2): ids of each vehicle's body and of its root. MuJoCo's cvel is about
    the centre of mass of the root's whole tree.
    """
    for v in range(bodies.shape[0]):
        b, root = bodies[v, 0], bodies[v, 1]
        x, y, z = xipos[b, 0], xipos[b, 1], xipos[b, 2]
        lx, ly, lz = x - subtree_com[root, 0], y - subtree_com[root, 1], z - subtree_com[root, 2]
        wx, wy, wz = cvel[b, 0], cvel[b, 1], cvel[b, 2]
        s = states[v]
        s[0], s[1], s[2] = x, y, z
        s[3], s[4], s[5], s[6] = xquat[b, 1], xquat[b, 2], xquat[b, 3], xquat[b, 0]
        s[7], s[8], s[9] = (
            cvel[b, 3] + wy * lz - wz * ly,
            cvel[b, 4] + wz * lx - wx * lz,
            cvel[b, 5] + wx * ly - wy * lx,
        )
        s[10], s[11], s[12] = wx, wy, wz


@kernel(nogil=True, error_model="numpy")
def push(
    xipos: FloatArray,
    xquat: FloatArray,
    cvel: FloatArray,
    subtree_com: FloatArray,
    bodies: IntArray,
    states: FloatArray,
    air: FloatArray,
    drags: FloatArray,
    first: IntArray,
    rotors: FloatArray,
    commands: FloatArray,
    speeds: FloatArray,
    wrenches: FloatArray,
) -> None:
    """Advance rotor speeds (R,) by a timestep under commands (R,), and add the resulting wrenches to wrenches (B, 6).

    Calls `observe` first. air (V, 3): velocity of the air at each vehicle, m/s. drags (V, 6): linear and quadratic drag
    along the body's axes. The rotors of vehicle v are rows first[v] to first[v + 1] of the table (R, 17) of rotor_rows.

    A speed follows its command as a first-order lag, exactly: w = c + (w0 - c) exp(-t/T). Thrust is the mean of k w^2
    over the timestep, so that the impulse does not depend on the timestep. Commands are clipped to [0, 1]; NaN stops
    the rotor, like 0. Drag of rotors: Martin & Salaun, The true role of accelerometer feedback in quadrotor control,
    ICRA 2010, without flapping.
    """
    observe(xipos, xquat, cvel, subtree_com, bodies, states)
    for v in range(states.shape[0]):
        s = states[v]
        qx, qy, qz, qw = s[3], s[4], s[5], s[6]
        # Rows of the world's axes in the body's.
        xx, xy, xz, yx, yy, yz, zx, zy, zz = axes(qx, qy, qz, qw)
        # Velocity relative to the air, and angular velocity, along the body's axes.
        ax, ay, az = s[7] - air[v, 0], s[8] - air[v, 1], s[9] - air[v, 2]
        ux, uy, uz = xx * ax + yx * ay + zx * az, xy * ax + yy * ay + zy * az, xz * ax + yz * ay + zz * az
        rx = xx * s[10] + yx * s[11] + zx * s[12]
        ry = xy * s[10] + yy * s[11] + zy * s[12]
        rz = xz * s[10] + yz * s[11] + zz * s[12]
        speed = math.sqrt(ux * ux + uy * uy + uz * uz)
        d = drags[v]
        fx, fy, fz = -(d[0] + d[3] * speed) * ux, -(d[1] + d[4] * speed) * uy, -(d[2] + d[5] * speed) * uz
        mx, my, mz = 0.0, 0.0, 0.0
        for i in range(first[v], first[v + 1]):
            r = rotors[i]
            command = commands[i]
            target = 0.0
            if command > 0.0:
                target = r[9] + r[10] * min(command, 1.0)
            change = speeds[i] - target
            at = 11 if change < 0.0 else 14
            speeds[i] = target + change * r[at]
            mean = target + change * r[at + 1]
            thrust = r[6] * (target * target + 2.0 * target * change * r[at + 1] + change * change * r[at + 2])
            px, py, pz, nx, ny, nz = r[0], r[1], r[2], r[3], r[4], r[5]
            # The hub's velocity relative to the air; its component across the axis causes drag.
            hx, hy, hz = ux + ry * pz - rz * py, uy + rz * px - rx * pz, uz + rx * py - ry * px
            along = hx * nx + hy * ny + hz * nz
            drag = r[8] * mean
            gx = thrust * nx - drag * (hx - along * nx)
            gy = thrust * ny - drag * (hy - along * ny)
            gz = thrust * nz - drag * (hz - along * nz)
            torque = r[7] * thrust
            fx, fy, fz = fx + gx, fy + gy, fz + gz
            mx += torque * nx + py * gz - pz * gy
            my += torque * ny + pz * gx - px * gz
            mz += torque * nz + px * gy - py * gx
        w = wrenches[bodies[v, 0]]
        w[0] += xx * fx + xy * fy + xz * fz
        w[1] += yx * fx + yy * fy + yz * fz
        w[2] += zx * fx + zy * fy + zz * fz
        w[3] += xx * mx + xy * my + xz * mz
        w[4] += yx * mx + yy * my + yz * mz
        w[5] += zx * mx + zy * my + zz * mz


class RotorFailures:
    """Failures of motors, which change their commands, and of propellers, which change their coefficients.

    They are not part of the state: after a reset, or in the next generation, all rotors are intact.

    Args:
        rotors: The table (R, 17) of all rotors, which is changed in place; see `rotor_rows`.

    Attributes:
        commands: Commands (R,) that the motors follow while a rotor fails.
    """

    def __init__(self, rotors: FloatArray) -> None:
        self._rotors, self._blades = rotors, rotors[:, _BLADES].copy()
        self.commands: FloatArray = np.zeros(len(rotors))
        self._gains, self._stuck = np.ones(len(rotors)), np.full(len(rotors), np.nan)
        self._some = False

    def set(self, rotor: int, *, gain: float = 1.0, stuck: float = np.nan, blades: float = 1.0) -> None:
        """Set the failure of a rotor, replacing the previous one; the defaults make it intact.

        Args:
            rotor: Row of the rotor.
            gain: Factor on the motor's command; 0 for a motor that is off.
            stuck: Command that the motor follows regardless of what it is sent; NaN for none.
            blades: Remaining fraction of the propeller's thrust, torque and drag.
        """
        self._gains[rotor], self._stuck[rotor] = gain, stuck
        self._rotors[rotor, _BLADES] = blades * self._blades[rotor]
        self._some = True

    def change(self, commands: FloatArray, rotors: slice) -> bool:
        """Return whether any rotor fails. If so, write `commands` of some rotors from the given ones (R,)."""
        if self._some:
            followed, stuck = self.commands[rotors], self._stuck[rotors]
            np.multiply(commands[rotors], self._gains[rotors], out=followed)
            np.copyto(followed, stuck, where=~np.isnan(stuck))
        return self._some

    def clear(self) -> None:
        """Make all rotors intact."""
        self._gains[:], self._stuck[:] = 1.0, np.nan
        self._rotors[:, _BLADES] = self._blades
        self._some = False
