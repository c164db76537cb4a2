"""Conversions for tf2 users: geometry_msgs/TransformStamped to and from poses, and tf2's exceptions."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3
from std_msgs.msg import Header

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree import Disconnected, Extrapolation, InvalidTransform, TransformError, UnknownFrame

__all__ = [
    "ConnectivityException",
    "ExtrapolationException",
    "InvalidArgumentException",
    "LookupException",
    "TimeoutException",
    "TransformException",
    "as_tf2",
]

try:
    from tf2_py import (  # type: ignore[import-not-found, unused-ignore]
        ConnectivityException,
        ExtrapolationException,
        InvalidArgumentException,
        LookupException,
        TimeoutException,
        TransformException,
    )
except ImportError:

    class TransformException(Exception):  # type: ignore[no-redef]
        """Base class of the exceptions of a buffer."""

    class LookupException(TransformException):  # type: ignore[no-redef]
        """A frame does not exist."""

    class ConnectivityException(TransformException):  # type: ignore[no-redef]
        """The frames are not in one tree."""

    class ExtrapolationException(TransformException):  # type: ignore[no-redef]
        """The time is outside the history."""

    class InvalidArgumentException(TransformException):  # type: ignore[no-redef]
        """A frame name or a transform is invalid."""

    class TimeoutException(TransformException):  # type: ignore[no-redef]
        """Kept for code that catches it. After a timeout, the underlying exception is raised instead, as in tf2_ros."""


def as_tf2(error: TransformError) -> Any:
    """Return the tf2 exception for an error of the tree, with its own message."""
    if isinstance(error, Extrapolation):
        # Programs search for these words of tf2.
        return ExtrapolationException(f"Lookup would require {error}")
    if isinstance(error, Disconnected):
        return ConnectivityException(str(error))
    if isinstance(error, InvalidTransform):
        return InvalidArgumentException(str(error))
    if isinstance(error, UnknownFrame) and (not error.frame or error.frame.startswith("/")):
        return InvalidArgumentException(f"'{error.frame}' is not a frame name: it is empty or begins with a slash")
    return LookupException(str(error))


def to_message(parent: str, child: str, stamp_ns: int, pose: FloatArray) -> Any:
    """Return the TransformStamped of a pose (7,)."""
    seconds, rest = divmod(stamp_ns, 1_000_000_000)
    x, y, z, qx, qy, qz, qw = pose.tolist()
    return _make(parent, child, seconds, rest, (x, y, z), (qx, qy, qz, qw))


def from_message(message: Any) -> tuple[str, str, int, list[float]]:
    """Return (parent, child, stamp_ns, pose) of a TransformStamped."""
    header, transform = message.header, message.transform
    stamp, translation, rotation = header.stamp, transform.translation, transform.rotation
    pose = [translation.x, translation.y, translation.z, rotation.x, rotation.y, rotation.z, rotation.w]
    return header.frame_id, message.child_frame_id, stamp.sec * 1_000_000_000 + stamp.nanosec, pose


def _plain(parent: str, child: str, sec: int, nanosec: int, position: Any, rotation: Any) -> Any:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    to = message.transform
    to.translation.x, to.translation.y, to.translation.z = position
    to.rotation.x, to.rotation.y, to.rotation.z, to.rotation.w = rotation
    return message


def _direct(parent: str, child: str, sec: int, nanosec: int, position: Any, rotation: Any) -> Any:
    """Set the slots without calling the constructors, which create every part twice and take 90 % of the time."""
    new = object.__new__
    stamp = new(Time)
    stamp._sec, stamp._nanosec = sec, nanosec
    header = new(Header)
    header._stamp, header._frame_id = stamp, parent
    translation = new(Vector3)
    translation._x, translation._y, translation._z = position
    turn = new(Quaternion)
    turn._x, turn._y, turn._z, turn._w = rotation
    transform = new(Transform)
    transform._translation, transform._rotation = translation, turn
    message = new(TransformStamped)
    message._header, message._child_frame_id, message._transform = header, child, transform
    if _CHECKED:
        for part in (stamp, header, translation, turn, transform, message):
            part._check_fields = False
    return message


def _slots(kind: Any) -> set[str]:
    return set(getattr(kind, "__slots__", ())) - {"_check_fields"}


# Newer generators (Jazzy, but not Humble) have a slot for field checking.
_CHECKED = "_check_fields" in getattr(TransformStamped, "__slots__", ())
# If a generator uses another layout, the constructors are called.
_IS_KNOWN_LAYOUT = all(
    _slots(kind) == names
    for kind, names in (
        (Time, {"_sec", "_nanosec"}),
        (Header, {"_stamp", "_frame_id"}),
        (Vector3, {"_x", "_y", "_z"}),
        (Quaternion, {"_x", "_y", "_z", "_w"}),
        (Transform, {"_translation", "_rotation"}),
        (TransformStamped, {"_header", "_child_frame_id", "_transform"}),
    )
)
_make = _direct if _IS_KNOWN_LAYOUT else _plain
