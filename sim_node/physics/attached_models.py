"""Models of others in the MuJoCo model of a world: attached whole, and found again."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.models import KINDS, Model
from sim_node.world.mujoco_source import refusals, spec_of

_QD_SIZES = {"slide": 1, "hinge": 1, "ball": 3, "free": 6}


@dataclass(frozen=True, eq=False)
class CompiledLinks:
    """The links that joints of models move, as `write_link_poses` takes them, and what actuators start from.

    rows (L,): frame table rows; rests (L, 7): poses in the parent with neutral joints; mounts (L, 7): from MuJoCo's
    world to the link's parent, for links that float free. Link l has the joints first[l] to first[l + 1]: kinds (J,)
    in KINDS, axes and anchors (J, 3), neutral (J,) and q_at (J,), the address in qpos. ctrl (nu,), act (na,).
    """

    rows: npt.NDArray[np.int64]
    rests: FloatArray
    mounts: FloatArray
    first: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int64]
    axes: FloatArray
    anchors: FloatArray
    neutral: FloatArray
    q_at: npt.NDArray[np.int64]
    ctrl: FloatArray
    act: FloatArray


def attach(spec: mujoco.MjSpec, model: Model, above: mujoco.MjsBody, mount: FloatArray) -> None:
    """Attaches a model to a body, at a pose (7,) in it; the options are the world's. Raises WorldError."""
    with refusals(model.source):
        child = spec_of(model.source)
        for name in (name for name in dir(spec.option) if not name.startswith("_")):
            setattr(child.option, name, getattr(spec.option, name))
        for key in list(child.keys):
            child.delete(key)
        frame = above.add_frame(pos=mount[:3], quat=mount[[6, 3, 4, 5]])
        spec.attach(child, prefix=model.full_name("") if model.prefix else "", frame=frame)


def compile_links(
    model: mujoco.MjModel,
    world: World,
    layout: Layout,
    offsets: dict[int, tuple[int, FloatArray]],
    qpos: FloatArray,
    qvel: FloatArray,
) -> CompiledLinks:
    """Where the links of models are in a compiled model; their joints' initial state goes to qpos and qvel."""
    ctrl, act = _actuators(model, world)
    rows, rests, mounts, first, joints, q_at = [], [], [], [0], [], []
    starts = {id(link.model): link.model.starts() for _, link in layout.links}
    for row, link in layout.links:
        if not link.link.joints:
            continue
        _, mount = offsets[int(layout.frames.parents[row])]
        rows.append(row)
        rests.append(link.link.pose)
        mounts.append(poses.invert(mount))
        for joint in link.link.joints:
            index = model.joint(link.model.full_name(joint.name)).id
            at, dof = int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])
            q = starts[id(link.model)][joint.name]
            if joint.kind == "free":
                absolute = poses.compose(mount, q)
                qpos[at : at + 7] = absolute[[0, 1, 2, 6, 3, 4, 5]]
            elif joint.kind == "ball":
                qpos[at : at + 4] = q[[3, 0, 1, 2]]
            else:
                qpos[at] = q[0]
            qd = link.model.start.qd.get(joint.name)
            if qd is not None:
                qvel[dof : dof + _QD_SIZES[joint.kind]] = qd
            joints.append(joint)
            q_at.append(at)
        first.append(len(joints))
    return CompiledLinks(
        rows=np.array(rows, dtype=np.int64),
        rests=np.array(rests).reshape(-1, 7),
        mounts=np.array(mounts).reshape(-1, 7),
        first=np.array(first, dtype=np.int64),
        kinds=np.array([KINDS.index(joint.kind) for joint in joints], dtype=np.int64),
        axes=np.array([joint.axis for joint in joints]).reshape(-1, 3),
        anchors=np.array([joint.anchor for joint in joints]).reshape(-1, 3),
        neutral=np.array([joint.neutral[0] for joint in joints], dtype=np.float64),
        q_at=np.array(q_at, dtype=np.int64),
        ctrl=ctrl,
        act=act,
    )


def _actuators(model: mujoco.MjModel, world: World) -> tuple[FloatArray, FloatArray]:
    """ctrl (nu,) and act (na,) at the start: what models' keyframes say, else zero."""
    ctrl, act = np.zeros(model.nu), np.zeros(model.na)
    for each in world.models:
        if len(each.start.ctrl):
            mine = [model.actuator(each.full_name(name)).id for name in each.actuators]
            ctrl[mine] = each.start.ctrl
            first = [int(model.actuator_actadr[index]) for index in mine]
            states = [at + k for at, i in zip(first, mine, strict=True) for k in range(model.actuator_actnum[i])]
            act[states] = each.start.act
    return ctrl, act
