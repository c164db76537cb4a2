"""Drives: position servos on single joints, whose targets may swing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

from sim_node.columns import Columns
from sim_node.geometry.arrays import FloatArray
from sim_node.physics.force_elements import ForceElement, force_element
from sim_node.physics.wind import WindField
from sim_node.world.drives import Drive
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.model_checks import drivable

if TYPE_CHECKING:
    from sim_node.physics.mujoco_model import Compiled

NAME = "{}#drive"


def servos(spec: mujoco.MjSpec, world: World) -> None:
    """Adds an actuator for each drive of a world."""
    joints = drivable(world)
    for drive in world.drives:
        servo = spec.add_actuator(name=NAME.format(drive.joint), target=joints[drive.joint])
        servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
        servo.gaintype, servo.gainprm[0] = mujoco.mjtGain.mjGAIN_FIXED, drive.stiffness
        servo.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        servo.biasprm[:3] = (0.0, -drive.stiffness, -drive.damping)
        if drive.force is not None:
            servo.forcelimited, servo.forcerange = True, (-drive.force, drive.force)


def aim(model: mujoco.MjModel, world: World, ctrl: FloatArray) -> None:
    """Writes the targets at the start to ctrl (nu,)."""
    for drive in world.drives:
        swing = drive.amplitude * np.sin(2.0 * np.pi * drive.phase)
        ctrl[model.actuator(NAME.format(drive.joint)).id] = drive.target + swing


@force_element("drives")
def open_drives(
    world: World, layout: Layout, compiled: Compiled, data: mujoco.MjData, wind: WindField, columns: Columns
) -> ForceElement | None:
    """The targets that swing; those that stand still are set at the start."""
    swinging = tuple(drive for drive in world.drives if drive.amplitude)
    return Targets(swinging, compiled.model, data) if swinging else None


class Targets:
    """Sets the targets of drives by the time of the run; it has no state of its own."""

    def __init__(self, drives: tuple[Drive, ...], model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._data = data
        self._controls = np.array([model.actuator(NAME.format(drive.joint)).id for drive in drives])
        self._targets = np.array([drive.target for drive in drives])
        self._amplitudes = np.array([drive.amplitude for drive in drives])
        self._rates = 2.0 * np.pi / np.array([drive.period for drive in drives])
        self._phases = 2.0 * np.pi * np.array([drive.phase for drive in drives])

    def reset(self, seed: int) -> None:
        """Nothing is drawn."""

    def act(self) -> None:
        """Sets the targets at the beginning of a timestep."""
        swing = np.sin(self._rates * self._data.time + self._phases)
        self._data.ctrl[self._controls] = self._targets + self._amplitudes * swing
