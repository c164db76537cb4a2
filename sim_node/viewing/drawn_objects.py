"""Objects drawn by a schematic, as shapes with separate poses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.meshes import PLAIN, DrawnShape
from sim_node.viewing.schematic import (
    FormulaScope,
    GlbModel,
    LiveEllipsoid,
    Object3d,
    Schematic,
    Solid,
    UnknownName,
    bound,
    bound_pose,
)
from sim_node.viewing.schematic.binding import problem_of
from sim_node.viewing.schematic.eql import Formula
from sim_node.viewing.schematic.formulas import euler

# Thickness of a plane, m, so that it is also visible from below.
_THIN = 1e-3
# In glTF 2.0 (section 3.4), y is up; here it becomes z.
_UPRIGHT = quaternions.from_axis_angle([1.0, 0.0, 0.0], np.pi / 2.0)


class ObjectDrawing(NamedTuple):
    """The drawn objects of a schematic.

    shapes: shapes on rows 0 to K - 1, each at the pose of its row; rows: computes the poses (K, 7) in the fixed frame;
    scales: for the rows of ellipsoids that change, functions that compute their radii (3,).
    """

    shapes: tuple[DrawnShape, ...]
    rows: tuple[Callable[[], FloatArray], ...]
    scales: dict[int, Callable[[], FloatArray]]

    def poses(self) -> FloatArray:
        """Return the present poses (K, 7) in the fixed frame."""
        return np.array([read() for read in self.rows]).reshape(-1, 7)


def drawing_of(schematic: Schematic, scope: FormulaScope) -> ObjectDrawing:
    """Return the objects that a schematic draws. Raises WorldError for an unknown name."""
    shapes: list[DrawnShape] = []
    rows: list[Callable[[], FloatArray]] = []
    scales: dict[int, Callable[[], FloatArray]] = {}
    for row, thing in enumerate(schematic.objects):
        pose = _pose(thing, scope)
        if isinstance(thing.drawn, LiveEllipsoid):
            pose, radii, formula = _ellipsoid(thing.drawn, pose, scope)
            if formula is not None and any(True for _ in formula.names()):
                scales[row] = radii
            shapes.append(_shape(row, "sphere", np.nan_to_num(radii(), nan=1.0), thing.drawn.colour))
        else:
            shapes.append(_solid(row, thing.drawn) if isinstance(thing.drawn, Solid) else _model(row, thing.drawn))
        rows.append(pose)
    return ObjectDrawing(tuple(shapes), tuple(rows), scales)


def _pose(thing: Object3d, scope: FormulaScope) -> Callable[[], FloatArray]:
    try:
        return bound_pose(thing.pose, scope, thing.frame, thing.frame_orientation)
    except UnknownName as error:
        raise problem_of(thing.pose, "object_3d", error) from None


Read = Callable[[], FloatArray]


def _ellipsoid(drawn: LiveEllipsoid, pose: Read, scope: FormulaScope) -> tuple[Read, Read, Formula | None]:
    """Return functions for the pose (7,) and the radii (3,) of an ellipsoid, and the formula that they depend on."""
    if drawn.covariance is None:
        if drawn.scale is None:
            return pose, lambda: np.ones(3), None
        read = _numbers(drawn.scale, 3, "three radii are needed", "scale", scope)
        return pose, lambda: _lengths(read()), drawn.scale
    from scipy.special import gammaincinv  # slow to import, and few schematics have ellipsoids

    key, half = ("error_covariance_cholesky", "lower") if drawn.factored else ("error_covariance", "upper")
    triangle = _numbers(drawn.covariance, 6, f"a triangle, the {half} one, is needed", key, scope)
    # Chi-squared with three degrees of freedom: this fraction of a normal distribution is within `reach` deviations.
    reach = float(np.sqrt(2.0 * gammaincinv(1.5, min(drawn.confidence, 99.9999) / 100.0)))

    def axes() -> tuple[FloatArray, FloatArray]:
        matrix, numbers = np.zeros((3, 3)), np.nan_to_num(triangle(), nan=0.0, posinf=1e6, neginf=-1e6)
        if drawn.factored:
            matrix[np.tril_indices(3)] = numbers
            turn, deviations, _ = np.linalg.svd(matrix)
        else:
            matrix.T[np.triu_indices(3)] = matrix[np.triu_indices(3)] = numbers
            variances, turn = np.linalg.eigh(matrix)
            deviations = np.sqrt(np.maximum(variances, 0.0))
        turn[:, 2] *= np.linalg.det(turn)
        return quaternions.from_matrix(turn), _lengths(reach * deviations)

    turned = lambda: poses.compose(pose(), poses.pose(np.zeros(3), axes()[0]))  # noqa: E731
    return turned, lambda: axes()[1], drawn.covariance


def _numbers(formula: Formula, count: int, needed: str, key: str, scope: FormulaScope) -> Read:
    try:
        signal = bound(formula, scope)
        if len(signal.labels) != count:
            raise UnknownName(f"{needed}, found {len(signal.labels)} numbers")
    except UnknownName as error:
        raise problem_of(formula, f"object_3d.ellipsoid.{key}", error) from None
    return signal.read


def _lengths(radii: FloatArray) -> FloatArray:
    """Clip radii to positive values."""
    return np.maximum(np.abs(np.nan_to_num(radii, nan=0.0, posinf=1e6)), 1e-6)


def _shape(row: int, kind: str, scale: FloatArray, colour: tuple[float, ...] = PLAIN) -> DrawnShape:
    return DrawnShape(row, kind, np.array(poses.IDENTITY), scale, colour, collides=False)


def _solid(row: int, solid: Solid) -> DrawnShape:
    size = solid.size
    if solid.kind == "sphere":
        return _shape(row, "sphere", np.full(3, size[0]), solid.colour)
    if solid.kind == "cylinder":
        return _shape(row, "cylinder", np.array([size[0], size[0], size[1]]), solid.colour)
    lengths = size if solid.kind == "box" else (*size, _THIN)
    return _shape(row, "box", np.array(lengths), solid.colour)


def _model(row: int, model: GlbModel) -> DrawnShape:
    """Return a model that is converted from y up to z up, then scaled, rotated and translated."""
    turn = quaternions.multiply(euler(np.array(model.rotate)), _UPRIGHT)
    pose = poses.pose(np.array(model.translate), turn)
    return DrawnShape(row, "glb", pose, np.full(3, model.scale), file=model.file, collides=False)
