"""Outlets: what is laid out once goes everywhere."""

from __future__ import annotations

import subprocess
import sys

from sim_node.messages import topic
from sim_node.messages.clock import ClockSink
from sim_node.messages.sensor_topics import SensorSink
from sim_node.messages.tf_sink import TfSink, serialised
from sim_node.messages.topic import Send, Tee, Topic
from sim_node.simulation import Loop, Simulation
from sim_node.world import load


class Kept:
    """An outlet that keeps what comes: (topic, time, bytes)."""

    def __init__(self) -> None:
        self.messages: list[tuple[Topic, int, bytes]] = []

    def advertise(self, topic: Topic) -> Send:
        return lambda time_ns, data: self.messages.append((topic, time_ns, data))


def run(*outlets: Kept, world: str = "sensor_rig", seconds: float = 1.0) -> None:
    tee = Tee(*outlets)
    sinks = (ClockSink(tee), TfSink(serialised(tee)), SensorSink(tee))
    loop = Loop(Simulation(load(world)), sinks, real_time_factor=0.0, duration_ns=round(seconds * 1e9))
    loop.start()
    loop.wait()


def test_a_tee_hands_on_the_same_bytes() -> None:
    """Not copies: the very objects."""
    first, second = Kept(), Kept()
    run(first, second)
    assert len(first.messages) > 60
    assert all(a[2] is b[2] for a, b in zip(first.messages, second.messages, strict=True))


def test_static_transforms_are_latched_and_come_once() -> None:
    kept = Kept()
    run(kept)
    static = [(topic, time_ns) for topic, time_ns, _ in kept.messages if topic.name == "/tf_static"]
    assert [(topic.qos, time_ns) for topic, time_ns in static] == [(topic.TF_STATIC, 0)]


def test_times_are_those_at_which_messages_come_out() -> None:
    """/clock ticks at 60 Hz on steps of the world; no message is later than the clock that follows it."""
    kept = Kept()
    run(kept)
    clock = [time_ns for topic, time_ns, _ in kept.messages if topic.name == "/clock"]
    assert clock == sorted(set(clock))
    assert len(clock) == 61
    latest = 0
    for sent, time_ns, _ in kept.messages:
        latest = time_ns if sent.name == "/clock" else latest
        assert time_ns <= latest, sent.name


def test_messages_are_laid_out_without_ros() -> None:
    """Neither rclpy nor message packages are loaded."""
    code = """
import sys
from sim_node.messages import clock, sensor_topics, tf_sink
found = {name.partition(".")[0] for name in sys.modules}
print(found & {"rclpy", "sensor_msgs", "geometry_msgs", "tf2_msgs", "nav_msgs", "rosgraph_msgs"})
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"
