"""From a world's bodies to a MuJoCo model: joints as slides, hinges and balls, shapes as geoms."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import SHAPES_WITHOUT_MASS, Body, Geometry
from sim_node.world.joints import Part
from sim_node.world.layout import Layout
from sim_node.world.model import World

_JOINTS = {
    "slide": mujoco.mjtJoint.mjJNT_SLIDE,
    "hinge": mujoco.mjtJoint.mjJNT_HINGE,
    "ball": mujoco.mjtJoint.mjJNT_BALL,
}
_INTEGRATORS = {
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
}
_GEOMS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "ellipsoid": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    "plane": mujoco.mjtGeom.mjGEOM_PLANE,
}
# Half lengths for MuJoCo, radii as they are.
_HALVED = {"box": (0.5, 0.5, 0.5), "cylinder": (1.0, 0.5), "capsule": (1.0, 0.5)}
# Of one MuJoCo body. A carrier between two weighs (kg, kg m^2) just enough not to be refused.
MOST_DOFS, CARRIER_MASS = 6, 1e-12
KINDS = ("slide", "hinge", "ball")

# By default MuJoCo appends its warnings to a file in the working directory.
mujoco.set_mju_user_warning(logging.getLogger("sim_node.physics").info)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A MuJoCo model, what it was compiled from, and where in its arrays the world's frames are.

    rows (B,): frame table row of each body that a joint moves; first (B + 1,): its parts; kinds (P,) in KINDS,
    axes (P, 3) and q_at (P,), the address in qpos, per part; origins (B, 3): what qpos counts positions from.
    qpos, qvel: the initial state. carriers (N,): the MuJoCo body that each frame is fixed to, -1 where keyframes
    carry it; offsets (N, 7): each frame's pose in that body.
    """

    model: mujoco.MjModel
    spec: mujoco.MjSpec
    rows: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int64]
    axes: FloatArray
    q_at: npt.NDArray[np.int64]
    origins: FloatArray
    qpos: FloatArray
    qvel: FloatArray
    carriers: npt.NDArray[np.int64]
    offsets: FloatArray


def compile_model(world: World, layout: Layout) -> Compiled:
    """The model of a checked world at its initial state."""
    physics = world.physics
    spec = mujoco.MjSpec()
    spec.option.timestep = world.time.step_ns / physics.substeps(world.time.step_ns) * 1e-9
    spec.option.integrator = _INTEGRATORS[physics.integrator]
    spec.option.gravity = physics.gravity
    if not physics.contact:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    # A run that blows up is told, not started over.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET

    nodes = {0: spec.worldbody}
    offsets = _offsets_in_carriers(layout, {row for row, _ in layout.bodies})
    free: set[str] = set()
    for row, body in layout.bodies:
        anchor, mount = _mount(layout, offsets, row, body)
        is_free = _is_free(body, anchor, mount)
        if is_free:
            free.add(body.name)
        node = nodes[row] = _add_body(nodes[anchor], body, mount, is_free=is_free)
        _add_masses(node, body)
    return _compiled(spec, world, layout, free, offsets)


def _is_free(body: Body, anchor: int, mount: FloatArray) -> bool:
    """Whether MuJoCo's free joint does for it: at top level, along the fixed frame's axes, without springs."""
    along = np.array_equal(np.abs(mount[3:]), (0.0, 0.0, 0.0, 1.0))
    return body.joint == "free" and anchor == 0 and along and body.spring_stiff is None


def _offsets_in_carriers(layout: Layout, body_rows: set[int]) -> dict[int, tuple[int, FloatArray]]:
    """Of each row what it is fixed to (a body's row, 0 for the fixed frame) and its pose in that."""
    keyframed = {row for row, _ in layout.moving}
    found: dict[int, tuple[int, FloatArray]] = {0: (0, np.array(poses.IDENTITY))}
    for row, parent in enumerate(layout.frames.parents.tolist()):
        if row in body_rows:
            found[row] = (row, np.array(poses.IDENTITY))
        elif row > 0 and row not in keyframed and parent in found:
            carrier, offset = found[parent]
            found[row] = (carrier, poses.compose(offset, layout.poses[row]))
    return found


def _mount(layout: Layout, offsets: dict[int, tuple[int, FloatArray]], row: int, body: Body) -> tuple[int, FloatArray]:
    """The row of the body (or the fixed frame) that a body hangs on, and its joint frame's pose there."""
    anchor, mount = offsets[int(layout.frames.parents[row])]
    return anchor, mount if body.type.parts else poses.compose(mount, layout.poses[row])


def _add_body(above: mujoco.MjsBody, body: Body, mount: FloatArray, *, is_free: bool) -> mujoco.MjsBody:
    """A body on its joint. MuJoCo allows six degrees of freedom in each: before more of them comes a carrier."""
    node = above.add_body(name=body.name, pos=mount[:3], quat=_wxyz(mount[3:]))
    if is_free:
        node.add_freejoint(name=f"{body.name}#0")
        return node
    dofs = 0
    for k, (part, axis) in enumerate(zip(body.type.parts, body.type.axes(body.axes), strict=True)):
        if dofs + part.qd_size > MOST_DOFS:
            node.name = f"{body.name}#{k}"
            node.explicitinertial = True
            node.mass, node.inertia = CARRIER_MASS, np.full(3, CARRIER_MASS)
            node, dofs = node.add_body(name=body.name), 0
        along = (0.0, 0.0, 1.0) if part.kind == "ball" else axis
        node.add_joint(name=f"{body.name}#{k}", type=_JOINTS[part.kind], axis=along)
        dofs += part.qd_size
    return node


