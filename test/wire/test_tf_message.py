"""The bytes of a TFMessage read by the real rclpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rclpy.serialization import deserialize_message, serialize_message
from tf2_msgs.msg import TFMessage

from sim_node.messages.tf_sink import TfMessageBytes
from sim_node.spatial.geometry.arrays import FloatArray

SECOND = 1_000_000_000
MAX_STAMP_NS = (2**31 - 1) * SECOND + 999_999_999


def written_out(data: bytes) -> tuple[list[str], list[str], list[int], FloatArray]:
    """What rclpy reads: parents, children, stamps in ns, poses (N, 7)."""
    transforms = deserialize_message(data, TFMessage).transforms
    parents = [transform.header.frame_id for transform in transforms]
    children = [transform.child_frame_id for transform in transforms]
    stamps = [transform.header.stamp.sec * SECOND + transform.header.stamp.nanosec for transform in transforms]
    poses = np.empty((len(transforms), 7))
    for row, transform in zip(poses, transforms, strict=True):
        t, q = transform.transform.translation, transform.transform.rotation
        row[:] = t.x, t.y, t.z, q.x, q.y, q.z, q.w
    return parents, children, stamps, poses


def names() -> st.SearchStrategy[Any]:
    """Of any length modulo the alignments of 4 and 8, ASCII or not; CDR strings end with a zero, so hold none."""
    plain = st.integers(0, 17).map(lambda length: "frame/of/some_body"[:length])
    return st.one_of(plain, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=24))


def doubles() -> st.SearchStrategy[Any]:
    """Every finite double and the infinities, subnormal and negative zero too."""
    return st.floats(allow_nan=False)


def ends() -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(names(), names()), max_size=12)


def stamps() -> st.SearchStrategy[Any]:
    return st.one_of(
        st.integers(-(2**31) * SECOND, MAX_STAMP_NS), st.sampled_from([0, -1, SECOND - 1, SECOND, MAX_STAMP_NS])
    )


@given(ends(), stamps(), st.data())
def test_rclpy_reads_what_was_written(pairs: Sequence[tuple[str, str]], stamp_ns: int, data: st.DataObject) -> None:
    """Names, stamps and poses, bit for bit."""
    parents, children = [parent for parent, _ in pairs], [child for _, child in pairs]
    poses = data.draw(arrays(np.float64, (len(pairs), 7), elements=doubles()))
    message = TfMessageBytes(parents, children)
    found = written_out(message.write(stamp_ns, poses))
    assert found[0] == parents
    assert found[1] == children
    assert found[2] == [stamp_ns] * len(pairs)
    assert found[3].tobytes() == poses.tobytes()


@pytest.mark.parametrize("parent", [f"{'p' * length}" for length in range(9)])
@pytest.mark.parametrize("child", [f"{'c' * length}" for length in range(9)])
def test_every_alignment(parent: str, child: str) -> None:
    """All lengths modulo 8 of both names, three transforms in a row, each shifting the next."""
    poses = np.arange(21.0).reshape(3, 7)
    found = written_out(TfMessageBytes([parent, child, parent], [child, parent, child]).write(12_345_678_901, poses))
    assert found[:2] == ([parent, child, parent], [child, parent, child])
    np.testing.assert_array_equal(found[3], poses)


@given(ends(), stamps(), st.data())
def test_rclpy_writes_as_many_bytes_of_the_same_content(
    pairs: Sequence[tuple[str, str]], stamp_ns: int, data: st.DataObject
) -> None:
    """Padding is left as it is in memory by rclpy's serialiser, so content is compared as messages."""
    poses = data.draw(arrays(np.float64, (len(pairs), 7), elements=doubles()))
    message = TfMessageBytes([parent for parent, _ in pairs], [child for _, child in pairs])
    ours = message.write(stamp_ns, poses)
    typed = deserialize_message(ours, TFMessage)
    theirs = serialize_message(typed)
    assert len(ours) == len(theirs) == len(message)
    assert ours[:4] == theirs[:4]
    assert deserialize_message(theirs, TFMessage) == typed


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_any_number_of_transforms(count: int) -> None:
    generator = np.random.default_rng(count)
    parents = [f"world/{'x' * (i % 11)}{i}" for i in range(count)]
    children = [f"{name}/body" for name in parents]
    poses = generator.normal(size=(count, 7))
    found = written_out(TfMessageBytes(parents, children).write(SECOND, poses))
    assert found[:3] == (parents, children, [SECOND] * count)
    np.testing.assert_array_equal(found[3], poses)


def test_writing_again_leaves_nothing_of_before() -> None:
    """A thousand messages from one layout: each has its own stamp and poses, all of them, and none changes later."""
    parents, children = ["map", "a", "map"], ["a", "b_with_a_long_name", "ü"]
    message = TfMessageBytes(parents, children)
    generator = np.random.default_rng(0)
    kept = []
    for _ in range(1000):
        stamp_ns, poses = int(generator.integers(MAX_STAMP_NS)), generator.normal(size=(3, 7))
        kept.append((stamp_ns, poses, message.write(stamp_ns, poses)))
    message.write(MAX_STAMP_NS, np.full((3, 7), np.nan))
    message.write(0, np.zeros((3, 7)))
    for stamp_ns, poses, data in kept:
        assert len(data) == len(message)
        found = written_out(data)
        assert found[:3] == (parents, children, [stamp_ns] * 3)
        np.testing.assert_array_equal(found[3], poses)


def test_equal_input_gives_equal_bytes() -> None:
    """Padding too: two runs record the same."""
    poses = np.random.default_rng(0).normal(size=(2, 7))
    first, second = (TfMessageBytes(["map", "ab"], ["ab", "cde"]) for _ in range(2))
    second.write(5, poses + 1.0)
    assert first.write(7, poses) == second.write(7, poses)


def test_rows_of_a_larger_array_are_written_in_their_order() -> None:
    """As a sink picks the moving frames; the layout of the array in memory does not matter."""
    whole = np.random.default_rng(0).normal(size=(9, 7))
    rows = np.array([7, 0, 3])
    message = TfMessageBytes(["map"] * 3, ["a", "b", "c"])
    for poses in (whole[rows], np.asfortranarray(whole)[rows], whole[::-1][8 - rows]):
        np.testing.assert_array_equal(written_out(message.write(0, poses))[3], whole[rows])


@pytest.mark.parametrize("shape", [(7,), (1, 7), (2, 7), (4, 7), (3, 6), (3, 8), (0, 7), (3, 1)])
def test_another_number_of_poses_is_refused(shape: Sequence[int]) -> None:
    """Also those that numpy would repeat to fit."""
    message = TfMessageBytes(["map"] * 3, ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"poses: shape is .* needs \(3, 7\)"):
        message.write(0, np.zeros(shape))


@pytest.mark.parametrize("stamp_ns", [MAX_STAMP_NS + 1, -(2**31) * SECOND - 1])
def test_a_time_that_stamps_do_not_hold_is_refused(stamp_ns: int) -> None:
    """Instead of a stamp that has wrapped round."""
    message = TfMessageBytes(["map"], ["a"])
    with pytest.raises(OverflowError, match="must fit into 32 bits"):
        message.write(stamp_ns, np.zeros((1, 7)))


def test_parents_and_children_come_in_pairs() -> None:
    with pytest.raises(ValueError, match="zip"):
        TfMessageBytes(["map"], ["a", "b"])
