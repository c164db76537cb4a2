"""Differences between x_xy files and sim_node: rotations, order of q, axes of shapes, colours.

An x_xy quaternion is [w x y z] and passive: it maps the parent's coordinates into the child. A cylinder is along x.
"""

from __future__ import annotations

import numpy as np

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.joints import JOINTS, JointPart, JointType

FIXED_FRAME = "world"
# The body of geometry without a body of its own.
WORLD_BODY = "worldbody"
DEFAULT_DT_NS = 10_000_000
DEFAULT_GRAVITY = (0.0, 0.0, 9.81)
# The armature that upstream's engine adds to the mass matrix.
ARMATURE = 1e-6
# Of the second rotation of rr_imp, rad; as register_rr_imp_joint of the toolbox.
IMPERFECTION = np.radians(7.5)
SHAPES = ("box", "sphere", "cylinder", "capsule", "xyz")
# From the axes of an x_xy cylinder, along x, to those of sim_node, along z: z goes to x.
_LYING = np.array([0.0, 0.0, 0.0, 0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)])

COLOURS: dict[str, tuple[float, float, float]] = {
    "black": (0.0, 0.0, 0.0),
    "white": (1.0, 1.0, 1.0),
    "gray": (0.5, 0.5, 0.5),
    "grey": (0.5, 0.5, 0.5),
    "silver": (0.75, 0.75, 0.75),
    "red": (1.0, 0.0, 0.0),
    "green": (0.0, 0.5, 0.0),
    "lime": (0.0, 1.0, 0.0),
    "blue": (0.0, 0.0, 1.0),
    "navy": (0.0, 0.0, 0.5),
    "yellow": (1.0, 1.0, 0.0),
    "orange": (1.0, 0.647, 0.0),
    "gold": (1.0, 0.843, 0.0),
    "brown": (0.647, 0.165, 0.165),
    "purple": (0.5, 0.0, 0.5),
    "pink": (1.0, 0.753, 0.796),
    "magenta": (1.0, 0.0, 1.0),
    "cyan": (0.0, 1.0, 1.0),
    "teal": (0.0, 0.5, 0.5),
    "olive": (0.5, 0.5, 0.0),
    "maroon": (0.5, 0.0, 0.0),
}


def joint_names() -> tuple[str, ...]:
    """Return the joint types that files may name: all that need no axis from the body."""
    return tuple(name for name, joint in JOINTS.items() if joint.draw is not None or not joint.open_axes)


def quaternion_from_x_xy(quaternion: FloatArray) -> FloatArray:
    """Convert a passive [w x y z] to [x y z w]."""
    w, x, y, z = quaternion
    return np.array([-x, -y, -z, w])


def quaternion_to_x_xy(quaternion: FloatArray) -> FloatArray:
    """Convert [x y z w] to a passive [w x y z]."""
    x, y, z, w = quaternion
    return np.array([w, -x, -y, -z])


def shape_pose_from_x_xy(shape: str, pose: FloatArray) -> FloatArray:
    """Convert the pose (7,) of a shape whose cylinders are along x to one whose cylinders are along z."""
    return poses.compose(pose, _LYING) if shape in ("cylinder", "capsule") else pose


def shape_pose_to_x_xy(shape: str, pose: FloatArray) -> FloatArray:
    """Convert the pose (7,) of a shape whose cylinders are along z to one whose cylinders are along x."""
    return poses.compose(pose, poses.invert(_LYING)) if shape in ("cylinder", "capsule") else pose


def velocities_from_x_xy(joint: JointType, values: FloatArray) -> FloatArray:
    """Reorder values per degree of freedom (qd_size,) from the order of a joint's parts in files."""
    return _joined(joint, _split(joint, values, "qd_size"))


def velocities_to_x_xy(joint: JointType, values: FloatArray) -> FloatArray:
    """Reorder values per degree of freedom (qd_size,) to the order of a joint's parts in files."""
    return _listed(joint, values, "qd_size")


def positions_from_x_xy(joint: JointType, values: FloatArray) -> FloatArray:
    """Convert q (q_size,) from a file: order and quaternions."""
    parts = _split(joint, values, "q_size")
    return _joined(
        joint, {k: quaternion_from_x_xy(v) if joint.parts[k].kind == "ball" else v for k, v in parts.items()}
    )


def positions_to_x_xy(joint: JointType, values: FloatArray) -> FloatArray:
    """Convert q (q_size,) to that of a file: order and quaternions."""
    turned = np.array(values)
    at = 0
    for part in joint.parts:
        if part.kind == "ball":
            turned[at : at + 4] = quaternion_to_x_xy(turned[at : at + 4])
        at += part.q_size
    return _listed(joint, turned, "q_size")


def _order(joint: JointType) -> tuple[int, ...]:
    return joint.x_xy_order or tuple(range(len(joint.parts)))


def _size(part: JointPart, which: str) -> int:
    return part.q_size if which == "q_size" else part.qd_size


def _split(joint: JointType, values: FloatArray, which: str) -> dict[int, FloatArray]:
    """Return the values of each part by its index, from the order of files."""
    found, at = {}, 0
    for k in _order(joint):
        size = _size(joint.parts[k], which)
        found[k] = values[at : at + size]
        at += size
    return found


def _joined(joint: JointType, parts: dict[int, FloatArray]) -> FloatArray:
    return np.concatenate([parts[k] for k in range(len(joint.parts))]) if parts else np.zeros(0)


def _listed(joint: JointType, values: FloatArray, which: str) -> FloatArray:
    """Return values in the order of files."""
    ends = np.cumsum([_size(part, which) for part in joint.parts])
    pieces = [values[ends[k] - _size(joint.parts[k], which) : ends[k]] for k in _order(joint)]
    return np.concatenate(pieces) if pieces else np.zeros(0)


def default_limits(joint: JointType, spring_stiff: FloatArray | None) -> FloatArray | None:
    """Return the limits (P, 2) of a joint: of rr_imp, whose second rotation is a small imperfection of a hinge.

    The toolbox draws it within 7.5 degrees. A spring of its own keeps it small in another way.
    """
    if joint.name != "rr_imp" or (spring_stiff is not None and spring_stiff[1] > 0.0):
        return None
    return np.array([[-np.inf, np.inf], [-IMPERFECTION, IMPERFECTION]])
