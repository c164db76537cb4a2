"""The column with the states of all joints, for worlds with commanded joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Column, Columns
from sim_node.world.joint_commands import JointCommands
from sim_node.world.layout import Layout, scalar_joints
from sim_node.world.model import World

if TYPE_CHECKING:
    import mujoco

# Position, velocity and actuator effort of each hinge and slide, computed when the column is read.
JOINT_STATE = "joint_state"


def declare_joint_states(
    world: World,
    layout: Layout,
    model: mujoco.MjModel,
    data: mujoco.MjData,
    evaluate: Callable[[], None],
    columns: Columns,
) -> None:
    """Declare the column, if the world has groups of commanded joints.

    Args:
        world: The world.
        layout: Its layout.
        model: The model.
        data: The run's data.
        evaluate: Computes the forces of the current state.
        columns: The columns of the run.
    """
    from sim_node.simulation.physics.placing import joint_reader

    if not world.of(JointCommands):
        return
    names = tuple(scalar_joints(layout, world.fixed_frame))
    read = joint_reader(model, data, evaluate, names)
    meaning = "position, velocity and effort of hinges and slides"
    column = Column(JOINT_STATE, names, (3,), unit="rad or m", meaning=meaning, state=False)
    columns.compute(column, lambda: (np.ascontiguousarray(read().T),))
