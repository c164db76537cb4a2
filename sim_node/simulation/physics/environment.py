"""The environment of sensors in a world with bodies: ray casting against shapes, and forces of contacts and joints."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.simulation.physics.cameras import CameraRenderer
from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.placing import joint_reader
from sim_node.simulation.physics.wind import WindField
from sim_node.simulation.sensors.context import Cameras, Echoes, Environment, Lens
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.frame_table import FrameTable

# Visibility of geom groups. MuJoCo's viewers show groups 0 to 2 by default; models put collision shapes into group 3.
_SHOWN = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)
_HIDDEN = 5
# Indices of x y z w in MuJoCo's quaternions w x y z.
_XYZW = np.array([1, 2, 3, 0])
# Luma coefficients of ITU-R BT.709.
_LUMA = np.array([0.2126, 0.7152, 0.0722])


class BodyEnvironment(Environment):
    """The environment of sensors in a world with bodies, at the current state of MuJoCo's `data`.

    A frame's own body, and what is rigidly attached to it, is invisible to its rays. evaluate: computes all forces of
    the current state in `data` without affecting the next step.
    """

    def __init__(
        self,
        compiled: Compiled,
        data: mujoco.MjData,
        frames: FrameTable,
        wind: WindField,
        evaluate: Callable[[], None],
    ) -> None:
        self._compiled, self._frames, self._live, self._evaluate = compiled, frames, data, evaluate
        self._wind = wind
        # A copy, because ray casting changes its geom groups.
        self._model = copy.copy(compiled.model)
        self._now = mujoco.MjData(self._model)
        self._full_state = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        self._buffer = np.empty(mujoco.mj_stateSize(self._model, self._full_state))
        self._renderer: CameraRenderer | None = None
        self._rigid = _rigid_with(self._model)
        self._brightness = np.append(_colours(self._model) @ _LUMA, 0.0)

    def wind(self, positions: FloatArray) -> FloatArray:
        """Return the velocity of the air."""
        return self._wind.velocity(positions)

    def cast(self, frames: Sequence[str], origins: FloatArray, directions: FloatArray, reach: float) -> Echoes:
        """Return the first hits of MuJoCo's rays within `reach`, on visible shapes that are not fully transparent."""
        model, now = self._model, self._now
        mujoco.mj_getState(model, self._live, self._buffer, self._full_state)
        mujoco.mj_setState(model, now, self._buffer, self._full_state)
        mujoco.mj_kinematics(model, now)
        distances, hits = np.empty(directions.shape[:2]), np.empty(directions.shape[:2], dtype=np.int32)
        for sensor, frame in enumerate(frames):
            own = self._own_shapes(frame)
            groups = model.geom_group[own]
            model.geom_group[own] = _HIDDEN
            mujoco.mj_multiRay(
                model,
                now,
                origins[sensor],
                directions[sensor].ravel(),
                _SHOWN,
                1,
                -1,
                hits[sensor],
                distances[sensor],
                None,
                directions.shape[1],
                reach,
            )
            model.geom_group[own] = groups
        # MuJoCo ignores geoms that are entirely beyond reach, but not every hit beyond it.
        hits[distances > reach] = -1
        distances[hits < 0] = np.inf
        return Echoes(distances, self._brightness[hits])

    def contact(self, frames: Sequence[str], about: FloatArray) -> FloatArray:
        """Return the wrenches of all contacts on each frame's body and on what is rigidly attached to it."""
        model, now = self._model, self._live
        self._evaluate()
        wrenches = np.zeros((len(frames), 6))
        contact, force = now.contact, np.empty(6)
        bodies = self._rigid[model.geom_bodyid[contact.geom]]
        for sensor, frame in enumerate(frames):
            body = self._rigid[self._carrier(frame)]
            for touching in np.flatnonzero((bodies == body).any(axis=1)):
                mujoco.mj_contactForce(model, now, touching, force)
                # Rows of the contact frame are its axes; the first points to geom 1, on which the force acts.
                sign = float(bodies[touching, 1] == body) - float(bodies[touching, 0] == body)
                push, twist = sign * (force.reshape(2, 3) @ contact.frame[touching].reshape(3, 3))
                wrenches[sensor, :3] += push
                wrenches[sensor, 3:] += twist + np.cross(contact.pos[touching] - about[sensor], push)
        return wrenches

    def touches(self, frames: Sequence[str], targets: Sequence[Sequence[str]]) -> npt.NDArray[np.bool_]:
        """Return which frames' bodies, with what is rigidly attached to them, are in contact with their targets."""
        self._evaluate()
        contact = self._live.contact
        pairs = self._model.geom_bodyid[contact.geom][contact.efc_address >= 0]
        rigid, found = self._rigid[pairs], np.zeros(len(frames), dtype=np.bool_)
        for sensor, (frame, names) in enumerate(zip(frames, targets, strict=True)):
            body = self._rigid[self._carrier(frame)]
            # The bodies on the other side of each of its contacts.
            others = np.concatenate([pairs[rigid[:, 0] == body, 1], pairs[rigid[:, 1] == body, 0]])
            counting = [self._carrier(name) for name in names]
            found[sensor] = len(others) > 0 and (not names or bool(np.isin(others, counting).any()))
        return found

    def poses(self, names: Sequence[str]) -> Callable[[], FloatArray]:
        """Return a function that reads the poses of bodies at the current state."""
        rows = [self._frames.index(name) for name in names]
        bodies, offsets = self._compiled.carriers[rows], self._compiled.offsets[rows]

        def read() -> FloatArray:
            self._evaluate()
            now = self._live
            carriers = np.concatenate([now.xpos[bodies], now.xquat[bodies][:, _XYZW]], axis=1)
            return poses.compose(carriers, offsets)

        return read

    def joint(self, frames: Sequence[str], about: FloatArray) -> FloatArray:
        """Return the wrenches of MuJoCo's force and torque sensors: cfrc_int, moved from the tree's centre of mass."""
        model, now = self._model, self._live
        self._evaluate()
        bodies = np.array([self._carrier(frame) for frame in frames], dtype=np.intp)
        torque, force = now.cfrc_int[bodies, :3], now.cfrc_int[bodies, 3:]
        lever = now.subtree_com[model.body_rootid[bodies]] - about
        return np.concatenate([force, torque + np.cross(lever, force)], axis=1)

    def joints(self, names: Sequence[str]) -> Callable[[], FloatArray]:
        """Return a function that reads positions, velocities and efforts of joints at the current state."""
        return joint_reader(self._compiled.model, self._live, self._evaluate, names)

    def cameras(self, lenses: Sequence[Lens]) -> Cameras:
        """Return cameras of the render process, which all cameras share."""
        if self._renderer is None:
            self._renderer = CameraRenderer(self._compiled.spec, self._live)
        return self._renderer.cameras(lenses)

    def close(self) -> None:
        """End the render process, if there is one. The next image starts it again."""
        if self._renderer is not None:
            self._renderer.close()

    def release(self, successor: BodyEnvironment | None) -> None:
        """Hand the running render process over to the environment of the next generation, or end it."""
        if self._renderer is not None:
            self._renderer.hand_over(None if successor is None else successor._renderer)

    def _carrier(self, frame: str) -> int:
        """Return the MuJoCo body that a frame is fixed to; the world body for keyframed frames without shapes."""
        return int(self._compiled.solids[self._frames.index(frame)])

    def _own_shapes(self, frame: str) -> npt.NDArray[np.intp]:
        """Return the shapes that a frame's rays ignore; none for the fixed frame."""
        body = self._carrier(frame)
        of = self._model.geom_bodyid
        own = self._rigid[of] == self._rigid[body] if self._rigid[body] else of == body
        return np.flatnonzero(own & (of > 0))


def _rigid_with(model: mujoco.MjModel) -> npt.NDArray[np.int32]:
    """Return the topmost body that each body is rigidly attached to: itself if it moves, 0 if it is static."""
    rigid = np.arange(model.nbody, dtype=np.int32)
    for body in range(1, model.nbody):
        if model.body_dofnum[body] == 0 and model.body_mocapid[body] < 0:
            rigid[body] = rigid[model.body_parentid[body]]
    return rigid


def _colours(model: mujoco.MjModel) -> FloatArray:
    """Return the colour (G, 3), red, green and blue, of each shape: that of its material if it has one."""
    colours = np.array(model.geom_rgba[:, :3], dtype=np.float64)
    has_material = model.geom_matid >= 0
    colours[has_material] = model.mat_rgba[model.geom_matid[has_material], :3]
    return colours
