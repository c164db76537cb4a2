"""MuJoCo's state as columns: the named parts of its integration state, sharing its memory."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from sim_node.simulation.columns import Array, Column, Columns
from sim_node.spatial.geometry.arrays import FloatArray

# Parts of mjtState whose arrays have other names in MjData.
_NAMES = {"warmstart": "qacc_warmstart", "plugin": "plugin_state"}
# Unit and meaning of parts that MuJoCo defines; those of others depend on the model.
_MEANINGS = {
    "qpos": ("m, rad or 1", "positions of joints; quaternions w x y z"),
    "qvel": ("m/s or rad/s", "velocities of joints"),
    "act": ("", "states of actuators"),
    "ctrl": ("", "controls of actuators"),
    "qacc_warmstart": ("m/s² or rad/s²", "accelerations that the constraint solver starts from"),
    "qfrc_applied": ("N or N m", "forces that are applied along joints"),
    "xfrc_applied": ("N, N m", "what force elements and `wrench` applied in the last timestep"),
    "eq_active": ("", "whether each equality constraint holds"),
    "mocap_pos": ("m", "positions of what follows keyframes, in the fixed frame"),
    "mocap_quat": ("1", "their orientations, w x y z"),
}
_WRENCH = "[fx fy fz tx ty tz] at each centre of mass along the fixed frame's axes, held until changed"
_COORDINATES = {
    mujoco.mjtJoint.mjJNT_FREE: (("x", "y", "z", "qw", "qx", "qy", "qz"), ("vx", "vy", "vz", "wx", "wy", "wz")),
    mujoco.mjtJoint.mjJNT_BALL: (("qw", "qx", "qy", "qz"), ("wx", "wy", "wz")),
}


def declare_state(
    columns: Columns, model: mujoco.MjModel, data: mujoco.MjData, *, forced: bool
) -> tuple[FloatArray, list[str]]:
    """Declare the parts of MuJoCo's integration state that a model has, and the column `wrench`.

    Args:
        columns: The columns of the run.
        model: The compiled model.
        data: The run's data, whose arrays become the columns.
        forced: Whether force elements write xfrc_applied. If not, xfrc_applied itself is the column `wrench`.

    Returns:
        The array (bodies, 6) of `wrench`, with a row for each MuJoCo body; and the names of the columns that share
        MuJoCo's memory, which are its whole state except the time.
    """
    entities = _entities(model)

    def put_time(kept: Sequence[Array]) -> None:
        data.time = float(kept[0][0])

    time = Column("time", ("bodies",), unit="s", meaning="time since the start of the run")
    columns.compute(time, lambda: (np.array([data.time]),), put_time)
    parts: list[str] = []
    for part in mujoco.mjtState.__members__.values():
        name = part.name.removeprefix("mjSTATE_").lower()
        name = _NAMES.get(name, name)
        single = int(part).bit_count() == 1 and int(part) & int(mujoco.mjtState.mjSTATE_INTEGRATION)
        if not single or name == "time" or not mujoco.mj_stateSize(model, int(part)):
            continue
        if name == "xfrc_applied" and not forced:
            continue
        array = getattr(data, name)
        rows = entities.get(name, tuple(f"{name}{k}" for k in range(len(array))))
        unit, meaning = _MEANINGS.get(name, ("", f"{name} of MuJoCo"))
        columns.add(Column(name, rows, array.shape[1:], array.dtype, unit, meaning), array)
        parts.append(name)
    wrench = Column("wrench", entities["xfrc_applied"], (6,), unit="N, N m", meaning=_WRENCH, shared=True)
    applied: FloatArray = columns.add(wrench, None if forced else data.xfrc_applied)
    return applied, parts if forced else [*parts, wrench.name]


def _entities(model: mujoco.MjModel) -> dict[str, tuple[str, ...]]:
    """Return the names of the rows of MuJoCo's arrays."""
    joints = [model.joint(k) for k in range(model.njnt)]
    positions: list[str] = []
    velocities: list[str] = []
    for joint in joints:
        name, kind = joint_name(model, joint.id), mujoco.mjtJoint(int(joint.type[0]))
        for found, own in zip((positions, velocities), _COORDINATES.get(kind, ((), ())), strict=True):
            found += [f"{name}.{coordinate}" for coordinate in own] or [name]
    bodies = tuple(model.body(k).name for k in range(model.nbody))
    mocap = sorted((int(model.body_mocapid[k]), bodies[k]) for k in range(model.nbody) if model.body_mocapid[k] >= 0)
    actuators = tuple(model.actuator(k).name or f"actuator{k}" for k in range(model.nu))
    states = [
        (int(model.actuator_actadr[k]) + i, name)
        for k, name in enumerate(actuators)
        for i in range(int(model.actuator_actnum[k]))
    ]
    followed = tuple(name for _, name in mocap)
    return {
        "qpos": tuple(positions),
        "qvel": tuple(velocities),
        "qacc_warmstart": tuple(velocities),
        "qfrc_applied": tuple(velocities),
        "ctrl": actuators,
        "act": tuple(name for _, name in sorted(states)),
        "xfrc_applied": bodies,
        "mocap_pos": followed,
        "mocap_quat": followed,
        "eq_active": tuple(model.equality(k).name or f"equality{k}" for k in range(model.neq)),
    }


def joint_name(model: mujoco.MjModel, joint: int) -> str:
    """Return a MuJoCo joint's name in columns: its body's if it is the only joint of a body of the world."""
    name = str(model.joint(joint).name)
    body = model.jnt_bodyid[joint]
    return name.removesuffix("#0") if model.body_jntnum[body] == 1 else name or f"joint{joint}"
