"""A participant in the graph for as long as a command runs: an rclpy context, a node and its executor."""

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
        rosout: Whether the node logs to /rosout.

    Yields:
        The node and its executor, which is shut down at the end if it was not before.

    Raises:
        RosNotStarted: ROS 2 does not start, for example because ROS_DOMAIN_ID is not a number.
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
    """Run an executor in a separate thread, and shut it down at the end."""
    stop = start_spinning(executor)
    try:
        yield
    finally:
        stop()


def start_spinning(executor: SingleThreadedExecutor, name: str = "callbacks") -> Callable[[], None]:
    """Run an executor in a separate thread.

    Args:
        executor: The executor.
        name: Name of the thread.

    Returns:
        A function that ends the thread and shuts the executor down. An active callback has a second to finish.
    """
    ended, limit = threading.Event(), RateLimit()

    def spin() -> None:
        with suppress(ExternalShutdownException):
            while executor.context.ok() and not ended.is_set():
                try:
                    executor.spin_once()
                except ExternalShutdownException:  # noqa: PERF203  each callback on its own
                    raise
                except Exception as error:  # of one callback, for example rclpy's own for a parameter without a type
                    line = f"a message or a request is dropped: {type(error).__name__}: {shown(str(error), MAX_LINE)}"
                    if admitted := limit.admit(type(error).__name__, line, time.monotonic_ns()):
                        get_logger("sim_node").error(admitted)

    thread = threading.Thread(target=spin, name=name, daemon=True)
    thread.start()

    def stop() -> None:
        # Not with `shutdown` alone, which destroys the guard condition that the thread may be about to trigger.
        executor.create_task(ended.set)
        if thread is not threading.current_thread():
            thread.join(1.0)
        executor.shutdown(timeout_sec=1.0)

    return stop


def start_ros(command_line: list[str]) -> None:
    """Prepare the environment and initialise rclpy's default context.

    Args:
        command_line: The arguments, including --ros-args if any.

    Raises:
        RosNotStarted: An argument or an environment variable is invalid.
    """
    _refuse_small_limits()
    prepare()
    try:
        # Without rclpy's signal handlers, which shut the context down and would make the current tick fail.
        rclpy.init(args=command_line, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # rclpy has a class for each command-line error, without a common base
        raise RosNotStarted(f"ROS 2 does not start: {reason(error)}") from None


# Files and addresses that a participant needs beyond what the process has. With less, Fast DDS hangs or aborts.
_FILES, _ADDRESSES = 24, 448 << 20


def _refuse_small_limits() -> None:
    """Raise RosNotStarted if the limits of this shell leave too few files or too little address space."""
    files, addresses = (resource.getrlimit(limit)[0] for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))
    used = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 3
    if files != resource.RLIM_INFINITY and files - used < _FILES:
        raise RosNotStarted(f"ROS 2 does not start: `ulimit -n` allows {files} open files; {used + _FILES} are needed")
    free = free_addresses()
    if free is not None and free < _ADDRESSES:
        needed = addresses - free + _ADDRESSES
        raise RosNotStarted(f"ROS 2 does not start: {too_few(addresses, needed)}")


def reason(error: Exception) -> str:
    """Return the reason of an error, without the marked-up text that rclpy appends and rcl's source locations."""
    return _SOURCE.sub("", str(error).strip().splitlines()[0].rstrip(":"))
