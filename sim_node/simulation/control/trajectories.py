"""Setpoints over time: along the waypoints of a mission, and towards a goal that may change, within limits."""

from __future__ import annotations

import math
from enum import IntEnum

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import yaw_of

# A vehicle has landed if it is slower than this (m/s) while the setpoint is this far below it (m).
STILL, BELOW = 0.1, 0.3


class Phase(IntEnum):
    """Phase of a mission."""

    WAIT = 0
    FLY = 1
    LAND = 2
    DONE = 3


WAIT, FLY, LAND, DONE = (int(phase) for phase in Phase)
# Columns of a mission's memory: its phase, the next waypoint, the time in this phase or on this leg, the time at the
# waypoint, and the position and yaw at the beginning of the leg.
PHASE, WAYPOINT, ELAPSED, HELD, BEGIN, BEGIN_YAW = 0, 1, 2, 3, 4, 7
MEMORY = 8


@kernel(nogil=True, error_model="numpy")
def profile(elapsed: float, length: float, speed: float, acceleration: float) -> tuple[float, float, float, float]:
    """Return the state of motion at a time on a path from rest to rest, within a maximum speed and acceleration.

    The speed ramps up as 3 u^2 - 2 u^3, so that the acceleration has no jumps, then stays constant, then ramps down. On
    a path too short for the maximum speed, a lower one is reached.

    Args:
        elapsed: Time since the start, s.
        length: Length of the path, m.
        speed: Maximum speed, m/s.
        acceleration: Maximum acceleration, m/s^2.

    Returns:
        Distance (m), speed (m/s), acceleration (m/s^2), and duration of the path (s).
    """
    if length <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    # A ramp of duration T to speed v has its greatest acceleration, 1.5 v / T, halfway, and the length v T / 2.
    top = min(speed, math.sqrt(length * acceleration / 1.5))
    ramp = 1.5 * top / acceleration
    total = length / top + ramp
    back = total - elapsed
    t = min(max(min(elapsed, back), 0.0), ramp)
    u = t / ramp
    path = top * t * u * u * (1.0 - 0.5 * u)
    fast = top * u * u * (3.0 - 2.0 * u)
    faster = 6.0 * top / ramp * u * (1.0 - u)
    if elapsed >= back:
        return length - path if back < ramp else top * (elapsed - 0.5 * ramp), fast, -faster, total
    return path if elapsed < ramp else top * (elapsed - 0.5 * ramp), fast, faster, total


@kernel(nogil=True, error_model="numpy")
def fly_missions(
    states: FloatArray,
    pilots: FloatArray,
    first: IntArray,
    waypoints: FloatArray,
    period: float,
    memory: FloatArray,
    setpoints: FloatArray,
    running: IntArray,
) -> None:
    """Write setpoints for the next period, and whether motors run; advance the memory of missions.

    Args:
        states: States (V, 13).
        pilots: Rows (V, 5): wait (s), acceleration (m/s^2), landing speed (m/s), yaw rate (rad/s), and 0 to land, 1 to
            hold or 2 to loop after the last waypoint.
        first: Index (V + 1,) of each vehicle's first waypoint, its take-off, to which a loop does not return; the last
            entry is W.
        waypoints: Rows (W, 7) [x y z yaw speed hold radius]; a yaw of NaN keeps it.
        period: Time between two calls, s.
        memory: Memory (V, MEMORY), updated.
        setpoints: Setpoints (V, 11), output.
        running: Whether motors run (V,), output.
    """
    for v in range(states.shape[0]):
        now, p, out = memory[v], pilots[v], setpoints[v]
        count = first[v + 1] - first[v]
        x, y, z = states[v, 0], states[v, 1], states[v, 2]
        phase = int(now[PHASE])
        if phase == WAIT and now[ELAPSED] >= p[0]:
            now[BEGIN_YAW] = yaw_of(states[v, 3], states[v, 4], states[v, 5], states[v, 6])
            now[BEGIN], now[BEGIN + 1], now[BEGIN + 2] = x, y, z
            now[WAYPOINT], now[ELAPSED], now[HELD] = 0.0, 0.0, 0.0
            phase = FLY

        out[:] = 0.0
        if phase == FLY:
            goal = waypoints[first[v] + int(now[WAYPOINT])]
            dx, dy, dz = goal[0] - now[BEGIN], goal[1] - now[BEGIN + 1], goal[2] - now[BEGIN + 2]
            length = math.sqrt(dx * dx + dy * dy + dz * dz)
            path, speed, acceleration, duration = profile(now[ELAPSED], length, goal[4], p[1])
            if length > 0.0:
                dx, dy, dz = dx / length, dy / length, dz / length
            out[0], out[1], out[2] = now[BEGIN] + path * dx, now[BEGIN + 1] + path * dy, now[BEGIN + 2] + path * dz
            out[3], out[4], out[5] = speed * dx, speed * dy, speed * dz
            out[6], out[7], out[8] = acceleration * dx, acceleration * dy, acceleration * dz
            turn = 0.0 if math.isnan(goal[3]) else goal[3] - now[BEGIN_YAW]
            turn -= 2.0 * math.pi * math.floor(turn / (2.0 * math.pi) + 0.5)
            turned, rate, _, turning = profile(now[ELAPSED], abs(turn), p[3], 2.0 * p[3])
            out[9] = now[BEGIN_YAW] + math.copysign(turned, turn)
            out[10] = math.copysign(rate, turn)

            away = math.sqrt((goal[0] - x) ** 2 + (goal[1] - y) ** 2 + (goal[2] - z) ** 2)
            if now[ELAPSED] >= max(duration, turning) and (now[HELD] > 0.0 or away <= goal[6]):
                now[HELD] += period
                last = int(now[WAYPOINT]) == count - 1
                if now[HELD] > goal[5] and not (last and p[4] == 1.0):
                    now[BEGIN], now[BEGIN + 1], now[BEGIN + 2], now[BEGIN_YAW] = goal[0], goal[1], goal[2], out[9]
                    now[ELAPSED], now[HELD] = -period, 0.0
                    now[WAYPOINT] += 1.0
                    if last and p[4] == 2.0 and count > 1:
                        now[WAYPOINT] = 1.0
                    elif last:
                        phase = LAND
        elif phase == LAND:
            # The descent starts as smoothly as it ends.
            ramp = 1.5 * p[2] / p[1]
            u = min(now[ELAPSED] / ramp, 1.0)
            path = p[2] * min(now[ELAPSED], ramp) * u * u * (1.0 - 0.5 * u) + p[2] * max(now[ELAPSED] - ramp, 0.0)
            out[0], out[1], out[2] = now[BEGIN], now[BEGIN + 1], now[BEGIN + 2] - path
            out[5] = -p[2] * u * u * (3.0 - 2.0 * u)
            out[8] = -6.0 * p[2] / ramp * u * (1.0 - u)
            out[9] = now[BEGIN_YAW]
            if out[2] < z - BELOW and abs(states[v, 9]) < STILL:
                phase = DONE
        now[PHASE] = phase
        now[ELAPSED] += period
        running[v] = phase in (FLY, LAND)


