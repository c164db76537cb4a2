"""The listener on a real graph, with a publisher in another process."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

import rclpy
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.time import Time

from sim_node.nodes.tf2 import Buffer, ExtrapolationException, TransformListener

LONG = Duration(seconds=20)


class Publisher:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "tf_publisher.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def say(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()

    def connect(self, buffer):
        """Repeat a message until it arrives: before both ends know each other, /tf is lost."""
        deadline = time.monotonic() + 30
        while not buffer.can_transform("map", "car0", Time(), Duration(seconds=0.05)):
            assert time.monotonic() < deadline, "the publisher was not heard within 30 s"
            self.say("dynamic", 1.0, 1.0)


@pytest.fixture
def publisher(ros_domain):
    publisher = Publisher()
    yield publisher
    publisher.process.stdin.close()
    publisher.process.wait(10)


@contextmanager
def a_node(**options):
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("listener", context=context, **options)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=context)


@pytest.fixture
def node(ros_domain):
    with a_node() as node:
        yield node


def eventually(condition, timeout=20.0):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout} s"
        time.sleep(0.01)


def x_of(buffer, frame, seconds=None, timeout=LONG):
    stamp = Time() if seconds is None else Time(nanoseconds=round(seconds * 1e9))
    return buffer.lookup_transform("map", frame, stamp, timeout).transform.translation.x


def test_dynamic_and_static_transforms_arrive(node, publisher):
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


def test_what_is_wrong_in_a_message_leaves_the_rest(node, publisher):
    buffer = Buffer()
    batches = []
    listener = TransformListener(buffer, node, on_batch=lambda batch, static: batches.append((batch, static)))
    publisher.connect(buffer)
    publisher.say("invalid", 2.0)
    assert x_of(buffer, "car1", 2.0) == 9.0
    assert "broken" not in buffer.tree
    eventually(lambda: batches[-1][0].names.children == ("car0", "broken", "car1"))
    assert not any(static for _, static in batches)
    listener.unregister()


def test_a_publisher_that_closes_a_loop_is_told_once_and_counted(node, publisher, capfd):
    """The second message comes long after all that is known of car0."""
    buffer = Buffer()
    listener = TransformListener(buffer, node)
    publisher.connect(buffer)
    for stamp in (1.0, 100.0, 101.0):
        publisher.say("loop", stamp, stamp)
    assert x_of(buffer, "car1", 101.0) == 101.0
    eventually(lambda: listener.refused == {"car0 -> map": 3})
    assert capfd.readouterr().err.count("closes the loop map -> car0 -> map") == 1
    assert x_of(buffer, "car0", 1.0) == 1.0
    listener.unregister()


def test_a_lookup_that_waits_inside_a_callback_of_a_single_threaded_executor(node, publisher):
    """ros2/geometry2#327: with tf2_ros it waits for data that only its own thread could bring."""
    buffer = Buffer(node=node)
    listener = TransformListener(buffer, node)
    publisher.connect(buffer)
    found = []

    def callback():
        timer.cancel()
        publisher.say("dynamic", 5.0, 5.0)
        found.append(x_of(buffer, "car0", 5.0))

    timer = node.create_timer(0.01, callback)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    deadline = time.monotonic() + 30
    while not found and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    assert found == [5.0]
    executor.shutdown()
    listener.unregister()


@pytest.mark.parametrize("spin_thread", [True, False])
def test_a_coroutine_goes_on_when_the_transform_comes(node, publisher, spin_thread):
    """The executor sleeps meanwhile; with a listener of its own thread it has to be woken."""
    buffer = Buffer(node=node)
    listener = TransformListener(buffer, node, spin_thread=spin_thread)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    spinning = threading.Thread(target=executor.spin, daemon=True)
    spinning.start()
    publisher.connect(buffer)

    async def ask():
        return await buffer.lookup_transform_async("map", "car0", Time(seconds=7))

    task = executor.create_task(ask)
    publisher.say("dynamic", 8.0, 8.0)
    eventually(task.done, timeout=10)
    assert task.result().transform.translation.x == pytest.approx(7.0)
    executor.shutdown()
    spinning.join(5)
    listener.unregister()


def test_a_clock_that_jumps_back_clears_what_is_newer(publisher):
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

        def reach(seconds):
            def there():
                publisher.say("clock", seconds)
                time.sleep(0.02)
                return clock.now().nanoseconds == round(seconds * 1e9)

            eventually(there)

        reach(1.0)
        publisher.say("dynamic", 3.0, 3.0)
        publisher.say("dynamic", 5.0, 5.0)
        reach(5.0)
        assert x_of(buffer, "car0", 4.0) == 4.0
        reach(3.5)
        eventually(lambda: not buffer.can_transform("map", "car0", Time(seconds=4)))
        assert x_of(buffer, "car0") == 3.0
        publisher.say("dynamic", 4.0, 40.0)
        assert x_of(buffer, "car0", 4.0) == 40.0
        executor.shutdown()
        spinning.join(5)
        listener.unregister()


def test_remapped_topics(ros_domain, publisher):
    with a_node(cli_args=["--ros-args", "-r", "other:=/tf"]) as node:
        buffer = Buffer()
        listener = TransformListener(buffer, node, tf_topic="other", qos=10)
        publisher.connect(buffer)
        assert [topic for topic, _ in node.get_topic_names_and_types()].count("/tf") == 1
        listener.unregister()


def test_a_dropped_listener_ends(node):
    before = threading.active_count()
    listener = TransformListener(Buffer(), node)
    assert threading.active_count() == before + 1
    del listener
    eventually(lambda: threading.active_count() == before)


def test_a_listening_process_ends_by_itself(ros_domain):
    """Neither a listener that nobody unregistered nor a context that nobody shut down holds it or makes it crash."""
    program = """
import rclpy
from sim_node.nodes.tf2 import Buffer, TransformListener
rclpy.init()
node = rclpy.create_node("short")
buffer = Buffer(node=node)
listener = TransformListener(buffer, node)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
