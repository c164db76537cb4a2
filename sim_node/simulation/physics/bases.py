"""Wheeled bases: commanded twists drive the wheels or the body itself, and the wheels give odometry and its frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics.engine import engine
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.handles import BaseRecord
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.base_types import BaseType, Kinematics, kinematics_of
from sim_node.world.base_types.motion import advance, arcs
from sim_node.world.bases import Base
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import Problem, WorldError, quoted

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

    from sim_node.simulation.physics.actuators import Drive
    from sim_node.simulation.physics.compiled import Compiled

# Column of [x y yaw, vx vy wz, path, turned] of each base since the start, measured by its wheels.
ODOMETRY = "base/odometry"
# Name, row shape, unit and meaning of each column.
_COLUMNS = (
    (
        "base/command",
        (4,),
        "m/s, rad/s, s",
        "[vx vy wz] along each base's axes, and the run's time at which it expires",
    ),
    ("base/setpoint", (3,), "m/s, rad/s", "[vx vy wz] that each base is to have now, within its limits"),
    (ODOMETRY, (8,), "m, rad, m/s, rad/s", "[x y yaw vx vy wz path turned] by each base's wheels since the start"),
)
_EPSILON_S = 1e-9


@force_element("bases")
def open_bases(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> Bases | None:
    """Return the force element of all bases. Raises WorldError if a base has no free joint, or a wheel no actuator."""
    return Bases(world.of(Base), compiled, data, columns) if world.of(Base) else None


class Bases:
    """All bases of a world, in one force element. Rows of its arrays are in the order of the world.

    Attributes:
        vehicles: Records of the bases, by name.
    """

    def __init__(self, bases: tuple[Base, ...], compiled: Compiled, data: MjData, columns: Columns) -> None:
        import mujoco

        from sim_node.simulation.physics.actuators import drives_of

        # Imported here because worlds without bases do not need compiled kernels.
        from sim_node.world.base_types.motion_kernels import approach_twists, count_odometry, unexpired

        model = compiled.model
        self._data, self._timestep = data, float(model.opt.timestep)
        self._times_inertia = partial(mujoco.mj_mulM, model, data)
        free = np.array([_free_joint(model, base) for base in bases])
        places = np.array([[model.jnt_qposadr[joint], model.jnt_dofadr[joint]] for joint in free])
        self._kinematic = np.array([row for row, base in enumerate(bases) if base.drive == "kinematic"], dtype=np.int64)
        self._body_q = places[self._kinematic, :1] + np.arange(7)
        self._body_qd = places[self._kinematic, 1:] + np.arange(6)
        self._before = np.zeros((len(self._kinematic), 7))
        self._efforts, self._accelerations = np.zeros(model.nv), np.zeros(model.nv)

        # Limits of each base: forwards and to the left, then backwards and to the right.
        limits = np.array([base.limits.rows() for base in bases])
        self._fastest = limits[..., :2].copy()
        self._most = limits[..., [2, 2, 3]] * self._timestep
        self._jerks = limits[..., [4, 4, 5]] * self._timestep**2
        self._groups = _groups(bases, model, drives_of(model, data, columns))
        named = tuple(base.name for base in bases)
        self._command, self._setpoint, self._odometry = (
            columns.add(Column(name, named, size, unit=unit, meaning=meaning)) for name, size, unit, meaning in _COLUMNS
        )
        wheels = tuple(dict.fromkeys(joint for group in self._groups for joint in group.wheels))
        meaning = "of each driven wheel at the last timestep"
        self._angles = columns.add(Column("base/wheel_angle", wheels, unit="rad", meaning=meaning))
        for group in self._groups:
            group.places = np.array(list(map(wheels.index, group.wheels)), dtype=np.int64)
        turned = [group.qd for group in self._groups if group.is_kinematic]
        self._held = np.concatenate([self._body_qd.ravel(), *turned])
        # Twists of the bases in this timestep, their commanded twists, and the changes of their setpoints.
        self._twists, self._wanted, self._change = (np.zeros((len(bases), 3)) for _ in range(3))
        if np.isfinite(self._jerks).any():
            meaning = "by which each base's setpoint changed in the last timestep"
            self._change = columns.add(Column("base/change", named, (3,), unit="m/s, rad/s", meaning=meaning))
        self._unexpired, self._approach, self._count = unexpired, approach_twists, count_odometry
        self.vehicles = {
            base.name: BaseRecord(
                self._command[row], self._odometry[row], base.shape, base.timeout, self._now, _truth(data, *places[row])
            )
            for row, base in enumerate(bases)
        }

    def reset(self, seed: int) -> None:
        """Set commands, setpoints and odometry to zero; there are no random numbers."""
        for each in (self._command, self._setpoint, self._odometry, self._twists, self._change):
            each[:] = 0.0
        for group in self._groups:
            self._angles[group.places] = self._data.qpos[group.wheel_q]

    def act(self) -> None:
        """Set the wheel targets from the commands, and apply the forces that move kinematic bases as commanded."""
        wanted, setpoint, change = self._wanted, self._setpoint, self._change
        self._unexpired(self._command, float(self._data.time) + _EPSILON_S, wanted)
        for group in self._groups:
            wanted[group.rows] = group.kinematics.nearest(wanted[group.rows])
        self._approach(wanted, self._fastest, self._most, self._jerks, setpoint, change)
        for group in self._groups:
            twists = self._twists[group.rows] = group.kinematics.nearest(setpoint[group.rows])
            group.command(*group.kinematics.inverse(twists), self._data)
        if len(self._kinematic):
            self._hold(change[self._kinematic])

    def settle(self) -> None:
        """Move kinematic bases along exact arcs, and update the odometry of all bases."""
        if len(self._kinematic):
            self._carry()
        data, timestep, twists = self._data, self._timestep, self._twists
        for group in self._groups:
            if len(group.wheels):
                if group.is_kinematic:
                    group.turn(data, timestep)
                angles = data.qpos[group.wheel_q]
                rates = group.mean(angles - self._angles[group.places]) / timestep
                self._angles[group.places] = angles
                twists[group.rows] = group.kinematics.forward(rates, group.steering(data))
        self._count(twists, timestep, self._odometry)

    def _now(self) -> float:
        return float(self._data.time)

    def _hold(self, change: FloatArray) -> None:
        """Apply the forces that accelerate kinematic bases and carry their weight, so that IMUs measure them.

        Their wheels turn at constant rates, so they exert no reaction.

        Args:
            change: Changes (K, 3) of their setpoints in this timestep, m/s and rad/s.
        """
        data = self._data
        self._before[:] = data.qpos[self._body_q]
        cos, sin = _heading(self._before[:, 3:])
        vx, vy, turn = self._twists[self._kinematic].T
        ax, ay = change[:, 0] / self._timestep - turn * vy, change[:, 1] / self._timestep + turn * vx
        along = np.zeros((len(change), 6))
        along[:, 0], along[:, 1], along[:, 5] = cos * ax - sin * ay, sin * ax + cos * ay, change[:, 2] / self._timestep
        self._accelerations[self._body_qd] = along
        self._times_inertia(self._efforts, self._accelerations)
        qd = self._held
        data.qfrc_applied[qd] = self._efforts[qd] + data.qfrc_bias[qd] - data.qfrc_passive[qd]

    def _carry(self) -> None:
        """Set the poses and velocities of kinematic bases to those that their twists lead to, overriding MuJoCo's."""
        data, before, twists = self._data, self._before, self._twists[self._kinematic]
        moved = arcs(twists, self._timestep)
        cos, sin = _heading(before[:, 3:])
        q = np.array(before)
        q[:, 0] += cos * moved[:, 0] - sin * moved[:, 1]
        q[:, 1] += sin * moved[:, 0] + cos * moved[:, 1]
        c, s = np.cos(0.5 * moved[:, 2]), np.sin(0.5 * moved[:, 2])
        w, x, y, z = before[:, 3:].T
        turned = np.stack([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w], axis=1)
        q[:, 3:] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        data.qpos[self._body_q] = q
        cos, sin = _heading(q[:, 3:])
        qd = np.zeros((len(q), 6))
        qd[:, 0], qd[:, 1] = cos * twists[:, 0] - sin * twists[:, 1], sin * twists[:, 0] + cos * twists[:, 1]
        qd[:, 5] = twists[:, 2]
        data.qvel[self._body_qd] = qd


