"""Where bodies and joints are in MuJoCo's arrays, to read and set them by number."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.physics.mujoco_model import Compiled
from sim_node.world.checks import UNIT
from sim_node.world.layout import Layout
from sim_node.world.model import MAX_DISTANCE

_Indices = npt.NDArray[np.intp]
_SIZES = {"free": (7, 6), "ball": (4, 3), "slide": (1, 1), "hinge": (1, 1)}
_KINDS = ("free", "ball", "slide", "hinge")
# x y z w of what MuJoCo keeps as w x y z.
_XYZW = np.array([1, 2, 3, 0])


class PlacedBody:
    """A body in MuJoCo's arrays.

    now: a copy of the present state, to evaluate without touching what the next step starts from.
    """

    def __init__(
        self,
        name: str,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        now: Callable[[], mujoco.MjData],
        wrench: FloatArray,
    ) -> None:
        self._name, self._model, self._data, self._now, self._wrench = name, model, data, now, wrench
        self._id = int(model.body(name).id)
        first = int(model.body_jntadr[self._id])
        self._joints = range(first, first + int(model.body_jntnum[self._id]))
        self._kinds = [_KINDS[int(model.jnt_type[joint])] for joint in self._joints]

    def pose(self) -> FloatArray:
        """(7,) in the fixed frame."""
        now = self._kinematics()
        return np.concatenate([now.xpos[self._id], now.xquat[self._id][_XYZW]])

    def set_pose(self, pose: FloatArray) -> None:
        """Raises ValueError where its joint does not let it go everywhere, and for what is no pose."""
        self._need_free("pose")
        if np.abs(pose[:3]).max() > MAX_DISTANCE:
            raise ValueError(f"{self._name!r}: pose {pose.tolist()} is farther than {MAX_DISTANCE:g} m")
        turn = _unit(self._name, "pose", pose[3:])
        q_at, qpos = int(self._model.jnt_qposadr[self._joints[0]]), self._data.qpos
        if self._kinds == ["free"]:
            qpos[q_at : q_at + 3], qpos[q_at + 3 : q_at + 7][_XYZW] = pose[:3], turn
            return
        # Three slides from its joint frame, then a ball about a point of it.
        now, model, body = self._kinematics(), self._model, self._id
        above = int(model.body_parentid[body])
        mount = quaternions.multiply(now.xquat[above][_XYZW], model.body_quat[body][_XYZW])
        origin = now.xpos[above] + quaternions.rotate(now.xquat[above][_XYZW], model.body_pos[body])
        relative = quaternions.multiply(quaternions.conjugate(mount), turn)
        anchor = model.jnt_pos[self._joints[3]]
        away = quaternions.rotate(quaternions.conjugate(mount), pose[:3] - origin)
        slides = list(self._joints[:3])
        way = np.linalg.solve(model.jnt_axis[slides].T, away + quaternions.rotate(relative, anchor) - anchor)
        qpos[q_at : q_at + 3], qpos[q_at + 3 : q_at + 7][_XYZW] = way, relative

    def twist(self) -> FloatArray:
        """(6,) [linear, angular] of its origin, along the fixed frame's axes."""
        return np.asarray(self._jacobian() @ self._data.qvel)

    def set_twist(self, twist: FloatArray) -> None:
        """Raises ValueError where its joint does not let it move everywhere."""
        self._need_free("twist")
        dof = int(self._model.jnt_dofadr[self._joints[0]])
        jacobian, own = self._jacobian(), slice(dof, dof + 6)
        others = np.array(self._data.qvel)
        others[own] = 0.0
        self._data.qvel[own] = np.linalg.solve(jacobian[:, own], twist - jacobian @ others)

    def wrench(self) -> FloatArray:
        """Its row of the column `wrench`. Raises ValueError for a body that no force moves."""
        body = self._id
        while body and not self._model.body_dofnum[body]:
            body = int(self._model.body_parentid[body])
        if not body:
            raise ValueError(f"{self._name!r} has no wrench: no force moves it, {self._fixed()}")
        row: FloatArray = self._wrench[self._id]
        return row

    def _need_free(self, what: str) -> None:
        if self._kinds in (["free"], ["slide", "slide", "slide", "ball"]):
            return
        why = f"its joint ({', '.join(self._kinds)}) leaves it other than six degrees of freedom; set `joints` instead"
        raise ValueError(f"{self._name!r}: {what} cannot be set, {why if self._kinds else self._fixed()}")

    def _fixed(self) -> str:
        held = int(self._model.body_weldid[self._id])
        on_keyframes = self._model.body_mocapid[self._model.body_rootid[self._id]] >= 0
        if on_keyframes:
            return "keyframes carry it"
        return f"it is fixed to {self._model.body(held).name!r}" if held else "it is fixed to the fixed frame"

    def _kinematics(self) -> mujoco.MjData:
        now = self._now()
        mujoco.mj_kinematics(self._model, now)
        return now

    def _jacobian(self) -> FloatArray:
        """(6, nv): of the velocity of its origin, and of its rotation."""
        now = self._kinematics()
        mujoco.mj_comPos(self._model, now)
        jacobian = np.zeros((6, self._model.nv))
        mujoco.mj_jacBody(self._model, now, jacobian[:3], jacobian[3:], self._id)
        return jacobian


