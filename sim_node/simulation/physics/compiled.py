"""A compiled world: MuJoCo's model, and where the frames of the world are in it."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco

from sim_node.spatial.geometry.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class InitialState:
    """The state in which a run begins: MuJoCo's positions, velocities, controls, and states of actuators."""

    qpos: FloatArray
    qvel: FloatArray
    ctrl: FloatArray
    act: FloatArray


@dataclass(frozen=True, eq=False)
class Compiled(InitialState):
    """A MuJoCo model, its specification, and the places of the world's frames in it.

    Every frame except keyframed ones is fixed to a body of MuJoCo, its carrier, at a constant pose.

    Attributes:
        model: The compiled model.
        spec: The specification that it was compiled from.
        links: Of each link that joints move (L, 3): its row in the frame table, its body, and the body that its parent
            frame is fixed to.
        mounts: The pose (L, 7) of that parent frame in that body.
        carriers: The MuJoCo body (N,) that each frame is fixed to, -1 for keyframed ones.
        offsets: The pose (N, 7) of each frame in that body.
        solids: The MuJoCo body (N,) whose shapes each frame is fixed to, keyframed ones included; 0 for none.
        followed: The rows of the frames that are MuJoCo's mocap bodies, in their order.
    """

    model: mujoco.MjModel
    spec: mujoco.MjSpec
    links: IntArray
    mounts: FloatArray
    carriers: IntArray
    offsets: FloatArray
    solids: IntArray
    followed: tuple[int, ...]
