"""Viewport cameras: the present position, target and up direction of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.schematic import FormulaScope, UnknownName, Viewport, bound_pose
from sim_node.viewing.schematic.binding import bound_vector, problem_of
from sim_node.viewing.schematic.eql import Formula

_UP = np.array([0.0, 0.0, 1.0])


class Sight(NamedTuple):
    """position, target and up (3,) of a camera in the fixed frame, m."""

    position: FloatArray
    target: FloatArray
    up: FloatArray


class ViewportCamera:
    """The camera of a viewport.

    Args:
        viewport: The viewport, with `pos`.
        scope: The names that its formulas may refer to.

    Attributes:
        follows: Whether the camera depends on anything that may move.

    Raises:
        WorldError: A name is unknown.
    """

    def __init__(self, viewport: Viewport, scope: FormulaScope) -> None:
        assert viewport.pos is not None
        self._viewport = viewport
        frame = viewport.frame
        self._pose = _bound(viewport.pos, scope, "pos", frame)
        self._target = None if viewport.look_at is None else _bound(viewport.look_at, scope, "look_at", frame)
        # The up direction of a pose: z, or -z if the axes have z down.
        self._own_up = -_UP if frame == "NED" else _UP
        self._up = None
        if viewport.up is not None:
            try:
                self._up = bound_vector(viewport.up, scope, frame)
            except UnknownName as error:
                raise problem_of(viewport.up, "viewport.up", error) from None
        given = (viewport.pos, viewport.look_at, viewport.up)
        self.follows = any(True for each in given if each is not None for _ in each.names())

    def sight(self) -> Sight | None:
        """Return the present sight; None if it is unknown, or if the camera would look at itself."""
        pose = self._pose()
        turn = pose[3:]
        up = quaternions.rotate(turn, self._own_up) if self._target is None or self._viewport.rolls else _UP
        if self._up is not None and np.linalg.norm(self._up()) > 0.0:
            up = self._up()
        target = poses.apply(pose, np.array([1.0, 0.0, 0.0])) if self._target is None else self._target()[:3]
        if not np.isfinite([pose[:3], target, up]).all() or np.linalg.norm(target - pose[:3]) < 1e-9:
            return None
        return Sight(pose[:3], target, _across(target - pose[:3], up))

    @property
    def vertical_fov(self) -> float:
        """The vertical field of view, rad."""
        return math.radians(self._viewport.fov)


def _bound(formula: Formula, scope: FormulaScope, key: str, frame: str) -> Callable[[], FloatArray]:
    try:
        return bound_pose(formula, scope, frame)
    except UnknownName as error:
        raise problem_of(formula, f"viewport.{key}", error) from None


def _across(forward: FloatArray, up: FloatArray) -> FloatArray:
    """Return up, or north if the view is along up."""
    return np.array([0.0, 1.0, 0.0]) if np.linalg.norm(np.cross(forward, up)) < 1e-9 * np.linalg.norm(forward) else up


def pose_of(sight: Sight) -> FloatArray:
    """Return the pose (7,) of a camera, x forward and z up in the picture."""
    forward = sight.target - sight.position
    forward = forward / np.linalg.norm(forward)
    left = np.cross(sight.up, forward)
    left /= np.linalg.norm(left)
    rotation = np.stack([forward, left, np.cross(forward, left)], axis=1)
    return poses.pose(sight.position, quaternions.from_matrix(rotation))
