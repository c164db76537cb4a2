"""`Buffer`: the methods and return types of tf2_ros.Buffer, on top of a transform tree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.clock import ClockChange, JumpThreshold
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.task import Future
from rclpy.time import Time

from sim_node.ros.do_transform import transformer
from sim_node.ros.graph_clock import nanoseconds
from sim_node.ros.tf2_conversions import as_tf2, from_message, to_message
from sim_node.spatial.tree import TransformError, TransformTree

_IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class BufferCore:
    """Stores and looks up transforms without waiting, like tf2::BufferCore.

    Args:
        tree: The tree that holds the transforms.
    """

    def __init__(self, tree: TransformTree) -> None:
        self.tree = tree
        self._authorities: dict[str, str] = {}

    # Storing

    def set_transform(self, transform: Any, authority: str) -> None:
        """Store a transform.

        Args:
            transform: A TransformStamped.
            authority: The name of its sender, for all_frames_as_yaml.

        Raises:
            InvalidArgumentException: The transform is invalid.
        """
        self._set(transform, authority, static=False)

    def set_transform_static(self, transform: Any, authority: str) -> None:
        """Store a transform that is valid at all times.

        Args:
            transform: A TransformStamped.
            authority: The name of its sender, for all_frames_as_yaml.

        Raises:
            InvalidArgumentException: The transform is invalid.
        """
        self._set(transform, authority, static=True)

    def clear(self) -> None:
        """Drop all dynamic transforms."""
        self.tree.clear()

    # Looking up

    def lookup_transform_core(self, target_frame: str, source_frame: str, time: Any) -> Any:
        """Return the transform as lookup_transform does, without waiting.

        Args:
            target_frame: The frame to transform into.
            source_frame: The frame of the data.
            time: The time of the transform; zero for the latest.

        Returns:
            A TransformStamped.

        Raises:
            TransformException: As lookup_transform does.
        """
        stamp = nanoseconds(time)
        if target_frame == source_frame:
            return to_message(target_frame, source_frame, stamp or self._newest(target_frame), _IDENTITY)
        try:
            at, pose = self.tree.lookup_stamped(target_frame, source_frame, stamp or None)
        except TransformError as error:
            raise as_tf2(error) from error
        return to_message(target_frame, source_frame, at or 0, pose)

    def lookup_transform_full_core(
        self, target_frame: str, target_time: Any, source_frame: str, source_time: Any, fixed_frame: str
    ) -> Any:
        """Return the transform as lookup_transform_full does, without waiting.

        Args:
            target_frame: The frame to transform into.
            target_time: The time of the target.
            source_frame: The frame of the data.
            source_time: The time of the data.
            fixed_frame: A frame that does not move between the two times.

        Returns:
            A TransformStamped.

        Raises:
            TransformException: As lookup_transform does.
        """
        at, until = nanoseconds(source_time), nanoseconds(target_time)
        try:
            pose = self.tree.lookup_full(target_frame, until or None, source_frame, at or None, fixed_frame)
            stamp = until or self.tree.latest_common_time(target_frame, fixed_frame) or 0
        except TransformError as error:
            raise as_tf2(error) from error
        return to_message(target_frame, source_frame, stamp, pose)

    def can_transform_core(self, target_frame: str, source_frame: str, time: Any) -> tuple[bool, str]:
        """Return whether lookup_transform would succeed now.

        Args:
            target_frame: The frame to transform into.
            source_frame: The frame of the data.
            time: The time of the transform; zero for the latest.

        Returns:
            (bool, reason).
        """
        if self._can(target_frame, source_frame, time):
            return True, ""
        return _outcome(lambda: self.lookup_transform_core(target_frame, source_frame, time))

    def can_transform_full_core(
        self, target_frame: str, target_time: Any, source_frame: str, source_time: Any, fixed_frame: str
    ) -> tuple[bool, str]:
        """Return whether lookup_transform_full would succeed now.

        Args:
            target_frame: The frame to transform into.
            target_time: The time of the target.
            source_frame: The frame of the data.
            source_time: The time of the data.
            fixed_frame: A frame that does not move between the two times.

        Returns:
            (bool, reason).
        """
        arguments = (target_frame, target_time, source_frame, source_time, fixed_frame)
        return (
            (True, "") if self._can_full(*arguments) else _outcome(lambda: self.lookup_transform_full_core(*arguments))
        )

    # The tree

    def get_latest_common_time(self, target_frame: str, source_frame: str) -> Any:
        """Return the latest time for which the transform between two frames is available.

        Args:
            target_frame: One frame.
            source_frame: The other frame.

        Returns:
            An rclpy Time; zero if all frames between them are static.

        Raises:
            TransformException: As lookup_transform does.
        """
        try:
            return Time(nanoseconds=self.tree.latest_common_time(target_frame, source_frame) or 0)
        except TransformError as error:
            raise as_tf2(error) from error

    def all_frames_as_string(self) -> str:
        """Return a line per frame with its parent."""
        known = (frame for frame in self.tree.describe() if frame.parent)
        return "".join(f"Frame {frame.name} exists with parent {frame.parent}.\n" for frame in known)

    def all_frames_as_yaml(self) -> str:
        """Return the frames with the keys that tf2's tools read."""
        lines = []
        for frame in self.tree.describe():
            if frame.parent is None:
                continue
            static = frame.kind != "dynamic"
            oldest, newest = (0, 0) if static else (frame.oldest_ns or 0, frame.newest_ns or 0)
            rate = frame.stored / max((newest - oldest) / 1e9, 1e-4)
            lines += [
                f"{frame.name}: ",
                f"  parent: '{frame.parent}'",
                f"  broadcaster: '{self._authorities.get(frame.name, 'default_authority')}'",
                f"  rate: {rate:.3f}",
                f"  most_recent_transform: {newest / 1e9:.6f}",
                f"  oldest_transform: {oldest / 1e9:.6f}",
                f"  buffer_length: {(newest - oldest) / 1e9:.3f}",
            ]
        return "".join(f"{line}\n" for line in lines) or "[]"

    def _allFramesAsDot(self) -> str:  # noqa: N802
        return self.tree.as_dot()

    def _frameExists(self, frame_id: str) -> bool:  # noqa: N802
        return frame_id in self.tree

    def _getFrameStrings(self) -> list[str]:  # noqa: N802
        return list(self.tree.frames)

    def _set(self, transform: Any, authority: str, static: bool) -> None:
        parent, child, stamp, pose = from_message(transform)
        try:
            self.tree.set_transform(parent, child, stamp, pose, static)
        except TransformError as error:
            raise as_tf2(error) from error
        self._authorities[child.removeprefix("/")] = authority

    def _newest(self, frame: str) -> int:
        return (self.tree.latest_common_time(frame, frame) or 0) if frame in self.tree else 0

    def _can(self, target: str, source: str, time: Any) -> bool:
        return target == source or self.tree.can_lookup(target, source, nanoseconds(time) or None)

    def _can_full(self, target: str, target_time: Any, source: str, source_time: Any, fixed: str) -> bool:
        there, back = nanoseconds(source_time) or None, nanoseconds(target_time) or None
        return self.tree.can_lookup(fixed, source, there) and self.tree.can_lookup(target, fixed, back)


