"""MJCF and URDF models in the MuJoCo model of a world: attached as a whole, and found by name afterwards."""

from __future__ import annotations

import mujoco

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.joints import QD_SIZES
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.models import Model
from sim_node.world.mujoco_source import refusals, spec_of
from sim_node.world.readers.model_links import places_in_mujoco


def attach(
    spec: mujoco.MjSpec, model: Model, above: mujoco.MjsBody, mount: FloatArray, *, has_contact: bool = True
) -> None:
    """Attach a model to a body, at a pose (7,) in it; options are those of the world. Raises WorldError.

    Without contact, none of its shapes touches anything.
    """
    with refusals(model.source):
        child = spec_of(model.source)
        for name in (name for name in dir(spec.option) if not name.startswith("_")):
            setattr(child.option, name, getattr(spec.option, name))
        for key in list(child.keys):
            child.delete(key)
        if not has_contact:
            for geom in child.geoms:
                geom.contype = geom.conaffinity = 0
            for pair in list(child.pairs):
                child.delete(pair)
        frame = above.add_frame(pos=mount[:3], quat=mount[[6, 3, 4, 5]])
        spec.attach(child, prefix=model.full_name("") if model.prefix else "", frame=frame)


def start_models(
    model: mujoco.MjModel,
    world: World,
    layout: Layout,
    offsets: dict[int, tuple[int, FloatArray]],
    qpos: FloatArray,
    qvel: FloatArray,
    ctrl: FloatArray,
    act: FloatArray,
) -> None:
    """Write the initial state of a world's models to the arrays of a compiled model.

    Args:
        offsets: The pose of each frame in the body that carries it, by row; free joints are relative to the fixed
            frame.
    """
    for each in world.models:
        _, mount = offsets[layout.frames.index(each.parent)]
        q = each.starts()
        for joint in each.joints():
            index = model.joint(each.full_name(joint.name)).id
            at, dof = int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])
            value = poses.compose(mount, q[joint.name]) if joint.kind == "free" else q[joint.name]
            qpos[places_in_mujoco(joint.kind, at)] = value
            qvel[dof : dof + QD_SIZES[joint.kind]] = each.start.qd.get(joint.name, 0.0)
        if len(each.start.ctrl):
            mine = [model.actuator(each.full_name(name)).id for name in each.actuators]
            ctrl[mine] = each.start.ctrl
            first = [int(model.actuator_actadr[index]) for index in mine]
            states = [at + k for at, i in zip(first, mine, strict=True) for k in range(model.actuator_actnum[i])]
            act[states] = each.start.act
