"""Compiled inner loops: the pose along a chain, and the residual of a cycle of poses and motions."""

# mypy: allow-untyped-defs, allow-untyped-calls
# The types are numba's, inferred.

from __future__ import annotations

import math

from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import IDENTITY, as_pose, compose, invert, rotate, write_pose

# Kinds of elements in cycles. After merging, there are no INVERSE poses left.
CONSTANT, SLIDE, HINGE, INVERSE = 0, 1, 2, 3


@kernel()
def solve(poses, nodes, upper, lower, target, end, motion, out):
    """Write S = N^-1 A P^-1 to out (7,): the pose that closes a chain, as a unit quaternion.

    poses (N, 7): local poses. nodes (K,): the two chains, each from a connector's owner upwards. upper, lower: first
    and last (exclusive) entries of the moved chain above and below the node to solve, which give N and P without the
    connector. target: those of the other chain. end (2, 7): poses of the connectors in their owners, that of the target
    first. motion (7,): from the target's connector to the other.
    """
    above = _along(poses, nodes, upper[0], upper[1])
    goal = compose(_along(poses, nodes, target[0], target[1]), compose(as_pose(end[0]), as_pose(motion)))
    below = compose(_along(poses, nodes, lower[0], lower[1]), as_pose(end[1]))
    x, y, z, qx, qy, qz, qw = compose(compose(invert(above), goal), invert(below))
    scale = 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    out[0], out[1], out[2] = x, y, z
    out[3], out[4], out[5], out[6] = qx * scale, qy * scale, qz * scale, qw * scale


@kernel()
def gap(poses, nodes, first, second, ends, out):
    """Write the pose of the second connector in the first one to out (7,). Arguments are as in `solve`."""
    a = compose(_along(poses, nodes, first[0], first[1]), as_pose(ends[0]))
    b = compose(_along(poses, nodes, second[0], second[1]), as_pose(ends[1]))
    out[:] = compose(invert(a), b)


@kernel()
def merge(kinds, data, unknowns, signs):
    """Compose consecutive poses of a cycle in place, and return the number of elements that are left."""
    count = 0
    for e in range(kinds.shape[0]):
        kind, pose = kinds[e], as_pose(data[e])
        if kind == INVERSE:
            kind, pose = CONSTANT, invert(pose)
        if kind == CONSTANT and count > 0 and kinds[count - 1] == CONSTANT:
            write_pose(data[count - 1], compose(as_pose(data[count - 1]), pose))
            continue
        kinds[count], unknowns[count], signs[count] = kind, unknowns[e], signs[e]
        write_pose(data[count], pose)
        count += 1
    return count


@kernel()
def cycle(kinds, data, unknowns, signs, values, residual, jacobian):
    """Write the residual (6,) of a cycle, m and rad, and its Jacobian (6, U) with respect to all unknowns.

    Element e is a pose data[e] (kind CONSTANT), or a motion along or about the axis data[e, :3] by signs[e] times
    values[unknowns[e]]. The residual is the position of the product and twice the vector part of its quaternion, which
    is the rotation vector to third order and has the exact derivative
        d(2 v)/dt = w omega + omega x v    for    dq/dt = omega q / 2.
    """
    jacobian[:] = 0.0
    total = IDENTITY
    for e in range(kinds.shape[0]):
        kind = kinds[e]
        if kind == CONSTANT:
            total = compose(total, as_pose(data[e]))
            continue
        u, sign = unknowns[e], signs[e]
        ax, ay, az = rotate(*total[3:], data[e, 0] * sign, data[e, 1] * sign, data[e, 2] * sign)
        if kind == SLIDE:
            amount = values[u] * sign
            step = (data[e, 0] * amount, data[e, 1] * amount, data[e, 2] * amount, 0.0, 0.0, 0.0, 1.0)
            jacobian[0, u] += ax
            jacobian[1, u] += ay
            jacobian[2, u] += az
        else:
            sine, cosine = math.sin(0.5 * values[u] * sign), math.cos(0.5 * values[u])
            step = (0.0, 0.0, 0.0, data[e, 0] * sine, data[e, 1] * sine, data[e, 2] * sine, cosine)
            # Write the velocity at the origin first. The velocity at the end follows once the end is known.
            jacobian[0, u] -= ay * total[2] - az * total[1]
            jacobian[1, u] -= az * total[0] - ax * total[2]
            jacobian[2, u] -= ax * total[1] - ay * total[0]
            jacobian[3, u] += ax
            jacobian[4, u] += ay
            jacobian[5, u] += az
        total = compose(total, step)
    px, py, pz, x, y, z, w = total
    residual[0], residual[1], residual[2] = px, py, pz
    residual[3], residual[4], residual[5] = 2.0 * x, 2.0 * y, 2.0 * z
    for u in range(jacobian.shape[1]):
        ox, oy, oz = jacobian[3, u], jacobian[4, u], jacobian[5, u]
        jacobian[0, u] += oy * pz - oz * py
        jacobian[1, u] += oz * px - ox * pz
        jacobian[2, u] += ox * py - oy * px
        jacobian[3, u] = w * ox + oy * z - oz * y
        jacobian[4, u] = w * oy + oz * x - ox * z
        jacobian[5, u] = w * oz + ox * y - oy * x


@kernel()
def _along(poses, nodes, begin, end):
    """Return the product of the poses of a chain's nodes, which are listed from the lowest one upwards."""
    total = IDENTITY
    for k in range(end - 1, begin - 1, -1):
        total = compose(total, as_pose(poses[nodes[k]]))
    return total
