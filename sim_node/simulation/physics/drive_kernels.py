"""The compiled loop of implicit drives, which makes MuJoCo's dry-friction rows track targets instead of zero velocity.

The force of a dry-friction row is limited to plus and minus its friction loss. With R = 1 / (g h) and the reference
acceleration (v0 - v) / h, MuJoCo's solver finds, for all rows together,

    force = g (v0 - v'), limited,    v' = v + h acceleration

which is the force of a damper g at the velocity v' at the end of the timestep h (implicit Euler). A spring k about q0
with a damper d is such a damper with g = h k + d and v0 = k (q0 - q) / g, because q' = q + h v'. Asymmetric limits are
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
# Bounds on the product of gain, mobility and timestep. Above the upper one, the solver's other rows lose significant
# digits; below the lower one, a drive has no effect in 1e9 timesteps and its row would be badly scaled.
MOST, LEAST = 1e7, 1e-9
# Asymmetric limits are capped at twice the drive's own force plus the force for the acceleration UNLIMITED (m/s^2 or
# rad/s^2). Symmetric limits are kept up to MAX_LIMIT, whose products are finite: a row far from its limit is a single
# equation for the solver, which then need not search for where the limit begins.
UNLIMITED, MAX_LIMIT = 1e6, 1e200


@kernel(nogil=True)
def hold_targets(table, state, place, timestep, first, count, types, ids, friction, lengths, rows):
    """Write the constraint rows of the drives, and the constant forces of their actuators.

    Args:
        table: Parameters (I, 6) of the drives, with the columns above. AHEAD is 1 if the spring is evaluated at the end
            of the timestep. HOLD is the stiffness with which a velocity drive holds its position while its target is 0,
            or 0.
        state: Targets (I,), positions or velocities; smallest and largest forces (I, 2); engagement (I,), the fraction
            of these forces that is available; anchors (I,), the positions held with HOLD, NaN where none is held.
        place: Drive of each MuJoCo tendon, or -1.
        timestep: Timestep, s.
        first: Index of the first dry-friction row.
        count: Number of dry-friction rows.
        types: efc_type.
        ids: efc_id.
        friction: Constraint type of a tendon's dry friction.
        lengths: ten_length.
        rows: efc_vel, efc_R, efc_D, efc_frictionloss, efc_aref, and the constant forces to write (I,).
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
    """Add the forces that the solver found to the forces (I,) of the drives and to the efforts of their joints.

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
