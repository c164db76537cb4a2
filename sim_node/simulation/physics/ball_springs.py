"""Springs of ball joints whose stiffness differs between axes; MuJoCo's own springs have one stiffness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics import force_kernels as kernels
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.force_geometry import lead
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled


@force_element("ball_springs")
def open_ball_springs(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> BallSprings | None:
    """Return the force element of ball joints with springs of unequal stiffness."""
    springs = [(body, *spring) for body in world.bodies for spring in unequal_springs(body)]
    return BallSprings(springs, world, compiled, data) if springs else None


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


class BallSprings:
    """The springs of a world that MuJoCo does not offer: torques about the body's axes, in qfrc_applied."""

    def __init__(
        self,
        springs: list[tuple[Body, int, FloatArray, FloatArray]],
        world: World,
        compiled: Compiled,
        data: MjData,
    ) -> None:
        model = compiled.model
        joints = [model.joint(f"{body.name}#{part}").id for body, part, _, _ in springs]
        addresses = np.array([(model.jnt_qposadr[j], model.jnt_dofadr[j]) for j in joints], dtype=np.int64)
        stiffness = np.array([stiff for _, _, stiff, _ in springs])
        zeros = np.array([zero[[3, 0, 1, 2]] for _, _, _, zero in springs])
        views = data.qpos, data.qvel, data.qfrc_applied
        self._arguments = (addresses, stiffness, zeros, lead(world, model), *views)

    def reset(self, seed: int) -> None:
        """Do nothing: springs have no state."""

    def act(self) -> None:
        """Write the torques of this timestep."""
        kernels.turn_by_springs(*self._arguments)
