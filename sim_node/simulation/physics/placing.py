"""Access to bodies and joints in MuJoCo's arrays, to get and set their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import mujoco
import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.actuators import Drive, drives_of
from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.joint_handles import JointRecord
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.coupled_positions import coupled
from sim_node.world.fields import NORM
from sim_node.world.joints import Q_SIZES, QD_SIZES
from sim_node.world.layout import Layout
from sim_node.world.models import ModelLink

_KINDS = tuple(Q_SIZES)
# Indices of x y z w in MuJoCo's quaternions w x y z.
_XYZW = np.array([1, 2, 3, 0])


class PlacedBody:
    """A body in MuJoCo's arrays.

    now: returns a copy of the current state, which can be evaluated without affecting the next step.
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
        """Return the pose (7,) in the fixed frame."""
        now = self._kinematics()
        return np.concatenate([now.xpos[self._id], now.xquat[self._id][_XYZW]])

    def set_pose(self, pose: FloatArray) -> None:
        """Set the pose. Raises ValueError if the joint does not have six degrees of freedom, or the pose is invalid."""
        self._need_free("pose")
        dof = int(self._model.jnt_dofadr[self._joints[0]])
        with coupled(self._model, self._data, range(dof, dof + 6)):
            self.write_pose(pose)

    def write_pose(self, pose: FloatArray) -> None:
        """Set the pose of a free-floating body without moving coupled ones. Raises ValueError for an invalid pose."""
        turn = _unit(self._name, "pose", pose[3:])
        q_at, qpos = int(self._model.jnt_qposadr[self._joints[0]]), self._data.qpos
        if self._kinds == ["free"]:
            qpos[q_at : q_at + 3], qpos[q_at + 3 : q_at + 7][_XYZW] = pose[:3], turn
            return
        # Three slides along axes of the joint frame, then a ball about the anchor.
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
        """Return the twist (6,) [linear, angular] of its origin, along the fixed frame's axes."""
        return np.asarray(self._jacobian() @ self._data.qvel)

    def set_twist(self, twist: FloatArray) -> None:
        """Set the twist. Raises ValueError if the joint does not have six degrees of freedom."""
        self._need_free("twist")
        dof = int(self._model.jnt_dofadr[self._joints[0]])
        jacobian, own = self._jacobian(), slice(dof, dof + 6)
        others = np.array(self._data.qvel)
        others[own] = 0.0
        self._data.qvel[own] = np.linalg.solve(jacobian[:, own], twist - jacobian @ others)

    def wrench(self) -> FloatArray:
        """Return its row of the column `wrench`. Raises ValueError for a body that no force can move."""
        body = self._id
        while body and not self._model.body_dofnum[body]:
            body = int(self._model.body_parentid[body])
        if not body:
            raise ValueError(f"{self._name!r} has no wrench: no force moves it, {self._fixed()}")
        row: FloatArray = self._wrench[self._id]
        return row

    def lever(self, point: FloatArray) -> FloatArray:
        """Return the vector (3,) from the centre of mass to a point (3,) of the body, along the fixed frame's axes."""
        turn = self._kinematics().xquat[self._id][_XYZW]
        return np.asarray(quaternions.rotate(turn, point - self._model.body_ipos[self._id]))

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
        """Return the Jacobian (6, nv) of the velocity of its origin and of its angular velocity."""
        now = self._kinematics()
        mujoco.mj_comPos(self._model, now)
        jacobian = np.zeros((6, self._model.nv))
        mujoco.mj_jacBody(self._model, now, jacobian[:3], jacobian[3:], self._id)
        return jacobian


class PlacedJoint:
    """A joint in MuJoCo's arrays.

    Attributes:
        drives: Targets of its actuators, by type.
        position_places: Indices (q_size,) of its position in qpos.
        velocity_places: Indices (qd_size,) of its velocity in qvel.
        q_size: Length of its position.
        qd_size: Length of its velocity.
        origin: Offset (q_size,) of its elements in qpos from its position.
    """

    def __init__(
        self,
        name: str,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        joints: list[int],
        drives: Mapping[str, Drive],
        evaluate: Callable[[], None],
    ) -> None:
        self.drives, self._evaluate = drives, evaluate
        self._name, self._model, self._data = name, model, data
        # _turns: where quaternions [x y z w] start in the position.
        self.position_places, self.velocity_places, self._turns = _places(model, joints)
        self.q_size, self.qd_size = len(self.position_places), len(self.velocity_places)
        self.origin = np.zeros(self.q_size)

    def position(self) -> FloatArray:
        """Return the position (q_size,)."""
        return np.asarray(self._data.qpos[self.position_places] - self.origin)

    def set_position(self, position: FloatArray, *others: tuple[JointRecord, FloatArray]) -> None:
        """Set the position, together with those of other joints. Coupled joints follow."""
        places = ((self, position), *others)
        with coupled(self._model, self._data, [dof for joint, _ in places for dof in joint.velocity_places]):
            for joint, value in places:
                joint.write_position(value)

    def write_position(self, position: FloatArray) -> None:
        """Set the position without moving coupled joints. Raises ValueError for a quaternion without unit norm."""
        position = np.array(position)
        for at in self._turns:
            position[at : at + 4] = _unit(self._name, "position", position[at : at + 4])
        self._data.qpos[self.position_places] = position + self.origin

    def velocity(self) -> FloatArray:
        """Return the velocity (qd_size,)."""
        return np.asarray(self._data.qvel[self.velocity_places])

    def set_velocity(self, velocity: FloatArray) -> None:
        """Set the velocity (qd_size,)."""
        self._data.qvel[self.velocity_places] = velocity

    def effort(self) -> FloatArray:
        """Return the effort (qd_size,) of actuators and of `set_effort`."""
        self._evaluate()
        data, dofs = self._data, self.velocity_places
        return np.asarray(data.qfrc_actuator[dofs] + data.qfrc_applied[dofs])

    def set_effort(self, effort: FloatArray) -> None:
        """Set the target of its effort actuator, or apply the effort directly. Raises ValueError for a ball."""
        drive = self.drives.get("effort")
        if drive is not None:
            drive.set(float(effort[0]))
        elif self._turns:
            raise ValueError(f"{self._name!r}: a ball has no effort along an axis; set the wrench of its body")
        else:
            self._data.qfrc_applied[self.velocity_places] = effort


