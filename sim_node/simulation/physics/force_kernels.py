"""The compiled loops of forces: each handles all forces of its kind at once and adds to xfrc_applied.

Common arguments:

    bodies (F, 2): the MuJoCo body that each force acts on, and the root of its tree
    table (F, C): the parameters of the forces, by the columns below
    xmat (B, 9), xipos (B, 3), cvel (B, 6), com (B, 3): MuJoCo's; cvel is [w, v], v at the centre of mass of the tree
    wrenches (B, 6): xfrc_applied, [force, torque] about each body's own centre of mass, in the axes of the world
    lead: how much later than now, s, the force that is held for the timestep is evaluated; half a timestep is leapfrog
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The types are numba's.

from __future__ import annotations

import math

from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import cross, multiply

# Columns of the tables. Lever arms are from the body's centre of mass, along its axes.
CONSTANT_FORCE, CONSTANT_TORQUE, CONSTANT_LEVER, CONSTANT_TURNS, CONSTANT_SPAN = 0, 3, 6, 9, 10
CONSTANT_COLUMNS = 12
DRAG_LINEAR, DRAG_QUADRATIC, DRAG_ANGULAR_LINEAR, DRAG_ANGULAR_QUADRATIC, DRAG_LEVER = 0, 3, 6, 9, 12
DRAG_COLUMNS = 15
BUOYANCY_LIFT, BUOYANCY_LEVER, BUOYANCY_SURFACE, BUOYANCY_HEIGHT, BUOYANCY_ROUND = 0, 3, 6, 7, 8
BUOYANCY_COLUMNS = 9
# Columns after the three coordinates of the centre.
GRAVITY_MU, GRAVITY_ACCELERATION = 3, 4


@kernel(nogil=True)
def push_constant(bodies, table, step, lead, xmat, cvel, wrenches):
    """Apply the forces and torques that act in this timestep, the step-th of the run."""
    for k in range(bodies.shape[0]):
        if not table[k, CONSTANT_SPAN] <= step < table[k, CONSTANT_SPAN + 1]:
            continue
        b = bodies[k, 0]
        w = cvel[b, 0], cvel[b, 1], cvel[b, 2]
        force, torque = _at(table, k, CONSTANT_FORCE), _at(table, k, CONSTANT_TORQUE)
        if table[k, CONSTANT_TURNS] > 0.0:
            force = _turned(w, lead, _to_world(xmat, b, force))
            torque = _turned(w, lead, _to_world(xmat, b, torque))
        lever = _turned(w, lead, _to_world(xmat, b, _at(table, k, CONSTANT_LEVER)))
        _add(wrenches, b, force, torque, lever)


@kernel(nogil=True)
def push_drag(bodies, table, air, lead, extrapolation, before, xmat, xipos, cvel, com, wrenches):
    """Apply drag at the velocities that the bodies will have `lead` later, extrapolated from the last timestep.

    before (F, 6): the velocities at the last timestep in body axes, NaN at first; extrapolation: lead / timestep.
    """
    for k in range(bodies.shape[0]):
        b, root = bodies[k, 0], bodies[k, 1]
        w = cvel[b, 0], cvel[b, 1], cvel[b, 2]
        lever = _to_world(xmat, b, _at(table, k, DRAG_LEVER))
        place = xipos[b, 0] + lever[0], xipos[b, 1] + lever[1], xipos[b, 2] + lever[2]
        arm = place[0] - com[root, 0], place[1] - com[root, 1], place[2] - com[root, 2]
        swing = cross(*w, *arm)
        v = _to_body(xmat, b, (cvel[b, 3] + swing[0], cvel[b, 4] + swing[1], cvel[b, 5] + swing[2]))
        spin = _to_body(xmat, b, w)
        v_later = _extrapolated(before, k, 0, v, extrapolation)
        spin_later = _extrapolated(before, k, 3, spin, extrapolation)
        wind = _to_body(xmat, b, _turned(w, -lead, air_velocity(air, place[2])))
        through = v_later[0] - wind[0], v_later[1] - wind[1], v_later[2] - wind[2]
        force = _resisted(table, k, DRAG_LINEAR, through)
        torque = _resisted(table, k, DRAG_ANGULAR_LINEAR, spin_later)
        _add(
            wrenches,
            b,
            _turned(w, lead, _to_world(xmat, b, force)),
            _turned(w, lead, _to_world(xmat, b, torque)),
            _turned(w, lead, lever),
        )


@kernel(nogil=True)
def push_buoyancy(bodies, table, lead, xmat, xipos, cvel, com, wrenches):
    """Apply the lift (N, when submerged) times the submerged fraction."""
    for k in range(bodies.shape[0]):
        b, root = bodies[k, 0], bodies[k, 1]
        w = cvel[b, 0], cvel[b, 1], cvel[b, 2]
        lever = _to_world(xmat, b, _at(table, k, BUOYANCY_LEVER))
        x, y, z = xipos[b, 0] + lever[0], xipos[b, 1] + lever[1], xipos[b, 2] + lever[2]
        climb = cvel[b, 5] + w[0] * (y - com[root, 1]) - w[1] * (x - com[root, 0])
        depth = table[k, BUOYANCY_SURFACE] - (z + lead * climb)
        under = min(max(0.5 + depth / table[k, BUOYANCY_HEIGHT], 0.0), 1.0)
        if table[k, BUOYANCY_ROUND] > 0.0:
            under = under * under * (3.0 - 2.0 * under)
        lift = _at(table, k, BUOYANCY_LIFT)
        force = lift[0] * under, lift[1] * under, lift[2] * under
        _add(wrenches, b, force, (0.0, 0.0, 0.0), _turned(w, lead, lever))


@kernel(nogil=True)
def push_gravity(bodies, masses, table, lead, xipos, cvel, com, wrenches):
    """Attract bodies of masses (B,) to each centre with m (mu / r^2 + a), where they will be `lead` later."""
    for k in range(bodies.shape[0]):
        b, root = bodies[k, 0], bodies[k, 1]
        arm = xipos[b, 0] - com[root, 0], xipos[b, 1] - com[root, 1], xipos[b, 2] - com[root, 2]
        swing = cross(cvel[b, 0], cvel[b, 1], cvel[b, 2], *arm)
        x = xipos[b, 0] + lead * (cvel[b, 3] + swing[0])
        y = xipos[b, 1] + lead * (cvel[b, 4] + swing[1])
        z = xipos[b, 2] + lead * (cvel[b, 5] + swing[2])
        for c in range(table.shape[0]):
            dx, dy, dz = table[c, 0] - x, table[c, 1] - y, table[c, 2] - z
            square = dx * dx + dy * dy + dz * dz
            if square > 0.0:
                pull = masses[b] * (table[c, GRAVITY_MU] / square + table[c, GRAVITY_ACCELERATION]) / math.sqrt(square)
                wrenches[b, 0] += pull * dx
                wrenches[b, 1] += pull * dy
                wrenches[b, 2] += pull * dz


@kernel(nogil=True)
def turn_by_springs(addresses, stiffness, zeros, lead, qpos, qvel, forces):
    """Write the torques of springs on balls to their rows of qfrc_applied: -k times the rotation vector from zero.

    addresses (F, 2): in qpos and qvel; stiffness (F, 3) about the body's axes; zeros (F, 4): [w x y z].
    """
    for k in range(addresses.shape[0]):
        at, dof = addresses[k, 0], addresses[k, 1]
        sx, sy, sz = 0.5 * lead * qvel[dof], 0.5 * lead * qvel[dof + 1], 0.5 * lead * qvel[dof + 2]
        half = math.sqrt(sx * sx + sy * sy + sz * sz)
        scale = math.sin(half) / half if half > 0.0 else 1.0
        step = sx * scale, sy * scale, sz * scale, math.cos(half)
        there = multiply(qpos[at + 1], qpos[at + 2], qpos[at + 3], qpos[at], *step)
        x, y, z, w = multiply(-zeros[k, 1], -zeros[k, 2], -zeros[k, 3], zeros[k, 0], *there)
        if w < 0.0:
            w, x, y, z = -w, -x, -y, -z
        sine = math.sqrt(x * x + y * y + z * z)
        angle = 2.0 * math.atan2(sine, w) / sine if sine > 0.0 else 2.0
        forces[dof] = -stiffness[k, 0] * angle * x
        forces[dof + 1] = -stiffness[k, 1] * angle * y
        forces[dof + 2] = -stiffness[k, 2] * angle * z


@kernel(inline="always")
def air_velocity(air, z):
    """Return the velocity (m/s) of the air at a height (m), from the array WindField.air."""
    if air[10] == 0.0:
        return air[0], air[1], air[2]
    scale = math.pow(max(z, 0.0) * air[9], air[10])
    return air[3] * scale + air[6], air[4] * scale + air[7], air[5] * scale + air[8]


@kernel(inline="always")
def _at(table, k, column):
    return table[k, column], table[k, column + 1], table[k, column + 2]


@kernel(inline="always")
def _to_world(xmat, b, v):
    return (
        xmat[b, 0] * v[0] + xmat[b, 1] * v[1] + xmat[b, 2] * v[2],
        xmat[b, 3] * v[0] + xmat[b, 4] * v[1] + xmat[b, 5] * v[2],
        xmat[b, 6] * v[0] + xmat[b, 7] * v[1] + xmat[b, 8] * v[2],
    )


@kernel(inline="always")
def _to_body(xmat, b, v):
    return (
        xmat[b, 0] * v[0] + xmat[b, 3] * v[1] + xmat[b, 6] * v[2],
        xmat[b, 1] * v[0] + xmat[b, 4] * v[1] + xmat[b, 7] * v[2],
        xmat[b, 2] * v[0] + xmat[b, 5] * v[1] + xmat[b, 8] * v[2],
    )


@kernel()
def _turned(w, seconds, v):
    """Return a vector rotated at angular velocity w for some seconds (Rodrigues' rotation formula)."""
    rate = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if rate == 0.0 or seconds == 0.0:
        return v
    sine = math.sin(rate * seconds) / rate
    half = math.sin(0.5 * rate * seconds) / rate
    versine = 2.0 * half * half
    once = cross(*w, *v)
    twice = cross(*w, *once)
    return (
        v[0] + sine * once[0] + versine * twice[0],
        v[1] + sine * once[1] + versine * twice[1],
        v[2] + sine * once[2] + versine * twice[2],
    )


@kernel(inline="always")
def _extrapolated(before, k, column, now, extrapolation):
    """Return a velocity extrapolated from the last timestep; the present one is kept for the next timestep."""
    last = _at(before, k, column)
    before[k, column], before[k, column + 1], before[k, column + 2] = now
    if math.isnan(last[0]):
        return now
    return (
        now[0] + extrapolation * (now[0] - last[0]),
        now[1] + extrapolation * (now[1] - last[1]),
        now[2] + extrapolation * (now[2] - last[2]),
    )


@kernel(inline="always")
def _resisted(table, k, linear, v):
    """Return -(linear + quadratic |v|) v, axis by axis; the quadratic coefficients follow the linear ones."""
    speed = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return (
        -(table[k, linear] + table[k, linear + 3] * speed) * v[0],
        -(table[k, linear + 1] + table[k, linear + 4] * speed) * v[1],
        -(table[k, linear + 2] + table[k, linear + 5] * speed) * v[2],
    )


@kernel(inline="always")
def _add(wrenches, b, force, torque, lever):
    """Add a force at a lever arm from the centre of mass, and a torque."""
    moment = cross(*lever, *force)
    for axis in range(3):
        wrenches[b, axis] += force[axis]
        wrenches[b, 3 + axis] += torque[axis] + moment[axis]
