"""Actuators of joints: their targets, which may oscillate, and their lookup by joint and type for commands."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics.compiled import Compiled, InitialState
from sim_node.simulation.physics.drives import TYPES, Drives, add_drive, integrator_of, name_of
from sim_node.simulation.physics.force_elements import ForceElement, force_element
from sim_node.simulation.physics.joint_motion import MIN_MOBILITY, mobility_of, terms_of
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_FORCE
from sim_node.world.joint_motion import Actuator, driven_joints
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import Problem, WorldWarning, refuse_any, shown_key

# The column of targets that differ from MuJoCo's controls because they oscillate, are limited in speed, or belong to
# drives whose limits can change.
TARGET = "target"
# Largest stable product of a damper's decay rate and the timestep. The implicit integrators have no such limit.
MAX_DECAY = {"rk4": 2.785, "euler": 2.0}


def with_speeds_of_models(world: World) -> World:
    """Return the world with its actuators limited to the velocity limits of URDF joints.

    The joint limiter of ros2_control does the same. Effort and implicit position actuators have no speed to limit.
    """
    most = {model.full_name(joint): speed for model in world.models for joint, speed in model.speeds}
    if not most or not world.actuators:
        return world
    joints = {name: joint for name, joint in driven_joints(world).items() if joint in most}
    sums = {each.name for each in world.transmissions}

    def limited(actuator: Actuator) -> Actuator:
        has_speed = actuator.type == "velocity" or (actuator.type == "position" and not actuator.implicit)
        if not has_speed or actuator.joint in sums or actuator.joint not in joints:
            return actuator
        return replace(actuator, speed=min(most[joints[actuator.joint]], actuator.speed or np.inf))

    return replace(world, actuators=tuple(limited(each) for each in world.actuators))


def add_actuators(spec: mujoco.MjSpec, world: World) -> None:
    """Add a MuJoCo actuator for each actuator of a world."""
    joints = driven_joints(world)
    transmissions = {each.name for each in world.transmissions}
    for actuator in world.actuators:
        implicit = actuator.implicit
        sums = implicit or actuator.joint in transmissions
        target = add_drive(spec, world, actuator, joints) if implicit else joints.get(actuator.joint, actuator.joint)
        drive = spec.add_actuator(name=name_of(actuator), target=target)
        drive.trntype = mujoco.mjtTrn.mjTRN_TENDON if sums else mujoco.mjtTrn.mjTRN_JOINT
        drive.gaintype = mujoco.mjtGain.mjGAIN_FIXED
        if actuator.type == "effort" or implicit:
            drive.gainprm[0] = 1.0
        else:
            position = actuator.type == "position"
            drive.gainprm[0] = actuator.stiffness if position else actuator.damping
            drive.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            drive.biasprm[:3] = (0.0, -actuator.stiffness, -actuator.damping)
        if actuator.type == "velocity" and actuator.speed is not None and not implicit:
            drive.ctrllimited, drive.ctrlrange = True, (-actuator.speed, actuator.speed)
        if actuator.force is not None and not actuator.is_commanded:
            drive.forcelimited, drive.forcerange = True, np.clip(actuator.forces, -MAX_FORCE, MAX_FORCE)


def set_targets(model: mujoco.MjModel, world: World, start: InitialState) -> None:
    """Write the initial targets to the controls. Setpoints with limited speed start at the joint's position."""
    for actuator in world.actuators:
        index = model.actuator(name_of(actuator)).id
        if actuator.implicit:
            continue
        paced = actuator.type == "position" and actuator.speed is not None
        here = start.qpos[model.jnt_qposadr[model.actuator_trnid[index, 0]]]
        start.ctrl[index] = here if paced else actuator.begins_at()


