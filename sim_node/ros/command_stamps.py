"""The age of commands: which stamps are too old, or too far in the future, to be accepted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.subscription import Subscription

from sim_node.ros.graph_clock import nanoseconds

# Limit for commands that never expire, s.
MAX_OFF_S = 10.0


def stamp_fault(message: Any, now_ns: int, limit_s: float) -> str | None:
    """Return why the stamp of a message is rejected, or None.

    A stamp of zero means now, as in ros2_controllers. So does a message without a header.

    Args:
        message: The message.
        now_ns: Time of the clock that the node uses for its own stamps, ns.
        limit_s: Maximum offset of the stamp in both directions, s: how long the command is valid; 0 for MAX_OFF_S.

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
    """Return the age of a message's stamp, ns; 0 if it has none, negative if it is in the future."""
    header = getattr(message, "header", None)
    stamp_ns = nanoseconds(header.stamp) if header is not None else 0
    return now_ns - stamp_ns if stamp_ns else 0


def with_wait(receive: Callable[[Any, int], None]) -> Callable[..., None]:
    """Return a subscription callback that also reports how long a message waited for the executor.

    Args:
        receive: Called with each message and its waiting time, ns; 0 if rclpy does not report it (before Iron).

    Returns:
        The callback.
    """
    if not hasattr(Subscription, "CallbackType"):
        return lambda message: receive(message, 0)

    def callback(message: Any, info: Any) -> None:
        # Measured by this machine's clock, unlike the source timestamp.
        received_ns = info["received_timestamp"]
        receive(message, max(0, time.time_ns() - received_ns) if received_ns else 0)

    return callback


def wait_fault(waited_ns: int, limit_s: float) -> str | None:
    """Return why a message that waited for the executor is rejected, or None.

    Args:
        waited_ns: How long it waited, ns.
        limit_s: Maximum waiting time, s.

    Returns:
        The reason, or None.
    """
    waited_s = waited_ns * 1e-9
    if waited_s <= limit_s:
        return None
    return f"it waited {waited_s:.3g} s because this node was busy; allowed: {limit_s:g} s"
