"""Poses: single, arrays, paths, odometry with its velocity, and attitudes estimated by IMUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim_node.spatial.frames import Frame, convert_orientation
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.messages.drawing import Attitude, Drawing, Item, Lines, Poses, in_one_colour, strip
from sim_node.viewing.messages.readers import Read, ReaderContext, reader, stateless

_PATH, _TRAIL, _VELOCITY = (40, 160, 80), (255, 127, 14), (214, 39, 40)
# Maximum number of points of an odometry trail.
_LONGEST = 2000
# Maximum number of axes drawn for a path or an array, evenly selected.
_MOST_AXES = 200


def pose_of(pose: Any) -> FloatArray:
    """Convert a geometry_msgs/Pose to (7,). An all-zero quaternion means no rotation. Raises ValueError."""
    at, turn = pose.position, pose.orientation
    found = np.array([at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w])
    if not np.isfinite(found).all():
        raise ValueError("a pose that is not finite")
    norm = float(np.linalg.norm(found[3:]))
    found[3:] = found[3:] / norm if norm > 1e-9 else pose_math.IDENTITY[3:]
    return found


def pose_stamped(message: Any) -> Drawing:
    """Read a geometry_msgs/PoseStamped or PoseWithCovarianceStamped."""
    pose = pose_of(getattr(message.pose, "pose", message.pose))
    return Drawing(message.header.frame_id, (Poses(message.header.frame_id, pose[None]),), pose[:3])


def pose_array(message: Any) -> Drawing:
    """Read a geometry_msgs/PoseArray."""
    poses, frame = _rows([pose_of(each) for each in message.poses]), message.header.frame_id
    return Drawing(frame, (Poses(frame, _few(poses)),) if len(poses) else (), poses[0, :3] if len(poses) else None)


def path(message: Any) -> Drawing:
    """Read a nav_msgs/Path: a line, and axes at its end. Its poses are in the frame of the path."""
    poses, frame = _rows([pose_of(each.pose) for each in message.poses]), message.header.frame_id
    others = {each.header.frame_id for each in message.poses} - {frame, ""}
    if others:
        raise ValueError(f"a path in {frame!r} with poses in {', '.join(sorted(others))}")
    if not len(poses):
        return Drawing(frame, ())
    segments = strip(poses[:, :3])
    line = Lines(frame, segments, in_one_colour(segments, _PATH))
    return Drawing(frame, (line, Poses(frame, poses[-1:])), poses[-1, :3])


@reader("nav_msgs/msg/Odometry")
def odometry(scope: ReaderContext) -> Read:
    """Read nav_msgs/Odometry: axes, the trail so far, and the velocity as the motion in the next second."""
    trail: list[FloatArray] = []
    last = [-1]

    def read(message: Any) -> Drawing:
        frame, pose = message.header.frame_id, pose_of(message.pose.pose)
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        if stamp < last[0]:
            trail.clear()
        last[0] = stamp
        trail.append(pose[:3])
        del trail[:-_LONGEST]
        linear = message.twist.twist.linear
        # The twist is in the child frame, which is at the pose.
        ahead = pose[:3] + quaternions.rotate(pose[3:], [linear.x, linear.y, linear.z])
        items: list[Item] = [Poses(frame, pose[None])]
        for segments, colour in ((strip(np.array(trail)), _TRAIL), (np.stack([pose[:3], ahead])[None], _VELOCITY)):
            if len(segments) and np.isfinite(segments).all():
                items.append(Lines(frame, segments, in_one_colour(segments, colour)))
        return Drawing(frame, tuple(items), pose[:3])

    return read


def _rows(poses: Sequence[FloatArray]) -> FloatArray:
    return np.array(poses).reshape(-1, 7)


def _few(poses: FloatArray) -> FloatArray:
    return poses[:: -(-len(poses) // _MOST_AXES)]


reader("geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/PoseWithCovarianceStamped")(stateless(pose_stamped))
reader("geometry_msgs/msg/PoseArray")(stateless(pose_array))
reader("nav_msgs/msg/Path")(stateless(path))


# Frames with these suffixes are FRD bodies measured in NED (REP 103).
NED_ENDINGS = ("_ned", "_frd")
_NED, _ENU = (Frame.NED, Frame.FRD), (Frame.ENU, Frame.FLU)


def imu(message: Any) -> Drawing:
    """Read the attitude in a sensor_msgs/Imu: the orientation of its frame in ENU (REP 145).

    None without an estimate, that is, if the covariance begins with -1 or the quaternion is zero.
    """
    frame, given = message.header.frame_id, message.orientation
    quaternion = np.array([given.x, given.y, given.z, given.w])
    norm = float(np.linalg.norm(quaternion))
    if message.orientation_covariance[0] == -1.0 or norm < 1e-9:
        return Drawing(frame, ())
    if not np.isfinite(norm):
        raise ValueError("an orientation that is not finite")
    quaternion /= norm
    conversion = ""
    if frame.endswith(NED_ENDINGS):
        quaternion, conversion = convert_orientation(quaternion, _NED, _ENU), "NED to ENU"
    return Drawing(frame, (Attitude(frame, quaternion),), conversion=conversion)


reader("sensor_msgs/msg/Imu")(stateless(imu))
