"""Transmissions in the MuJoCo model of a world: fixed tendons, which equality constraints may hold."""

from __future__ import annotations

import mujoco
import numpy as np

from sim_node.simulation.physics.loop_closures import MET, TIMESTEPS
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.joint_motion import driven_joints
from sim_node.world.model import World


def add_transmissions(spec: mujoco.MjSpec, world: World) -> None:
    """Add a fixed tendon for each transmission of a world, and a constraint for each that is held."""
    joints = driven_joints(world) if world.transmissions else {}
    for transmission in world.transmissions:
        tendon = spec.add_tendon(name=transmission.name)
        for joint, coefficient in transmission.joints:
            tendon.wrap_joint(joints[joint], coefficient)
        if transmission.held:
            equality = spec.add_equality(
                name=transmission.name,
                type=mujoco.mjtEq.mjEQ_TENDON,
                objtype=mujoco.mjtObj.mjOBJ_TENDON,
                name1=transmission.name,
            )
            equality.solref = (TIMESTEPS * spec.option.timestep, 1.0)
            equality.solimp = (MET, MET, 0.001, 0.5, 2.0)


def set_transmissions(model: mujoco.MjModel, world: World, qpos: FloatArray) -> None:
    """Hold transmissions at what they are in qpos; MuJoCo measures the length of tendons from the reference state."""
    for transmission in world.transmissions:
        if transmission.held:
            tendon = int(model.tendon(transmission.name).id)
            joints, coefficients = terms_of(model, tendon)
            start = float(np.dot(coefficients, qpos[model.jnt_qposadr[joints]]))
            model.equality(transmission.name).data[0] = start - model.tendon_length0[tendon]


def terms_of(model: mujoco.MjModel, tendon: int) -> tuple[IntArray, FloatArray]:
    """Return the joints of a fixed tendon and their coefficients, (J,) each."""
    first = model.tendon_adr[tendon]
    wraps = slice(first, first + model.tendon_num[tendon])
    return np.asarray(model.wrap_objid[wraps]), np.asarray(model.wrap_prm[wraps])
