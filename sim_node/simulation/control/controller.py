"""The controller of several multirotors, from setpoints to motor commands. Its interface is arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from sim_node.simulation.control.airframe import MAX_TILT, MIN_HOVER, Airframe, allocation, gains
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.spatial.geometry.kernel import bound, kernel
from sim_node.spatial.geometry.pose_kernels import axes

_SLOPE = math.tan(MAX_TILT)


@kernel(nogil=True, error_model="numpy")
def control_positions(
    states: FloatArray,
    setpoints: FloatArray,
    gains: FloatArray,
    gravity: float,
    period: float,
    running: IntArray,
    integrals: FloatArray,
    demands: FloatArray,
) -> None:
    """Compute the demanded thrust vectors.

    A P loop on position gives a velocity, a PI loop on velocity an acceleration; the setpoint's velocity and
    acceleration are fed forward. The integral is frozen while a limit is active. The demanded thrust includes gravity,
    is limited to the maximum thrust, and tilts by at most MAX_TILT.

    Args:
        states: States (V, 13).
        setpoints: Setpoints (V, 11).
        gains: Rows of Gains (V, G).
        gravity: Magnitude of gravity, m/s^2, downwards.
        period: Time between two calls, s.
        running: Whether motors run (V,). If not, the integral is reset to zero.
        integrals: Integrals (V, 3), updated.
        demands: Demands (V, 5), output.
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

        up = min(max(az, MIN_HOVER * gravity), max_thrust)
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


@kernel(nogil=True, error_model="numpy")
def control_attitudes(
    states: FloatArray, demands: FloatArray, gains: FloatArray, inertias: FloatArray, wrenches: FloatArray
) -> None:
    """Compute thrusts and moments.

    The shortest rotation of the body's z onto the demanded thrust gives the rates about x and y, from any attitude,
    inverted flight included; the yaw error that remains gives the rate about the thrust. Brescianini & D'Andrea,
    Tilt-prioritized quadrocopter attitude control, IEEE TCST 28(2), 2020. Moments track the rates and cancel the
    gyroscopic moments, J dw/dt = M - w x J w. Thrust is the demand's component along z: Lee, Leok & McClamroch,
    Geometric tracking control of a quadrotor UAV on SE(3), CDC 2010, equation 19.

    Args:
        states: States (V, 13).
        demands: Demands (V, 5).
        gains: Rows of Gains (V, G).
        inertias: Inertia tensors (V, 3, 3) about the centres of mass, kg m^2.
        wrenches: Wrenches (V, 4), output.
    """
    for v in range(states.shape[0]):
        g, j = gains[v], inertias[v]
        attitude, yaw_gain, rate, max_turn, max_yaw, mass = g[3], g[4], g[5], g[7], g[8], g[10]
        qx, qy, qz, qw = states[v, 3], states[v, 4], states[v, 5], states[v, 6]
        # Components of the world's axes in the body's axes.
        xx, xy, xz, yx, yy, yz, zx, zy, zz = axes(qx, qy, qz, qw)

        fx, fy, fz = demands[v, 0], demands[v, 1], demands[v, 2]
        size = math.sqrt(fx * fx + fy * fy + fz * fz)
        # Direction of the demanded thrust in the body.
        dx, dy, dz = 0.0, 0.0, 1.0
        if size > 0.0:
            dx = (xx * fx + yx * fy + zx * fz) / size
            dy = (xy * fx + yy * fy + zy * fz) / size
            dz = (xz * fx + yz * fy + zz * fz) / size
        # Quaternion of the tilt; if exactly upside down, any axis will do.
        norm = math.sqrt(dx * dx + dy * dy + (1.0 + dz) * (1.0 + dz))
        tx, ty, tw = (-dy / norm, dx / norm, (1.0 + dz) / norm) if norm > 1e-6 else (1.0, 0.0, 0.0)
        wx, wy = 2.0 * attitude * tx, 2.0 * attitude * ty
        turn = math.sqrt(wx * wx + wy * wy)
        if turn > max_turn:
            wx, wy = wx * max_turn / turn, wy * max_turn / turn

        # The body's x after the tilt, and the demanded heading without its component along the thrust, in the present
        # body.
        bx, by, bz = 1.0 - 2.0 * ty * ty, 2.0 * tx * ty, -2.0 * ty * tw
        cosine, sine = math.cos(demands[v, 3]), math.sin(demands[v, 3])
        hx, hy, hz = xx * cosine + yx * sine, xy * cosine + yy * sine, xz * cosine + yz * sine
        cx, cy, cz = dy * bz - dz * by, dz * bx - dx * bz, dx * by - dy * bx
        error = math.atan2(hx * cx + hy * cy + hz * cz, hx * bx + hy * by + hz * bz)
        spin = min(max(yaw_gain * error + demands[v, 4], -max_yaw), max_yaw) * tw * tw
        wx, wy, wz = wx + spin * dx, wy + spin * dy, spin * dz

        # Rates in the body.
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


