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

from sim_node.geometry.kernel import kernel

# Columns of the table of drives.
STIFFNESS, DAMPING, MOBILITY, AHEAD = 0, 1, 2, 3
DRIVE_COLUMNS = 4
# Products of gain, mobility and timestep. Above the largest, the solver's other rows lose digits that count; below the
# least, a drive has no effect in 1e9 timesteps, but its row would have no scale.
MOST, LEAST = 1e9, 1e-9
# Without a limit: the acceleration (m/s^2 or rad/s^2) that a drive can always give, besides twice its own force.
UNLIMITED = 1e6


@kernel(nogil=True)
def hold_targets(table, targets, limits, enabled, place, timestep, first, count, types, ids, friction, lengths, rows):
    """Write the rows of the drives, and the constant forces of their actuators.

    Args:
        table: By the columns above (I, 4). AHEAD: 1 where a spring is evaluated at the end of the timestep.
        targets: Positions or velocities (I,).
        limits: Smallest and largest forces (I, 2).
        enabled: 0 where a drive does not act (I,).
        place: The drive of each of MuJoCo's tendons, or -1.
        timestep: s.
        first: The first row of dry friction.
        count: Number of such rows.
        types, ids: efc_type and efc_id.
        friction: The type of a tendon's dry friction.
        lengths: ten_length.
        rows: efc_vel, efc_R, efc_D, efc_frictionloss, efc_aref, and the forces to add (I,).
    """
    velocities, resistance, weights, losses, references, constant = rows
    for row in range(first, first + count):
        if types[row] != friction or place[ids[row]] < 0:
            continue
        k = place[ids[row]]
        stiffness, damping, mobility = table[k, STIFFNESS], table[k, DAMPING], table[k, MOBILITY]
        most = MOST / (mobility * timestep)
        gain = stiffness * timestep * table[k, AHEAD] + damping
        gain = min(max(gain, LEAST / (mobility * timestep)), most)
        if stiffness > 0.0:
            force = min(stiffness, most / timestep) * (targets[k] - lengths[ids[row]])
        else:
            force = min(damping, most) * targets[k]
        low, high = 0.0, 0.0
        if enabled[k] > 0.0:
            implied = abs(force - gain * velocities[row]) / (1.0 + gain * mobility * timestep)
            bound = 2.0 * implied + UNLIMITED / mobility
            low, high = max(limits[k, 0], -bound), min(limits[k, 1], bound)
        middle = (low + high) / 2.0
        resistance[row] = 1.0 / (gain * timestep)
        weights[row] = gain * timestep
        losses[row] = (high - low) / 2.0
        references[row] = ((force - middle) / gain - velocities[row]) / timestep
        constant[k] = middle


@kernel(nogil=True)
def add_efforts(place, first, count, types, ids, friction, forces, joints, coefficients, efforts):
    """Add the forces of drives to the efforts of their joints: joints (I, J), -1 for none, coefficients (I, J)."""
    for row in range(first, first + count):
        if types[row] != friction or place[ids[row]] < 0:
            continue
        k = place[ids[row]]
        for j in range(joints.shape[1]):
            if joints[k, j] >= 0:
                efforts[joints[k, j]] += coefficients[k, j] * forces[row]
