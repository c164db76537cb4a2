"""Actuators of joints as commands find them: by joint and type, in the world and in its models."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.actuators import TARGET
from sim_node.simulation.physics.drives import TYPES
from sim_node.simulation.physics.transmissions import terms_of
from sim_node.spatial.geometry.arrays import FloatArray


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
        """Set the target. MuJoCo clips it to the range."""
        self.array[self.index] = target


def drives_of(model: mujoco.MjModel, data: mujoco.MjData, columns: Columns) -> dict[int, dict[str, Drive]]:
    """Return the actuators of each joint of MuJoCo, by type.

    Actuators of models count if they are MuJoCo's `position`, `velocity` or `motor`, with a gear of 1, so that their
    controls are in the unit of the joint. Where a joint has two of a type, the first one counts.
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
    """Return the joint that an actuator drives, directly or by a tendon of its own; None for another actuator."""
    at = int(model.actuator_trnid[index, 0])
    if model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT:
        return at
    drives = model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_TENDON and model.tendon(at).name.endswith("#drive")
    joints = terms_of(model, at)[0].tolist() if drives else []
    return int(joints[0]) if len(joints) == 1 else None


def _type_of(model: mujoco.MjModel, index: int) -> str | None:
    """Return the type of an actuator of a joint; None for one whose control is something else."""
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
