"""Publishing on /tf: serialised beside typed, and the whole node measured from outside.

Run from the repository: python -m bench.publish [--out bench/results/publish.json] [--seconds 10]

The pairs count CPU seconds of the publishing thread. `bytes` is what makes a message: ready CDR rewritten in place,
beside filled message objects serialised by rclpy. `publish` sends it too, to a subscriber in another process. Then
1000 moving frames at 60 Hz: what a loop's sinks take of a core, and the whole node seen from outside. Exit code 1
where a target is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from bench.node_process import listening, node_process, write_world
from bench.pairs import Pairs, aim
from sim_node.messages import topic
from sim_node.messages.clock import ClockSink
from sim_node.messages.tf_sink import TfMessageBytes, TfSink
from sim_node.messages.tf_sink import serialised as serialised_transforms
from sim_node.messages.topic import Topic
from sim_node.ros.environment import prepare
from sim_node.ros.publishers import Publishers
from sim_node.ros.publishers import typed as typed_transforms
from sim_node.simulation import Loop, Simulation, Sink, Snapshot
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import FrameTable, World, load

COUNTS = (1, 10, 100, 1000)
RATE = 60.0
# Times fewer CPU seconds at 1000 transforms.
TARGETS = {"bytes": 50.0, "publish": 30.0}
START_S, PUBLISHING_SHARE, RESIDENT_MB = 1.5, 0.05, 200.0
STARTS = 5
# A figure, its limit (0 for none) and its unit.
Figure = tuple[float, float, str]
SUBSCRIBER = """
import rclpy
from rclpy.executors import ExternalShutdownException
from sim_node.ros.environment import prepare
from sim_node.ros.publishers import TF
from tf2_msgs.msg import TFMessage
prepare()
rclpy.init()
node = rclpy.create_node("bench_subscriber")
for topic in ("/bench/serialised", "/bench/typed", "/tf"):
    node.create_subscription(TFMessage, topic, lambda data: None, TF, raw=True)
try:
    rclpy.spin(node)
except ExternalShutdownException:
    pass
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/publish.json"))
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the node is watched (default 10)")
    arguments = parser.parse_args()
    pairs = Pairs()
    for count in COUNTS:
        make_bytes(pairs, count)
    with publishing_node() as node:
        for count in COUNTS:
            publish(pairs, node, count)
        figures = publishing_share(node, arguments.seconds)
    pairs.save(arguments.out)
    figures |= start_up() | steady(arguments.seconds)
    arguments.out.write_text(json.dumps({**json.loads(arguments.out.read_text()), "node": figures}, indent=2) + "\n")
    missed = [*pairs.missed, *(name for name, (figure, limit, _) in figures.items() if limit and figure > limit)]
    if missed:
        print(f"missed: {', '.join(missed)}")
    return 1 if missed else 0


def frames(count: int) -> tuple[list[str], list[str], FloatArray]:
    """Parents, children and poses."""
    poses = np.random.default_rng(0).normal(size=(count, 7))
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1)[:, None]
    return ["map"] * count, [f"vehicle_{i}/base_link" for i in range(count)], poses


def make_bytes(pairs: Pairs, count: int) -> None:
    """The same bytes (but for padding) from one layout, and from message objects kept and filled."""
    parents, children, poses = frames(count)
    message = TfMessageBytes(parents, children)
    transforms = [TransformStamped(child_frame_id=child) for child in children]
    for transform, parent in zip(transforms, parents, strict=True):
        transform.header.frame_id = parent
    whole = TFMessage(transforms=transforms)

    def typed() -> bytes:
        for transform, (x, y, z, qx, qy, qz, qw) in zip(transforms, poses.tolist(), strict=True):
            transform.header.stamp.sec, transform.header.stamp.nanosec = 12, 345
            translation, rotation = transform.transform.translation, transform.transform.rotation
            translation.x, translation.y, translation.z = x, y, z
            rotation.x, rotation.y, rotation.z, rotation.w = qx, qy, qz, qw
        data: bytes = serialize_message(whole)
        return data

    pairs.measure(
        f"bytes of {count} transforms",
        lambda: message.write(12_000_000_345, poses),
        {"typed": typed},
        target=TARGETS["bytes"] if count == COUNTS[-1] else None,
        clock=time.thread_time,
    )


@contextmanager
def publishing_node() -> Iterator[Node]:
    """A node in this process, with a subscriber in another."""
    prepare()
    rclpy.init()
    node = rclpy.create_node("bench_publisher")
    subscriber = subprocess.Popen([sys.executable, "-c", SUBSCRIBER])
    try:
        yield node
    finally:
        subscriber.kill()  # it has nothing to lose, and rclpy.spin may miss a SIGTERM
        subscriber.wait()
        node.destroy_node()
        rclpy.shutdown()


def publish(pairs: Pairs, node: Node, count: int) -> None:
    """The node's own two senders, each on a topic of its own."""
    parents, children, poses = frames(count)
    senders = {"serialised": serialised_transforms(Publishers(node)), "typed": typed_transforms(node)}
    serialised, typed = (
        send(Topic(f"/bench/{name}", "tf2_msgs/msg/TFMessage", topic.TF))(parents, children)
        for name, send in senders.items()
    )
    wait_for_subscribers(node)
    pairs.measure(
        f"publish {count} transforms",
        lambda: serialised(12_000_000_345, poses),
        {"typed": lambda: typed(12_000_000_345, poses)},
        target=TARGETS["publish"] if count == COUNTS[-1] else None,
        clock=time.thread_time,
    )
    seconds = pairs.rows[-1]["seconds"]
    rates = {"serialised": round(count / seconds["ours"]), "typed": round(count / seconds["typed"])}
    pairs.rows[-1]["transforms per CPU second"] = rates
    print("    transforms per CPU second: " + ", ".join(f"{name} {rate:,}" for name, rate in rates.items()), flush=True)
    destroy_publishers(node)