class PlacedJoint:
    """A joint in MuJoCo's arrays: which of qpos and qvel are its numbers, and what its positions count from."""

    def __init__(self, name: str, data: mujoco.MjData, q: list[int], qd: list[int], turns: list[int]) -> None:
        """turns: where in its position quaternions [x y z w] begin."""
        self._name, self._data, self._q, self._qd, self._turns = name, data, np.array(q), np.array(qd), turns
        self.q_size, self.qd_size = len(q), len(qd)
        self.origin = np.zeros(len(q))

    def position(self) -> FloatArray:
        """(q_size,)."""
        return np.asarray(self._data.qpos[self._q] - self.origin)

    def set_position(self, position: FloatArray) -> None:
        """Raises ValueError for a quaternion that is none."""
        position = np.array(position)
        for at in self._turns:
            position[at : at + 4] = _unit(self._name, "position", position[at : at + 4])
        self._data.qpos[self._q] = position + self.origin

    def velocity(self) -> FloatArray:
        """(qd_size,)."""
        return np.asarray(self._data.qvel[self._qd])

    def set_velocity(self, velocity: FloatArray) -> None:
        """Of any size."""
        self._data.qvel[self._qd] = velocity


def bodies_of(
    compiled: Compiled, layout: Layout, data: mujoco.MjData, now: Callable[[], mujoco.MjData], wrench: FloatArray
) -> dict[str, PlacedBody]:
    """The bodies of a world and those of its models, by name."""
    names = [*(body.name for _, body in layout.bodies), *(link.name for _, link in layout.links)]
    return {name: PlacedBody(name, compiled.model, data, now, wrench) for name in names}


def joints_of(compiled: Compiled, layout: Layout, data: mujoco.MjData) -> dict[str, PlacedJoint]:
    """The joints of a world by name: those of bodies under the names of these, those of models under their own."""
    model = compiled.model
    known = {str(model.joint(k).name): k for k in range(model.njnt)}
    found = {}
    for row, body in layout.bodies:
        parts = [known[name] for k in range(len(body.type.parts)) if (name := f"{body.name}#{k}") in known]
        if parts:
            joint = found[body.name] = _placed(body.name, model, data, parts)
            if model.jnt_type[parts[0]] == mujoco.mjtJoint.mjJNT_FREE:
                joint.origin[:3] = compiled.origins[list(compiled.rows).index(row)]
    for _, link in layout.links:
        names = [link.model.full_name(joint.name) for joint in link.link.joints]
        found.update({name: _placed(name, model, data, [known[name]]) for name in names if name not in found})
    return found


def _placed(name: str, model: mujoco.MjModel, data: mujoco.MjData, joints: list[int]) -> PlacedJoint:
    """Some MuJoCo joints as one, their numbers one after the other."""
    q: list[int] = []
    qd: list[int] = []
    turns: list[int] = []
    for joint in joints:
        kind = _KINDS[int(model.jnt_type[joint])]
        at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        q_size, qd_size = _SIZES[kind]
        if kind in ("free", "ball"):
            q += range(at, at + q_size - 4)
            turns.append(len(q))
            q += [at + q_size - 4 + k for k in _XYZW.tolist()]
        else:
            q.append(at)
        qd += range(dof, dof + qd_size)
    return PlacedJoint(name, data, q, qd, turns)


def _unit(name: str, what: str, quaternion: FloatArray) -> FloatArray:
    norm = float(np.linalg.norm(quaternion))
    if abs(norm - 1.0) > UNIT:
        raise ValueError(f"{name!r}: the quaternion's norm in {what} is {norm:.7g}, a rotation needs 1")
    return np.asarray(quaternion / norm)
