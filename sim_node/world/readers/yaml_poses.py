"""Poses in world files: a position and one of five representations of a rotation, in any convention."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sim_node.spatial.frames import Frame, convert_transform
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import BAD, Fault, Refer, Spread
from sim_node.world.fields import NORM, floats, pose_faults
from sim_node.world.quantities import Plain, Vector
from sim_node.world.readers import numbers
from sim_node.world.readers.keys import Form, Keys, choice, listing, number, one_or_each, vector
from sim_node.world.readers.yaml_nodes import Sequence
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.writers.values import pose_data

# A deviation from unit norm below SILENT is rounding in the text; below NORMALISED, the quaternion is normalised with
# a warning; above, it is refused.
SILENT, NORMALISED = 1e-6, 1e-3
# A quaternion whose deviation is at most this, the rounding of doubles, is not changed, so that it reads back exactly.
ROUNDING = 4e-15
IDENTITY = (0.0, 0.0, 0.0, 1.0)
Rotation = FloatArray | tuple[float, float, float, float]  # a quaternion
UNMOVED = (0.0, 0.0, 0.0, *IDENTITY)


def _as_is(pose: FloatArray) -> FloatArray:
    return pose


# Values of a pose's key `convention`, and the conversion of poses (..., 7) to ENU and FLU: an FRD body in a
# NED world, an FRD mounting in an FRD body.
CONVENTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "ENU": _as_is,
    "FLU": _as_is,
    "NED": partial(convert_transform, source=(Frame.NED, Frame.FRD), target=(Frame.ENU, Frame.FLU)),
    "FRD": partial(convert_transform, source=(Frame.FRD, Frame.FRD), target=(Frame.FLU, Frame.FLU)),
}


AXIS_ANGLE_KEYS = Keys(
    {
        "axis": vector("The axis of the rotation.", 3),
        "angle": number("The angle, rad."),
        "angle_deg": number("The angle, degrees."),
    },
    required=("axis",),
    exactly_one=(("angle", "angle_deg"),),
    about="Rotation about an axis.",
)


def _quaternion(value: Value) -> FloatArray | None:
    numbers = value.vector(4)
    if numbers is None:
        return None
    largest = max(map(abs, numbers))
    if largest == 0.0:
        value.error("is zero; a rotation needs norm 1; did you mean [0, 0, 0, 1]?")
        return None
    # Scale first: squares of very large and very small numbers overflow or underflow.
    unit = quaternions.normalise(np.array(numbers) / largest)
    norm = math.hypot(*numbers)
    if abs(norm - 1.0) <= ROUNDING:
        return np.array(numbers)
    if abs(norm - 1.0) > NORMALISED:
        nearest = ", ".join(f"{part:.4g}" for part in unit)
        value.error(f"norm is {norm:.4g}, a rotation needs 1; did you mean [{nearest}]?")
        return None
    if abs(norm - 1.0) > SILENT:
        value.warning(f"norm is {norm:.7g}; normalised to 1")
    return unit


def _rpy(value: Value) -> Rotation | None:
    angles = value.vector(3)
    if angles is not None and (largest := max(angles, key=abs)) and abs(largest) > math.tau:
        value.warning(f"{largest:g} rad is more than a full turn; rpy is in radians; did you mean rpy_deg?")
    return None if angles is None else quaternions.from_rpy(*angles)


def _rpy_deg(value: Value) -> Rotation | None:
    angles = value.vector(3)
    return None if angles is None else quaternions.from_rpy(*map(math.radians, angles))


def _matrix(value: Value) -> FloatArray | None:
    if not isinstance(value.node, Sequence) or len(value.node.items) != 3:
        value.error(f"three rows of three numbers are needed, found {value.found()}")
        return None
    rows = [row.vector(3, limit=2.0) for row in value.items()]
    if any(row is None for row in rows):
        return None
    matrix = np.array(rows, dtype=np.float64)
    off = float(np.abs(matrix @ matrix.T - np.eye(3)).max())
    determinant = float(np.linalg.det(matrix))
    if off > NORMALISED or determinant < 0.0:
        value.error(f"is not a rotation: off orthonormal by {off:.3g}, determinant {determinant:.3g}")
        return None
    if off > SILENT:
        value.warning(f"off orthonormal by {off:.3g}; the nearest rotation is used")
    left, _, right = np.linalg.svd(matrix)
    return quaternions.from_matrix(left @ right)


def _axis_angle(value: Value) -> FloatArray | None:
    table = value.table(AXIS_ANGLE_KEYS)
    axis_value, angle, degrees = table.get("axis"), table.get("angle"), table.get("angle_deg")
    if axis_value is None:
        return None
    if (angle is None) == (degrees is None):
        value.error("one of angle (radians) and angle_deg is needed")
        return None
    axis = axis_value.vector(3)
    turn = angle.number() if angle is not None else math.radians(degrees.number())  # type: ignore[union-attr]
    if axis is None:
        return None
    largest = max(map(abs, axis))
    if largest == 0.0:
        axis_value.error("is zero; an axis needs a direction")
        return None
    return numbers.from_axis_angle(np.array(axis) / largest, turn)


ROTATIONS: dict[str, Callable[[Value], Rotation | None]] = {
    "quaternion": _quaternion,
    "rpy": _rpy,
    "rpy_deg": _rpy_deg,
    "matrix": _matrix,
    "axis_angle": _axis_angle,
}
_ROWS = listing("", vector("", 3, 2.0), 3, 3)
ROTATION_FORMS = {
    "quaternion": vector("Rotation as [x, y, z, w] with norm 1.", 4),
    "rpy": vector("Rotation as [roll, pitch, yaw], rad.", 3),
    "rpy_deg": vector("Rotation as [roll, pitch, yaw], degrees.", 3),
    "matrix": {**_ROWS, "description": "Rotation as three rows; the columns are the frame's axes in its parent."},
    "axis_angle": AXIS_ANGLE_KEYS,
}
POSITION = vector("Position [x, y, z] in the parent, m.", 3, MAX_DISTANCE)
CONVENTION = choice("The axes in which the pose is given.", CONVENTIONS)
SCALE = one_or_each("Scale of the shapes, along the frame's axes.", number("", above=0.0), 3)
POSE_KEYS = Keys(
    {"position": POSITION, **ROTATION_FORMS, "scale": SCALE, "convention": CONVENTION},
    at_most_one=(ROTATIONS,),
    about="A pose in the parent frame: a position and one representation of a rotation.",
    define="pose",
)


def read_pose(value: Value | None) -> tuple[FloatArray, FloatArray | None]:
    """Read a pose (7,), ENU or FLU, and a scale (3,) or None. Without a value, return the identity."""
    if value is None:
        return np.array(poses.IDENTITY), None
    table = value.table(POSE_KEYS)
    return pose_of(table), scale_of(table)


def pose_of(table: Table, convention: str = "ENU") -> FloatArray:
    """Read the position, rotation and convention of a table; `convention` is the default."""
    position_value = table.get("position")
    position = None if position_value is None else position_value.vector(3, limit=MAX_DISTANCE)
    given = [key for key in ROTATIONS if key in table]
    rotation: Rotation | None = None
    if given:
        value = table.get(given[0])
        assert value is not None
        rotation = ROTATIONS[given[0]](value)
        for second in given[1:]:
            extra = table.get(second)
            assert extra is not None
            extra.error(f"cannot be combined with {given[0]}; give one of {', '.join(ROTATIONS)}")
    pose = np.array((*(position or UNMOVED[:3]), *(IDENTITY if rotation is None else rotation)))
    return CONVENTIONS[table.choice("convention", CONVENTIONS, convention)](pose)


@dataclass(frozen=True)
class Scale(Vector):
    """The scale along a frame's own axes, each above zero: one number for all three, or three."""

    size: int = 3

    def form(self, about: str) -> Form:
        """Return the form of one number, or three."""
        return SCALE

    def read(self, value: Value, context: Any) -> Any:
        """Read one number, or three."""
        errors = len(value.report.errors)
        factors = value.vector(3) if isinstance(value.node, Sequence) else [value.number()] * 3
        if factors is None or len(value.report.errors) > errors:
            return BAD
        if min(factors) <= 0.0:
            value.error(f"found {min(factors):g}; a scale must be above zero")
            return BAD
        return np.array(factors)

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if it is not positive and finite."""
        if not all(0.0 < factor < math.inf for factor in found.tolist()):
            yield "", f"{found.tolist()} must be above zero and finite"


def scale_of(table: Table) -> FloatArray | None:
    """Read the scale (3,) of a table, or None."""
    found = BAD if (value := table.get("scale")) is None else Scale().read(value, None)
    return None if found is BAD else found


def _pose_and_scale(value: Value, context: Any) -> dict[str, FloatArray | None]:
    pose, scale = read_pose(value)
    return {"pose": pose, "scale": scale}


# The pose of a frame, and the scale of what is shown there: the fields `pose` and `scale` of a declared class.
POSE = Spread(("pose", "scale"), POSE_KEYS, _pose_and_scale, lambda of: pose_data(of.pose, of.scale))


class Pose(Plain):
    """A pose: a read-only array (7,)."""

    is_array = True

    def form(self, about: str) -> Form:
        """Return the form of a pose."""
        return POSE_KEYS

    def read(self, value: Value, context: Any) -> Any:
        """Read a position and a rotation."""
        return read_pose(value)[0]

    def settled(self, found: Any, owner: str, key: str) -> Any:
        """Return a read-only array."""
        return floats(found, (7,), owner, key)

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if it is not finite, too far away, or not a rotation."""
        x, y, z, *turn = found.tolist()
        if abs(x) <= MAX_DISTANCE >= abs(y) and abs(z) <= MAX_DISTANCE and abs(math.hypot(*turn) - 1.0) <= NORM:
            return iter(())  # ten times as fast as a row of an array
        return (("", message) for _, message in pose_faults(found[None]))

    def data(self, found: Any, refer: Refer) -> Any:
        """Return position and quaternion."""
        return pose_data(found)
