"""`BufferCore`: transforms in the messages and times of tf2, looked up at once, on a transform tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.time import Time

from sim_node.ros.graph_clock import nanoseconds
from sim_node.ros.tf2_conversions import as_tf2, from_message, to_message
from sim_node.spatial.tree import TransformError, TransformTree

_IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class BufferCore:
    """Stores and looks up transforms without waiting, as tf2::BufferCore does.

    Args:
        tree: Where the transforms are.
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
        """Drop all but static transforms."""
        self.tree.clear()

    # Looking up

    def lookup_transform_core(self, target_frame: str, source_frame: str, time: Any) -> Any:
        """Return the transform as lookup_transform does, without waiting.

        Args:
            target_frame: The frame to transform into.
            source_frame: The frame of the data.
            time: When; zero for the latest.

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
            time: When; zero for the latest.

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
