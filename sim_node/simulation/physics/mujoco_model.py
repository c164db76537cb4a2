"""Conversion of a world's bodies and models to a MuJoCo model: joints to slides, hinges and balls, shapes to geoms."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import nullcontext

import mujoco
import numpy as np

from sim_node.simulation.physics.actuators import add_actuators, check_damping, set_targets
from sim_node.simulation.physics.combined_surfaces import add_combined_pairs, set_priorities
from sim_node.simulation.physics.compiled import Compiled, InitialState
from sim_node.simulation.physics.contact_materials import add_contact_pairs, exclude_scenery, set_contact_pairs
from sim_node.simulation.physics.drives import excludes_rk4, integrator_of
from sim_node.simulation.physics.joint_motion import add_mimics, add_transmissions, set_joint_motion, set_transmissions
from sim_node.simulation.physics.kinematic_bodies import make_heavy
from sim_node.simulation.physics.loop_closures import add_loop_closures, set_distances, set_weights
from sim_node.simulation.physics.mocap_bodies import mocap_rows
from sim_node.simulation.physics.scene import add_ground, add_lights_and_sky
from sim_node.simulation.physics.suction import add_suction, set_suction
from sim_node.simulation.physics.surfaces import set_layers, set_material, set_purpose, set_solver, set_surface
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bases import Base
from sim_node.world.bodies import Body, with_mass
from sim_node.world.joints import QD_SIZES, JointType
from sim_node.world.layout import Layout
from sim_node.world.massless import CARRIER_MASS, undefined_joints
from sim_node.world.mesh_files import add_mesh
from sim_node.world.model import World
from sim_node.world.models import Model, physics_of, touches
from sim_node.world.mujoco_source import refusals, spec_of
from sim_node.world.problems import NO_PLACE, Problem, Where, WorldWarning, refuse_any
from sim_node.world.readers.model_links import places_in_mujoco
from sim_node.world.shapes import SHAPES_WITHOUT_MASS, Geometry
from sim_node.world.surfaces import Surface

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
# MuJoCo uses half lengths; radii are unchanged.
_HALVED = {"box": (0.5, 0.5, 0.5), "cylinder": (1.0, 0.5), "capsule": (1.0, 0.5)}
# Maximum degrees of freedom of a MuJoCo body.
MAX_DOFS = 6

# By default MuJoCo appends its warnings to a file in the working directory.
mujoco.set_mju_user_warning(logging.getLogger("sim_node.simulation.physics").info)


def compile_model(world: World, layout: Layout) -> Compiled:
    """Compile the MuJoCo model of a checked world, with its initial state."""
    spec = mujoco.MjSpec()
    _set_options(spec, world)
    nodes = {0: spec.worldbody}
    followed = mocap_rows(layout)
    offsets = _offsets_in_carriers(layout, {*followed, *(row for row, _ in layout.links)})
    for row in followed:
        nodes[row] = spec.worldbody.add_body(name=layout.frames.names[row], mocap=True)
    free: set[str] = set()
    heavy, light = with_mass(world), list[Body]()
    touching: list[tuple[mujoco.MjsGeom, Surface | None]] = []
    # Sorted so that parents come first: a model's links are below the row that it is attached to.
    attached = [(layout.frames.index(model.parent), model) for model in world.models]
    rows: list[tuple[int, Body | Model]] = [*layout.bodies, *attached]
    for row, part in sorted(rows, key=lambda each: each[0]):
        if isinstance(part, Model):
            anchor, mount = offsets[row]
            _attach(spec, part, nodes[anchor], mount, has_contact=touches(part, world))
            nodes.update({at: spec.body(link.name) for at, link in layout.model_links if link.model is part})
            continue
        anchor, mount = _mount(layout, offsets, row, part)
        is_free = _is_free(part, anchor, mount)
        if is_free:
            free.add(part.name)
        node = nodes[row] = _add_body(nodes[anchor], part, mount, is_free=is_free)
        touching += _add_masses(spec, node, part)
        if part.type.parts and part.name not in heavy:
            node.explicitinertial = True
            node.mass, node.inertia = CARRIER_MASS, np.full(3, CARRIER_MASS)
            light.append(part)
    if world.ground is not None:
        touching.append(add_ground(spec, world.ground))
    add_lights_and_sky(spec, world)
    set_layers(spec, touching)
    set_priorities(spec, touching)
    add_loop_closures(spec, world, layout, nodes, offsets)
    shaped = {body.name for body in world.bodies}
    for first, second in dict.fromkeys(world.contact_exclusions):
        if first in shaped and second in shaped:
            spec.add_exclude(bodyname1=first, bodyname2=second)
    exclude_scenery(spec, world, layout)
    add_contact_pairs(spec, world, touching)
    add_combined_pairs(spec, world, touching)
    add_mimics(spec, world)
    add_transmissions(spec, world)
    add_actuators(spec, world)
    add_suction(spec, world)
    compiled = _compiled(spec, world, layout, free, offsets, followed)
    _refuse_undefined(compiled, light)
    return compiled


def _set_options(spec: mujoco.MjSpec, world: World) -> None:
    physics = physics_of(world)
    for name, value in physics.options.items():
        setattr(spec.option, name, value)
    spec.option.timestep = world.time.step_ns / physics.substeps(world.time.step_ns) / 1e9
    spec.option.integrator = _INTEGRATORS[_integrator(world)]
    spec.option.gravity = physics.gravity
    shapes = [shape for body in world.bodies for shape in body.shapes]
    if world.ground is not None:
        shapes.append(world.ground.shape)
    decide = bool(world.contact_materials) or any(shape.surface and shape.surface.decides for shape in shapes)
    decide = decide or any(force.solved for force in world.forces)
    set_solver(spec, physics, has_surfaces=decide)
    if not physics.contact:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    # Divergence is reported as an error: MuJoCo must not reset the state.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


def _integrator(world: World) -> str:
    """Return the integrator; warn if it is not the one that the world states."""
    found, stated = integrator_of(world), world.physics.integrator
    at = world.physics.places.get("integrator")
    what = "loops of sliding mates" if found == "euler" and stated in ("implicit", "implicitfast") else ""
    if stated == "rk4" and at is not None and found != stated:
        what = " and ".join(excludes_rk4(world))
    if what:
        place = world.physics.place
        where = at.where if at is not None else Where(world.source) if place == NO_PLACE else place.where
        message = f"{what} are integrated by {found} instead of {stated}"
        warnings.warn(WorldWarning(str(Problem(where, "physics.integrator", message))), stacklevel=2)
    return found


def _refuse_undefined(compiled: Compiled, light: list[Body]) -> None:
    """Raise WorldError for massless bodies whose motion is not defined by the bodies that they carry."""
    model = compiled.model
    ids = [model.body(body.name).id for body in light]
    undefined = {int(model.jnt_bodyid[joint]) for joint in undefined_joints(model, compiled.qpos, ids)}
    message = "it has no mass, and nothing that it carries defines how it moves on its joint; give it a mass"
    refuse_any(
        Problem(body.place.where, body.place.key or body.name, message)
        for body, index in zip(light, ids, strict=True)
        if index in undefined
    )


def _is_free(body: Body, anchor: int, mount: FloatArray) -> bool:
    """Return whether MuJoCo's free joint can be used: at top level, along the fixed axes, without springs or limits."""
    along = np.array_equal(mount[3:], poses.IDENTITY[3:])
    plain = body.spring_stiff is None and body.limits is None and not body.anchor.any()
    return body.joint == "free" and anchor == 0 and along and plain


