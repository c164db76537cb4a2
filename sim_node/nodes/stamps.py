"""Times and durations of rclpy and of messages, as nanoseconds."""

from __future__ import annotations

from typing import Any


def nanoseconds(time: Any) -> int:
    """Return nanoseconds of a Time or Duration, of rclpy or of a message. Raises TypeError for anything else."""
    found = getattr(time, "nanoseconds", None)
    if found is not None:
        return int(found)
    try:
        return int(time.sec) * 1_000_000_000 + int(time.nanosec)
    except AttributeError:
        raise TypeError(f"{time!r} is neither a Time nor a Duration, of rclpy or of a message") from None
