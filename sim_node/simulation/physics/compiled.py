"""A compiled world: the MuJoCo model, and the mapping from the world's frames to its bodies."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco

from sim_node.spatial.geometry.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class InitialState:
    """The initial state of a run: MuJoCo's positions, velocities, controls and actuator activations."""

    qpos: FloatArray
    qvel: FloatArray
    ctrl: FloatArray
    act: FloatArray


@dataclass(frozen=True, eq=False)
class Compiled(InitialState):
    """A MuJoCo model, its specification, and the mapping from the world's frames to its bodies.

    Every frame except keyframed ones is fixed to a MuJoCo body, its carrier, at a constant pose.

    Attributes:
        model: The compiled model.
        spec: The specification that it was compiled from.
        links: For each link that joints move (L, 3), its row in the frame table, its MuJoCo body, and the MuJoCo body
            that its parent frame is fixed to.
        mounts: Pose (L, 7) of that parent frame in that body.
        carriers: MuJoCo body (N,) that each frame is fixed to; -1 for keyframed frames.
        offsets: Pose (N, 7) of each frame in that body.
        solids: MuJoCo body (N,) whose shapes each frame is fixed to, including keyframed frames; 0 for none.
        followed: Rows of the frames that are mocap bodies, in MuJoCo's order.
    """

    model: mujoco.MjModel
    spec: mujoco.MjSpec
    links: IntArray
    mounts: FloatArray
    carriers: IntArray
    offsets: FloatArray
    solids: IntArray
    followed: tuple[int, ...]
