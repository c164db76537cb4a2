"""Bounds of entities, and which of them overlap a region."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.session.entities import Entity, Rejected
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray

if TYPE_CHECKING:
    from sim_node.simulation import Simulation

# Maximum number of points of a convex hull.
MAX_POINTS = 1000
_CORNERS = np.array([[k & 1, k & 2, k & 4] for k in range(8)], dtype=bool)


class BoundsType(IntEnum):
    """Bounds types, numbered as in simulation_interfaces."""

    EMPTY = 0
    BOX = 1
    CONVEX_HULL = 2
    SPHERE = 3


class BoundingBox(NamedTuple):
    """A box on a frame: the frame's row, the pose (7,) of its centre in the frame, m, and its half extents (3,), m."""

    row: int
    pose: FloatArray
    half: FloatArray


class Boxes:
    """Boxes around the shapes of a run. Valid until the structure of the run changes.

    Attributes:
        of: The boxes on each frame, by row.
        endless: Rows of frames with a plane, which is unbounded.

    Args:
        simulation: The run. Frames without shapes have no box.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.of: dict[int, list[BoundingBox]] = {}
        self.endless: set[int] = set()
        rows = {name: row for row, name in enumerate(simulation.frames.names)}
        model = getattr(simulation.engines.get("rigid_bodies"), "model", None)
        if model is None:
            return
        import mujoco

        for geom in range(model.ngeom):
            row = rows.get(model.body(model.geom_bodyid[geom]).name)
            if row is None:
                continue
            if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
                self.endless.add(row)
                continue
            middle, half = model.geom_aabb[geom, :3], np.array(model.geom_aabb[geom, 3:])
            at = np.concatenate([model.geom_pos[geom], model.geom_quat[geom][[1, 2, 3, 0]]])
            pose = poses.compose(at, np.concatenate([middle, poses.IDENTITY[3:]]))
            self.of.setdefault(row, []).append(BoundingBox(row, pose, half))

    def around(self, entity: Entity, in_root: FloatArray) -> list[tuple[FloatArray, FloatArray]] | None:
        """Return the boxes of an entity: poses (7,) in the fixed frame, m, and half extents (3,), m.

        Args:
            entity: The entity. Without shapes, it has a point at each of its frames.
            in_root: Poses (N, 7) of all frames in the fixed frame, m.

        Returns:
            The boxes; None if the entity is unbounded.
        """
        if self.endless.intersection(entity.rows):
            return None
        boxes = [box for row in entity.rows for box in self.of.get(row, ())]
        if not boxes:
            return [(in_root[row], np.zeros(3)) for row in entity.rows]
        return [(poses.compose(in_root[box.row], box.pose), box.half) for box in boxes]

    def bounds(self, entity: Entity, frame: int, in_root: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the bounds of an entity along the axes of its canonical link.

        Args:
            entity: The entity.
            frame: Row of the canonical link.
            in_root: Poses (N, 7) of all frames in the fixed frame, m.

        Returns:
            The upper and the lower corner (3,) in the canonical link, m; None if the entity is unbounded.
        """
        boxes = self.around(entity, in_root)
        if boxes is None:
            return None
        away = poses.invert(in_root[frame])
        corners = np.concatenate([corners_of(poses.compose(away, pose), half) for pose, half in boxes])
        return corners.max(axis=0), corners.min(axis=0)


def corners_of(pose: FloatArray, half: FloatArray) -> FloatArray:
    """Return the corners (8, 3) of a box with a pose (7,) and half extents (3,)."""
    return poses.apply(pose, np.where(_CORNERS, half, -half))


class Region:
    """A region of space in the fixed frame.

    Args:
        kind: One of BoundsType, except EMPTY.
        points: Points (P, 3) that define it, as in simulation_interfaces, m.

    Raises:
        Rejected: The points do not define a volume (OPERATION_FAILED), or the type is not defined
            (FEATURE_UNSUPPORTED).
    """

    def __init__(self, kind: int, points: Sequence[Sequence[float]]) -> None:
        self._points = np.array(points, dtype=np.float64).reshape(-1, 3)
        self._kind = kind
        if kind not in (BoundsType.BOX, BoundsType.CONVEX_HULL, BoundsType.SPHERE):
            raise Rejected(
                "FEATURE_UNSUPPORTED", f"bounds.type: {kind}; allowed: 0 (empty), 1 (box), 2 (hull), 3 (sphere)"
            )
        if not np.isfinite(self._points).all():
            raise Rejected("OPERATION_FAILED", "bounds.points: a number is not finite")
        count = len(self._points)
        if kind == BoundsType.CONVEX_HULL:
            if not 3 <= count <= MAX_POINTS:
                raise Rejected("OPERATION_FAILED", f"bounds.points: {count}; a convex hull needs 3 to {MAX_POINTS}")
        elif count != 2:
            raise Rejected("OPERATION_FAILED", f"bounds.points: {count}; a box and a sphere need 2")
        if kind == BoundsType.SPHERE and self._points[1, 0] < 0.0:
            raise Rejected("OPERATION_FAILED", f"bounds.points[1].x: {self._points[1, 0]:g}; a radius is not negative")
        if kind == BoundsType.BOX:
            high, low = self._points.max(axis=0), self._points.min(axis=0)
            self._points = np.where(_CORNERS, high, low)

    def overlaps(self, pose: FloatArray, half: FloatArray) -> bool:
        """Return whether the region intersects a box.

        Args:
            pose: Pose (7,) of the box's centre in the fixed frame, m.
            half: Its half extents (3,), m.

        Returns:
            Whether they overlap or touch.
        """
        local = poses.apply(poses.invert(pose), self._points)
        if self._kind == BoundsType.SPHERE:
            outside = np.maximum(np.abs(local[0]) - half, 0.0)
            return bool(np.linalg.norm(outside) <= self._points[1, 0])
        if (local.min(axis=0) > half).any() or (local.max(axis=0) < -half).any():
            return False
        if ((np.abs(local) <= half).all(axis=1)).any():
            return True
        # Search for weights of the hull's corners whose weighted sum lies within all six sides of the box.
        from scipy.optimize import linprog

        sides = np.concatenate([local.T, -local.T])
        found = linprog(
            np.zeros(len(local)),
            A_ub=sides,
            b_ub=np.concatenate([half, half]),
            A_eq=np.ones((1, len(local))),
            b_eq=[1.0],
        )
        return bool(found.status == 0)


def overlapping(entities: Sequence[Entity], region: Region, boxes: Boxes, in_root: FloatArray) -> list[Entity]:
    """Return the entities that overlap a region.

    Args:
        entities: The entities.
        region: The region.
        boxes: The boxes around their shapes.
        in_root: Poses (N, 7) of all frames in the fixed frame, m.

    Returns:
        The entities with a box that overlaps the region, and the unbounded ones.
    """
    found = []
    for entity in entities:
        around = boxes.around(entity, in_root)
        if around is None or any(region.overlaps(pose, half) for pose, half in around):
            found.append(entity)
    return found


def rotation_of(quaternion: npt.ArrayLike) -> FloatArray:
    """Return a unit quaternion (4,) [x, y, z, w]. Raises Rejected (INVALID_POSE) if it is not a rotation."""
    turn = np.array(quaternion, dtype=np.float64)
    length = float(np.linalg.norm(turn))
    # Tolerates single precision, or values typed with three digits.
    if not np.isfinite(turn).all() or not 0.99 < length < 1.01:
        raise Rejected("INVALID_POSE", f"orientation {turn.tolist()} has norm {length:.6g}, a rotation needs 1")
    return quaternions.normalise(turn)