@kernel(nogil=True, error_model="numpy")
def mix(wrenches: FloatArray, first: IntArray, rotors: FloatArray, running: IntArray, commands: FloatArray) -> None:
    """Compute motor commands in [0, 1]; 0 for vehicles whose motors do not run.

    Roll and pitch have priority: both are scaled by one factor if no thrust leaves room for them. Then thrust, as near
    to the demand as the limits allow, so that a vehicle may climb to stay upright. Yaw uses the room that remains.

    Args:
        wrenches: Wrenches (V, 4).
        first: Index (V + 1,) of each vehicle's first rotor; the last entry is R.
        rotors: Rows (R, 11): a rotor's row of the allocation (4), minimum and maximum thrust (N), thrust coefficient,
            minimum and maximum speed (rad/s), and both thrusts divided by the first entry of the row.
        running: Whether motors run (V,).
        commands: Motor commands (R,), output.
    """
    for v in range(wrenches.shape[0]):
        own, out = rotors[first[v] : first[v + 1]], commands[first[v] : first[v + 1]]
        if not running[v]:
            out[:] = 0.0
            continue
        thrust, roll, pitch, yaw = wrenches[v, 0], wrenches[v, 1], wrenches[v, 2], wrenches[v, 3]
        # Until the commands are known, the demand of roll and pitch on each rotor, per unit of thrust.
        for i in range(len(own)):
            out[i] = (own[i, 1] * roll + own[i, 2] * pitch) / own[i, 0]
        # Scale by the largest difference that any two rotors can have.
        share = 1.0
        for i in range(len(own)):
            for k in range(len(own)):
                if own[i, 0] > 0.0 and own[k, 0] > 0.0:
                    apart, room = out[i] - out[k], own[i, 10] - own[k, 9]
                    if apart * share > room:
                        share = room / apart
        roll, pitch = roll * share, pitch * share
        lowest, highest = -math.inf, math.inf
        for i in range(len(own)):
            if own[i, 0] > 0.0:
                demand = own[i, 1] * roll + own[i, 2] * pitch
                lowest = max(lowest, (own[i, 4] - demand) / own[i, 0])
                highest = min(highest, (own[i, 5] - demand) / own[i, 0])
        thrust = min(max(thrust, lowest), highest)
        share = 1.0
        for i in range(len(own)):
            level = own[i, 0] * thrust + own[i, 1] * roll + own[i, 2] * pitch
            wish = own[i, 3] * yaw
            if wish > 0.0:
                share = min(share, max(own[i, 5] - level, 0.0) / wish)
            elif wish < 0.0:
                share = min(share, max(level - own[i, 4], 0.0) / -wish)
        yaw *= share
        for i in range(len(own)):
            force = own[i, 0] * thrust + own[i, 1] * roll + own[i, 2] * pitch + own[i, 3] * yaw
            speed = math.sqrt(max(force, 0.0) / own[i, 6])
            out[i] = min(max((speed - own[i, 7]) / (own[i, 8] - own[i, 7]), 0.0), 1.0)


