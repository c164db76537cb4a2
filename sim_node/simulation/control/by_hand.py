"""Setpoints of multirotors under manual control: velocities along the heading, each of which expires."""

from __future__ import annotations

import math

from sim_node.simulation.control.trajectories import BELOW, PHASE, STILL, glide
from sim_node.simulation.control.trajectories import DONE as MISSION_DONE
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import yaw_of

# Mode of a vehicle: it flies its mission, or is under manual control, which has just begun, on the ground or in flight.
MISSION, TAKEN_OVER, STANDING, FLYING = 0, 1, 2, 3
# Columns of a vehicle's memory: its setpoint (11,), and the time for which it has been on the ground, s.
GROUNDED, MEMORY = 11, 12
# Time after which a vehicle that stands still while it is commanded to descend has landed, s.
LANDED_S = 0.2
# Maximum distance of the setpoint from a vehicle that cannot follow it, as at a wall, m.
LEASH = 1.0
# Such a vehicle is blocked, instead of in a head wind, if it has less than this fraction of the speed. The controller's
# integral then decays with this time constant, s, to prevent windup.
BLOCKED, LEAK_S = 0.25, 1.0


@kernel(nogil=True, error_model="numpy")
def _limited(command: FloatArray, limits: FloatArray) -> tuple[float, float, float, float]:
    """Return a command, scaled down as a whole to the limits."""
    ahead, left, up, turn = command[0], command[1], command[2], command[3]
    over = math.sqrt(ahead * ahead + left * left + up * up) / limits[0]
    over = max(over, abs(turn) / limits[1], 1.0)
    return ahead / over, left / over, up / over, turn / over


@kernel(nogil=True, error_model="numpy")
def _stay_near(m: FloatArray, state: FloatArray, integrals: FloatArray, period: float) -> None:
    """Keep the setpoint within LEASH of a vehicle, and let the integral of a blocked one decay."""
    dx, dy, dz = m[0] - state[0], m[1] - state[1], m[2] - state[2]
    away = math.sqrt(dx * dx + dy * dy + dz * dz)
    if away > LEASH:
        share = LEASH / away
        m[0], m[1], m[2] = state[0] + share * dx, state[1] + share * dy, state[2] + share * dz
        along = m[3] * state[7] + m[4] * state[8] + m[5] * state[9]
        if along < BLOCKED * (m[3] * m[3] + m[4] * m[4] + m[5] * m[5]):
            integrals *= 1.0 - min(period / LEAK_S, 1.0)


@kernel(nogil=True, error_model="numpy")
def fly_by_hand(
    states: FloatArray,
    limits: FloatArray,
    commands: FloatArray,
    now: float,
    period: float,
    integrals: FloatArray,
    missions: FloatArray,
    modes: IntArray,
    memory: FloatArray,
    setpoints: FloatArray,
    running: IntArray,
) -> None:
    """Overwrite the setpoints and running flags from fly_missions for vehicles under manual control.

    When a command has expired, the vehicle brakes and holds its position. On the ground, motors stand until a command
    climbs. A mission ends when manual control begins.

    Args:
        states: States (V, 13).
        limits: Rows (V, 3): speed (m/s), yaw rate (rad/s), acceleration (m/s^2). A command beyond them is scaled down
            as a whole.
        commands: Rows (V, 5) [ahead left up turn until]: velocity along the heading (m/s), yaw rate (rad/s), and the
            time at which they expire (s).
        now: Present time, s.
        period: Time between two calls, s.
        integrals: Integrals (V, 3) of the controller, updated.
        missions: Memory of fly_missions, updated.
        modes: Modes (V,), updated.
        memory: Memory (V, MEMORY), updated.
        setpoints: Setpoints (V, 11), output.
        running: Whether motors run (V,), input and output.
    """
    for v in range(states.shape[0]):
        if modes[v] == MISSION:
            continue
        m, c, out = memory[v], commands[v], setpoints[v]
        if modes[v] == TAKEN_OVER:
            modes[v] = FLYING if running[v] else STANDING
            m[:GROUNDED] = out  # continue from the mission's setpoint
            m[GROUNDED] = 0.0
            missions[v, PHASE] = MISSION_DONE
        ahead, left, up, turn = _limited(c, limits[v]) if c[4] > now else (0.0, 0.0, 0.0, 0.0)
        if modes[v] == STANDING and up > 0.0:
            m[:] = 0.0
            m[:3] = states[v, :3]
            m[9] = yaw_of(states[v, 3], states[v, 4], states[v, 5], states[v, 6])
            modes[v] = FLYING
        if modes[v] == FLYING:
            # The heading halfway through the period.
            heading = m[9] + 0.5 * period * turn
            cosine, sine = math.cos(heading), math.sin(heading)
            glide(m, ahead * cosine - left * sine, ahead * sine + left * cosine, up, limits[v, 2], period)
            m[9] += period * turn
            m[10] = turn
            if ahead != 0.0 or left != 0.0 or up != 0.0:
                _stay_near(m, states[v], integrals[v], period)
            down = up < 0.0 and m[2] < states[v, 2] - BELOW and abs(states[v, 9]) < STILL
            m[GROUNDED] = m[GROUNDED] + period if down else 0.0
            if m[GROUNDED] >= LANDED_S:
                modes[v] = STANDING
        flies = modes[v] == FLYING
        running[v] = 1 if flies else 0
        for i in range(GROUNDED):
            out[i] = m[i] if flies else 0.0