def _outcome(look_up: Callable[[], Any]) -> tuple[bool, str]:
    try:
        look_up()
    except Exception as error:
        if not isinstance(error.__cause__, TransformError):
            raise
        return False, str(error)
    return True, ""


_AT_ONCE = Duration()


class Buffer(BufferCore):
    """Stores and looks up transforms. A drop-in replacement for tf2_ros.Buffer.

    Times are rclpy.time.Time or builtin_interfaces/Time; zero means the latest. Invalid transforms raise
    InvalidArgumentException, where tf2 logs an error and drops them. Waits end as soon as the transform is received,
    not at the next poll.

    Args:
        cache_time: How long transforms are kept; 10 s by default.
        node: Offers the service tf2_frames if tf2_msgs has it. The buffer is cleared when the node's clock jumps back.
        tolerance: How far outside the history a lookup may be; zero by default, as in tf2.
        static_patterns: As in TransformTree; none by default.
        tree: A tree to use instead of a new one.
    """

    def __init__(
        self,
        cache_time: Duration | None = None,
        node: Node | None = None,
        *,
        tolerance: Duration = _AT_ONCE,
        static_patterns: Sequence[str] = (),
        tree: TransformTree | None = None,
    ) -> None:
        seconds = 10.0 if cache_time is None else nanoseconds(cache_time) / 1e9
        slack = nanoseconds(tolerance) / 1e9
        super().__init__(tree or TransformTree(seconds, slack, static_patterns=static_patterns, detect_jumps=True))
        self._jumps: Any = None
        self._node: Node | None = None
        if node is not None:
            self.follow(node)
            self._serve_frames(node)

    def follow(self, node: Node) -> None:
        """Drop later transforms when a node's clock jumps back, and wake its executor when a future completes.

        Args:
            node: The node. Only the first one is followed.
        """
        if self._jumps is not None:
            return
        self._node = node
        clock, tree = node.get_clock(), self.tree

        def jumped(jump: Any) -> None:
            if jump.clock_change in (ClockChange.ROS_TIME_ACTIVATED, ClockChange.ROS_TIME_DEACTIVATED):
                tree.clear()
            else:
                tree.jump_back(clock.now().nanoseconds)

        threshold = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = clock.create_jump_callback(threshold, post_callback=jumped)

    # Looking up

    def lookup_transform(self, target_frame: str, source_frame: str, time: Any, timeout: Any = _AT_ONCE) -> Any:
        """Return the transform from one frame to another.

        Args:
            target_frame: The frame to transform into.
            source_frame: The frame of the data.
            time: The time of the transform; zero for the latest.
            timeout: How long to wait for it.

        Returns:
            A TransformStamped.

        Raises:
            LookupException: A frame does not exist.
            ConnectivityException: The frames are not connected.
            ExtrapolationException: The time is outside the history.
            InvalidArgumentException: A frame name is invalid.
        """
        if timeout is not _AT_ONCE:
            self.can_transform(target_frame, source_frame, time, timeout)
        return self.lookup_transform_core(target_frame, source_frame, time)

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Any,
        source_frame: str,
        source_time: Any,
        fixed_frame: str,
        timeout: Any = _AT_ONCE,
    ) -> Any:
        """Return the transform from a frame at one time to another frame at another time.

        Args:
            target_frame: The frame to transform into.
            target_time: The time of the target.
            source_frame: The frame of the data.
            source_time: The time of the data.
            fixed_frame: A frame that does not move between the two times.
            timeout: How long to wait for it.

        Returns:
            A TransformStamped.

        Raises:
            TransformException: As lookup_transform does.
        """
        if timeout is not _AT_ONCE:
            self.can_transform_full(target_frame, target_time, source_frame, source_time, fixed_frame, timeout)
        return self.lookup_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame)

    def can_transform(
        self,
        target_frame: str,
        source_frame: str,
        time: Any,
        timeout: Any = _AT_ONCE,
        return_debug_tuple: bool = False,
    ) -> Any:
        """Return whether lookup_transform would succeed.

        Args:
            target_frame: The frame to transform into.
            source_frame: The frame of the data.
            time: The time of the transform; zero for the latest.
            timeout: How long to wait for it.
            return_debug_tuple: Whether to also return a reason.

        Returns:
            A bool; with return_debug_tuple, (bool, reason).
        """
        self._wait(lambda: self._can(target_frame, source_frame, time), timeout)
        answer = self.can_transform_core(target_frame, source_frame, time)
        return answer if return_debug_tuple else answer[0]

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Any,
        source_frame: str,
        source_time: Any,
        fixed_frame: str,
        timeout: Any = _AT_ONCE,
        return_debug_tuple: bool = False,
    ) -> Any:
        """Return whether lookup_transform_full would succeed.

        Args:
            target_frame: The frame to transform into.
            target_time: The time of the target.
            source_frame: The frame of the data.
            source_time: The time of the data.
            fixed_frame: A frame that does not move between the two times.
            timeout: How long to wait for it.
            return_debug_tuple: Whether to also return a reason.

        Returns:
            A bool; with return_debug_tuple, (bool, reason).
        """
        arguments = (target_frame, target_time, source_frame, source_time, fixed_frame)
        self._wait(lambda: self._can_full(*arguments), timeout)
        answer = self.can_transform_full_core(*arguments)
        return answer if return_debug_tuple else answer[0]

    # Asynchronous lookups

    async def lookup_transform_async(self, target_frame: str, source_frame: str, time: Any) -> Any:
        """Return the transform as soon as it is available. For coroutines run by an rclpy executor.

        Args:
            target_frame: The frame to transform into.
            source_frame: The frame of the data.
            time: The time of the transform; zero for the latest.

        Returns:
            A TransformStamped.
        """
        await self.wait_for_transform_async(target_frame, source_frame, time)
        return self.lookup_transform_core(target_frame, source_frame, time)

    async def lookup_transform_full_async(
        self, target_frame: str, target_time: Any, source_frame: str, source_time: Any, fixed_frame: str
    ) -> Any:
        """Return the transform of lookup_transform_full as soon as it is available.

        Args:
            target_frame: The frame to transform into.
            target_time: The time of the target.
            source_frame: The frame of the data.
            source_time: The time of the data.
            fixed_frame: A frame that does not move between the two times.

        Returns:
            A TransformStamped.
        """
        arguments = (target_frame, target_time, source_frame, source_time, fixed_frame)
        await self.wait_for_transform_full_async(*arguments)
        return self.lookup_transform_full_core(*arguments)

    def wait_for_transform_async(self, target_frame: str, source_frame: str, time: Any) -> Any:
        """Return a future of the transform.

        Args:
            target_frame: The frame to transform into.
            source_frame: The frame of the data.
            time: The time of the transform; zero for the latest.

        Returns:
            A Future of rclpy whose result is a TransformStamped.
        """
        arguments = (target_frame, source_frame, time)
        return self._future(lambda: self._can(*arguments), lambda: self.lookup_transform_core(*arguments))

    def wait_for_transform_full_async(
        self, target_frame: str, target_time: Any, source_frame: str, source_time: Any, fixed_frame: str
    ) -> Any:
        """Return a future of the transform of lookup_transform_full.

        Args:
            target_frame: The frame to transform into.
            target_time: The time of the target.
            source_frame: The frame of the data.
            source_time: The time of the data.
            fixed_frame: A frame that does not move between the two times.

        Returns:
            A Future of rclpy whose result is a TransformStamped.
        """
        arguments = (target_frame, target_time, source_frame, source_time, fixed_frame)
        return self._future(lambda: self._can_full(*arguments), lambda: self.lookup_transform_full_core(*arguments))

    # Messages

    def transform(self, object_stamped: Any, target_frame: str, timeout: Any = _AT_ONCE, new_type: Any = None) -> Any:
        """Transform a stamped message at its own stamp.

        Args:
            object_stamped: A PointStamped, Vector3Stamped, PoseStamped, PoseWithCovarianceStamped, PointCloud2, or a
                type that is registered with tf2_ros.
            target_frame: The frame to transform into.
            timeout: How long to wait for the transform.
            new_type: Type of the result; requires tf2_ros.

        Returns:
            The transformed message.

        Raises:
            TransformException: As lookup_transform does.
            TypeError: Messages of this type cannot be transformed.
        """
        header = object_stamped.header
        transform = self.lookup_transform(target_frame, header.frame_id, header.stamp, timeout)
        return _converted(transformer(type(object_stamped))(object_stamped, transform), new_type)

    def transform_full(
        self,
        object_stamped: Any,
        target_frame: str,
        target_time: Any,
        fixed_frame: str,
        timeout: Any = _AT_ONCE,
        new_type: Any = None,
    ) -> Any:
        """Transform a stamped message into a frame at another time.

        Args:
            object_stamped: The message; see `transform`.
            target_frame: The frame to transform into.
            target_time: The time of the target.
            fixed_frame: A frame that does not move between the two times.
            timeout: How long to wait for the transform.
            new_type: Type of the result; requires tf2_ros.

        Returns:
            The transformed message.

        Raises:
            TransformException: As lookup_transform does.
            TypeError: Messages of this type cannot be transformed.
        """
        header = object_stamped.header
        transform = self.lookup_transform_full(
            target_frame, target_time, header.frame_id, header.stamp, fixed_frame, timeout
        )
        return _converted(transformer(type(object_stamped))(object_stamped, transform), new_type)

    def _wait(self, is_ready: Callable[[], bool], timeout: Any) -> None:
        if timeout is _AT_ONCE:
            return
        ready = threading.Event()
        wait = self.tree.when(is_ready, ready.set)
        try:
            ready.wait(max(nanoseconds(timeout), 0) / 1e9)
        finally:
            wait.cancel()

    def _future(self, is_ready: Callable[[], bool], look_up: Callable[[], Any]) -> Any:
        future = Future()

        def settle() -> None:
            try:
                future.set_result(look_up())
            except Exception as error:
                future.set_exception(error)
            executor = getattr(self._node, "executor", None)
            if executor is not None:
                # The executor sleeps until a message is received, but this one was received in another thread.
                executor.wake()

        wait = self.tree.when(is_ready, settle)
        future.add_done_callback(lambda _: wait.cancel())
        return future

    def _serve_frames(self, node: Node) -> None:
        try:
            from tf2_msgs.srv import FrameGraph
        except ImportError:
            return

        def answer(request: Any, response: Any) -> Any:
            response.frame_yaml = self.all_frames_as_yaml()
            return response

        self._service = node.create_service(FrameGraph, "tf2_frames", answer)


def _converted(message: Any, new_type: Any) -> Any:
    if new_type is None or isinstance(message, new_type):
        return message
    try:
        import tf2_ros
    except ImportError:
        raise TypeError(f"converting to {new_type.__name__} needs tf2_ros, which is not installed") from None
    return tf2_ros.convert(message, new_type)