def check_damping(model: mujoco.MjModel, world: World) -> None:
    """Check that the damping of actuators is stable with the integrator.

    Raises WorldError for velocity actuators. Only warns of position actuators: worlds may rely on their force limits.
    """
    most = MAX_DECAY.get(integrator_of(world))
    if most is None:
        return
    problems: list[Problem] = []
    for actuator in world.actuators:
        if actuator.implicit:
            continue
        index = model.actuator(name_of(actuator)).id
        allowed = most / (_mobility(model, index) * float(model.opt.timestep))
        if actuator.type != "effort" and actuator.damping > allowed:
            found = f"{actuator.damping:g} diverges with the integrator {integrator_of(world)}"
            message = f"{found} in timesteps of {model.opt.timestep:g} s; allowed: up to {allowed:.4g}"
            place = actuator.place
            key = place.key.removesuffix(".joint") or f"actuators[{shown_key(actuator.joint)}]"
            problem = Problem(place.where, f"{key}.damping", f"{message}, or physics.integrator: implicitfast")
            if actuator.type == "velocity":
                problems.append(problem)
            else:
                warnings.warn(str(problem), WorldWarning, stacklevel=2)
    refuse_any(problems)


def _mobility(model: mujoco.MjModel, actuator: int) -> float:
    """Return the acceleration per unit of force of an actuator's joint or transmission in the initial configuration."""
    at = model.actuator_trnid[actuator, 0]
    if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_TENDON:
        return max(float(model.tendon_invweight0[at]), MIN_MOBILITY)
    return mobility_of(model, int(model.jnt_dofadr[at]))


@force_element("actuators")
def open_actuators(
    world: World, layout: Layout, compiled: Compiled, data: mujoco.MjData, wind: WindField, columns: Columns
) -> ForceElement | None:
    """Return the force element for targets that oscillate or are limited in speed, and for drives with variable limits.

    Other targets are MuJoCo's controls themselves.
    """
    some = tuple(each for each in world.actuators if _is_computed(each))
    return Targets(some, compiled, data, columns) if some else None


def _is_computed(actuator: Actuator) -> bool:
    swings = actuator.amplitude or (actuator.speed and actuator.type != "velocity")
    return bool(swings) or actuator.is_commanded


class Targets:
    """Converts the column `target` to MuJoCo's controls, or to the rows of implicit drives, at each timestep."""

    def __init__(
        self, actuators: tuple[Actuator, ...], compiled: Compiled, data: mujoco.MjData, columns: Columns
    ) -> None:
        model = compiled.model
        self._data, self._timestep = data, float(model.opt.timestep)
        names = tuple(name_of(actuator) for actuator in actuators)
        self._controls = np.array([model.actuator(name).id for name in names])
        self._begin = np.array([actuator.target for actuator in actuators])
        meaning = "targets of actuators, from which `ctrl` follows by oscillation and limits of speed"
        self._targets = columns.add(Column(TARGET, names, unit="of the actuator", meaning=meaning))
        self._amplitudes = np.array([actuator.amplitude for actuator in actuators])
        self._rates = 2.0 * np.pi / np.array([actuator.period for actuator in actuators])
        self._phases = 2.0 * np.pi * np.array([actuator.phase for actuator in actuators])
        limited = [actuator.speed or np.inf for actuator in actuators]
        types = np.array([actuator.type for actuator in actuators])
        self._speeds = np.array(limited)
        self._paced = np.flatnonzero(np.isfinite(limited) & (types == "position"))
        self._governed = np.flatnonzero(np.isfinite(limited) & (types == "effort"))
        driven = model.actuator_trnid[self._controls[self._governed], 0]
        self._dofs = model.jnt_dofadr[driven]
        self._plain = np.flatnonzero([not actuator.is_commanded for actuator in actuators])
        self._plain_controls = self._controls[self._plain]
        commanded = [k for k, actuator in enumerate(actuators) if actuator.is_commanded]
        self._commanded = np.array(commanded, dtype=np.int64)
        self._most = self._speeds[self._commanded]
        self._drives = None
        if commanded:
            self._drives = Drives(tuple(actuators[k] for k in commanded), model, data, columns)

    def reset(self, seed: int) -> None:
        """Reset the targets to those of the world."""
        self._targets[:] = self._begin
        if self._drives is not None:
            self._drives.reset()

    def act(self) -> None:
        """Set the controls at the beginning of a timestep."""
        self.act_on(self._data)

    def act_on(self, data: mujoco.MjData) -> None:
        """Set the controls in other data of the same model, such as a copy that is integrated ahead."""
        swing = np.sin(self._rates * data.time + self._phases)
        wanted = self._targets + self._amplitudes * swing
        if len(paced := self._paced):
            present, most = data.ctrl[self._controls[paced]], self._speeds[paced] * self._timestep
            wanted[paced] = present + np.clip(wanted[paced] - present, -most, most)
        if len(governed := self._governed):
            speeds = data.qvel[self._dofs]
            too_fast = np.abs(speeds) >= self._speeds[governed]
            wanted[governed] *= ~(too_fast & (speeds * wanted[governed] > 0.0))
        data.ctrl[self._plain_controls] = wanted[self._plain]
        if self._drives is not None:
            self._drives.act(np.clip(wanted[self._commanded], -self._most, self._most), data)

    def add_efforts(self) -> None:
        """Add the forces of implicit drives to qfrc_actuator, after the solver has found them."""
        if self._drives is not None:
            self._drives.add_efforts()