def _offsets_in_carriers(layout: Layout, anchors: set[int]) -> dict[int, tuple[int, FloatArray]]:
    """Return the anchor that each row is fixed to (the row of the anchor, 0 for the fixed frame) and its pose in it."""
    # Frames that are not moved by bodies.
    keyframed = {row for row, _ in (*layout.moving, *layout.of(Base))}
    found: dict[int, tuple[int, FloatArray]] = {0: (0, np.array(poses.IDENTITY))}
    for row, parent in enumerate(layout.frames.parents.tolist()):
        if row in anchors:
            found[row] = (row, np.array(poses.IDENTITY))
        elif row > 0 and row not in keyframed and parent in found:
            carrier, offset = found[parent]
            found[row] = (carrier, poses.compose(offset, layout.poses[row]))
    return found


def _mount(layout: Layout, offsets: dict[int, tuple[int, FloatArray]], row: int, body: Body) -> tuple[int, FloatArray]:
    """Return the row of the body (0: fixed frame) that a body is attached to, and the joint frame's pose in that."""
    anchor, mount = offsets[int(layout.frames.parents[row])]
    return anchor, mount if body.type.parts else poses.compose(mount, layout.poses[row])


def _add_body(above: mujoco.MjsBody, body: Body, mount: FloatArray, *, is_free: bool) -> mujoco.MjsBody:
    """Add a body with its joint. More than MuJoCo's six degrees of freedom per body need a carrier body in between."""
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


