"""From a compiled MuJoCo model to the links of a Model: bodies, joint frames and sites as the tree sees them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.world.joints import Q_SIZES, QD_SIZES, LinkJoint
from sim_node.world.models import Link, Start
from sim_node.world.mujoco_source import Source
from sim_node.world.problems import Place, WorldError
from sim_node.world.readers.report import Report

if TYPE_CHECKING:
    from mujoco import MjModel

_KINDS = tuple(Q_SIZES)
_UNTURNED = np.array([0.0, 0.0, 0.0, 1.0])
_FINITE = (
    "body_mass",
    "body_inertia",
    "body_pos",
    "body_quat",
    "jnt_pos",
    "jnt_axis",
    "site_pos",
    "qpos0",
    "geom_size",
)


def links_in(model: MjModel, source: Source, *, joint_frames: bool) -> tuple[Link, ...]:
    """The bodies of a model, parents first, then its sites and, if asked for, its joints' frames.

    A joint's frame is fixed to its body at the joint's anchor, its z axis along the joint's. Where a body, or for a
    site a joint too, has the name already, /joint or /site is added. Raises WorldError for numbers without end.
    """
    for array in _FINITE:
        if not np.isfinite(getattr(model, array)).all():
            raise WorldError([source.problem(f"{array} is not finite")])
    for joint in np.flatnonzero(np.abs(np.linalg.norm(model.jnt_axis, axis=1) - 1.0) > 1e-6).tolist():
        # MuJoCo makes them unit vectors, which overflows where one is 1e154 long.
        message = f"axis has no length that can be worked with in joint; Element name '{model.joint(joint).name}'"
        raise WorldError([source.problem(message)])
    places = {name: at for at, name in reversed(source.places) if name}
    names = [model.body(body).name for body in range(model.nbody)]
    names[0] = ""
    links = [
        Link(
            names[body],
            names[int(model.body_parentid[body])],
            np.concatenate([model.body_pos[body], _xyzw(model.body_quat[body])]),
            tuple(_joints(model, body)),
            place=Place(places.get(names[body], source.places[0][0]), names[body]),
        )
        for body in range(1, model.nbody)
    ]
    fixed: list[tuple[str, int, FloatArray, str]] = []
    for joint in range(model.njnt) if joint_frames else ():
        kind = _KINDS[model.jnt_type[joint]]
        if kind != "free":
            rotation = _UNTURNED if kind == "ball" else _z_along(model.jnt_axis[joint])
            pose = np.concatenate([model.jnt_pos[joint], rotation])
            fixed.append((model.joint(joint).name, int(model.jnt_bodyid[joint]), pose, "/joint"))
    for site in range(model.nsite):
        pose = np.concatenate([model.site_pos[site], _xyzw(model.site_quat[site])])
        fixed.append((model.site(site).name, int(model.site_bodyid[site]), pose, "/site"))
    taken = set(names)
    for name, body, pose, suffix in fixed:
        if name:
            frame = name + suffix if name in taken else name
            taken.add(frame)
            place = Place(places.get(name, source.places[0][0]), name)
            links.append(Link(frame, names[body], pose, is_body=False, place=place))
    return tuple(links)


def keyframes_in(model: MjModel) -> dict[str, Start]:
    """The named keyframes of a model."""
    found = {}
    for key in range(model.nkey):
        q, qd = {}, {}
        for joint in range(model.njnt):
            named = model.joint(joint).name
            kind = _KINDS[model.jnt_type[joint]]
            at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
            q[named] = _q(kind, model.key_qpos[key], at)
            qd[named] = np.array(model.key_qvel[key][dof : dof + QD_SIZES[kind]])
        name = model.key(key).name or str(key)
        found[name] = Start(q, qd, np.array(model.key_act[key]), np.array(model.key_ctrl[key]))
    return found


@contextmanager
def mujoco_warnings(report: Report, source: Source) -> Iterator[None]:
    """Turns what MuJoCo warns of into warnings of the report."""
    import mujoco

    heard: list[str] = []
    mujoco.set_mju_user_warning(heard.append)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        mujoco.set_mju_user_warning(logging.getLogger("sim_node.physics").info)
    for message in dict.fromkeys([*heard, *(str(warning.message) for warning in caught)]):
        report.warnings.append(source.problem(message.removeprefix("WARNING: ")))


def _z_along(axis: FloatArray) -> FloatArray:
    """The shortest rotation [x y z w] that takes z to a unit axis."""
    if axis[2] < -1.0 + 1e-12:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return quaternions.normalise(np.array([-axis[1], axis[0], 0.0, 1.0 + axis[2]]))


def _joints(model: MjModel, body: int) -> Iterator[LinkJoint]:
    first = int(model.body_jntadr[body])
    for joint in range(first, first + int(model.body_jntnum[body])):
        kind = _KINDS[model.jnt_type[joint]]
        limited = kind in ("slide", "hinge") and bool(model.jnt_limited[joint])
        low, high = model.jnt_range[joint].tolist()
        yield LinkJoint(
            model.joint(joint).name,
            kind,
            np.array(model.jnt_axis[joint]),
            np.array(model.jnt_pos[joint]),
            _q(kind, model.qpos0, int(model.jnt_qposadr[joint])),
            (low, high) if limited else None,
        )


def _q(kind: str, qpos: FloatArray, at: int) -> FloatArray:
    """q of a joint in the house's order."""
    if kind == "free":
        return np.concatenate([qpos[at : at + 3], _xyzw(qpos[at + 3 : at + 7])])
    return _xyzw(qpos[at : at + 4]) if kind == "ball" else np.array(qpos[at : at + 1])


def _xyzw(quaternion: FloatArray) -> FloatArray:
    """The house's order of MuJoCo's [w x y z]."""
    return np.asarray(quaternion[[1, 2, 3, 0]])