# Where actuator targets are written: an array, indices into it, and the index of the joint of each.
_Targets = tuple[FloatArray, IntArray, IntArray]


class _Group:
    """Bases of one kind and drive mode: their kinematics, and the indices of their joints in MuJoCo's arrays.

    Attributes:
        rows: Rows of its bases.
        wheels: Names of the driven joints.
        wheel_q: Indices of the driven joints in qpos.
        qd: Indices of all joints, driven and steered, in qvel.
        places: Rows of the driven joints in the column of wheel angles.
    """

    def __init__(
        self, rows: Sequence[int], bases: Sequence[Base], model: MjModel, drives: dict[int, dict[str, Drive]]
    ) -> None:
        shape = bases[0].shape
        self.rows = np.array(rows)
        self.kinematics: Kinematics = kinematics_of([base.shape for base in bases])
        self.is_kinematic = bases[0].drive == "kinematic"
        self.places: IntArray = np.zeros(0, dtype=np.int64)
        self.wheels, wheel_joints, driven, self._mean = _joints(bases, shape.driven, model)
        _, steering_joints, steered, self._steering = _joints(bases, shape.steered, model)
        self._sizes = (len(bases), len(shape.driven)), (len(bases), len(shape.steered))
        self.wheel_q, self._wheel_qd = model.jnt_qposadr[wheel_joints], model.jnt_dofadr[wheel_joints]
        self._steering_q = model.jnt_qposadr[steering_joints]
        self._steering_qd = model.jnt_dofadr[steering_joints]
        self.qd: IntArray = np.concatenate([self._wheel_qd, self._steering_qd])
        self._driven, self._steered = driven, steered
        self._rates, self._wanted, self._before = np.zeros(len(driven)), np.zeros(len(steered)), np.zeros(len(driven))
        targets = _targets(bases, self.wheels, wheel_joints, "velocity", drives)
        self._targets = [(self._rates, each) for each in targets]
        targets = _targets(bases, _named(bases, shape.steered), steering_joints, "position", drives)
        self._targets += [(self._wanted, each) for each in targets]

    def command(self, rates: FloatArray, angles: FloatArray, data: MjData) -> None:
        """Set the wheel targets to rates (G, D), rad/s, and angles (G, S), rad."""
        self._rates[:], self._wanted[:] = rates.ravel()[self._driven], angles.ravel()[self._steered]
        if self.is_kinematic:
            self._before[:] = data.qpos[self.wheel_q]
        for wanted, (array, at, of) in self._targets:
            array[at] = wanted[of]

    def turn(self, data: MjData, seconds: float) -> None:
        """Turn the wheels of kinematic bases as commanded."""
        data.qpos[self.wheel_q] = self._before + self._rates * seconds
        data.qvel[self._wheel_qd] = self._rates
        data.qpos[self._steering_q], data.qvel[self._steering_qd] = self._wanted, 0.0

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean (G, D), for each driven wheel, of values of its joints."""
        return np.asarray(self._mean @ values).reshape(self._sizes[0])

    def steering(self, data: MjData) -> FloatArray:
        """Return the angles (G, S) of the steered wheels, rad."""
        return np.asarray(self._steering @ data.qpos[self._steering_q]).reshape(self._sizes[1])


def _groups(bases: Sequence[Base], model: MjModel, drives: dict[int, dict[str, Drive]]) -> list[_Group]:
    by_kind: dict[tuple[type[BaseType], str], list[int]] = {}
    for row, base in enumerate(bases):
        by_kind.setdefault((type(base.shape), base.drive if base.joints else ""), []).append(row)
    return [_Group(rows, [bases[row] for row in rows], model, drives) for rows in by_kind.values()]


def _named(bases: Sequence[Base], roles: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(joint for base in bases for role in roles for joint in base.joints.get(role, ()))


def _joints(
    bases: Sequence[Base], roles: tuple[str, ...], model: MjModel
) -> tuple[tuple[str, ...], IntArray, IntArray, FloatArray]:
    """Return the joints with some roles: names (J,), MuJoCo ids, indices of the G x R wheels, and averaging matrix."""
    names = _named(bases, roles)
    wheel = [
        row * len(roles) + k
        for row, base in enumerate(bases)
        for k, role in enumerate(roles)
        for _ in base.joints.get(role, ())
    ]
    ids = [_joint_id(model, name) for name in names]
    mean = np.zeros((len(bases) * len(roles), len(names)))
    mean[wheel, range(len(names))] = 1.0
    mean /= np.maximum(mean.sum(axis=1, keepdims=True), 1.0)
    return names, np.array(ids, dtype=np.int64), np.array(wheel, dtype=np.int64), mean


def _joint_id(model: MjModel, name: str) -> int:
    """Return the MuJoCo id of a joint: that of a body of the world, or a model's own."""
    import mujoco

    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, f"{name}#0")
    return found if found >= 0 else int(model.joint(name).id)


