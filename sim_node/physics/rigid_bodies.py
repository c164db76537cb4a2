"""Rigid bodies: joints, masses and contacts, integrated by MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.physics.actors import actors_for
from sim_node.physics.engine import engine
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import Diverged, Problem, Where, WorldError

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.physics.mujoco_model import Compiled
    from sim_node.sensors.setting import Surroundings
    from sim_node.sensors.truth import FrameState


# Timesteps between which a signal is heeded.
IN_ONE_GO = 1000


@engine("rigid_bodies")
def open_rigid_bodies(world: World, layout: Layout) -> RigidBodyEngine | None:
    """The engine of a world's bodies. Raises WorldError where there is no MuJoCo, or it refuses the world."""
    if not any(body.type.parts for body in world.bodies):
        return None
    try:
        # Here and not above: worlds without bodies start without it.
        from sim_node.physics.mujoco_model import compile_model
    except ImportError as error:
        message = f"bodies need MuJoCo, which cannot be imported ({error}); run: pip install 'sim_node[physics]'"
        raise WorldError([Problem(Where(world.source), "bodies", message)]) from None
    try:
        compiled = compile_model(world, layout)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise WorldError([Problem(Where(world.source), "bodies", f"MuJoCo refuses them: {reason}")]) from None
    return RigidBodyEngine(compiled, world, layout)


