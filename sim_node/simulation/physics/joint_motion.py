"""Limits, stops, dry friction, mimics and transmissions of joints in the MuJoCo model of a world."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from sim_node.simulation.physics.loop_closures import MET, equate, impedance
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.bodies import Body
from sim_node.world.joint_motion import UNLIMITED, Stop, actuated_joints, driven_joints
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import Problem, refuse_any, shown_key

# Time constant of stops without a stiffness, which are critically damped: in timesteps, and its minimum, s.
STOP_TIMESTEPS, STOP_TIME = 4.0, 0.005
# Impedance of such stops, and of stops with a stiffness: MuJoCo's smallest, so that the force is that of the spring.
HARD, SOFT = 0.99, 1e-4
# Minimum mobility, to divide by: 1/kg or 1/(kg m^2).
MIN_MOBILITY = 1e-100
# Largest angular frequency, and half the largest decay rate, of stops times the timestep: integration is explicit.
MAX_PHASE = 0.5


def set_joint_motion(model: mujoco.MjModel, layout: Layout) -> None:
    """Write the joint limits, stops and dry friction of a world's bodies to a compiled model.

    Raises WorldError for a stop that is too stiff for the timestep.
    """
    problems: list[Problem] = []
    for _, body in layout.bodies:
        if body.friction_loss is not None:
            first = model.jnt_dofadr[model.joint(f"{body.name}#0").id]
            dofs = slice(first, first + body.type.qd_size)
            model.dof_frictionloss[dofs] = body.friction_loss
            # With MuJoCo's default impedance, a joint held by friction creeps.
            model.dof_solref[dofs] = _time_constant(model), 1.0
            model.dof_solimp[dofs] = impedance(MET)
        if body.limits is not None:
            problems += _set_limits(model, body)
    refuse_any(problems)


def add_mimics(spec: mujoco.MjSpec, world: World) -> None:
    """Add an equality constraint for each joint that follows another one."""
    joints = actuated_joints(world)
    references = {
        model.full_name(joint.name): float(joint.neutral[0])
        for model in world.models
        for joint in model.joints()
        if joint.is_scalar
    }
    for body in world.bodies:
        if body.mimic is None:
            continue
        followed, multiplier = body.mimic.joint, body.mimic.multiplier
        ends = joints[body.name], joints[followed]
        equality = equate(spec, mujoco.mjtEq.mjEQ_JOINT, f"{body.name}#mimic", ends, mujoco.mjtObj.mjOBJ_JOINT)
        # The arguments of MuJoCo's polynomial are displacements from the joints' reference positions.
        offset = body.mimic.offset + multiplier * references.get(followed, 0.0)
        equality.data[:5] = offset, multiplier, 0.0, 0.0, 0.0


def _set_limits(model: mujoco.MjModel, body: Body) -> list[Problem]:
    assert body.limits is not None
    problems = []
    for index, pair in enumerate(body.limits.tolist(), start=int(model.joint(f"{body.name}#0").id)):
        if tuple(pair) == UNLIMITED:
            continue
        model.jnt_limited[index] = 1
        model.jnt_range[index] = pair
        if body.stop is None:
            model.jnt_solref[index] = _time_constant(model), 1.0
            model.jnt_solimp[index] = impedance(HARD)
            continue
        mobility = mobility_of(model, int(model.jnt_dofadr[index]))
        damping = _damping(body.stop, mobility)
        unstable = _unstable(body.stop, damping, mobility, float(model.opt.timestep))
        if unstable and body.stop.capped:
            model.jnt_solref[index] = _time_constant(model), 1.0
            model.jnt_solimp[index] = impedance(HARD)
            continue
        for key, message in unstable:
            where = f"{body.place.key or shown_key(body.name)}: stop.{key}"
            problems.append(Problem(body.place.where, where, message))
        # MuJoCo's stiffness and damping are per unit of mass, and its force is d / (1 - d) times theirs. For a small
        # impedance d, it is the force of a spring and a damper, with a relative error of SOFT.
        model.jnt_solref[index] = -body.stop.stiffness * mobility, -damping * mobility
        model.jnt_solimp[index] = impedance(SOFT)
    return problems


def mobility_of(model: mujoco.MjModel, dof: int) -> float:
    """Return the acceleration per unit of force of a degree of freedom in the initial configuration, above 0."""
    return max(float(model.dof_invweight0[dof]), MIN_MOBILITY)


def _damping(stop: Stop, mobility: float) -> float:
    return 2.0 * math.sqrt(stop.stiffness / mobility) if stop.damping is None else stop.damping


def _unstable(stop: Stop, damping: float, mobility: float, timestep: float) -> list[tuple[str, str]]:
    """Return the key and message of a stiffness or damping that oscillates or diverges with this timestep (s)."""
    most = MAX_PHASE**2 / (mobility * timestep**2)
    if stop.stiffness > most:
        message = f"{stop.stiffness:g} is too stiff for timesteps of {timestep:g} s; allowed: up to {most:.4g}"
        return [("stiffness", f"{message}, or a shorter physics.timestep; leave out stop for the hardest stop")]
    most = 2.0 * MAX_PHASE / (mobility * timestep)
    if damping > most * (1.0 + 1e-9):
        message = f"{damping:g} is too large for timesteps of {timestep:g} s; allowed: up to {most:.4g}"
        return [("damping", f"{message}, or a shorter physics.timestep")]
    return []


def _time_constant(model: mujoco.MjModel) -> float:
    return max(STOP_TIMESTEPS * float(model.opt.timestep), STOP_TIME)


def add_transmissions(spec: mujoco.MjSpec, world: World) -> None:
    """Add a fixed tendon for each transmission of a world, and an equality constraint for each that is held."""
    joints = driven_joints(world) if world.transmissions else {}
    for transmission in world.transmissions:
        tendon = spec.add_tendon(name=transmission.name)
        for joint, coefficient in transmission.joints:
            tendon.wrap_joint(joints[joint], coefficient)
        if transmission.held:
            ends = transmission.name, ""
            equate(spec, mujoco.mjtEq.mjEQ_TENDON, transmission.name, ends, mujoco.mjtObj.mjOBJ_TENDON)


def set_transmissions(model: mujoco.MjModel, world: World, qpos: FloatArray) -> None:
    """Hold transmissions at their values in qpos. MuJoCo measures tendon lengths relative to the reference state."""
    for transmission in world.transmissions:
        if transmission.held:
            tendon = int(model.tendon(transmission.name).id)
            joints, coefficients = terms_of(model, tendon)
            start = float(np.dot(coefficients, qpos[model.jnt_qposadr[joints]]))
            model.equality(transmission.name).data[0] = start - model.tendon_length0[tendon]


def terms_of(model: mujoco.MjModel, tendon: int) -> tuple[IntArray, FloatArray]:
    """Return the MuJoCo ids (J,) of the joints of a fixed tendon, and their coefficients (J,)."""
    first = model.tendon_adr[tendon]
    wraps = slice(first, first + model.tendon_num[tendon])
    return np.asarray(model.wrap_objid[wraps]), np.asarray(model.wrap_prm[wraps])