@kernel(nogil=True, error_model="numpy")
def control(
    states: FloatArray,
    setpoints: FloatArray,
    gains: FloatArray,
    gravity: float,
    period: float,
    running: IntArray,
    integrals: FloatArray,
    demands: FloatArray,
    inertias: FloatArray,
    wrenches: FloatArray,
    first: IntArray,
    rotors: FloatArray,
    commands: FloatArray,
) -> None:
    """Compute motor commands (R,) by all levels of the controller. One call costs as much as one of the three kernels.

    Arguments are those of `control_positions`, `control_attitudes` and `mix`.
    """
    control_positions(states, setpoints, gains, gravity, period, running, integrals, demands)
    control_attitudes(states, demands, gains, inertias, wrenches)
    mix(wrenches, first, rotors, running, commands)


class Controller:
    """Controls V multirotors with R rotors in all, once per period. See the package for the rows of its arrays.

    Args:
        airframes: The V airframes.
        limits: Maximum speed (m/s) and maximum yaw rate (rad/s) of each vehicle, (V, 2).
        period: Time between two calls, s.
        gravity: Magnitude of gravity, m/s^2, downwards.

    Attributes:
        first: Index (V + 1,) of each vehicle's first rotor in the commands; the last entry is R.
        gains: Rows of Gains (V, G).
        integrals: Integrals of the velocity loops (V, 3), the controller's only state; zeros at rest.

    Raises:
        ValueError: The rotors of an airframe cannot command thrust and all three moments.
    """

    def __init__(self, airframes: Sequence[Airframe], limits: FloatArray, period: float, gravity: float = 9.81) -> None:
        count = len(airframes)
        self.first = np.concatenate([[0], np.cumsum([len(a.positions) for a in airframes])]).astype(np.int64)
        self.gains = np.array([gains(a, *limit) for a, limit in zip(airframes, limits.tolist(), strict=True)])
        self.integrals = np.zeros((count, 3))
        self._period, self._gravity = period, gravity
        self._inertias = np.array([a.inertia for a in airframes])
        self._rotors = np.concatenate([_mixer_rows(a) for a in airframes])
        self._demands, self._wrenches = np.zeros((count, 5)), np.zeros((count, 4))

    def flying(
        self, states: FloatArray, setpoints: FloatArray, running: IntArray, commands: FloatArray
    ) -> Callable[[], None]:
        """Return a function that computes motor commands from the present contents of these arrays.

        It updates the `integrals` that this controller has now.

        Args:
            states: Rows (V, 13) [x y z qx qy qz qw vx vy vz wx wy wz] of the centres of mass, in the world (ENU).
            setpoints: Rows (V, 11) [x y z vx vy vz ax ay az yaw yaw_rate], in the world (ENU).
            running: Whether each vehicle's motors run (V,), 0 or 1; without them its commands are 0.
            commands: Where to write the motor commands (R,), in [0, 1].

        Returns:
            A function without arguments, for many calls.
        """
        return bound(
            *(control, states, setpoints, self.gains, self._gravity, self._period, running, self.integrals),
            *(self._demands, self._inertias, self._wrenches, self.first, self._rotors, commands),
        )

    def turn(self, states: FloatArray, demands: FloatArray, running: IntArray, commands: FloatArray) -> None:
        """Compute motor commands from states and demands, without the position and velocity loops of `flying`.

        Args:
            states: As in `flying`.
            demands: Rows (V, 5) [ax ay az yaw yaw_rate]: thrust over mass along the world's axes, m/s^2.
            running: As in `flying`.
            commands: As in `flying`.
        """
        control_attitudes(states, demands, self.gains, self._inertias, self._wrenches)
        mix(self._wrenches, self.first, self._rotors, running, commands)


def _mixer_rows(airframe: Airframe) -> FloatArray:
    columns = (airframe.min_thrusts, airframe.max_thrusts, airframe.coefficients, airframe.slowest, airframe.fastest)
    shares, limits = allocation(airframe), np.column_stack(columns[:2])
    with np.errstate(divide="ignore", invalid="ignore"):  # for rotors without thrust, whose limits are not used
        return np.column_stack([shares, *columns, limits / shares[:, :1]])