def _targets(
    bases: Sequence[Base], names: Sequence[str], joints: IntArray, kind: str, drives: dict[int, dict[str, Drive]]
) -> list[_Targets]:
    """Return where the targets of joints are written, for each array that contains some.

    Raises WorldError if a wheel of a dynamic base has no actuator of the required type.
    """
    found: dict[int, tuple[FloatArray, list[int], list[int]]] = {}
    for row, joint in enumerate(joints.tolist()):
        drive = drives.get(joint, {}).get(kind)
        if drive is None:
            base = next(each for each in bases if any(names[row] in wheels for wheels in each.joints.values()))
            if base.drive != "kinematic":
                _refuse(base, "joints", f"{quoted(names[row])} has no actuator of the type {kind}")
            continue
        _, at, of = found.setdefault(id(drive.array), (drive.array, [], []))
        at.append(drive.index)
        of.append(row)
    return [(array, np.array(at), np.array(of)) for array, at, of in found.values()]


def _free_joint(model: MjModel, base: Base) -> int:
    """Return the MuJoCo id of a base's free joint. Raises WorldError if it has none."""
    import mujoco

    body = model.body(base.body).id
    joint = int(model.body_jntadr[body])
    if joint < 0 or model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
        message = f"{quoted(base.body)} has no free joint in the fixed frame, along its axes; a base needs one"
        _refuse(base, "body", f"{message}, which is turned by the joint's `q`, not by a `pose`")
    return joint


