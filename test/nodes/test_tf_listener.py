"""The listener on a real graph, with a publisher in another process."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nightly import only
from rclpy.node import Node
from waiting import PATIENCE, until

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

import rclpy
import yaml
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.time import Time

from sim_node.ros.tf2 import Buffer, ExtrapolationException, TransformListener

LONG = Duration(seconds=PATIENCE)


class Publisher:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "tf_publisher.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin = self.process.stdin
        assert self.process.stdout.readline() == "ready\n"

    def say(self, *words: float | str) -> None:
        self.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.stdin.flush()

    def connect(self, buffer: Buffer) -> None:
        """Repeat a message until it arrives: before both ends know each other, /tf is lost."""

        def received() -> bool:
            self.say("dynamic", 1.0, 1.0)
            return bool(buffer.can_transform("map", "car0", Time(), Duration(seconds=0.05)))

        until(received, "the publisher's transforms")


@pytest.fixture
def publisher(ros_domain: int) -> Iterator[Publisher]:
    publisher = Publisher()
    yield publisher
    publisher.stdin.close()
    publisher.process.wait(PATIENCE)


@contextmanager
def a_node(**options: Any) -> Iterator[Node]:
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("listener", context=context, **options)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=context)


@pytest.fixture
def node(ros_domain: int) -> Iterator[Node]:
    with a_node() as node:
        yield node


def x_of(buffer: Buffer, frame: str, seconds: float | None = None, timeout: Duration = LONG) -> float:
    stamp = Time() if seconds is None else Time(nanoseconds=round(seconds * 1e9))
    return float(buffer.lookup_transform("map", frame, stamp, timeout).transform.translation.x)


def test_dynamic_and_static_transforms_arrive(node: Node, publisher: Publisher) -> None:
    publisher.say("static", 10.0)
    buffer = Buffer(node=node)
    listener = TransformListener(buffer, node)
    publisher.connect(buffer)
    publisher.say("dynamic", 2.0, 3.0, 1000)
    assert x_of(buffer, "car999", 2.0) == 1002.0
    assert x_of(buffer, "car0", 1.5) == 2.0
    # Latched before the listener was there.
    assert x_of(buffer, "roof", 2.0) == 13.0
    assert buffer.tree.as_dict()["roof"]["kind"] == "static"
    listener.unregister()
    publisher.say("dynamic", 3.0, 5.0)
    with pytest.raises(ExtrapolationException):
        x_of(buffer, "car0", 3.0, Duration(seconds=0.3))


def test_what_is_wrong_in_a_message_leaves_the_rest(node: Node, publisher: Publisher) -> None:
    buffer = Buffer()
    batches = []
    listener = TransformListener(buffer, node, on_batch=lambda batch, static: batches.append((batch, static)))
    publisher.connect(buffer)
    publisher.say("invalid", 2.0)
    assert x_of(buffer, "car1", 2.0) == 9.0
    assert "broken" not in buffer.tree
    until(lambda: batches[-1][0].names.children == ("car0", "broken", "car1"))
    assert not any(static for _, static in batches)
    listener.unregister()


def test_a_publisher_that_closes_a_loop_is_reported_once_and_counted(
    node: Node, publisher: Publisher, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second message comes long after all that is known of car0."""
    buffer = Buffer()
    listener = TransformListener(buffer, node)
    publisher.connect(buffer)
    for stamp in (1.0, 100.0, 101.0):
        publisher.say("loop", stamp, stamp)
    assert x_of(buffer, "car1", 101.0) == 101.0
    until(lambda: listener.refused == {"car0 -> map": 3})
    assert capfd.readouterr().err.count("closes the loop map -> car0 -> map") == 1
    assert x_of(buffer, "car0", 1.0) == 1.0
    listener.unregister()


# Takes seconds: make test has transforms that arrive under their names.
@pytest.mark.nightly
def test_a_lookup_that_waits_inside_a_callback_of_a_single_threaded_executor(node: Node, publisher: Publisher) -> None:
    """ros2/geometry2#327: with tf2_ros it waits for data that only its own thread could bring."""
    buffer = Buffer(node=node)
    listener = TransformListener(buffer, node)
    publisher.connect(buffer)
    found: list[float] = []

    def callback() -> None:
        timer.cancel()
        publisher.say("dynamic", 5.0, 5.0)
        found.append(x_of(buffer, "car0", 5.0))

    timer = node.create_timer(0.01, callback)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    until(lambda: executor.spin_once(timeout_sec=0.1) or found, "the callback")
    assert found == [5.0]
    executor.shutdown()
    listener.unregister()


