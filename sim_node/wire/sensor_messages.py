"""The messages of sensors that tell a few numbers, as bytes: sensor_msgs, geometry_msgs and nav_msgs/Odometry.

Each function lays a message out for a frame_id and covariances, and says in which of its float64 the values go.
Covariances are row-major, their axes those of the values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.wire.cdr import aligned, cdr_string
from sim_node.wire.stamped_message import StampedMessageBytes, header

# Gives the bytes for a stamp (ns) and values (K,).
Write = Callable[[int, FloatArray], bytes]

# sensor_msgs/Imu: a quantity that is not measured has -1 in front of its covariance.
_NOT_MEASURED = np.array([-1.0, *[0.0] * 8])
# sensor_msgs/NavSatStatus and NavSatFix.
_STATUS_FIX, _SERVICE_GPS, _COVARIANCE_DIAGONAL_KNOWN = 0, 1, 2


def imu(frame_id: str, rate_covariance: npt.ArrayLike, force_covariance: npt.ArrayLike) -> Write:
    """sensor_msgs/Imu without an orientation; values: angular rate (3), specific force (3). Covariances (3, 3)."""
    zeros, identity = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    parts = (identity, _NOT_MEASURED, zeros, rate_covariance, zeros, force_covariance)
    return _writer(header(frame_id), parts, [13, 14, 15, 25, 26, 27])


def magnetic_field(frame_id: str, covariance: npt.ArrayLike) -> Write:
    """sensor_msgs/MagneticField; values: the field (3). Covariance (3, 3)."""
    return _writer(header(frame_id), (np.zeros(3), covariance), [0, 1, 2])


def fluid_pressure(frame_id: str, variance: float) -> Write:
    """sensor_msgs/FluidPressure; values: the pressure (1)."""
    return _writer(header(frame_id), (np.array([0.0, variance]),), [0])


def nav_sat_fix(frame_id: str, covariance: npt.ArrayLike) -> Write:
    """sensor_msgs/NavSatFix of a receiver that has a fix; values: latitude, longitude, altitude. Covariance (3, 3)."""
    body = header(frame_id)
    body += struct.pack("<b", _STATUS_FIX)
    aligned(body, 2)
    body += struct.pack("<H", _SERVICE_GPS)
    return _writer(body, (np.zeros(3), covariance), [0, 1, 2], struct.pack("<B", _COVARIANCE_DIAGONAL_KNOWN))


def twist(frame_id: str, covariance: npt.ArrayLike) -> Write:
    """geometry_msgs/TwistWithCovarianceStamped; values: linear (3), angular (3). Covariance (6, 6)."""
    return _writer(header(frame_id), (np.zeros(6), covariance), list(range(6)))


def odometry(
    frame_id: str, child_frame_id: str, pose_covariance: npt.ArrayLike, twist_covariance: npt.ArrayLike
) -> Write:
    """nav_msgs/Odometry; values: pose (7) in frame_id, twist (6) in child_frame_id. Covariances (6, 6)."""
    body, parts = _odometry(frame_id, child_frame_id, pose_covariance, twist_covariance)
    return _writer(body, parts, [*range(7), *range(43, 49)])


def drifting_odometry(frame_id: str, child_frame_id: str, twist_covariance: npt.ArrayLike) -> Write:
    """nav_msgs/Odometry; values: as `odometry`, and the variances (6) of the pose. Covariance (6, 6)."""
    body, parts = _odometry(frame_id, child_frame_id, np.zeros((6, 6)), twist_covariance)
    return _writer(body, parts, [*range(7), *range(43, 49), *range(7, 43, 7)])


def joint_state(frame_id: str, names: Sequence[str]) -> Write:
    """sensor_msgs/JointState of one or more joints; values: positions (J), velocities (J), efforts (J)."""
    joints = len(names)
    body = header(frame_id)
    for text in (None, *names):
        aligned(body, 4)
        body += struct.pack("<I", joints) if text is None else cdr_string(text)
    aligned(body, 4)
    body += struct.pack("<I", joints)
    # Between two sequences of float64 lie the length of the next and what aligns it: the bytes of one float64 more.
    between = np.frombuffer(struct.pack("<II", joints, 0))
    parts = (np.zeros(joints), between, np.zeros(joints), between, np.zeros(joints))
    at = np.arange(joints)
    return _writer(body, parts, [*at, *(at + joints + 1), *(at + 2 * joints + 2)])


def _odometry(
    frame_id: str, child_frame_id: str, pose_covariance: npt.ArrayLike, twist_covariance: npt.ArrayLike
) -> tuple[bytearray, tuple[npt.ArrayLike, ...]]:
    body = header(frame_id)
    aligned(body, 4)
    body += cdr_string(child_frame_id)
    return body, (np.zeros(7), pose_covariance, np.zeros(6), twist_covariance)


def wrench(frame_id: str) -> Write:
    """geometry_msgs/WrenchStamped; values: force (3), torque (3)."""
    return _writer(header(frame_id), (np.zeros(6),), list(range(6)))


def _writer(body: bytearray, parts: tuple[npt.ArrayLike, ...], changing: list[int], after: bytes = b"") -> Write:
    message = StampedMessageBytes(body, np.concatenate([np.ravel(part) for part in parts]), after)
    # A slice where it is one: numpy writes it several times faster than picked places.
    first, last = changing[0], changing[-1]
    where = slice(first, last + 1) if last - first + 1 == len(changing) else np.array(changing)

    def write(stamp_ns: int, values: FloatArray) -> bytes:
        message.numbers[where] = values
        return message.write(stamp_ns)

    return write
