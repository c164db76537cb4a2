"""The bytes of markers and paths read by the real rclpy, and by rosbags' own definitions of the messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Pose
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from nav_msgs.msg import Path
from rclpy.serialization import deserialize_message
from rosbags.typesys import Stores, get_typestore
from visualization_msgs.msg import Marker as RosMarker
from visualization_msgs.msg import MarkerArray

from sim_node.messages.marker_messages import FrameMarker, MarkerArrays, MarkerType
from sim_node.viewing.display_sinks import PathMessage

# Marker has not changed since Humble.
TYPES = [get_typestore(store) for store in (Stores.ROS2_HUMBLE, Stores.ROS2_JAZZY)]
FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9)


def numbers(*shape: int) -> st.SearchStrategy[Any]:
    return arrays(np.float64, shape, elements=FINITE)


MARKERS = st.builds(
    FrameMarker,
    TEXTS,
    TEXTS,
    st.sampled_from(MarkerType),
    numbers(7),
    numbers(3),
    st.tuples(*[st.floats(0.0, 1.0, width=32)] * 4),
    st.integers(0, 3).flatmap(lambda points: numbers(points, 3)),
    TEXTS,
    TEXTS,
)


def seven(pose: Pose) -> list[float]:
    p, q = pose.position, pose.orientation
    return [p.x, p.y, p.z, q.x, q.y, q.z, q.w]


def marker_array(fixed_frame: str, markers: list[FrameMarker]) -> bytes:
    arrays = MarkerArrays()
    arrays.renew(fixed_frame, markers)
    return arrays.all()


def three(vector: object) -> list[float]:
    return [vector.x, vector.y, vector.z]  # type: ignore[attr-defined]


@given(st.lists(MARKERS, max_size=3))
def test_markers_are_read_as_they_were_written(markers: list[FrameMarker]) -> None:
    data = marker_array("map", markers)
    measurements = [deserialize_message(data, MarkerArray)]
    measurements += [store.deserialize_cdr(data, "visualization_msgs/msg/MarkerArray") for store in TYPES]
    for got in measurements:
        first, *rest = got.markers
        assert first.action == RosMarker.DELETEALL
        assert first.ns == "", "of all namespaces"
        assert len(rest) == len(markers)
        for read, wrote in zip(rest, markers, strict=True):
            assert (read.header.frame_id, read.ns, read.type) == (wrote.frame, wrote.group, wrote.type)
            assert (read.header.stamp.sec, read.header.stamp.nanosec) == (0, 0), "the newest transform"
            assert read.frame_locked
            assert (read.lifetime.sec, read.lifetime.nanosec) == (0, 0), "for ever"
            assert seven(read.pose) == wrote.pose.tolist()
            assert three(read.scale) == wrote.scale.tolist()
            assert (read.color.r, read.color.g, read.color.b, read.color.a) == wrote.colour
            assert [three(point) for point in read.points] == wrote.points.tolist()
            assert (read.text, read.mesh_resource) == (wrote.text, wrote.mesh)
            assert len(read.colors) == len(read.uv_coordinates) == 0
            assert read.action == RosMarker.ADD
        keys = [(read.ns, read.id) for read in rest]
        assert len(set(keys)) == len(keys)


def test_types_are_those_of_the_definition() -> None:
    for kind in MarkerType:
        assert kind == getattr(RosMarker, kind.name)


def test_a_mesh_without_a_colour_has_its_own() -> None:
    """visualization_msgs/Marker: mesh_use_embedded_materials."""
    plain = FrameMarker("a", "b", MarkerType.MESH_RESOURCE, colour=(0.0, 0.0, 0.0, 0.0), mesh="file:///a.dae")
    painted = FrameMarker("a", "b", MarkerType.MESH_RESOURCE, colour=(1.0, 0.0, 0.0, 1.0), mesh="file:///a.stl")
    got = deserialize_message(marker_array("map", [plain, painted]), MarkerArray).markers
    assert [marker.mesh_use_embedded_materials for marker in got] == [False, True, False]


@given(
    st.text("abcdefg/", max_size=9),
    st.lists(st.tuples(st.integers(-(2**31) * 10**9, 2**31 * 10**9 - 1), numbers(7)), min_size=1, max_size=9),
)
def test_a_path_has_the_last_poses(frame: str, added: list[tuple[int, np.ndarray]]) -> None:
    path = PathMessage(frame, max_poses=4)
    for count, (stamp_ns, pose) in enumerate(added, 1):
        data = path.add(stamp_ns, pose)
        for got in (deserialize_message(data, Path), TYPES[0].deserialize_cdr(data, "nav_msgs/msg/Path")):
            assert got.header.frame_id == frame
            assert got.header.stamp.sec * 10**9 + got.header.stamp.nanosec == stamp_ns
            stamps = [p.header.stamp.sec * 10**9 + p.header.stamp.nanosec for p in got.poses]
            assert stamps == [ns for ns, _ in added[:count]][-4:]
            assert [seven(p.pose) for p in got.poses] == [each.tolist() for _, each in added[:count]][-4:]
            assert {p.header.frame_id for p in got.poses} == {frame}


def test_a_cleared_path_begins_anew() -> None:
    path = PathMessage("map", max_poses=3)
    for stamp_ns in range(5):
        path.add(stamp_ns, np.ones(7))
    path.clear()
    got = deserialize_message(path.add(7, np.full(7, 2.0)), Path)
    assert [seven(p.pose) for p in got.poses] == [[2.0] * 7]
