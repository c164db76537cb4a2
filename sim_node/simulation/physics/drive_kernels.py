"""The compiled loop of implicit drives: it makes MuJoCo's rows of dry friction hold targets instead of rest.

A row of dry friction has a force within plus and minus its limit, and outside of it none that grows: with
R = 1 / (g h) and the reference acceleration (v0 - v) / h MuJoCo's solver finds, for all rows together,

    force = g (v0 - v'), limited,    v' = v + h acceleration

which is the force of a damper g at the velocity v' at the end of the timestep h (implicit Euler). A spring k about q0
with a damper d is one of g = h k + d and v0 = k (q0 - q) / g, because q' = q + h v'. Limits that are not symmetric are
symmetric about a constant force, which the actuator of the drive adds.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The types are numba's.

from __future__ import annotations

import math

from sim_node.spatial.geometry.kernel import kernel

# Columns of the table of drives.
STIFFNESS, DAMPING, MOBILITY, AHEAD, HOLD, HOLD_DAMPING = 0, 1, 2, 3, 4, 5
DRIVE_COLUMNS = 6
# Products of gain, mobility and timestep. Above the largest, the solver's other rows lose digits that count; below the
# least, a drive has no effect in 1e9 timesteps, but its row would have no scale.
MOST, LEAST = 1e7, 1e-9
# Without a limit in one direction: the acceleration (m/s^2 or rad/s^2) that a drive can always give in that, besides
# twice its own force. Limits that are symmetric stay as they are, up to a number whose products are finite: a row that
# is far from its limit is one equation for the solver, which need not search for where the limit begins.
UNLIMITED, MAX_LIMIT = 1e6, 1e200


@kernel(nogil=True)
def hold_targets(table, state, place, timestep, first, count, types, ids, friction, lengths, rows):
    """Write the rows of the drives, and the constant forces of their actuators.

    Args:
        table: By the columns above (I, 6). AHEAD: 1 where a spring is evaluated at the end of the timestep. HOLD: the
            stiffness of the spring of a velocity drive while its target is 0, or 0.
        state: targets: positions or velocities (I,); limits: smallest and largest forces (I, 2); engagement: how much
            of them a drive has (I,); anchors: where the springs of HOLD hold, NaN where they do not (I,).
        place: The drive of each of MuJoCo's tendons, or -1.
        timestep: s.
        first: The first row of dry friction.
        count: Number of such rows.
        types, ids: efc_type and efc_id.
        friction: The type of a tendon's dry friction.
        lengths: ten_length.
        rows: efc_vel, efc_R, efc_D, efc_frictionloss, efc_aref, and the forces to add (I,).
    """
    targets, limits, engagement, anchors = state
    velocities, resistance, weights, losses, references, constant = rows
    for row in range(first, first + count):
        if types[row] != friction or place[ids[row]] < 0:
            continue
        k = place[ids[row]]
        stiffness, damping, mobility = table[k, STIFFNESS], table[k, DAMPING], table[k, MOBILITY]
        target, ahead = targets[k], table[k, AHEAD]
        if table[k, HOLD] > 0.0:
            if target != 0.0:
                anchors[k] = math.nan
            elif math.isnan(anchors[k]):
                anchors[k] = lengths[ids[row]]
            if target == 0.0:
                stiffness, damping, target, ahead = table[k, HOLD], table[k, HOLD_DAMPING], anchors[k], 1.0
        most = MOST / (mobility * timestep)
        gain = stiffness * timestep * ahead + damping
        gain = min(max(gain, LEAST / (mobility * timestep)), most)
        if stiffness > 0.0:
            force = min(stiffness, most / timestep) * (target - lengths[ids[row]])
        else:
            force = min(damping, most) * target
        low, high = 0.0, 0.0
        if engagement[k] > 0.0:
            low, high = limits[k, 0] * engagement[k], limits[k, 1] * engagement[k]
            bound = MAX_LIMIT
            if low != -high:
                implied = abs(force - gain * velocities[row]) / (1.0 + gain * mobility * timestep)
                bound = 2.0 * implied + UNLIMITED / mobility
            low, high = max(low, -bound), min(high, bound)
        middle = (low + high) / 2.0
        resistance[row] = 1.0 / (gain * timestep)
        weights[row] = gain * timestep
        losses[row] = (high - low) / 2.0
        references[row] = ((force - middle) / gain - velocities[row]) / timestep
        constant[k] = middle


@kernel(nogil=True)
def add_efforts(place, first, count, types, ids, friction, found, forces, joints, coefficients, efforts):
    """Add what the solver found to the forces of drives (I,), and to the efforts of their joints.

    joints (I, J), -1 for none, and coefficients (I, J): the degrees of freedom of each drive.
    """
    for row in range(first, first + count):
        if types[row] != friction or place[ids[row]] < 0:
            continue
        k = place[ids[row]]
        forces[k] += found[row]
        for j in range(joints.shape[1]):
            if joints[k, j] >= 0:
                efforts[joints[k, j]] += coefficients[k, j] * found[row]
