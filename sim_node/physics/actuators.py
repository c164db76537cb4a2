"""Actuators: position servos on single joints, whose targets may oscillate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

from sim_node.columns import Columns
from sim_node.geometry.arrays import FloatArray
from sim_node.physics.force_elements import ForceElement, force_element
from sim_node.physics.wind import WindField
from sim_node.world.bodies import Actuator
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.model_checks import actuated_joints

if TYPE_CHECKING:
    from sim_node.physics.mujoco_model import Compiled

NAME = "{}#actuator"


def add_actuators(spec: mujoco.MjSpec, world: World) -> None:
    """Add MuJoCo's actuator for each of a world's."""
    joints = actuated_joints(world)
    for actuator in world.actuators:
        servo = spec.add_actuator(name=NAME.format(actuator.joint), target=joints[actuator.joint])
        servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
        servo.gaintype, servo.gainprm[0] = mujoco.mjtGain.mjGAIN_FIXED, actuator.stiffness
        servo.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        servo.biasprm[:3] = (0.0, -actuator.stiffness, -actuator.damping)
        if actuator.force is not None:
            servo.forcelimited, servo.forcerange = True, (-actuator.force, actuator.force)


def set_targets(model: mujoco.MjModel, world: World, ctrl: FloatArray) -> None:
    """Write the initial targets to ctrl (nu,)."""
    for actuator in world.actuators:
        swing = actuator.amplitude * np.sin(2.0 * np.pi * actuator.phase)
        ctrl[model.actuator(NAME.format(actuator.joint)).id] = actuator.target + swing


@force_element("actuators")
def open_actuators(
    world: World, layout: Layout, compiled: Compiled, data: mujoco.MjData, wind: WindField, columns: Columns
) -> ForceElement | None:
    """Return the force element of oscillating targets; constant ones are set at the start."""
    swinging = tuple(actuator for actuator in world.actuators if actuator.amplitude)
    return Targets(swinging, compiled.model, data) if swinging else None


class Targets:
    """Sets the targets of actuators as functions of the time of the run; it has no state of its own."""

    def __init__(self, actuators: tuple[Actuator, ...], model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._data = data
        self._controls = np.array([model.actuator(NAME.format(actuator.joint)).id for actuator in actuators])
        self._targets = np.array([actuator.target for actuator in actuators])
        self._amplitudes = np.array([actuator.amplitude for actuator in actuators])
        self._rates = 2.0 * np.pi / np.array([actuator.period for actuator in actuators])
        self._phases = 2.0 * np.pi * np.array([actuator.phase for actuator in actuators])

    def reset(self, seed: int) -> None:
        """Do nothing: targets depend on time only."""

    def act(self) -> None:
        """Set the targets at the beginning of a timestep."""
        swing = np.sin(self._rates * self._data.time + self._phases)
        self._data.ctrl[self._controls] = self._targets + self._amplitudes * swing