def _refuse(base: Base, key: str, message: str) -> None:
    raise WorldError([Problem(base.place.where, f"{base.place.key or f'bases[{base.name}]'}.{key}", message)])


def _truth(data: MjData, q: int, qd: int) -> Callable[[], FloatArray]:
    """Return a function that returns the true planar twist (3,) [vx vy wz] of a base along its axes, m/s and rad/s."""

    def truth() -> FloatArray:
        cos, sin = _heading(data.qpos[None, q + 3 : q + 7])
        x, y, turn = data.qvel[[qd, qd + 1, qd + 5]]
        return np.array([cos[0] * x + sin[0] * y, cos[0] * y - sin[0] * x, turn])

    return truth


def _heading(turns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the cosine and sine of the heading of quaternions (K, 4) [w x y z]: that of the x axis in the plane."""
    w, x, y, z = turns.T
    cos, sin = 1.0 - 2.0 * (y * y + z * z), 2.0 * (w * z + x * y)
    length = np.hypot(cos, sin)
    upright = length > math.ulp(1.0)
    length = np.where(upright, length, 1.0)
    return np.where(upright, cos / length, 1.0), sin / length


@engine("bases")
def open_base_frames(world: World, layout: Layout, columns: Columns) -> BaseFrames | None:
    """Return the engine of the odometry frames NAME/odom."""
    bases = world.of(Base)
    return BaseFrames(tuple(base.odom for base in bases), columns) if bases else None


class BaseFrames:
    """Writes the pose of each base's odometry frame in the base, from the odometry of the force element `Bases`."""

    def __init__(self, names: tuple[str, ...], columns: Columns) -> None:
        self._rows, self._odometry = columns.claim("pose", names), columns[ODOMETRY]

    def reset(self, seed: int) -> None:
        """Do nothing: the odometry is a column of the force element."""

    def step(self, steps: int) -> None:
        """Do nothing: the odometry is updated at each timestep of the bodies."""

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Write the inverse of each base's odometry to its row of poses (N, 7)."""
        found = np.array(self._odometry[:, :3])
        if ahead_ns:
            advance(found, arcs(self._odometry[:, 3:6], ahead_ns * 1e-9))
        x, y, yaw = found.T
        cos, sin = np.cos(yaw), np.sin(yaw)
        rows = np.zeros((len(found), 7))
        rows[:, 0], rows[:, 1] = -cos * x - sin * y, sin * x - cos * y
        rows[:, 5], rows[:, 6] = -np.sin(0.5 * yaw), np.cos(0.5 * yaw)
        poses[self._rows] = rows