def _add_masses(
    spec: mujoco.MjSpec, node: mujoco.MjsBody, body: Body
) -> Iterator[tuple[mujoco.MjsGeom, Surface | None]]:
    """Add the inertia and shapes of a body. Yield its colliding geoms and their surfaces."""
    inertial = body.inertial
    if inertial is not None:
        i = inertial.inertia
        node.explicitinertial = True
        node.mass = inertial.mass
        node.ipos = inertial.centre
        node.fullinertia = (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2])
    for geometry in body.shapes:
        if not geometry.is_shown_only:
            geom = _add_geom(spec, node, geometry, massless=inertial is not None)
            if geometry.only != "visual":
                yield geom, geometry.surface


def _add_geom(spec: mujoco.MjSpec, node: mujoco.MjsBody, geometry: Geometry, *, massless: bool) -> mujoco.MjsGeom:
    size = np.zeros(3)
    size[: len(geometry.size)] = geometry.size * np.array(_HALVED.get(geometry.shape, 1.0))
    if geometry.shape == "plane":
        size[:] = (0.0, 0.0, 1.0)
    mesh = geometry.triangles if geometry.file is None else geometry.file
    if mesh is not None:
        size[:] = 0.0
    geom = node.add_geom(type=_GEOMS[geometry.shape], size=size, pos=geometry.pose[:3], quat=_wxyz(geometry.pose[3:]))
    if mesh is not None:
        geom.meshname = add_mesh(spec, mesh, geometry.size)
    geom.mass = 0.0 if massless or geometry.shape in SHAPES_WITHOUT_MASS else geometry.mass
    if geometry.colour is not None:
        geom.rgba = geometry.colour
    if geometry.surface is not None:
        set_surface(geom, geometry.surface)
    set_material(spec, geom, geometry)
    set_purpose(geom, geometry.only)
    return geom


def _compiled(
    spec: mujoco.MjSpec,
    world: World,
    layout: Layout,
    free: set[str],
    offsets: dict[int, tuple[int, FloatArray]],
    followed: tuple[int, ...],
) -> Compiled:
    # Report errors that MuJoCo finds in a model only when it is part of a world.
    refused = refusals(world.models[0].source) if world.models else nullcontext()
    with warnings.catch_warnings(record=True) as noted, refused:
        warnings.simplefilter("always")
        model = spec.compile()
    for each in noted if not world.models else ():  # warnings about models were reported when they were read
        message = f"MuJoCo warns: {' '.join(str(each.message).split())}"
        warnings.warn(WorldWarning(str(Problem(Where(world.source), "bodies", message))), stacklevel=2)
    start = InitialState(np.array(model.qpos0), np.zeros(model.nv), np.zeros(model.nu), np.zeros(model.na))
    derived_from = model.dof_armature, model.qpos_spring
    compiled_with = [np.array(each) for each in derived_from]
    for _, body in layout.bodies:
        if body.type.parts:
            _start_body(model, body, world.physics.armature, start, is_free=body.name in free)
    if not all(map(np.array_equal, derived_from, compiled_with)):
        # Update derived constants: otherwise, MuJoCo ignores the armature of free-floating bodies.
        mujoco.mj_setConst(model, mujoco.MjData(model))
    make_heavy(model, layout)
    set_distances(model, world)
    set_weights(model, world)
    set_contact_pairs(model, world)
    set_joint_motion(model, layout)
    check_damping(model, world)
    _start_models(model, world, layout, offsets, start)
    set_targets(model, world, start)
    set_suction(model, world, start)
    set_transmissions(model, world, start.qpos)

    ids = {0: 0, **{row: model.body(layout.frames.names[row]).id for row in followed}}
    ids |= {row: model.body(link.name).id for row, link in layout.links}
    carriers = np.full(len(layout.frames), -1, dtype=np.int64)
    in_carrier = np.tile(poses.IDENTITY, (len(layout.frames), 1))
    solids = np.zeros(len(layout.frames), dtype=np.int64)
    for row, (carrier, offset) in offsets.items():
        solids[row] = ids[carrier]
        if model.body_mocapid[model.body_rootid[solids[row]]] < 0:
            carriers[row], in_carrier[row] = solids[row], offset
    moving = [row for row, link in layout.links if link.joints]
    above = layout.frames.parents[moving]
    return Compiled(
        model=model,
        spec=spec,
        links=np.array([moving, solids[moving], solids[above]], dtype=np.int64).T.copy(),
        mounts=np.array([offsets[row][1] for row in above.tolist()]).reshape(-1, 7),
        **vars(start),
        carriers=carriers,
        offsets=in_carrier,
        solids=solids,
        followed=followed,
    )


