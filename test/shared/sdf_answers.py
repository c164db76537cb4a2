"""What libsdformat answers about a world, against what is read here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.layout import lay_out
from sim_node.world.model import World

# The quaternions of the files have nine digits, and libsdformat rotates by them as they are: 7e-10 off unit length, at
# most 10 m away.
OF_REFERENCE = 1e-8
NO_LIMIT = 1e16
# Of sdf::JointType.
BALL, FIXED, SCREW = 1, 3, 8
KINDS = {"model", "link", "inertial", "collision", "visual", "frame", "joint"}


def placed(world: World) -> dict[str, FloatArray]:
    """Return the pose of every frame in the fixed frame."""
    layout = lay_out(world)
    return dict(zip(layout.frames.names, layout.frames.in_root(layout.poses), strict=True))


def differs(a: FloatArray, b: FloatArray) -> float:
    """Return by how much two poses differ, m or a quaternion's number."""
    turn = min(np.abs(a[3:] - b[3:]).max(), np.abs(a[3:] + b[3:]).max())
    return float(max(np.abs(a[:3] - b[:3]).max(), turn))


def judge(world: World, answers: Iterable[str]) -> set[str]:
    """Compare a world with answers of libsdformat, as lines of JSON; return the kinds of things that they are about."""
    frames, bodies = placed(world), {body.name: body for body in world.bodies}
    seen = set()
    for line in answers:
        asked = json.loads(line)
        name, pose = asked["name"].replace("::", "/"), np.array(asked["pose"])
        seen.add(asked["kind"])
        if asked["kind"] in ("collision", "visual"):
            link = bodies[name.rpartition("/")[0]]
            shape = next(s for s in link.geometry if s.only == asked["kind"])
            assert differs(poses.compose(frames[link.name], shape.pose), pose) < OF_REFERENCE, name
        elif asked["kind"] == "inertial":
            assert_inertial(bodies[name], frames[name], asked)
        else:
            assert differs(frames[name], pose) < OF_REFERENCE, (asked["kind"], name)
        if asked["kind"] == "joint":
            assert_joint(bodies, frames, name, asked)
    return seen


def assert_inertial(body: Body, at: FloatArray, asked: dict[str, Any]) -> None:
    """Check mass, centre, and the inertia about it along the axes of the world."""
    pose = np.array(asked["pose"])
    xx, yy, zz, xy, xz, yz = np.array(asked["inertia"])
    turn = quaternions.to_matrix(quaternions.normalise(pose[3:]))
    expected = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    assert body.inertial is not None
    assert body.inertial.mass == asked["mass"]
    np.testing.assert_allclose(poses.apply(at, body.inertial.centre), pose[:3], atol=OF_REFERENCE)
    own = quaternions.to_matrix(at[3:])
    np.testing.assert_allclose(own @ body.inertial.inertia @ own.T, expected, atol=OF_REFERENCE)


def assert_joint(bodies: dict[str, Body], frames: dict[str, FloatArray], name: str, asked: dict[str, Any]) -> None:
    """Check what a joint connects, its axes in the world and its limits."""
    scope = name.rpartition("/")[0]
    body = bodies[f"{scope}/{str(asked['child']).replace('::', '/')}"]
    assert body.parent == f"{scope}/{str(asked['parent']).replace('::', '/')}"
    if asked["type"] in (BALL, FIXED):  # which have no axes
        return
    for k, axis in enumerate(np.array([asked[key] for key in ("axis0", "axis1") if key in asked])):
        part = k if asked["type"] != SCREW else 1  # which slides before it turns
        np.testing.assert_allclose(quaternions.rotate(frames[body.name][3:], body.axes[part]), axis, atol=OF_REFERENCE)
        low, high = asked[f"limits{k}"]
        expected = [-np.inf if low <= -NO_LIMIT else low, np.inf if high >= NO_LIMIT else high]
        found = [-np.inf, np.inf] if body.limits is None else body.limits[part].tolist()
        assert found == expected
