"""Forces on bodies: springs of balls, buoyancy, constant forces, drag, and gravity towards points.

Each kind has one compiled loop over its forces, which are rows of a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from mujoco import MjData

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics import force_kernels as kernels
from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.force_elements import CompiledForces, force_element
from sim_node.simulation.physics.force_geometry import forces_of, lead, levers, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.kernel import bound
from sim_node.world.bodies import Body
from sim_node.world.forces import Buoyancy, ConstantForce, Drag
from sim_node.world.layout import Layout
from sim_node.world.model import World


@force_element("ball_springs")
def open_ball_springs(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> CompiledForces | None:
    """Return the springs of ball joints with unequal stiffness, which MuJoCo lacks, as torques in qfrc_applied."""
    springs = [(body, *spring) for body in world.bodies for spring in unequal_springs(body)]
    if not springs:
        return None
    model = compiled.model
    joints = [model.joint(f"{body.name}#{part}").id for body, part, _, _ in springs]
    addresses = np.array([(model.jnt_qposadr[j], model.jnt_dofadr[j]) for j in joints], dtype=np.int64)
    stiffness = np.array([stiff for _, _, stiff, _ in springs])
    zeros = np.array([zero[[3, 0, 1, 2]] for _, _, _, zero in springs])
    views = data.qpos, data.qvel, data.qfrc_applied
    return CompiledForces(bound(kernels.turn_by_springs, addresses, stiffness, zeros, lead(model), *views))


def unequal_springs(body: Body) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Yield the part, stiffness (3,) and zero (4,) [x y z w] of each ball joint with springs of unequal stiffness."""
    stiff = body.spring_stiff
    if stiff is None:
        return
    zeros = body.type.neutral() if body.spring_zero is None else body.spring_zero
    at = dof = 0
    for k, part in enumerate(body.type.parts):
        if part.kind == "ball" and len(set(stiff[dof : dof + 3].tolist())) > 1:
            yield k, stiff[dof : dof + 3], zeros[at : at + 4]
        at, dof = at + part.q_size, dof + part.qd_size


@force_element("buoyancy")
def open_buoyancy(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> CompiledForces | None:
    """Return the buoyancy of bodies in a fluid at rest: Archimedes' force against gravity."""
    forces = forces_of(world, Buoyancy)
    if not forces:
        return None
    bodies = pushed_bodies(compiled.model, forces)
    masses = np.array([force.density * force.volume for force in forces])
    table = _table(
        forces,
        kernels.BUOYANCY_COLUMNS,
        {
            kernels.BUOYANCY_LIFT: masses[:, None] * -world.physics.gravity,
            kernels.BUOYANCY_LEVER: levers(compiled.model, bodies, [force.center for force in forces]),
            kernels.BUOYANCY_SURFACE: [force.surface for force in forces],
            kernels.BUOYANCY_HEIGHT: [force.height for force in forces],
            kernels.BUOYANCY_ROUND: [force.shape == "sphere" for force in forces],
        },
    )
    views = data.xmat, data.xipos, data.cvel, data.subtree_com, data.xfrc_applied
    return CompiledForces(bound(kernels.push_buoyancy, bodies, table, lead(compiled.model), *views))


@force_element("constant")
def open_constant(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> CompiledForces | None:
    """Return the constant forces and torques on bodies. Each acts during a span of MuJoCo's time."""
    forces = forces_of(world, ConstantForce)
    if not forces:
        return None
    model, timestep = compiled.model, float(compiled.model.opt.timestep)
    bodies, substeps = pushed_bodies(model, forces), world.physics.substeps(world.time.step_ns)

    def first_step(time_ns: int | None, never: float) -> float:
        """Return the first timestep that starts at or after a time, counted from the start, in integer arithmetic."""
        return never if time_ns is None else -((world.time.start_ns - time_ns) * substeps // world.time.step_ns)

    table = _table(
        forces,
        kernels.CONSTANT_COLUMNS,
        {
            kernels.CONSTANT_FORCE: [force.force for force in forces],
            kernels.CONSTANT_TORQUE: [force.torque for force in forces],
            kernels.CONSTANT_LEVER: levers(model, bodies, [force.point for force in forces]),
            kernels.CONSTANT_TURNS: [force.axes == "body" for force in forces],
            kernels.CONSTANT_SPAN: [
                (first_step(force.start_ns, -math.inf), first_step(force.end_ns, math.inf)) for force in forces
            ],
        },
    )
    rest = lead(model), data.xmat, data.cvel, data.xfrc_applied
    return CompiledForces(lambda: kernels.push_constant(bodies, table, round(data.time / timestep), *rest))


@force_element("drag")
def open_drag(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> CompiledForces | None:
    """Return the drag of bodies in the air. Its memory is the velocities (F, 6) that it extrapolates from."""
    forces = forces_of(world, Drag)
    if not forces:
        return None
    model, ahead = compiled.model, lead(compiled.model)
    bodies = pushed_bodies(model, forces)
    table = _table(
        forces,
        kernels.DRAG_COLUMNS,
        {
            kernels.DRAG_LINEAR: [force.linear for force in forces],
            kernels.DRAG_QUADRATIC: [force.quadratic for force in forces],
            kernels.DRAG_ANGULAR_LINEAR: [force.angular_linear for force in forces],
            kernels.DRAG_ANGULAR_QUADRATIC: [force.angular_quadratic for force in forces],
            kernels.DRAG_LEVER: levers(model, bodies, [force.center for force in forces]),
        },
    )
    meaning = "velocity of what drags through the air at the last timestep, along the body's axes; NaN at the start"
    names = tuple(force.body for force in forces)
    before = columns.add(Column("drag/velocity", names, (6,), unit="m/s, rad/s", meaning=meaning))
    views = data.xmat, data.xipos, data.cvel, data.subtree_com, data.xfrc_applied
    rates = ahead, ahead / model.opt.timestep
    return CompiledForces(bound(kernels.push_drag, bodies, table, wind.air, *rates, before, *views), before)


@force_element("gravity")
def open_point_gravity(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> CompiledForces | None:
    """Return the gravity towards points, which acts on every moving body with mass."""
    if not world.gravity_fields:
        return None
    model = compiled.model
    moving = np.flatnonzero((model.body_weldid > 0) & (model.body_mass > 0.0))
    bodies = np.stack([moving, model.body_rootid[moving]], axis=1).astype(np.int64)
    table = np.array([[*each.center, each.mu, each.acceleration] for each in world.gravity_fields])
    rest = lead(model), data.xipos, data.cvel, data.subtree_com, data.xfrc_applied
    return CompiledForces(bound(kernels.push_gravity, bodies, np.array(model.body_mass), table, *rest))


def _table(
    forces: Sequence[object], width: int, columns: Mapping[int, npt.ArrayLike | Sequence[FloatArray]]
) -> FloatArray:
    """Return a table (F, width) of parameters of F forces, numbers or vectors (F, ...) by their first column."""
    table = np.zeros((len(forces), width))
    for at, values in columns.items():
        rows = np.asarray(values, dtype=np.float64).reshape(len(forces), -1)
        table[:, at : at + rows.shape[1]] = rows
    return table
