"""From a world's bodies to a MuJoCo model: joints as slides, hinges and balls, shapes as geoms."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.physics.attached_models import CompiledLinks, attach, compile_links
from sim_node.physics.drives import aim, servos
from sim_node.physics.mocap_bodies import mocap_rows
from sim_node.physics.mujoco_loops import add_loops, set_distances
from sim_node.world.bodies import SHAPES_WITHOUT_MASS, Body, Geometry
from sim_node.world.joints import Part
from sim_node.world.layout import Layout
from sim_node.world.mesh_files import add_mesh
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
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
}
_GEOMS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "ellipsoid": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    "plane": mujoco.mjtGeom.mjGEOM_PLANE,
    "mesh": mujoco.mjtGeom.mjGEOM_MESH,
}
# Half lengths for MuJoCo, radii as they are.
_HALVED = {"box": (0.5, 0.5, 0.5), "cylinder": (1.0, 0.5), "capsule": (1.0, 0.5)}
# Of one MuJoCo body. A carrier between two weighs (kg, kg m^2) just enough not to be refused.
MAX_DOFS, CARRIER_MASS = 6, 1e-12
KINDS = ("slide", "hinge", "ball")

# By default MuJoCo appends its warnings to a file in the working directory.
mujoco.set_mju_user_warning(logging.getLogger("sim_node.physics").info)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A MuJoCo model, what it was compiled from, and where in its arrays the world's frames are.

    rows (B,): frame table row of each body that a joint moves; first (B + 1,): its parts; kinds (P,) in KINDS,
    axes (P, 3) and q_at (P,), the address in qpos, per part; origins (B, 3): what qpos counts positions from;
    anchors (B, 3): the point in each body that it turns about.
    qpos, qvel: the initial state. carriers (N,): the MuJoCo body that each frame is fixed to, -1 where keyframes
    carry it; offsets (N, 7): each frame's pose in that body. solids (N,): the MuJoCo body whose shapes each frame is
    fixed to, those on keyframes too, 0 for none. followed: the rows of the frames that are MuJoCo's mocap bodies, in
    their order.
    links: the same of what joints of models move.
    """

    model: mujoco.MjModel
    spec: mujoco.MjSpec
    rows: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int64]
    axes: FloatArray
    q_at: npt.NDArray[np.int64]
    origins: FloatArray
    anchors: FloatArray
    qpos: FloatArray
    qvel: FloatArray
    carriers: npt.NDArray[np.int64]
    offsets: FloatArray
    solids: npt.NDArray[np.int64]
    followed: tuple[int, ...]
    links: CompiledLinks


def compile_model(world: World, layout: Layout) -> Compiled:
    """The model of a checked world at its initial state."""
    physics = world.physics
    spec = mujoco.MjSpec()
    for name, value in physics.options.items():
        setattr(spec.option, name, value)
    spec.option.timestep = world.time.step_ns / physics.substeps(world.time.step_ns) / 1e9
    spec.option.integrator = _INTEGRATORS[physics.integrator]
    spec.option.gravity = physics.gravity
    if not physics.contact:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    # A run that blows up is told, not started over.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET

    nodes = {0: spec.worldbody}
    followed = mocap_rows(layout)
    offsets = _offsets_in_carriers(layout, {*followed, *(row for row, _ in (*layout.bodies, *layout.links))})
    for row in followed:
        nodes[row] = spec.worldbody.add_body(name=layout.frames.names[row], mocap=True)
    free: set[str] = set()
    # Whatever carries comes first: a model's links lie below the row that it is attached to.
    waiting = sorted(((layout.frames.index(model.parent), model) for model in world.models), key=lambda each: each[0])
    for row, body in (*layout.bodies, (len(layout.frames), None)):
        while waiting and waiting[0][0] < row:
            above, model = waiting.pop(0)
            anchor, mount = offsets[above]
            attach(spec, model, nodes[anchor], mount)
            nodes.update({at: spec.body(link.name) for at, link in layout.links if link.model is model})
        if body is None:
            break
        anchor, mount = _mount(layout, offsets, row, body)
        is_free = _is_free(body, anchor, mount)
        if is_free:
            free.add(body.name)
        node = nodes[row] = _add_body(nodes[anchor], body, mount, is_free=is_free)
        _add_masses(spec, node, body)
    add_loops(spec, world, layout, nodes, offsets)
    for first, second in world.touchless:
        spec.add_exclude(bodyname1=first, bodyname2=second)
    servos(spec, world)
    return _compiled(spec, world, layout, free, offsets, followed)


def _is_free(body: Body, anchor: int, mount: FloatArray) -> bool:
    """Whether MuJoCo's free joint does for it: at top level, along the fixed frame's axes, without springs."""
    along = np.array_equal(np.abs(mount[3:]), (0.0, 0.0, 0.0, 1.0))
    return body.joint == "free" and anchor == 0 and along and body.spring_stiff is None and not body.anchor.any()