def bodies_of(
    compiled: Compiled, layout: Layout, data: mujoco.MjData, now: Callable[[], mujoco.MjData], wrench: FloatArray
) -> dict[str, PlacedBody]:
    """Return the bodies of a world and those of its models, by name."""
    return {link.name: PlacedBody(link.name, compiled.model, data, now, wrench) for _, link in layout.links}


def joints_of(
    compiled: Compiled, layout: Layout, data: mujoco.MjData, evaluate: Callable[[], None], columns: Columns
) -> dict[str, PlacedJoint]:
    """Return the joints of a world by name: those of bodies by the bodies' names, those of models by their own.

    Args:
        compiled: The model.
        layout: The layout of the world's frames.
        data: The run's data.
        evaluate: Computes all forces of the current state in `data`.
        columns: The columns of the run, for the targets of actuators.
    """
    model = compiled.model
    drives = drives_of(model, data, columns)

    def placed(name: str, joints: list[int]) -> PlacedJoint:
        return PlacedJoint(name, model, data, joints, drives.get(joints[0], {}), evaluate)

    found = {}
    for _, link in layout.links:
        # A free-floating body has a single MuJoCo joint for all of its joint parts.
        ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint.name) for joint in link.joints]
        ids = [joint for joint in ids if joint >= 0]
        if isinstance(link, ModelLink):
            found.update({joint.name: placed(joint.name, [k]) for joint, k in zip(link.joints, ids, strict=True)})
        elif ids:
            found[link.name] = placed(link.name, ids)
            if model.jnt_type[ids[0]] == mujoco.mjtJoint.mjJNT_FREE:
                found[link.name].origin[:3] = model.body(link.name).pos
    return found


def joint_reader(
    model: mujoco.MjModel, data: mujoco.MjData, evaluate: Callable[[], None], names: Sequence[str]
) -> Callable[[], FloatArray]:
    """Return a function that reads an array (3, J): positions, velocities and actuator efforts of hinges and slides.

    names: J joints, as returned by `joints_below` of world/layout.py. evaluate: computes forces of the current state.
    """

    def id_of(name: str) -> int:
        found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        return int(found if found >= 0 else model.joint(f"{name}#0").id)

    ids = [id_of(name) for name in names]
    at, dofs = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
    qpos, qvel, driven = data.qpos, data.qvel, data.qfrc_actuator

    def read() -> FloatArray:
        if model.nu:
            evaluate()
        return np.array([qpos[at], qvel[dofs], driven[dofs]])

    return read


def _places(model: mujoco.MjModel, joints: list[int]) -> tuple[IntArray, IntArray, list[int]]:
    """Return the indices of MuJoCo joints in qpos and qvel, and where quaternions start among those in qpos."""
    q: list[int] = []
    qd: list[int] = []
    turns: list[int] = []
    for joint in joints:
        kind = _KINDS[int(model.jnt_type[joint])]
        at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        q_size = Q_SIZES[kind]
        if kind in ("free", "ball"):
            q += range(at, at + q_size - 4)
            turns.append(len(q))
            q += [at + q_size - 4 + k for k in _XYZW.tolist()]
        else:
            q.append(at)
        qd += range(dof, dof + QD_SIZES[kind])
    return np.array(q), np.array(qd), turns


def _unit(name: str, what: str, quaternion: FloatArray) -> FloatArray:
    norm = float(np.linalg.norm(quaternion))
    if abs(norm - 1.0) > NORM:
        raise ValueError(f"{name!r}: the quaternion's norm in {what} is {norm:.7g}, a rotation needs 1")
    return np.asarray(quaternion / norm)