@dataclass(frozen=True, slots=True, eq=False)
class Drive:
    """The target of an actuator: an element of MuJoCo's `ctrl`, or of the column `target`.

    Attributes:
        name: The actuator's name in MuJoCo.
        array: The array.
        index: The element.
    """

    name: str
    array: FloatArray
    index: int

    def get(self) -> float:
        """Return the target."""
        return float(self.array[self.index])

    def set(self, target: float) -> None:
        """Set the target. MuJoCo clips it to the actuator's range."""
        self.array[self.index] = target


def drives_of(model: mujoco.MjModel, data: mujoco.MjData, columns: Columns) -> dict[int, dict[str, Drive]]:
    """Return the actuators of each MuJoCo joint, by type.

    Actuators of models are included if they are MuJoCo's `position`, `velocity` or `motor` with a gear of 1, so that
    their controls are in the unit of the joint. If a joint has two of a type, the first one is used.
    """
    own = {name: row for row, name in enumerate(columns.column(TARGET).entities or ())} if TARGET in columns else {}
    found: dict[int, dict[str, Drive]] = {}
    for index in range(model.nu):
        name = str(model.actuator(index).name)
        joint = _joint_of(model, index)
        kind = TYPES.get(name.rpartition("#")[2]) if name in own else _type_of(model, index)
        if kind is None or joint is None:
            continue
        array, at = (columns[TARGET], own[name]) if name in own else (data.ctrl, index)
        found.setdefault(joint, {}).setdefault(kind, Drive(name, array, at))
    return found


def _joint_of(model: mujoco.MjModel, index: int) -> int | None:
    """Return the joint that an actuator drives, directly or through a drive tendon; None for any other actuator."""
    at = int(model.actuator_trnid[index, 0])
    if model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT:
        return at
    drives = model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_TENDON and model.tendon(at).name.endswith("#drive")
    joints = terms_of(model, at)[0].tolist() if drives else []
    return int(joints[0]) if len(joints) == 1 else None


def _type_of(model: mujoco.MjModel, index: int) -> str | None:
    """Return the type of a joint actuator; None if its control is not a position, velocity or effort of the joint."""
    joint, one = mujoco.mjtTrn.mjTRN_JOINT, (int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE))
    scalar = model.actuator_trntype[index] == joint and model.jnt_type[model.actuator_trnid[index, 0]] in one
    plain = model.actuator_dyntype[index] == mujoco.mjtDyn.mjDYN_NONE and model.actuator_gear[index, 0] == 1.0
    if not (scalar and plain and model.actuator_gaintype[index] == mujoco.mjtGain.mjGAIN_FIXED):
        return None
    gain, (constant, stiffness, damping) = model.actuator_gainprm[index, 0], model.actuator_biasprm[index, :3]
    if model.actuator_biastype[index] == mujoco.mjtBias.mjBIAS_NONE:
        return "effort" if gain == 1.0 else None
    if model.actuator_biastype[index] != mujoco.mjtBias.mjBIAS_AFFINE or constant != 0.0:
        return None
    if gain == -stiffness:
        return "position"
    return "velocity" if stiffness == 0.0 and gain == -damping else None