def wait_for_subscribers(node: Node, timeout: float = 30.0) -> None:
    deadline = time.monotonic() + timeout
    while not all(publisher.get_subscription_count() for publisher in ours(node)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no subscriber within {timeout} s")
        time.sleep(0.01)  # rclpy has no event that Python can wait for here


def destroy_publishers(node: Node) -> None:
    for publisher in ours(node):
        node.destroy_publisher(publisher)


def ours(node: Node) -> list[Any]:
    return [publisher for publisher in node.publishers if publisher.topic_name.startswith("/bench/")]


class Timed:
    """A sink that counts the CPU seconds of others."""

    def __init__(self, *sinks: Sink) -> None:
        self.sinks = sinks
        self.seconds: list[float] = []

    def open(self, world: World, frames: FrameTable) -> None:
        for sink in self.sinks:
            sink.open(world, frames)

    def write(self, snapshot: Snapshot) -> None:
        before = time.thread_time()
        for sink in self.sinks:
            sink.write(snapshot)
        self.seconds.append(time.thread_time() - before)

    def close(self) -> None:
        for sink in self.sinks:
            sink.close()


def publishing_share(node: Node, seconds: float) -> dict[str, Figure]:
    """What /clock and /tf take of a core, at their pace: caches are colder than in a pair's turns."""
    over = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        world = load(write_world(Path(folder) / "bench.yaml", COUNTS[-1]))
    timed = Timed(ClockSink(Publishers(node)), TfSink(serialised_transforms(Publishers(node))))
    loop = Loop(Simulation(world), (timed,), publish_rate=RATE, duration_ns=round(seconds * 1e9))
    loop.start(over.set)
    over.wait()
    loop.stop()
    share = sum(timed.seconds[1:]) / seconds
    return {
        "publishing": reported(f"publishing {COUNTS[-1]} frames at {RATE:g} Hz, share", share, PUBLISHING_SHARE, "")
    }


def start_up() -> dict[str, Figure]:
    """From starting the process to its first transform here; once before, so that files and bytecode are warm."""
    seconds = []
    for _ in range(STARTS + 1):
        with listening() as listener:
            began = time.monotonic()
            with node_process("orbit", {}):
                listener.wait_until(partial(bool, listener.arrivals), 30.0)
                seconds.append(listener.arrivals[0][0] - began)
    warm = seconds[1:]
    return {
        "start-up": reported(f"start-up to first transform, median of {STARTS}", statistics.median(warm), START_S, "s"),
        "slowest start-up": reported("  slowest", max(warm), 0.0, "s"),
    }


def steady(seconds: float) -> dict[str, Figure]:
    """The node with 1000 moving frames at 60 Hz: what it takes, and when its messages come."""
    with tempfile.TemporaryDirectory() as folder, listening() as listener:
        world = write_world(Path(folder) / "bench.yaml", COUNTS[-1])
        with node_process(world, {"publish_rate": RATE}) as process:
            listener.wait_until(lambda: len(listener.arrivals) >= RATE, 30.0)
            listener.lateness.clear()
            first, before, began = len(listener.arrivals), cpu(process), time.monotonic()
            wanted = first + round(seconds * RATE)
            listener.wait_until(lambda: len(listener.arrivals) >= wanted, seconds + 30.0)
            elapsed, after = time.monotonic() - began, cpu(process)
            resident = process.memory_info().rss / 1e6
            arrivals = np.array(listener.arrivals[first:wanted])
            p50, p99 = np.median(np.array(listener.lateness), axis=0)
    late = arrivals[:, 0] - arrivals[:, 1] * 1e-9
    late_p50, late_p99 = np.percentile((late - late.min()) * 1e3, (50, 99))
    share = sum(after[thread] - before.get(thread, 0.0) for thread in after) / elapsed
    print(f"the node with {COUNTS[-1]} frames at {RATE:g} Hz")
    return {
        "CPU share": reported("  whole process, share of a core", share, 0.0, ""),
        "lateness p50": reported("  lateness p50, its own figure", p50, 0.0, "ms"),
        "lateness p99": reported("  lateness p99, its own figure", p99, 0.0, "ms"),
        "arrival p50": reported("  arrival after the earliest, p50", late_p50, 0.0, "ms"),
        "arrival p99": reported("  arrival after the earliest, p99", late_p99, 0.0, "ms"),
        "resident memory": reported("  resident memory", resident, RESIDENT_MB, "MB"),
    }


def cpu(process: psutil.Process) -> dict[int, float]:
    """CPU seconds of each thread."""
    return {thread.id: thread.user_time + thread.system_time for thread in process.threads()}


def reported(name: str, figure: float, limit: float, unit: str) -> Figure:
    """Prints a figure and its limit, and returns them."""
    end = aim(f"limit {limit:g}", figure <= limit) if limit else ""
    print(f"{name:<44}{figure:>10.3f} {unit:<2}{end}", flush=True)
    return float(figure), limit, unit


if __name__ == "__main__":
    sys.exit(main())
