"""A participant of the graph for as long as a command runs: rclpy's context, a node and its executor."""

from __future__ import annotations

import os
import re
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from sim_node.limits import free_addresses, too_few
from sim_node.packages import RosNotStarted
from sim_node.rate_limit import RateLimit
from sim_node.ros.environment import prepare
from sim_node.text import MAX_LINE, shown

_SOURCE = re.compile(r", at /\S+:\d+")


@contextmanager
def participant(name: str, *, rosout: bool = True) -> Iterator[tuple[Node, SingleThreadedExecutor]]:
    """Join the graph. The process keeps its own signal handlers.

    Args:
        name: Name of the node.
        rosout: Whether the node's log goes to /rosout.

    Yields:
        The node, and the executor that it is in, which is shut down at the end if it was not before.

    Raises:
        RosNotStarted: ROS 2 does not start, such as with a ROS_DOMAIN_ID that is no number.
    """
    start_ros([])
    try:
        node = rclpy.create_node(name, start_parameter_services=False, enable_rosout=rosout)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        try:
            yield node, executor
        finally:
            executor.shutdown(timeout_sec=1.0)
            node.destroy_node()
    finally:
        rclpy.try_shutdown()


@contextmanager
def spinning(executor: SingleThreadedExecutor) -> Iterator[None]:
    """Run an executor in a thread of its own, and shut it down at the end."""
    stop = start_spinning(executor)
    try:
        yield
    finally:
        stop()


def start_spinning(executor: SingleThreadedExecutor, name: str = "callbacks") -> Callable[[], None]:
    """Run an executor in a thread of its own.

    Args:
        executor: The executor.
        name: Name of the thread.

    Returns:
        Ends the thread and shuts the executor down; a callback under way has a second to end.
    """
    ended, limit = threading.Event(), RateLimit()

    def spin() -> None:
        with suppress(ExternalShutdownException):
            while executor.context.ok() and not ended.is_set():
                try:
                    executor.spin_once()
                except ExternalShutdownException:  # noqa: PERF203  each on its own
                    raise
                except Exception as error:  # of one callback, such as rclpy's own for a parameter of no type
                    line = f"a message or a request is dropped: {type(error).__name__}: {shown(str(error), MAX_LINE)}"
                    if admitted := limit.admit(type(error).__name__, line, time.monotonic_ns()):
                        get_logger("sim_node").error(admitted)

    thread = threading.Thread(target=spin, name=name, daemon=True)
    thread.start()

    def stop() -> None:
        # Not by `shutdown` alone: that destroys the guard condition that the spinning thread may be about to trigger.
        executor.create_task(ended.set)
        if thread is not threading.current_thread():
            thread.join(1.0)
        executor.shutdown(timeout_sec=1.0)

    return stop


def start_ros(command_line: list[str]) -> None:
    """Prepare the environment and initialise rclpy's default context.

    Args:
        command_line: With the --ros-args, if there are any.

    Raises:
        RosNotStarted: An argument or a variable of the environment is invalid.
    """
    _refuse_small_limits()
    prepare()
    try:
        # No signal handlers of rclpy: a context that they shut down would make the current tick fail.
        rclpy.init(args=command_line, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # rclpy has a class for each fault of the command line, without a common base
        raise RosNotStarted(f"ROS 2 does not start: {reason(error)}") from None


# What a participant opens and maps beyond what the process has. Fast DDS waits forever, or aborts, where it gets less.
_FILES, _ADDRESSES = 24, 448 << 20


def _refuse_small_limits() -> None:
    """Raise RosNotStarted if the limits of this shell leave too few files or addresses."""
    files, addresses = (resource.getrlimit(limit)[0] for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))
    used = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 3
    if files != resource.RLIM_INFINITY and files - used < _FILES:
        raise RosNotStarted(f"ROS 2 does not start: `ulimit -n` allows {files} open files; {used + _FILES} are needed")
    free = free_addresses()
    if free is not None and free < _ADDRESSES:
        needed = addresses - free + _ADDRESSES
        raise RosNotStarted(f"ROS 2 does not start: {too_few(addresses, needed)}")


def reason(error: Exception) -> str:
    """Return what is wrong: rclpy adds the text with a mark below it, and rcl places in its source."""
    return _SOURCE.sub("", str(error).strip().splitlines()[0].rstrip(":"))