def _start_body(model: mujoco.MjModel, body: Body, armature: float, start: InitialState, *, is_free: bool) -> None:
    """Write a body's initial state to `start`, and the damping, armature and springs of its joints to the model."""
    first, joint = model.joint(f"{body.name}#0").id, body.type
    # The joints of a body, including those of its carrier bodies, are contiguous in MuJoCo's arrays.
    q_at, qd_at = int(model.jnt_qposadr[first]), int(model.jnt_dofadr[first])
    q, qd = slice(q_at, q_at + joint.q_size), slice(qd_at, qd_at + joint.qd_size)
    start.qpos[q] = _in_mujoco(joint, joint.neutral() if body.q is None else body.q)
    if is_free:
        start.qpos[q_at : q_at + 3] += model.body(body.name).pos
    start.qvel[qd] = 0.0 if body.qd is None else body.qd
    model.dof_damping[qd] = 0.0 if body.damping is None else body.damping
    model.dof_armature[qd] = armature + (0.0 if body.armature is None else body.armature)
    if body.spring_stiff is not None:
        model.qpos_spring[q] = _in_mujoco(joint, joint.neutral() if body.spring_zero is None else body.spring_zero)
        at = 0
        for index, part in enumerate(joint.parts, start=first):
            stiff = body.spring_stiff[at : at + part.qd_size]
            # MuJoCo has one stiffness for all axes of a ball; see physics/forces.py for unequal ones.
            model.jnt_stiffness[index] = stiff[0] if np.ptp(stiff) == 0.0 else 0.0
            at += part.qd_size


def _in_mujoco(joint: JointType, q: FloatArray) -> FloatArray:
    """Return the positions (q_size,) of a joint in MuJoCo's order: quaternions of balls as w x y z."""
    values, at = np.array(q), 0
    for part in joint.parts:
        if part.kind == "ball":
            values[at : at + 4] = _wxyz(q[at : at + 4])
        at += part.q_size
    return values


def _wxyz(quaternion: FloatArray) -> FloatArray:
    """Return a quaternion [x y z w] in MuJoCo's order [w x y z]."""
    return np.asarray(quaternion[[3, 0, 1, 2]])


def _attach(
    spec: mujoco.MjSpec, model: Model, above: mujoco.MjsBody, mount: FloatArray, *, has_contact: bool = True
) -> None:
    """Attach a model to a body at a pose (7,), with the options of the world. Raises WorldError if MuJoCo rejects it.

    If `has_contact` is False, its shapes do not collide.
    """
    with refusals(model.source):
        child = spec_of(model.source)
        for name in (name for name in dir(spec.option) if not name.startswith("_")):
            setattr(child.option, name, getattr(spec.option, name))
        for key in list(child.keys):
            child.delete(key)
        if not has_contact:
            for geom in child.geoms:
                geom.contype = geom.conaffinity = 0
            for pair in list(child.pairs):
                child.delete(pair)
        frame = above.add_frame(pos=mount[:3], quat=mount[[6, 3, 4, 5]])
        spec.attach(child, prefix=model.full_name("") if model.prefix else "", frame=frame)


def _start_models(
    model: mujoco.MjModel, world: World, layout: Layout, offsets: dict[int, tuple[int, FloatArray]], start: InitialState
) -> None:
    """Write the initial state of a world's models to `start`.

    offsets: by row, the anchor and the pose in it of each frame; free joints are relative to the fixed frame.
    """
    for each in world.models:
        _, mount = offsets[layout.frames.index(each.parent)]
        q = each.starts()
        for joint in each.joints():
            index = model.joint(each.full_name(joint.name)).id
            at, dof = int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])
            value = poses.compose(mount, q[joint.name]) if joint.kind == "free" else q[joint.name]
            start.qpos[places_in_mujoco(joint.kind, at)] = value
            start.qvel[dof : dof + QD_SIZES[joint.kind]] = each.start.qd.get(joint.name, 0.0)
        if len(each.start.ctrl):
            mine = [model.actuator(each.full_name(name)).id for name in each.actuators]
            start.ctrl[mine] = each.start.ctrl
            first = [int(model.actuator_actadr[index]) for index in mine]
            states = [at + k for at, i in zip(first, mine, strict=True) for k in range(model.actuator_actnum[i])]
            start.act[states] = each.start.act
