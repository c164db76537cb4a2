"""Sound messages of ROS in CDR, laid out by the rosbags library, and mutations that know where lengths are."""

from __future__ import annotations

import struct
from functools import cache
from random import Random
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from stress.mutations import broken_bytes

STORE = get_typestore(Stores.LATEST)
TF, CLOCK = "tf2_msgs/msg/TFMessage", "rosgraph_msgs/msg/Clock"
IMAGE, CLOUD = "sensor_msgs/msg/Image", "sensor_msgs/msg/PointCloud2"
SCAN, RANGE, IMU = "sensor_msgs/msg/LaserScan", "sensor_msgs/msg/Range", "sensor_msgs/msg/Imu"
_LENGTHS = (0, 1, 2, 7, 255, 65_536, 2**31 - 1, 2**31, 2**32 - 1)
_DOUBLES = (float("nan"), float("inf"), -float("inf"), 1e308, -1e300, -0.0, 5e-324, 1.0, 1e18)


def make(type: str, /, **fields: Any) -> Any:
    """Return a message object."""
    return STORE.types[type](**fields)


def header(frame: str, seconds: int = 1) -> Any:
    """Return a Header."""
    return make(
        "std_msgs/msg/Header", stamp=make("builtin_interfaces/msg/Time", sec=seconds, nanosec=5), frame_id=frame
    )


def packed(type: str, message: Any) -> bytes:
    """Return a message as CDR."""
    return bytes(STORE.serialize_cdr(message, type))


def transforms(*children: str, parent: str = "map", seconds: int = 1, x: float = 1.0) -> bytes:
    """Return a TFMessage of some frames in one."""
    vector = make("geometry_msgs/msg/Vector3", x=x, y=2.0, z=3.0)
    pose = make(
        "geometry_msgs/msg/Transform",
        translation=vector,
        rotation=make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.6, w=0.8),
    )
    each = [
        make("geometry_msgs/msg/TransformStamped", header=header(parent, seconds), child_frame_id=child, transform=pose)
        for child in children
    ]
    return packed(TF, make(TF, transforms=each))


@cache
def samples() -> dict[str, list[bytes]]:
    """Return sound messages by type: what the viewer shows, what moves frames, the clock."""
    fields = [
        make("sensor_msgs/msg/PointField", name=name, offset=4 * i, datatype=7, count=1)
        for i, name in enumerate("xyzi")
    ]
    cloud = make(
        CLOUD, header=header("lidar"), height=2, width=3, fields=fields, is_bigendian=False, point_step=16, row_step=48,
        data=np.arange(24, dtype=np.float32).view(np.uint8), is_dense=True,
    )  # fmt: skip
    scan = make(
        SCAN, header=header("lidar"), angle_min=-1.0, angle_max=1.0, angle_increment=0.2, time_increment=0.0,
        scan_time=0.1, range_min=0.1, range_max=30.0, ranges=np.ones(11, np.float32),
        intensities=np.zeros(0, np.float32),
    )  # fmt: skip
    more = {"variance": 0.1} if "variance" in {name for name, _ in STORE.fielddefs[RANGE][1]} else {}
    distance = make(
        RANGE, header=header("sonar"), radiation_type=0, field_of_view=0.1, min_range=0.1, max_range=9.0, range=2.5,
        **more,
    )  # fmt: skip
    images = [
        make(
            IMAGE, header=header("camera"), height=3, width=4, encoding=encoding, is_bigendian=0, step=4 * size,
            data=np.arange(12 * size, dtype=np.uint8),
        )
        for encoding, size in (("rgb8", 3), ("bgra8", 4), ("mono8", 1), ("32FC1", 4), ("16UC1", 2))
    ]  # fmt: skip
    vector = make("geometry_msgs/msg/Vector3", x=1.0, y=2.0, z=3.0)
    imu = make(
        IMU, header=header("imu"), orientation=make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0),
        orientation_covariance=np.zeros(9), angular_velocity=vector, angular_velocity_covariance=np.zeros(9),
        linear_acceleration=vector, linear_acceleration_covariance=np.zeros(9),
    )  # fmt: skip
    clock = make(CLOCK, clock=make("builtin_interfaces/msg/Time", sec=7, nanosec=5))
    return {
        TF: [transforms("a"), transforms(*"abcdef"), transforms("a" * 300, "b"), transforms("d", parent="a")],
        CLOUD: [packed(CLOUD, cloud)],
        SCAN: [packed(SCAN, scan)],
        RANGE: [packed(RANGE, distance)],
        IMAGE: [packed(IMAGE, image) for image in images],
        IMU: [packed(IMU, imu)],
        CLOCK: [packed(CLOCK, clock)],
    }


def broken_cdr(whole: bytes, rng: Random) -> bytes:
    """Return a message that is cut or longer, of another encoding, or whose lengths, counts or numbers lie."""
    data, what = bytearray(whole), rng.randrange(8)
    words = range(4, len(data) - 3, 4)
    if what == 0:
        del data[rng.randrange(len(data)) :]
    elif what == 1:
        data += rng.randbytes(rng.randrange(1, 64))
    elif what < 4:
        # A word that fits into the message is a length or a count, most often.
        fits = [at for at in words if 0 < struct.unpack_from("<I", data, at)[0] <= 2 * len(data)] or list(words)
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.choice(fits)
            value = struct.unpack_from("<I", data, at)[0]
            other = rng.choice((*_LENGTHS, len(data), max(value - 1, 0), value + 1, value * 2))
            struct.pack_into("<I", data, at, other & 0xFFFFFFFF)
    elif what == 4:
        data[:4] = rng.choice((b"\0\0", b"\0\1", b"\0\3", b"\0\7", b"\xff\xff")) + rng.randbytes(2)
    elif what == 5 and len(data) > 16:
        at = 4 + 8 * rng.randrange((len(data) - 4) // 8)
        data[at : at + 8] = struct.pack("<d", rng.choice(_DOUBLES))
    elif what == 6 and len(data) > 12:
        at = 4 + 4 * rng.randrange((len(data) - 4) // 4)
        number = rng.choice(
            (struct.pack("<f", rng.choice(_DOUBLES[:3] + _DOUBLES[5:])), struct.pack("<I", rng.choice(_LENGTHS)))
        )
        data[at : at + 4] = number
    else:
        return broken_bytes(whole, rng, 6)
    return bytes(data)