class RigidBodyEngine:
    """Integrates the bodies of a world with a fixed timestep; its state is MuJoCo's.

    model, data: MuJoCo's own, for what this class does not show; data's positions of bodies are those of the last
    evaluation of the dynamics, not of the state.
    """

    def __init__(self, compiled: Compiled, world: World, layout: Layout) -> None:
        import mujoco

        from sim_node.physics.joint_poses import write_joint_poses

        self._mujoco = mujoco
        self._write_joint_poses = write_joint_poses
        self._compiled = compiled
        self._frames = layout.frames
        self.model = compiled.model
        self.data = mujoco.MjData(self.model)
        self._ahead = mujoco.MjData(self.model)
        self._substeps = world.physics.substeps(world.time.step_ns)
        self._full_state = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        self._no_stage = int(mujoco.mjtStage.mjSTAGE_NONE)
        self._buffer = np.empty(mujoco.mj_stateSize(self.model, self._full_state))
        self._actors = actors_for(world, layout, compiled, self.data)
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Goes back to the initial state; bodies themselves draw nothing at random."""
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self._compiled.qpos
        self.data.qvel[:] = self._compiled.qvel
        for actor in self._actors:
            actor.reset(seed)

    def step(self, steps: int) -> None:
        """Advances by whole steps of the world, without the interpreter's lock."""
        left = steps * self._substeps
        if self._actors:
            for _ in range(left):
                self._act()
                self._mujoco.mj_step(self.model, self.data)
            return
        while left > 0:
            self._mujoco.mj_step(self.model, self.data, min(left, IN_ONE_GO))
            left -= IN_ONE_GO

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Writes each body's pose in its joint frame to its row of poses (N, 7). Raises Diverged.

        Between two steps the bodies are integrated on from the last one, in a copy.
        """
        qpos = (self._integrated_ahead(ahead_ns) if ahead_ns else self.data).qpos
        if not np.isfinite(qpos).all():
            raise Diverged(
                f"the bodies' state is not finite any more after {self.data.time:g} s of the run; a shorter "
                "physics.timestep, or more damping, may help"
            )
        c = self._compiled
        self._write_joint_poses(qpos, c.rows, c.first, c.kinds, c.axes, c.q_at, c.origins, poses)

    def state(self) -> bytes:
        """All that the future depends on."""
        self._mujoco.mj_getState(self.model, self.data, self._buffer, self._full_state)
        return self._buffer.tobytes() + b"".join(_framed(actor.state()) for actor in self._actors)

    def restore(self, state: bytes) -> None:
        """Goes on from a state of this world, to the bit. Raises ValueError for one of another."""
        size = self._buffer.nbytes
        parts = list(_unframed(state[size:]))
        if len(state) < size or len(parts) != len(self._actors):
            raise ValueError(f"a state of {len(state)} bytes and {len(parts)} actors is not of these bodies")
        self._mujoco.mj_resetData(self.model, self.data)
        self._mujoco.mj_setState(self.model, self.data, np.frombuffer(state[:size]), self._full_state)
        for actor, part in zip(self._actors, parts, strict=True):
            actor.restore(part)

    @property
    def carried(self) -> IntArray:
        """The bodies, and the frames that are fixed to them."""
        return np.flatnonzero(self._compiled.carriers > 0)

    def observer(self, rows: IntArray, state: FrameState, places: IntArray) -> Callable[[], None]:
        """A function that evaluates the dynamics of the present step, and writes how frames move."""
        from sim_node.physics.frame_motion import write_frame_motion

        carriers = self._compiled.carriers[rows]
        roots = self.model.body_rootid[carriers].astype(np.int64)
        arguments = (
            *(self.data.xpos, self.data.xquat, self.data.cvel, self.data.cacc, self.data.subtree_com),
            *(np.array(self.model.opt.gravity), carriers, roots, self._compiled.offsets[rows], places),
            *(state.pose, state.twist, state.acceleration),
        )

        def observe() -> None:
            self._evaluate()
            write_frame_motion(*arguments)

        return observe

    def surroundings(self) -> Surroundings:
        """Its bodies and shapes, as they are at the present step."""
        from sim_node.physics.surroundings import BodySurroundings

        return BodySurroundings(self._compiled, self.data, self._frames, self._evaluate)

    def energy(self) -> float:
        """Kinetic and potential energy of all bodies, springs included, in J."""
        now = self._now()
        self._mujoco.mj_forward(self.model, now)
        self._mujoco.mj_energyPos(self.model, now)
        self._mujoco.mj_energyVel(self.model, now)
        return float(now.energy.sum())

    def _act(self) -> None:
        """Has the actors say what they do during the next timestep, by where the bodies are now."""
        model, data = self.model, self.data
        self._mujoco.mj_kinematics(model, data)
        self._mujoco.mj_comPos(model, data)
        self._mujoco.mj_comVel(model, data)
        data.xfrc_applied[:] = 0.0
        for actor in self._actors:
            actor.act()

    def _evaluate(self) -> None:
        """Works out all motion and forces of the present state, and puts back what the next step starts from."""
        model, data = self.model, self.data
        self._mujoco.mj_getState(model, data, self._buffer, self._full_state)
        if self._actors:
            kept = [actor.state() for actor in self._actors]
            self._act()
            for actor, state in zip(self._actors, kept, strict=True):
                actor.restore(state)
        self._mujoco.mj_forwardSkip(model, data, self._no_stage, 1)
        self._mujoco.mj_rnePostConstraint(model, data)
        self._mujoco.mj_setState(model, data, self._buffer, self._full_state)

    def _now(self) -> MjData:
        """A copy of the present state: evaluating it must not touch what the next step starts from."""
        self._mujoco.mj_getState(self.model, self.data, self._buffer, self._full_state)
        self._mujoco.mj_setState(self.model, self._ahead, self._buffer, self._full_state)
        return self._ahead

    def _integrated_ahead(self, ahead_ns: int) -> MjData:
        """The state that much later: whole timesteps, and a shorter one for what is left."""
        now, timestep = self._now(), self.model.opt.timestep
        whole, rest = divmod(ahead_ns * 1e-9, timestep)
        if whole:
            self._mujoco.mj_step(self.model, now, int(whole))
        try:
            self.model.opt.timestep = rest
            if rest > 0.0:
                self._mujoco.mj_step(self.model, now)
        finally:
            self.model.opt.timestep = timestep
        return now


def _framed(part: bytes) -> bytes:
    return len(part).to_bytes(8, "little") + part


def _unframed(parts: bytes) -> Iterator[bytes]:
    while parts:
        size, parts = int.from_bytes(parts[:8], "little"), parts[8:]
        yield parts[:size]
        parts = parts[size:]
