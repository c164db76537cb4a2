"""The simulation node in a process of its own, and a raw listener in this one to measure it by."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from sim_node.ros import publishers
from sim_node.ros.environment import prepare

COMMAND = "import sys; from sim_node.ros.executables import simulation; sys.exit(simulation())"
# Behind the encapsulation header and the number of transforms.
FIRST_STAMP = struct.Struct("<8xiI")


def write_world(path: Path, moving: int) -> Path:
    """A world file with so many frames that turn and travel, each on its own loop, steps of 5 ms."""
    lines = ["world: bench", "time: {start: 0.0, step: 0.005}", "motions:"]
    for i in range(moving):
        seconds = 1.0 + i % 7
        lines += [
            f"  - frame: vehicle_{i}/base_link",
            "    parent: map",
            "    after: loop",
            "    keyframes:",
            f"      - {{t: 0, position: [{i}, 0, 0], rpy_deg: [0, 0, 0]}}",
            f"      - {{t: {seconds}, position: [{i}, 1, 0], rpy_deg: [10, 0, 90]}}",
            f"      - {{t: {2 * seconds}, position: [{i}, 0, 0], rpy_deg: [0, 0, 0]}}",
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Listener:
    """Raw /tf and /diagnostics, received in a thread of this process.

    arrivals: (wall time, first stamp in ns) per TFMessage; lateness: the node's own (p50, p99) in ms, once a second.
    """

    def __init__(self) -> None:
        self.arrivals: list[tuple[float, int]] = []
        self.lateness: list[tuple[float, float]] = []
        self._grew = threading.Condition()
        self.node = rclpy.create_node("bench_listener")
        self.node.create_subscription(TFMessage, "/tf", self._tf, publishers.TF, raw=True)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnostics, publishers.DIAGNOSTICS)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def _tf(self, data: bytes) -> None:
        wall = time.monotonic()
        seconds, nanoseconds = FIRST_STAMP.unpack_from(data)
        with self._grew:
            self.arrivals.append((wall, seconds * 1_000_000_000 + nanoseconds))
            self._grew.notify_all()

    def _diagnostics(self, message: Any) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if "lateness p99 (ms)" in values:
                self.lateness.append((float(values["lateness p50 (ms)"]), float(values["lateness p99 (ms)"])))

    def heard(self, done: Callable[[], bool], timeout: float) -> bool:
        """Waits until a condition of what has arrived holds; whether it did in time."""
        with self._grew:
            return self._grew.wait_for(done, timeout)

    def wait_until(self, done: Callable[[], bool], timeout: float) -> None:
        """Waits until a condition of what has arrived holds. Raises TimeoutError."""
        if not self.heard(done, timeout):
            raise TimeoutError(f"not within {timeout} s; {len(self.arrivals)} messages of /tf have come")

    def call(self, service: str, timeout: float = 30.0) -> None:
        """Calls a std_srvs/Trigger service. Raises RuntimeError where it refuses."""
        client = self.node.create_client(Trigger, service)
        if not client.wait_for_service(timeout):
            raise TimeoutError(f"no service {service} within {timeout} s")
        done = threading.Event()
        future = client.call_async(Trigger.Request())
        future.add_done_callback(lambda _: done.set())
        if not done.wait(timeout) or not future.result().success:
            raise RuntimeError(f"{service}: {future.result()}")

    def close(self) -> None:
        self._executor.shutdown()
        self._thread.join()
        self.node.destroy_node()


@contextmanager
def listening() -> Iterator[Listener]:
    """A Listener on a started rclpy, as the node's own process starts it."""
    prepare()
    rclpy.init()
    listener = Listener()
    try:
        yield listener
    finally:
        listener.close()
        rclpy.shutdown()


@contextmanager
def node_process(world: Path | str, parameters: Mapping[str, object]) -> Iterator[psutil.Process]:
    """The node with its parameters. Ended by SIGINT; raises RuntimeError unless it then ends well."""
    settings = [text for name, value in {"world": world, **parameters}.items() for text in ("-p", f"{name}:={value}")]
    # As on a machine of a user, where Python keeps its bytecode.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "--ros-args", *settings], env=environment, stdout=subprocess.DEVNULL
    )
    try:
        yield psutil.Process(process.pid)
        process.send_signal(signal.SIGINT)
        if process.wait(10.0) != 0:
            raise RuntimeError(f"the node ended with exit code {process.returncode}")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