# Decay rate of the remaining distance, 1/s: slower than the position loop, to prevent overshoot.
ARRIVING = 1.5
# Decay rate of the remaining yaw, 1/s.
TURNING = 2.0


@kernel(nogil=True, error_model="numpy")
def braking_speed(left: float, acceleration: float) -> float:
    """Return the greatest speed (m/s) from which a vehicle can stop within a distance (m) at an acceleration (m/s^2).

    It is sqrt(2 a d), and near the goal ARRIVING times the distance, if that needs less braking.
    """
    near = acceleration / (ARRIVING * ARRIVING)
    return ARRIVING * left if left <= near else math.sqrt(2.0 * acceleration * (left - 0.5 * near))


@kernel(nogil=True, error_model="numpy")
def approach(reference: FloatArray, goal: FloatArray, speed: float, acceleration: float, period: float) -> float:
    """Move a setpoint for one period towards a goal, to rest there, and return the remaining distance, m.

    Args:
        reference: Setpoint (11,) [x y z vx vy vz ax ay az yaw yaw_rate] in any state of motion, updated.
        goal: Position (3,), m.
        speed: Maximum speed, m/s; near the goal it is that of `braking_speed`.
        acceleration: Maximum acceleration, m/s^2.
        period: Period, s.
    """
    dx, dy, dz = goal[0] - reference[0], goal[1] - reference[1], goal[2] - reference[2]
    left = math.sqrt(dx * dx + dy * dy + dz * dz)
    share = min(braking_speed(left, acceleration), speed) / left if left > 0.0 else 0.0
    glide(reference, dx * share, dy * share, dz * share, acceleration, period)
    return left


@kernel(nogil=True, error_model="numpy")
def glide(reference: FloatArray, vx: float, vy: float, vz: float, acceleration: float, period: float) -> None:
    """Advance a setpoint by one period, while its velocity changes towards a demanded one.

    Args:
        reference: Setpoint (11,), as in `approach`, updated.
        vx: Demanded velocity along x, m/s.
        vy: Demanded velocity along y, m/s.
        vz: Demanded velocity along z, m/s.
        acceleration: Maximum acceleration, m/s^2.
        period: Period, s.
    """
    ax, ay, az = (vx - reference[3]) / period, (vy - reference[4]) / period, (vz - reference[5]) / period
    size = math.sqrt(ax * ax + ay * ay + az * az)
    if size > acceleration:
        ax, ay, az = ax * acceleration / size, ay * acceleration / size, az * acceleration / size
    reference[0] += period * (reference[3] + 0.5 * period * ax)
    reference[1] += period * (reference[4] + 0.5 * period * ay)
    reference[2] += period * (reference[5] + 0.5 * period * az)
    reference[3] += period * ax
    reference[4] += period * ay
    reference[5] += period * az
    reference[6], reference[7], reference[8] = ax, ay, az


@kernel(nogil=True, error_model="numpy")
def turn_to(reference: FloatArray, yaw: float, rate: float, period: float) -> float:
    """Turn a setpoint for one period towards a yaw, in the shorter direction, and return the remaining angle, rad.

    Args:
        reference: Setpoint (11,), as in `approach`, updated.
        yaw: Yaw, rad.
        rate: Maximum yaw rate, rad/s.
        period: Period, s.
    """
    left = yaw - reference[9]
    left -= 2.0 * math.pi * math.floor(left / (2.0 * math.pi) + 0.5)
    reference[10] = min(max(TURNING * left, -rate), rate)
    reference[9] += period * reference[10]
    return math.fabs(left)
