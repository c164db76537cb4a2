"""Transform messages into another frame: points, vectors, poses, covariances and point clouds."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
from geometry_msgs.msg import PointStamped, PoseStamped, PoseWithCovarianceStamped, Vector3Stamped
from sensor_msgs.msg import PointCloud2, PointField

from sim_node.ros.tf2_conversions import from_message
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray

_FLOATS: dict[int, np.dtype[Any]] = {PointField.FLOAT32: np.dtype(np.float32), PointField.FLOAT64: np.dtype(np.float64)}


def point(message: Any, transform: Any) -> Any:
    """Return a PointStamped in the transform's frame."""
    moved = PointStamped(header=transform.header)
    found = poses.apply(_pose(transform), _xyz(message.point))
    moved.point.x, moved.point.y, moved.point.z = found.tolist()
    return moved


def vector(message: Any, transform: Any) -> Any:
    """Return a Vector3Stamped in the transform's axes. Vectors are rotated and not translated."""
    moved = Vector3Stamped(header=transform.header)
    found = quaternions.rotate(_pose(transform)[3:], _xyz(message.vector))
    moved.vector.x, moved.vector.y, moved.vector.z = found.tolist()
    return moved


def pose(message: Any, transform: Any) -> Any:
    """Return a PoseStamped in the transform's frame."""
    moved = PoseStamped(header=transform.header)
    _move_pose(message.pose, transform, moved.pose)
    return moved


def pose_with_covariance(message: Any, transform: Any) -> Any:
    """Return a PoseWithCovarianceStamped. All blocks of the covariance are rotated."""
    moved = PoseWithCovarianceStamped(header=transform.header)
    _move_pose(message.pose.pose, transform, moved.pose.pose)
    turn = np.kron(np.eye(2), quaternions.to_matrix(_pose(transform)[3:]))
    covariance = np.reshape(message.pose.covariance, (6, 6))
    moved.pose.covariance = (turn @ covariance @ turn.T).ravel()
    return moved


def cloud(message: Any, transform: Any) -> Any:
    """Return a PointCloud2 with transformed x, y and z. Its stamp and all other fields stay the same.

    Raises ValueError unless x, y and z are floats.
    """
    moved = PointCloud2(
        height=message.height,
        width=message.width,
        fields=deepcopy(message.fields),
        is_bigendian=message.is_bigendian,
        point_step=message.point_step,
        row_step=message.row_step,
        is_dense=message.is_dense,
    )
    moved.header.stamp, moved.header.frame_id = message.header.stamp, transform.header.frame_id
    data = np.frombuffer(message.data, np.uint8).copy()
    columns = [_column(message, data, axis) for axis in "xyz"]
    found = poses.apply(_pose(transform), np.stack(columns, axis=-1).astype(np.float64))
    for axis, column in enumerate(columns):
        column[...] = found[..., axis]
    # The setter accepts bytes directly only for this type.
    moved.data.frombytes(data.tobytes())
    return moved


TRANSFORMS: dict[Any, Callable[[Any, Any], Any]] = {
    PointStamped: point,
    Vector3Stamped: vector,
    PoseStamped: pose,
    PoseWithCovarianceStamped: pose_with_covariance,
    PointCloud2: cloud,
}


def transformer(kind: Any) -> Callable[[Any, Any], Any]:
    """Return the function that transforms messages of a type, including types registered with tf2_ros.

    Raises TypeError, listing the types that can be transformed.
    """
    if kind in TRANSFORMS:
        return TRANSFORMS[kind]
    try:
        import tf2_ros
    except ImportError:
        names = ", ".join(known.__name__ for known in TRANSFORMS)
        raise TypeError(f"{getattr(kind, '__name__', kind)} cannot be transformed; {names} can") from None
    found: Callable[[Any, Any], Any] = tf2_ros.TransformRegistration().get(kind)
    return found


def _column(message: Any, data: npt.NDArray[np.uint8], axis: str) -> npt.NDArray[Any]:
    """Return a field of all points as a view (height, width) of the data."""
    field = next((field for field in message.fields if field.name == axis), None)
    if field is None or field.datatype not in _FLOATS or field.count > 1:
        known = ", ".join(f"{field.name} (type {field.datatype})" for field in message.fields)
        raise ValueError(f"PointCloud2: needs {axis} as one float32 or float64, found the fields {known}")
    dtype = _FLOATS[field.datatype].newbyteorder(">" if message.is_bigendian else "<")
    end = (message.height - 1) * message.row_step + (message.width - 1) * message.point_step
    if message.height and message.width and end + field.offset + dtype.itemsize > len(data):
        raise ValueError(f"PointCloud2: {message.height} x {message.width} points do not fit in {len(data)} bytes")
    shape, strides = (message.height, message.width), (message.row_step, message.point_step)
    column: npt.NDArray[Any] = np.ndarray(shape, dtype, data, field.offset, strides)
    return column


def _move_pose(source: Any, transform: Any, target: Any) -> None:
    q = source.orientation
    found = poses.compose(_pose(transform), [*_xyz(source.position), q.x, q.y, q.z, q.w])
    x, y, z, *turn = found.tolist()
    target.position.x, target.position.y, target.position.z = x, y, z
    target.orientation.x, target.orientation.y, target.orientation.z, target.orientation.w = turn


def _pose(transform: Any) -> FloatArray:
    return np.array(from_message(transform)[3])


def _xyz(message: Any) -> list[float]:
    return [message.x, message.y, message.z]
