"""What is published of a world that changes while it runs: sinks that are opened again."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from changing import yard
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker as RosMarker
from visualization_msgs.msg import MarkerArray

from sim_node.messages.marker_messages import FrameMarker, MarkerArrays, MarkerType
from sim_node.messages.tf_message_reader import TfMessageReader
from sim_node.messages.topic import Send, Tee, Topic
from sim_node.session.publishing import Publishing, published
from sim_node.simulation import Refusing, Simulation, Sink
from sim_node.spatial.tree import TransformTree
from sim_node.world import World


class Graph:
    """An outlet that keeps its publishers, all messages in order, and the newest one of each latched topic."""

    def __init__(self) -> None:
        self.publishers: Counter[str] = Counter()
        self.created: Counter[str] = Counter()
        self.messages: list[tuple[str, int, bytes]] = []
        self.refused = ""

    def advertise(self, topic: Topic) -> Send:
        self.publishers[topic.name] += 1
        self.created[topic.name] += 1
        return lambda time_ns, data: self.messages.append((topic.name, time_ns, bytes(data)))

    def withdraw(self, topic: Topic) -> None:
        assert self.publishers[topic.name] == 1
        del self.publishers[topic.name]

    def refuses(self, topic: Topic) -> str | None:
        return f"{topic.name} is not wanted" if topic.name == self.refused else None

    def of(self, name: str, kind: type) -> list[Any]:
        return [deserialize_message(data, kind) for topic, _, data in self.messages if topic == name]


class Run:
    """Worlds shown one after the other by all sinks of a run."""

    def __init__(self, *outlets: Graph) -> None:
        self.graph = outlets[0]
        self.sinks: tuple[Sink, ...] = published(Publishing(outlet=Tee(*outlets)), None).sinks
        self.time_ns = 0

    def show(self, world: World, seconds: float = 0.05) -> None:
        """Steps a world for a while, at the times that follow."""
        simulation = Simulation(world)
        for sink in self.sinks:
            sink.open(simulation.world, simulation.frames)
        for _ in range(round(seconds * 100)):
            simulation.step()
            self.time_ns += 10_000_000
            snapshot = simulation.snapshot(*simulation.columns)
            now = type(snapshot)(self.time_ns, snapshot.poses, snapshot.measurements, snapshot.columns)
            for sink in self.sinks:
                sink.write(now)


def children(message: TFMessage) -> set[str]:
    return {each.child_frame_id for each in message.transforms}


def test_publishers_of_what_stays_are_kept_and_those_of_what_is_gone_end() -> None:
    graph = Graph()
    run = Run(graph, Graph())
    run.show(yard("arm"))
    assert "arm/robot_description" in graph.publishers
    run.show(yard("arm", "table", "table/IMU"))
    assert {"ball/imu/data_raw", "table/imu/data_raw"} <= set(graph.publishers)
    run.show(yard())
    assert set(graph.publishers) == {"/clock", "/tf", "/tf_static", "ball/imu/data_raw", "~/markers"}
    assert set(graph.created.values()) == {1}, "nothing was advertised twice"
    stamps = [time_ns for topic, time_ns, _ in graph.messages if topic == "ball/imu/data_raw"]
    assert len(stamps) == 15


def test_static_transforms_come_again_as_a_whole_if_they_have_changed() -> None:
    graph = Graph()
    run = Run(graph)
    for world in (yard(), yard("table"), yard("table"), yard("free load", "table"), yard()):
        run.show(world)
    table = {"floor", "ball/joint", "ball/IMU", "table"}
    found = [children(message) for message in graph.of("/tf_static", TFMessage)]
    free = table | {"load/joint"}
    assert found == [table - {"table"}, table, free, table - {"table"}]


def test_a_listener_knows_where_a_load_is_that_is_freed_and_set_down() -> None:
    """tf2 holds static transforms for all times: what is freed or moved goes on as a moving frame."""
    graph = Graph()
    run = Run(graph)
    reader, tree, read = TfMessageReader(), TransformTree(), 0
    placed = {"load on the ball": ("ball", [0, 0, -0.3]), "free load": ("load/joint", None)}
    for state in ("load on the ball", "free load", "load on the floor", "load on the ball"):
        run.show(yard(state))
        for topic, _, data in graph.messages[read:]:
            if topic in ("/tf", "/tf_static"):
                names, stamps, poses = reader.read(data)
                tree.set_transforms(names.parents, names.children, stamps, poses, static=topic == "/tf_static")
        read = len(graph.messages)
        parent, position = placed.get(state, ("map", [0, 5, 0.05]))
        assert tree.parent("load") == parent
        if position is not None:
            assert tree.lookup(parent, "load", run.time_ns)[:3] == pytest.approx(position)
    static = [
        (child, transform.header.frame_id)
        for message in graph.of("/tf_static", TFMessage)
        for transform in message.transforms
        if (child := transform.child_frame_id) == "load"
    ]
    assert static == [("load", "ball")], "as it was at first, and never again"


def test_descriptions_come_again_only_if_they_differ() -> None:
    graph = Graph()
    run = Run(graph)
    for world in (yard("arm"), yard("arm", "table"), yard("table"), yard("table", "arm")):
        run.show(world)
    found = graph.of("arm/robot_description", String)
    assert len(found) == 2, "with the first world, and when the arm has come back"


def test_markers_that_stay_keep_their_ids_and_what_is_gone_is_deleted() -> None:
    graph = Graph()
    run = Run(graph)
    for world in (yard("table"), yard("table", "free load"), yard("free load")):
        run.show(world)
    first, second, third = graph.of("~/markers", MarkerArray)
    assert [marker.action for marker in first.markers].count(RosMarker.DELETEALL) == 1
    ids = [
        {marker.header.frame_id: (marker.ns, marker.id) for marker in message.markers if marker.action == RosMarker.ADD}
        for message in (first, second, third)
    ]
    for before, after in pairwise(ids):
        assert all(before[frame] == after[frame] for frame in before.keys() & after.keys())
    gone = [(marker.ns, marker.id) for marker in third.markers if marker.action == RosMarker.DELETE]
    assert gone == [ids[0]["table"]]


class Display:
    """What rviz shows: markers by namespace and id."""

    def __init__(self) -> None:
        self.shown: dict[tuple[str, int], str] = {}

    def take(self, data: bytes) -> None:
        for marker in deserialize_message(data, MarkerArray).markers:
            if marker.action == RosMarker.DELETEALL:
                self.shown.clear()
            elif marker.action == RosMarker.DELETE:
                self.shown.pop((marker.ns, marker.id), None)
            else:
                self.shown[marker.ns, marker.id] = marker.header.frame_id


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xy")), max_size=5), min_size=1, max_size=5)
)
def test_displays_show_the_present_markers_even_if_they_miss_messages(worlds: list[list[tuple[str, str]]]) -> None:
    arrays = MarkerArrays()
    every, some, late = Display(), Display(), Display()
    for number, markers in enumerate(worlds):
        before = set(every.shown.items())
        arrays.renew("map", [FrameMarker(frame, group, MarkerType.CUBE) for frame, group in markers])
        data = arrays.changes() if number else arrays.all()
        every.take(data)
        if number % 2 == 0:
            some.take(data)
        expected = Counter((group, frame) for frame, group in markers)
        assert Counter((group, frame) for (group, _), frame in every.shown.items()) == expected
        # Frames that had one marker in a group and have one now have the same.
        kept = {(group, frame) for (group, _), frame in before} & set(expected)
        for group, frame in kept:
            numbers = [
                {n for (g, n), f in shown if (g, f) == (group, frame)} for shown in (before, every.shown.items())
            ]
            assert min(numbers, key=len) <= max(numbers, key=len)
    some.take(data)
    late.take(data)
    assert every.shown == some.shown == late.shown


# Takes seconds: make test has changes that are published.
@pytest.mark.nightly
def test_changes_leave_no_growth() -> None:
    graph = Graph()
    run = Run(graph)
    worlds = [Simulation(yard("table", "table/IMU", "arm")), Simulation(yard())]
    first = [simulation.snapshot() for simulation in worlds]
    threads = threading.active_count()
    for number in range(100):
        place = number % 2
        for sink in run.sinks:
            sink.open(worlds[place].world, worlds[place].frames)
        now = type(first[0])(number, first[place].poses, first[place].measurements, worlds[place].columns)
        for sink in run.sinks:
            sink.write(now)
        if number == 3:
            size, publishers = len(graph.messages[-1][2]), set(graph.publishers)
    assert set(graph.publishers) == publishers
    assert threading.active_count() == threads
    assert {len(data) for topic, _, data in graph.messages[-3:] if topic == "~/markers"} <= {size}


def test_a_topic_that_cannot_be_advertised_is_refused_beforehand() -> None:
    graph = Graph()
    run = Run(graph)
    run.show(yard())
    graph.refused = "table/imu/data_raw"
    world = Simulation(yard("table", "table/IMU")).world
    reasons = [sink.refuses(world) for sink in run.sinks if isinstance(sink, Refusing)]
    assert [reason for reason in reasons if reason] == ["table/imu/data_raw is not wanted"]
