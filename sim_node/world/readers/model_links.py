"""The links of a Model from a compiled MuJoCo model: its bodies, joint frames and sites as frames of the tree."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.coupled_positions import coupled
from sim_node.world.joints import Q_SIZES, QD_SIZES, LinkJoint
from sim_node.world.models import Link, Model, Start
from sim_node.world.mujoco_source import ModelSource, spec_of
from sim_node.world.problems import Place, WorldError
from sim_node.world.readers.report import Report

if TYPE_CHECKING:
    from mujoco import MjModel

_KINDS = tuple(Q_SIZES)
# Indices of the elements of q, whose quaternions are x y z w, in MuJoCo's elements of a joint.
MUJOCO_ORDER = {"free": [0, 1, 2, 4, 5, 6, 3], "ball": [1, 2, 3, 0], "slide": [0], "hinge": [0]}
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


def links_in(model: MjModel, source: ModelSource, *, joint_frames: bool) -> tuple[Link, ...]:
    """Return the bodies of a model, parents first, then its sites and, if requested, its joint frames.

    The frame of a joint is fixed to its body at the anchor of the joint, with z along its axis. If a body, or for a
    site a joint, has the same name, /joint or /site is appended. Raises WorldError for numbers that are not finite.
    """
    for array in _FINITE:
        if not np.isfinite(getattr(model, array)).all():
            raise WorldError([source.problem(f"{array} is not finite")])
    for joint in np.flatnonzero(np.abs(np.linalg.norm(model.jnt_axis, axis=1) - 1.0) > 1e-6).tolist():
        # MuJoCo normalises them, which overflows for lengths above 1e154.
        message = f"axis has no valid length in joint; Element name '{model.joint(joint).name}'"
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
    used = set(names)
    for name, body, pose, suffix in fixed:
        if name:
            frame = name + suffix if name in used else name
            used.add(frame)
            place = Place(places.get(name, source.places[0][0]), name)
            links.append(Link(frame, names[body], pose, is_body=False, place=place))
    return tuple(links)


def keyframes_in(model: MjModel) -> dict[str, Start]:
    """Return the named keyframes of a model."""
    found = {}
    for key in range(model.nkey):
        q, qd = {}, {}
        for joint in range(model.njnt):
            named = model.joint(joint).name
            kind = _KINDS[model.jnt_type[joint]]
            at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
            q[named] = np.array(model.key_qpos[key][places_in_mujoco(kind, at)])
            qd[named] = np.array(model.key_qvel[key][dof : dof + QD_SIZES[kind]])
        name = model.key(key).name or str(key)
        found[name] = Start(q, qd, np.array(model.key_act[key]), np.array(model.key_ctrl[key]))
    return found


def followers_of(model: Model, q: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the initial positions of joints that are coupled with others that start at q.

    Args:
        model: The model, with its start.
        q: Positions of some of its joints by name.

    Raises:
        ValueError: No positions satisfy the couplings.
    """
    import mujoco

    compiled = spec_of(model.source).compile()
    if not compiled.neq:
        return {}
    data = mujoco.MjData(compiled)
    places = {}
    for joint, begins in model.starts().items():
        at = compiled.joint(joint)
        places[joint] = places_in_mujoco(_KINDS[at.type[0]], int(at.qposadr[0]))
        data.qpos[places[joint]] = begins
    own = [compiled.joint(joint) for joint in q]
    dofs = [int(at.dofadr[0]) + k for at in own for k in range(QD_SIZES[_KINDS[at.type[0]]])]
    before = np.array(data.qpos)
    with coupled(compiled, data, dofs):
        for joint, position in q.items():
            data.qpos[places[joint]] = position
    others = ((joint, at) for joint, at in places.items() if joint not in q)
    return {joint: data.qpos[at] for joint, at in others if not np.array_equal(data.qpos[at], before[at])}


def places_in_mujoco(kind: str, at: int) -> IntArray:
    """Return the indices in qpos of a joint's q, which starts at an index. In qpos, quaternions are w x y z."""
    return np.array(MUJOCO_ORDER[kind]) + at


@contextmanager
def mujoco_warnings(report: Report, source: ModelSource) -> Iterator[None]:
    """Add warnings of MuJoCo to the report."""
    import mujoco

    reported: list[str] = []
    mujoco.set_mju_user_warning(reported.append)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        mujoco.set_mju_user_warning(logging.getLogger("sim_node.simulation.physics").info)
    for message in dict.fromkeys([*reported, *(str(warning.message) for warning in caught)]):
        report.warnings.append(source.problem(message.removeprefix("WARNING: ")))


def _z_along(axis: FloatArray) -> FloatArray:
    """Return the shortest rotation [x y z w] that rotates z to a unit axis."""
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
            np.array(model.qpos0[places_in_mujoco(kind, int(model.jnt_qposadr[joint]))]),
            (low, high) if limited else None,
        )


def _xyzw(quaternion: FloatArray) -> FloatArray:
    """Convert MuJoCo's [w x y z] to [x y z w]."""
    return np.asarray(quaternion[[1, 2, 3, 0]])