@pytest.mark.parametrize("spin_thread", only([True, False], 0))
def test_a_coroutine_goes_on_when_the_transform_comes(node: Node, publisher: Publisher, spin_thread: bool) -> None:
    """The executor sleeps meanwhile; with a listener of its own thread it has to be woken."""
    buffer = Buffer(node=node)
    listener = TransformListener(buffer, node, spin_thread=spin_thread)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    spinning = threading.Thread(target=executor.spin, daemon=True)
    spinning.start()
    publisher.connect(buffer)

    async def ask() -> Any:
        return await buffer.lookup_transform_async("map", "car0", Time(seconds=7))

    task = executor.create_task(ask)
    publisher.say("dynamic", 8.0, 8.0)
    until(task.done)
    assert task.result().transform.translation.x == pytest.approx(7.0)
    executor.shutdown()
    spinning.join(PATIENCE)
    listener.unregister()


def test_a_clock_that_jumps_back_clears_what_is_newer(publisher: Publisher) -> None:
    """Two seconds back, in ten seconds of history: what was before stays, what comes counts as the newest."""
    with a_node(parameter_overrides=[Parameter("use_sim_time", value=True)]) as node:
        buffer = Buffer(node=node)
        listener = TransformListener(buffer, node)
        executor = SingleThreadedExecutor(context=node.context)
        executor.add_node(node)
        spinning = threading.Thread(target=executor.spin, daemon=True)
        spinning.start()
        publisher.connect(buffer)
        clock = node.get_clock()

        def reach(seconds: float) -> None:
            def there() -> bool:
                publisher.say("clock", seconds)
                time.sleep(0.02)
                return bool(clock.now().nanoseconds == round(seconds * 1e9))

            until(there)

        reach(1.0)
        publisher.say("dynamic", 3.0, 3.0)
        publisher.say("dynamic", 5.0, 5.0)
        reach(5.0)
        assert x_of(buffer, "car0", 4.0) == 4.0
        reach(3.5)
        until(lambda: not buffer.can_transform("map", "car0", Time(seconds=4)))
        assert x_of(buffer, "car0") == 3.0
        publisher.say("dynamic", 4.0, 40.0)
        assert x_of(buffer, "car0", 4.0) == 40.0
        executor.shutdown()
        spinning.join(PATIENCE)
        listener.unregister()


# Takes seconds: make test has transforms that arrive under their names.
@pytest.mark.nightly
def test_remapped_topics(ros_domain: int, publisher: Publisher) -> None:
    with a_node(cli_args=["--ros-args", "-r", "other:=/tf"]) as node:
        buffer = Buffer()
        listener = TransformListener(buffer, node, tf_topic="other", qos=10)
        publisher.connect(buffer)
        assert [topic for topic, _ in node.get_topic_names_and_types()].count("/tf") == 1
        listener.unregister()


def test_a_dropped_listener_ends(node: Node) -> None:
    before = threading.active_count()
    listener = TransformListener(Buffer(), node)
    assert threading.active_count() == before + 1
    del listener
    until(lambda: threading.active_count() == before)


# Takes seconds: make test has a listener in this process.
@pytest.mark.nightly
def test_a_listening_process_ends_by_itself(ros_domain: int) -> None:
    """Neither a listener that nobody unregistered nor a context that nobody shut down holds it or makes it crash."""
    program = """
import rclpy
from sim_node.ros.tf2 import Buffer, TransformListener
rclpy.init()
node = rclpy.create_node("short")
buffer = Buffer(node=node)
listener = TransformListener(buffer, node)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=PATIENCE, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_frames_are_served_as_tf2_serves_them(node: Node, publisher: Publisher) -> None:
    """`tf2_frames`, which `ros2 run tf2_tools view_frames` and others ask."""
    services = pytest.importorskip("tf2_msgs.srv", reason="a tf2_msgs without FrameGraph")
    buffer = Buffer(node=node)
    listener = TransformListener(buffer, node)
    publisher.connect(buffer)
    with a_node() as asking:
        executors = [SingleThreadedExecutor(context=each.context) for each in (node, asking)]
        for executor, each in zip(executors, (node, asking), strict=True):
            executor.add_node(each)
        client = asking.create_client(services.FrameGraph, "tf2_frames")
        until(client.service_is_ready, "the service")
        asked = client.call_async(services.FrameGraph.Request())

        def answered() -> bool:
            for executor in executors:
                executor.spin_once(timeout_sec=0.05)
            return bool(asked.done())

        until(answered, "the answer")
        frames = yaml.safe_load(asked.result().frame_yaml)
    assert frames["car0"]["parent"] == "map"
    listener.unregister()
