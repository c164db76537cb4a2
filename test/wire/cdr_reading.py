"""Bytes read by rclpy."""

from __future__ import annotations

from typing import Any

from rclpy.serialization import deserialize_message, serialize_message

SECOND = 1_000_000_000


def read(data: bytes, message: type[Any], frame: str, stamp_ns: int) -> Any:
    """The message that rclpy makes of the bytes, which it would write in as many; its header is checked."""
    got = deserialize_message(data, message)
    assert got.header.frame_id == frame
    assert got.header.stamp.sec * SECOND + got.header.stamp.nanosec == stamp_ns
    assert len(serialize_message(got)) == len(data)
    return got
