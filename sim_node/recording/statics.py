"""What a bag says of static transforms, as one message that has all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from sim_node.recording.bag import Message
from sim_node.wire.encoding import encode
from sim_node.wire.tf_message_reader import TfMessageReader

# Of a child frame: its parent, stamp and pose.
_Transform = tuple[str, int, tuple[float, ...]]


class Statics:
    """A topic of static transforms: at any time one message with every frame of the bag.

    Broadcasters that were recorded side by side sent a message each; replayed by one publisher of depth 1, the last
    would be all that a late subscriber gets (ros2/rosbag2#1049). A recorded message that has all frames stays as it
    is, byte for byte. A frame is there from the beginning, as it is first told: static transforms hold for all time.
    Raises ValueError for bytes that are no TFMessage.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        reader = TfMessageReader()
        self._times: list[int] = []
        rows: list[tuple[bytes, dict[str, _Transform]]] = []
        first: dict[str, _Transform] = {}
        for message in messages:
            names, stamps_ns, poses = reader.read(message.data)
            transforms = zip(names.parents, stamps_ns.tolist(), map(tuple, poses.tolist()), strict=True)
            told = dict(zip(names.children, transforms, strict=True))
            rows.append((message.data, told))
            self._times.append(message.time_ns)
            first = {**told, **first}
        self._states: list[bytes] = []
        state = first
        merged = _serialised(first)
        self._initial = merged if rows else None
        for data, told in rows:
            if any(state[child] != transform for child, transform in told.items()):
                state = {**state, **told}
                merged = _serialised(state)
            self._states.append(data if len(told) == len(first) else merged)
        if rows and len(rows[0][1]) == len(first):
            self._initial = self._states[0]

    def count_before(self, time_ns: int) -> int:
        """How many of the messages were recorded before a time."""
        return bisect_left(self._times, time_ns)

    def after(self, count: int) -> bytes | None:
        """What holds after so many messages, None in a bag without any."""
        return self._states[min(count, len(self._states)) - 1] if count else self._initial


def _serialised(transforms: dict[str, _Transform]) -> bytes:
    rows = [
        {"header": {"stamp": stamp_ns, "frame_id": parent}, "child_frame_id": child, "transform": pose}
        for child, (parent, stamp_ns, pose) in transforms.items()
    ]
    return encode("tf2_msgs/msg/TFMessage", {"transforms": rows})