def _offsets_in_carriers(layout: Layout, anchors: set[int]) -> dict[int, tuple[int, FloatArray]]:
    """Of each row what it is fixed to (the row of an anchor, 0 for the fixed frame) and its pose in that."""
    keyframed = {row for row, _ in layout.moving}
    found: dict[int, tuple[int, FloatArray]] = {0: (0, np.array(poses.IDENTITY))}
    for row, parent in enumerate(layout.frames.parents.tolist()):
        if row in anchors:
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
        if dofs + part.qd_size > MAX_DOFS:
            node.name = f"{body.name}#{k}"
            node.explicitinertial = True
            node.mass, node.inertia = CARRIER_MASS, np.full(3, CARRIER_MASS)
            node, dofs = node.add_body(name=body.name), 0
        along = (0.0, 0.0, 1.0) if part.kind == "ball" else axis
        node.add_joint(name=f"{body.name}#{k}", type=_JOINTS[part.kind], axis=along, pos=body.anchor)
        dofs += part.qd_size
    return node


def _add_masses(spec: mujoco.MjSpec, node: mujoco.MjsBody, body: Body) -> None:
    inertial = body.inertial
    if inertial is not None:
        i = inertial.inertia
        node.explicitinertial = True
        node.mass = inertial.mass
        node.ipos = inertial.centre
        node.fullinertia = (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2])
    for geometry in body.geometry:
        if not geometry.is_shown_only:
            _add_geom(spec, node, geometry, massless=inertial is not None)


def _add_geom(spec: mujoco.MjSpec, node: mujoco.MjsBody, geometry: Geometry, *, massless: bool) -> None:
    size = np.zeros(3)
    size[: len(geometry.size)] = geometry.size * np.array(_HALVED.get(geometry.shape, 1.0))
    if geometry.shape == "plane":
        size[:] = (0.0, 0.0, 1.0)
    if geometry.file is not None:
        size[:] = 0.0
    geom = node.add_geom(type=_GEOMS[geometry.shape], size=size, pos=geometry.pose[:3], quat=_wxyz(geometry.pose[3:]))
    if geometry.file is not None:
        geom.meshname = add_mesh(spec, geometry.file, geometry.size)
    geom.mass = 0.0 if massless or geometry.shape in SHAPES_WITHOUT_MASS else geometry.mass
    if geometry.colour is not None:
        geom.rgba = geometry.colour


def _compiled(
    spec: mujoco.MjSpec,
    world: World,
    layout: Layout,
    free: set[str],
    offsets: dict[int, tuple[int, FloatArray]],
    followed: tuple[int, ...],
) -> Compiled:
    with warnings.catch_warnings():
        if world.models:  # what MuJoCo has against them was told when they were read
            warnings.simplefilter("ignore", UserWarning)
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
                # One for all axes of a ball; physics/ball_springs.py does those that differ.
                same = np.ptp(body.spring_stiff[qd]) == 0.0
                model.jnt_stiffness[joint] = body.spring_stiff[dof_at] if same else 0.0
                zero = body.type.neutral() if body.spring_zero is None else body.spring_zero
                model.qpos_spring[address : address + part.q_size] = _in_mujoco(part, zero[q])
            at, dof_at = at + part.q_size, dof_at + part.qd_size
        first.append(len(kinds))
    # What the model derives from its arrays: without it armature is left out for bodies that float free.
    mujoco.mj_setConst(model, mujoco.MjData(model))
    set_distances(model, world)

    links = compile_links(model, world, layout, offsets, qpos, qvel)
    aim(model, world, links.ctrl)
    carriers = np.full(len(layout.frames), -1, dtype=np.int64)
    in_carrier = np.tile(poses.IDENTITY, (len(layout.frames), 1))
    solids = np.zeros(len(layout.frames), dtype=np.int64)
    named = [*((row, body.name) for row, body in layout.bodies), *((row, link.name) for row, link in layout.links)]
    named += ((row, layout.frames.names[row]) for row in followed)
    ids = {0: 0, **{row: model.body(name).id for row, name in named}}
    for row, (carrier, offset) in offsets.items():
        solids[row] = ids[carrier]
        if model.body_mocapid[model.body_rootid[solids[row]]] < 0:
            carriers[row], in_carrier[row] = solids[row], offset
    return Compiled(
        model=model,
        spec=spec,
        rows=np.array([row for row, _ in moved], dtype=np.int64),
        first=np.array(first, dtype=np.int64),
        kinds=np.array(kinds, dtype=np.int64),
        axes=np.array(axes, dtype=np.float64).reshape(-1, 3),
        q_at=np.array(q_at, dtype=np.int64),
        origins=origins,
        anchors=np.array([body.anchor for _, body in moved]).reshape(-1, 3),
        qpos=qpos,
        qvel=qvel,
        carriers=carriers,
        offsets=in_carrier,
        solids=solids,
        followed=followed,
        links=links,
    )


def _in_mujoco(part: Part, q: FloatArray) -> FloatArray:
    return _wxyz(q) if part.kind == "ball" else q


def _wxyz(quaternion: FloatArray) -> FloatArray:
    """MuJoCo's order of [x y z w]."""
    return np.asarray(quaternion[[3, 0, 1, 2]])