def _add_masses(node: mujoco.MjsBody, body: Body) -> None:
    inertial = body.inertial
    if inertial is not None:
        i = inertial.inertia
        node.explicitinertial = True
        node.mass = inertial.mass
        node.ipos = inertial.centre
        node.fullinertia = (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2])
    for geometry in body.geometry:
        if geometry.shape in _GEOMS:
            _add_geom(node, geometry, massless=inertial is not None)


def _add_geom(node: mujoco.MjsBody, geometry: Geometry, *, massless: bool) -> None:
    size = np.zeros(3)
    size[: len(geometry.size)] = geometry.size * np.array(_HALVED.get(geometry.shape, 1.0))
    if geometry.shape == "plane":
        size[:] = (0.0, 0.0, 1.0)
    geom = node.add_geom(type=_GEOMS[geometry.shape], size=size, pos=geometry.pose[:3], quat=_wxyz(geometry.pose[3:]))
    geom.mass = 0.0 if massless or geometry.shape in SHAPES_WITHOUT_MASS else geometry.mass
    if geometry.colour is not None:
        geom.rgba = geometry.colour


def _compiled(
    spec: mujoco.MjSpec,
    world: World,
    layout: Layout,
    free: set[str],
    offsets: dict[int, tuple[int, FloatArray]],
) -> Compiled:
    model = spec.compile()
    moved = [(row, body) for row, body in layout.bodies if body.type.parts]
    qpos, qvel = np.array(model.qpos0), np.zeros(model.nv)
    first, kinds, axes, q_at, origins = [0], [], [], [], np.zeros((len(moved), 3))
    for index, (_, body) in enumerate(moved):
        is_free = body.name in free
        joints = [model.joint(f"{body.name}#{0 if is_free else k}").id for k in range(len(body.type.parts))]
        if is_free:
            origins[index] = model.body(body.name).pos
        at = dof_at = 0
        for k, (part, axis, joint) in enumerate(zip(body.type.parts, body.type.axes(body.axes), joints, strict=True)):
            address = int(model.jnt_qposadr[joint]) + (k if is_free else 0)
            dof = int(model.jnt_dofadr[joint]) + (k if is_free else 0)
            kinds.append(KINDS.index(part.kind))
            axes.append(axis)
            q_at.append(address)
            q, qd = slice(at, at + part.q_size), slice(dof_at, dof_at + part.qd_size)
            start = body.type.neutral() if body.q is None else body.q
            qpos[address : address + part.q_size] = _in_mujoco(part, start[q])
            if is_free and part.kind == "slide":
                qpos[address] += origins[index, k]
            dofs = slice(dof, dof + part.qd_size)
            qvel[dofs] = 0.0 if body.qd is None else body.qd[qd]
            model.dof_damping[dofs] = 0.0 if body.damping is None else body.damping[qd]
            model.dof_armature[dofs] = world.physics.armature + (0.0 if body.armature is None else body.armature[qd])
            if body.spring_stiff is not None:
                model.jnt_stiffness[joint] = body.spring_stiff[dof_at]
                zero = body.type.neutral() if body.spring_zero is None else body.spring_zero
                model.qpos_spring[address : address + part.q_size] = _in_mujoco(part, zero[q])
            at, dof_at = at + part.q_size, dof_at + part.qd_size
        first.append(len(kinds))
    # What the model derives from its arrays: without it armature is left out for bodies that float free.
    mujoco.mj_setConst(model, mujoco.MjData(model))

    carriers = np.full(len(layout.frames), -1, dtype=np.int64)
    in_carrier = np.tile(poses.IDENTITY, (len(layout.frames), 1))
    ids = {0: 0, **{row: model.body(body.name).id for row, body in layout.bodies}}
    for row, (carrier, offset) in offsets.items():
        carriers[row], in_carrier[row] = ids[carrier], offset
    return Compiled(
        model=model,
        spec=spec,
        rows=np.array([row for row, _ in moved], dtype=np.int64),
        first=np.array(first, dtype=np.int64),
        kinds=np.array(kinds, dtype=np.int64),
        axes=np.array(axes, dtype=np.float64).reshape(-1, 3),
        q_at=np.array(q_at, dtype=np.int64),
        origins=origins,
        qpos=qpos,
        qvel=qvel,
        carriers=carriers,
        offsets=in_carrier,
    )


def _in_mujoco(part: Part, q: FloatArray) -> FloatArray:
    return _wxyz(q) if part.kind == "ball" else q


def _wxyz(quaternion: FloatArray) -> FloatArray:
    """MuJoCo's order of [x y z w]."""
    return np.asarray(quaternion[[3, 0, 1, 2]])
