"""Forces on bodies in water, as in Gazebo: hydrodynamics after Fossen, thrusters and bladders.

Sources: gz-sim, src/systems/hydrodynamics, thruster and buoyancy_engine, after T. I. Fossen, Guidance and Control of
Ocean Vehicles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from sim_node.extensions.sdf.derivatives import derivatives_of
from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics.force_elements import CompiledForces
from sim_node.simulation.physics.force_geometry import FieldArrays, forces_of, pushed_bodies
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_FORCE
from sim_node.world.declared import Fault, declared, given, rule
from sim_node.world.forces import FRESH_WATER, Force
from sim_node.world.joint_motion import driven_joints
from sim_node.world.model import World
from sim_node.world.problems import Problem, WorldError, quoted
from sim_node.world.quantities import Flag, FrameName, Number, Vector, Word

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

    from sim_node.simulation.physics.compiled import Compiled

# The letters of forces and moments, and of the velocities that cause them.
_FORCES, _VELOCITIES = "xyzkmn", "UVWPQR"
LINEAR = tuple(f"{i}{j}" for i, j in product(_FORCES, _VELOCITIES))
QUADRATIC = tuple(f"{i}{j}{k}" for i, j, k in product(_FORCES, _VELOCITIES, _VELOCITIES))
QUADRATIC_ABS = tuple(f"{i}{j}abs{k}" for i, j, k in product(_FORCES, _VELOCITIES, _VELOCITIES))
ADDED = tuple(f"{i}Dot{j}" for i, j in product(_FORCES, _VELOCITIES))
DERIVATIVES = (*LINEAR, *QUADRATIC_ABS, *QUADRATIC, *ADDED)
# The sign of Coriolis forces. Gazebo uses the opposite sign.
CORIOLIS = {"fossen": -1.0, "gazebo": 1.0, "none": 0.0}
_POSITIVE = Number(0.0)
# Bounds of quantities that are multiplied with powers of others.
_BOUNDED = Number(0.0, 1e6)


@declared
class Hydrodynamics(Force):
    """Added mass, its Coriolis forces, and linear and quadratic damping of a body in a current.

    The force in body axes is Ma dv/dt - C(v) v + D(v) v with v = [u v w p q r], the linear velocity of the body's
    origin relative to the current, and the angular velocity. Ma has the derivatives xDotU to nDotR, C(v) is Fossen's
    C_A of the diagonal of Ma, and D(v) v has the derivatives xU (linear), xUabsU and xUU (quadratic). Derivatives of
    damping and added mass are negative. dv/dt is the acceleration that the other forces of the last timestep cause with
    the added mass, which may exceed the body's own mass. Gazebo adds C(v) v instead of subtracting it.

    Raises:
        ValueError: An array has the wrong shape.
    """

    type = "hydrodynamics"

    derivatives: Mapping[str, float] = given(
        derivatives_of(DERIVATIVES, "Derivative."),
        "Derivatives by their names, as xU, xUabsU, xDotU; 0 if not given",
        default_factory=dict,
    )
    current: FloatArray = given(Vector(3), "Velocity of the water in the fixed frame", "m/s", default=(0.0, 0.0, 0.0))
    added_mass: bool = given(Flag(), "Whether it has added mass", default=True, omit=True)
    coriolis: str = given(
        Word(tuple(CORIOLIS)),
        "Which Coriolis forces added mass has: those of Fossen, of Gazebo, or none",
        default="fossen",
    )


def open_waters(world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns) -> CompiledForces:
    """Return the hydrodynamics of all bodies of a world.

    Their state is the velocity (6,) and the wrench (6,) of the added mass at the last timestep. The acceleration
    without that wrench, a - f / M, is due to the other forces, and the current wrench is computed from it. Unlike
    applying Ma times the last acceleration, this is stable for any added mass.
    """
    model, forces = compiled.model, forces_of(world, Hydrodynamics)
    timestep, (bodies, roots) = float(model.opt.timestep), pushed_bodies(model, forces).T
    of, current = Derivatives(forces), FieldArrays(forces).current
    free = np.linalg.inv(np.array([spatial_inertia(model, int(body)) for body in bodies]))
    shared = np.linalg.inv(np.eye(6) - of.added @ free) @ of.added
    meaning = "velocity and wrench of added mass at the last timestep, along the body's axes; NaN at the start"
    names = tuple(force.body for force in forces)
    memory = columns.add(Column("hydrodynamics/memory", names, (12,), unit="m/s, rad/s, N", meaning=meaning))
    before, pushed = memory[:, :6], memory[:, 6:]

    def act() -> None:
        turn = data.xmat[bodies].reshape(-1, 3, 3)
        rate = data.cvel[bodies, :3]
        velocity = data.cvel[bodies, 3:] + np.cross(rate, data.xpos[bodies] - data.subtree_com[roots])
        state = np.concatenate([_back(turn, velocity - current), _back(turn, rate)], axis=1)
        known = ~np.isnan(before).any(axis=1, keepdims=True)
        change = np.where(known, (state - before) / timestep - _times(free, pushed), 0.0)
        added = _times(shared, change)
        before[:], pushed[:] = state, added
        wrench = added + of.wrenches(state)
        force, moment = _turned(turn, wrench[:, :3]), _turned(turn, wrench[:, 3:])
        np.add.at(data.xfrc_applied[:, :3], bodies, force)
        np.add.at(data.xfrc_applied[:, 3:], bodies, moment + np.cross(data.xpos[bodies] - data.xipos[bodies], force))

    return CompiledForces(act, memory)


def spatial_inertia(model: MjModel, body: int) -> FloatArray:
    """Return the inertia (6, 6) of a body and its descendants in their initial pose, about its origin in its axes."""
    import mujoco

    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    found, turn = np.zeros((6, 6)), data.xmat[body].reshape(3, 3)
    for part in sorted(_below(model, body)):
        mass, axes = float(model.body_mass[part]), turn.T @ data.ximat[part].reshape(3, 3)
        arm = turn.T @ (data.xipos[part] - data.xpos[body])
        cross = np.array([[0.0, -arm[2], arm[1]], [arm[2], 0.0, -arm[0]], [-arm[1], arm[0], 0.0]])
        found[:3, :3] += mass * np.eye(3)
        found[:3, 3:] -= mass * cross
        found[3:, :3] += mass * cross
        found[3:, 3:] += axes @ np.diag(model.body_inertia[part]) @ axes.T - mass * cross @ cross
    return found


def _below(model: MjModel, body: int) -> set[int]:
    found = {body}
    for part in range(body + 1, model.nbody):
        if int(model.body_parentid[part]) in found:
            found.add(part)
    return found


class Derivatives:
    """The derivatives of F bodies as arrays.

    Attributes:
        added: Derivatives of added mass (F, 6, 6), in SI units; negative.
    """

    def __init__(self, forces: Sequence[Hydrodynamics]) -> None:
        def table(names: tuple[str, ...], *shape: int) -> FloatArray:
            rows = [[force.derivatives.get(name, 0.0) for name in names] for force in forces]
            return np.array(rows).reshape(len(forces), *shape)

        added = table(ADDED, 6, 6)
        self._linear, self._quadratic = table(LINEAR, 6, 6), table(QUADRATIC, 6, 6, 6)
        self._absolute = table(QUADRATIC_ABS, 6, 6, 6)
        self._turning = np.einsum("fii->fi", added) * np.array([[CORIOLIS[force.coriolis]] for force in forces])
        self.added = added * np.array([force.added_mass for force in forces])[:, None, None]

    def wrenches(self, state: FloatArray) -> FloatArray:
        """Return forces and moments (F, 6) without added mass, in the axes of the bodies, N and N m.

        Args:
            state: Velocities (F, 6) relative to the current, m/s and rad/s.
        """
        damping = self._linear + np.einsum("fijk,fk->fij", self._absolute, np.abs(state))
        total = _times(damping + np.einsum("fijk,fk->fij", self._quadratic, state), state)
        # C(v) v from the momentum Ma v, by Kirchhoff's equations.
        momentum, rate = self._turning * state, state[:, 3:]
        total[:, :3] += np.cross(momentum[:, :3], rate)
        total[:, 3:] += np.cross(momentum[:, :3], state[:, :3]) + np.cross(momentum[:, 3:], rate)
        return total


@declared
class Thruster(Force):
    """The thrust of a propeller that the joint of its body turns: density coefficient diameter^4 w |w| along `axis`.

    Raises:
        ValueError: `axis` has the wrong shape.
    """

    type = "thruster"

    axis: FloatArray = given(Vector(3), "Axis of the propeller, in the body", default=(1.0, 0.0, 0.0))
    coefficient: float = given(Number(-MAX_FORCE, MAX_FORCE), "Coefficient of the thrust", default=1.0)
    diameter: float = given(_BOUNDED, "Diameter of the propeller", "m", default=0.02)
    density: float = given(_BOUNDED, "Density of the fluid", "kg/m^3", default=FRESH_WATER)
    deadband: float = given(_POSITIVE, "Smaller thrust is none", "N", default=0.0, omit=True)

    @rule
    def has_an_axis(self) -> Iterator[Fault]:
        """Yield a fault if its axis has zero length."""
        if not np.linalg.norm(self.axis) > 0.0:
            yield "axis", "a direction needs a length"

    @property
    def gain(self) -> float:
        """The thrust over w |w|, N s^2/rad^2."""
        return self.density * self.coefficient * self.diameter**4

    def speed_of(self, thrust: float) -> float:
        """Return the speed, rad/s, for a thrust, N; 0 for a propeller without thrust."""
        return math.copysign(math.sqrt(abs(thrust / self.gain)), thrust * self.gain) if self.gain else 0.0


def open_thrusters(world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns) -> CompiledForces:
    """Return the forces of all thrusters of a world, at the origins of the propellers."""
    model, forces = compiled.model, forces_of(world, Thruster)
    of, bodies = FieldArrays(forces), pushed_bodies(model, forces)[:, 0]
    dofs = model.jnt_dofadr[model.body_jntadr[bodies]]
    axes = np.array([force.axis / np.linalg.norm(force.axis) for force in forces])

    def act() -> None:
        speed = data.qvel[dofs]
        thrust = of.gain * speed * np.abs(speed)
        thrust[np.abs(thrust) < of.deadband] = 0.0
        force = thrust[:, None] * _turned(data.xmat[bodies].reshape(-1, 3, 3), axes)
        np.add.at(data.xfrc_applied[:, :3], bodies, force)
        np.add.at(data.xfrc_applied[:, 3:], bodies, np.cross(data.xpos[bodies] - data.xipos[bodies], force))

    return CompiledForces(act)


@declared
class Bladder(Force):
    """A bladder that a piston fills, which changes the buoyancy of its body.

    Its volume is `area` times the setpoint of the position actuator of `piston`, within its limits. The force is upward
    at the centre of mass: g density (volume - neutral_volume). Above `surface`, the volume counts as 0.
    """

    type, refers = "bladder", ("piston",)

    piston: str = given(FrameName(), "The joint whose position actuator sets the volume", default="")
    area: float = given(Number(high=1e6, above=0.0), "Volume over the setpoint of the piston", "m^2", default=1.0)
    volume_min: float = given(_POSITIVE, "Least volume", "m^3", default=3e-5)
    volume_max: float = given(_POSITIVE, "Largest volume", "m^3", default=9.9e-4)
    neutral_volume: float = given(_POSITIVE, "Volume at which it neither lifts nor sinks", "m^3", default=3e-4)
    density: float = given(_POSITIVE, "Density of the fluid", "kg/m^3", default=FRESH_WATER)
    surface: float | None = given(
        Number(), "z of the surface of the fluid; it is everywhere if not given", "m", default=None
    )


def open_bladders(world: World, compiled: Compiled, data: MjData, wind: WindField, columns: Columns) -> CompiledForces:
    """Return the forces of all bladders of a world. They have no state besides the actuators of their pistons."""
    model, forces = compiled.model, forces_of(world, Bladder)
    of, bodies = FieldArrays(forces), pushed_bodies(model, forces)[:, 0]
    names, controls = driven_joints(world), []
    for force in forces:
        at = actuator_of(model, names.get(force.piston, force.piston))
        if at is None:
            message = f"{quoted(force.piston)} has no position actuator"
            raise WorldError([Problem(force.place.where, f"{force.place.key}.piston", message)])
        controls.append(at)
    channels = np.array(controls)
    surface = np.array([np.inf if force.surface is None else force.surface for force in forces])

    def act() -> None:
        volume = np.clip(of.area * data.ctrl[channels], of.volume_min, of.volume_max)
        wet = data.xpos[bodies, 2] < surface
        mass = of.density * (np.where(wet, volume, 0.0) - of.neutral_volume)
        np.add.at(data.xfrc_applied[:, :3], bodies, -mass[:, None] * model.opt.gravity)

    return CompiledForces(act)


def actuator_of(model: MjModel, joint: str) -> int | None:
    """Return the MuJoCo actuator of a joint that is not an implicit drive, or None if there is none."""
    import mujoco

    at = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
    plain = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
    found = np.flatnonzero(plain & (model.actuator_trnid[:, 0] == at))
    return int(found[0]) if at >= 0 and len(found) else None


def _times(matrices: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("fij,fj->fi", matrices, rows))


def _turned(turn: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ijk,ik->ij", turn, rows))


def _back(turn: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ikj,ik->ij", turn, rows))
