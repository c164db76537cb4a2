"""The age of commands: which ones are so old, or so far in the future, that the command is refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.subscription import Subscription

from sim_node.ros.graph_clock import nanoseconds

# Limit (s) for commands that hold for ever.
MAX_OFF_S = 10.0


def stamp_fault(message: Any, now_ns: int, limit_s: float) -> str | None:
    """Return why the stamp of a message is refused, or None.

    A stamp of zero means now, as in ros2_controllers; so does a message without a header.

    Args:
        message: The message.
        now_ns: The time of the clock by which the node stamps its own messages (ns).
        limit_s: Most that a stamp may be off, in both directions: how long the command holds; 0 for MAX_OFF_S.

    Returns:
        The reason, or None.
    """
    age_s = stamp_age_ns(message, now_ns) * 1e-9
    limit_s = limit_s or MAX_OFF_S
    if abs(age_s) <= limit_s:
        return None
    off = f"{age_s:.3g} s old" if age_s > 0.0 else f"{-age_s:.3g} s in the future"
    clocks = "; does the publisher use the same clock (use_sim_time)?" if abs(age_s) > MAX_OFF_S else ""
    return f"its stamp is {off}; allowed: {limit_s:g} s{clocks}"


def stamp_age_ns(message: Any, now_ns: int) -> int:
    """Return how old the stamp of a message is (ns): 0 if it has none, negative in the future."""
    header = getattr(message, "header", None)
    stamp_ns = nanoseconds(header.stamp) if header is not None else 0
    return now_ns - stamp_ns if stamp_ns else 0


def with_wait(receive: Callable[[Any, int], None]) -> Callable[..., None]:
    """Return the callback of a subscription, which also says how long a message waited for the executor.

    Args:
        receive: Called with each message and how long it waited (ns): 0 where rclpy does not say (before ROS 2 Iron).

    Returns:
        The callback.
    """
    if not hasattr(Subscription, "CallbackType"):
        return lambda message: receive(message, 0)

    def callback(message: Any, info: Any) -> None:
        # By the clock of this machine, unlike the time at which it was sent.
        received_ns = info["received_timestamp"]
        receive(message, max(0, time.time_ns() - received_ns) if received_ns else 0)

    return callback


def wait_fault(waited_ns: int, limit_s: float) -> str | None:
    """Return why a message that waited for the executor is refused, or None.

    Args:
        waited_ns: How long it waited (ns).
        limit_s: How long it may (s).

    Returns:
        The reason, or None.
    """
    waited_s = waited_ns * 1e-9
    if waited_s <= limit_s:
        return None
    return f"it waited {waited_s:.3g} s because this node was busy; allowed: {limit_s:g} s"
