"""Laws: the real tf2 buffer and ours, given the same transforms, answer and refuse the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import yaml
from geometry_msgs.msg import QuaternionStamped, TransformStamped
from hypothesis import given
from rclpy.duration import Duration
from rclpy.time import Time

from sim_node.ros.tf2 import Buffer, ConnectivityException, ExtrapolationException, TransformException

pytestmark = pytest.mark.upstream("tf2_py", "tf2_ros")

SECOND = 1_000_000_000
# Stamps lie within both buffers' cache of 10 s. Zero would mean the latest.
BEGIN, SPAN = 100 * SECOND, 9 * SECOND
FRAMES = ("map", "odom", "base", "arm", "tool")
ANYTHING = (*FRAMES, "nowhere")


@dataclass(frozen=True)
class Sent:
    parent: str
    child: str
    stamp: int
    values: tuple[float, ...]
    static: bool

    def message(self) -> TransformStamped:
        message = TransformStamped(child_frame_id=self.child)
        message.header.frame_id, message.header.stamp = self.parent, Time(nanoseconds=self.stamp).to_msg()
        t, r = message.transform.translation, message.transform.rotation
        t.x, t.y, t.z = self.values[:3]
        r.x, r.y, r.z, r.w = (np.array(self.values[3:]) / np.linalg.norm(self.values[3:])).tolist()
        return message


stamps = st.integers(BEGIN, BEGIN + SPAN)
metres = st.floats(-100.0, 100.0)
turns = st.tuples(*4 * [st.floats(-1.0, 1.0)]).filter(lambda q: np.linalg.norm(q) > 0.1)


@st.composite
def traffic(draw: st.DrawFn, least: int = 0) -> list[Sent]:
    """Transforms in any order, no two of a frame at one stamp. A frame may change its parent, never into a loop.

    least: how many each frame has at least; with one all frames are in one tree.
    """
    sent = []
    for depth, child in enumerate(FRAMES[1:], 1):
        static = draw(st.sampled_from([False, False, False, True]))
        for stamp in draw(st.lists(stamps, min_size=least, max_size=1 if static else 6, unique=True)):
            parent = FRAMES[draw(st.integers(0, depth - 1))]
            values = (*draw(st.tuples(metres, metres, metres)), *draw(turns))
            sent.append(Sent(parent, child, stamp, values, static))
    return draw(st.permutations(sent))


one_tree = traffic(least=1)
questions = st.tuples(st.sampled_from(ANYTHING), st.sampled_from(ANYTHING), st.none() | stamps)


def both(sent: list[Sent]) -> tuple[Any, Buffer]:
    import tf2_ros

    buffers = tf2_ros.Buffer(cache_time=Duration(seconds=10)), Buffer(cache_time=Duration(seconds=10))
    for each in sent:
        for buffer in buffers:
            (buffer.set_transform_static if each.static else buffer.set_transform)(each.message(), "test")
    return buffers


def at(stamp: int | None) -> Time:
    return Time(nanoseconds=stamp or 0)


def answer(look_up: Any, *question: Any) -> TransformStamped | type[Exception]:
    try:
        return look_up(*question)
    except TransformException as error:
        return type(error)


def assert_same(theirs: Any, ours: Any) -> None:
    if isinstance(theirs, type) or isinstance(ours, type):
        assert theirs is ours
        return
    assert ours.header == theirs.header
    assert ours.child_frame_id == theirs.child_frame_id
    (ours_t, ours_r), (theirs_t, theirs_r) = numbers(ours), numbers(theirs)
    np.testing.assert_allclose(ours_t, theirs_t, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours_r * np.sign(ours_r @ theirs_r), theirs_r, rtol=0, atol=1e-9)


def numbers(message: TransformStamped) -> tuple[np.ndarray, np.ndarray]:
    t, r = message.transform.translation, message.transform.rotation
    return np.array([t.x, t.y, t.z]), np.array([r.x, r.y, r.z, r.w])


@given(one_tree, st.lists(questions, min_size=1, max_size=8))
def test_lookups(sent: list[Sent], asked: list[tuple[str, str, int | None]]) -> None:
    theirs, ours = both(sent)
    for target, source, stamp in asked:
        question = target, source, at(stamp)
        assert_same(answer(theirs.lookup_transform, *question), answer(ours.lookup_transform, *question))
        assert ours.can_transform(*question) == theirs.can_transform(*question)


@given(one_tree, st.lists(st.tuples(questions, questions), min_size=1, max_size=4))
def test_lookups_between_two_times(sent: list[Sent], asked: list[Any]) -> None:
    theirs, ours = both(sent)
    for (target, source, target_stamp), (fixed, _, source_stamp) in asked:
        question = target, at(target_stamp), source, at(source_stamp), fixed
        assert_same(answer(theirs.lookup_transform_full, *question), answer(ours.lookup_transform_full, *question))
        assert ours.can_transform_full(*question) == theirs.can_transform_full(*question)


@given(traffic(), st.lists(questions, min_size=1, max_size=8))
def test_lookups_in_several_trees(sent: list[Sent], asked: list[tuple[str, str, int | None]]) -> None:
    """docs/transform-tree.md: where frames are in two trees and the stamp is outside, the refusals may differ."""
    theirs, ours = both(sent)
    for target, source, stamp in asked:
        found = [answer(buffer.lookup_transform, target, source, at(stamp)) for buffer in (theirs, ours)]
        if ConnectivityException not in found or ExtrapolationException not in found:
            assert_same(*found)


@given(traffic())
def test_the_frames(sent: list[Sent]) -> None:
    theirs, ours = both(sent)
    assert sorted(ours._getFrameStrings()) == sorted(theirs._getFrameStrings())
    assert yaml.safe_load(ours.all_frames_as_yaml()) == yaml.safe_load(theirs.all_frames_as_yaml())


def test_types_that_are_registered_with_tf2_ros_are_transformed_and_converted() -> None:
    """As tf2_geometry_msgs and others register theirs. QuaternionStamped is none of ours."""
    import tf2_ros

    def turned(message: QuaternionStamped, transform: TransformStamped) -> QuaternionStamped:
        moved = QuaternionStamped(header=transform.header)
        moved.quaternion.w = message.quaternion.w + transform.transform.translation.x
        return moved

    _, buffer = both([Sent("map", "odom", BEGIN, (5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), static=True)])
    asked = QuaternionStamped()
    asked.header.frame_id = "odom"
    with pytest.raises(tf2_ros.TypeException, match="QuaternionStamped"):
        buffer.transform(asked, "map")
    tf2_ros.TransformRegistration().add(QuaternionStamped, turned)
    found = buffer.transform(asked, "map")
    assert (found.header.frame_id, found.quaternion.w) == ("map", 6.0)
    tf2_ros.ConvertRegistration().add_convert((QuaternionStamped, float), lambda message: message.quaternion.w)
    assert buffer.transform(asked, "map", new_type=float) == 6.0
