"""What somebody waits for, and what has to come at a rate: starts, ends, late joiners, ticks, setpoints.

Run from the repository, on a machine with nothing else to do: python -m bench.promptness [--rounds 5]

Each figure stands beside its limit. Exit code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from bench.pairs import aim
from sim_node.mavlink import setpoints
from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.links import endpoint_of
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.setpoints import SetpointLimits
from sim_node.mavlink.vehicle import Vehicle
from sim_node.ros.environment import prepare
from sim_node.simulation import Loop, Simulation
from sim_node.world import load

COMMAND = [sys.executable, "-m", "sim_node.cli.main"]
STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LATE_JOINERS, SETPOINT_RATE = 20, 20.0
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(3600)"


class Report:
    """The rows so far, and whether one has missed its limit."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.missed = False

    def add(self, name: str, value: float, limit: float, unit: str = "s") -> None:
        """Prints and keeps a figure that should be below its limit."""
        holds = value < limit
        self.missed |= not holds
        print(f"{name:<52}{value:>9.3f} {unit}{aim(f'limit {limit:g}', holds)}", flush=True)
        self.rows.append({"name": name, "value": value, "limit": limit, "unit": unit})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("bench/results/promptness.json"))
    arguments = parser.parse_args()
    report = Report()
    with TemporaryDirectory() as folder:
        starts_and_ends(report, Path(folder), arguments.rounds)
    late_joiners(report)
    ticks(report)
    setpoint_stream(report)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report.rows, indent=2) + "\n", encoding="utf-8")
    return 1 if report.missed else 0


def starts_and_ends(report: Report, folder: Path, rounds: int) -> None:
    """From a program's start until it says that it runs, at best; from its Ctrl-C until it is gone, at worst."""
    bag, yard = folder / "bag", folder / "yard.yaml"
    record = [*COMMAND, "run", "orbit", "--no-ros", "--speed", "max", "--duration", "5", "--record", str(bag)]
    subprocess.run(record, check=True, stdout=subprocess.DEVNULL)
    yard.write_text(f"world: yard\nprocesses: {{p: {{command: [{sys.executable}, -c, '{STUBBORN}'], log: log}}}}\n")
    cases = {
        "run orbit": (["run", "orbit"], "Ctrl-C", 2.0),
        "run orbit --no-ros": (["run", "orbit", "--no-ros"], "13 frames", 2.0),
        "run guided, with its autopilot": (["run", "guided", "--no-ros"], "in lockstep", 2.0),
        "run --processes, one of them deaf for 2 s": (["run", str(yard), "--no-ros", "--processes"], "started", 3.0),
        "replay --loop": (["replay", str(bag), "--loop"], "Ctrl-C", 2.0),
        "view --port 0": (["view", "orbit", "--port", "0"], "viewer: http", 2.0),
        "bridge": (["bridge", "--url", "udpin:127.0.0.1:14559"], "Ctrl-C", 2.0),
    }
    for name, (words, ready, limit) in cases.items():
        began, ended = zip(*(start_and_end(words, ready) for _ in range(rounds)), strict=True)
        if name == "run orbit":
            report.add(f"{name}: from start to running", min(began), 2.0)
        report.add(f"{name}: from Ctrl-C to its end", max(ended), limit)


def start_and_end(words: list[str], ready: str) -> tuple[float, float]:
    """Seconds until it says a word, and from SIGINT until it is gone."""
    with started(words, ready) as (process, elapsed):
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(60.0)
        return elapsed, time.monotonic() - asked


@contextmanager
def started(words: list[str], ready: str) -> Iterator[tuple[subprocess.Popen[str], float]]:
    """A program that has said a word, and how long that took."""
    began = time.monotonic()
    process = subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    )
    assert process.stdout is not None
    try:
        received: list[str] = []
        for line in process.stdout:
            received.append(line)
            if ready in line:
                break
        else:
            raise RuntimeError(f"{words} ended without {ready!r}: {received}")
        elapsed = time.monotonic() - began
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield process, elapsed
    finally:
        process.kill()
        process.wait()


def late_joiners(report: Report) -> None:
    """From a subscription until all static frames are there, the slowest of some who come one after the other."""
    prepare()
    waits = []
    with started(["run", "lidar_room"], "Ctrl-C"):
        for number in range(LATE_JOINERS):
            context = rclpy.Context()
            rclpy.init(context=context)
            node = rclpy.create_node(f"late_{number}", context=context)
            executor = SingleThreadedExecutor(context=context)
            executor.add_node(node)
            received: list[float] = []
            began = time.monotonic()
            node.create_subscription(
                TFMessage, "/tf_static", lambda _, received=received: received.append(time.monotonic()), STATIC
            )
            while not received:
                executor.spin_once(timeout_sec=0.05)
            waits.append(received[0] - began)
            executor.shutdown()
            node.destroy_node()
            rclpy.shutdown(context=context)
    report.add("static frames for a late joiner", max(waits), 1.0)


class Walls:
    """A sink that keeps when it was written to."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, float]] = []

    def open(self, world: object, frames: object) -> None:
        """Nothing to prepare."""

    def write(self, snapshot: Any) -> None:
        self.rows.append((time.monotonic(), snapshot.time_ns * 1e-9))

    def close(self) -> None:
        """Nothing to let go."""


def ticks(report: Report) -> None:
    """How late the last ticks of a run are, after which no delay may be left over from those before."""
    for factor, seconds in ((1.0, 3.0), (4.0, 12.0), (0.5, 1.5)):
        over, walls = threading.Event(), Walls()
        loop = Loop(Simulation(load("orbit")), (walls,), real_time_factor=factor, duration_ns=round(seconds * 1e9))
        loop.start(over.set)
        over.wait()
        loop.stop()
        wall, simulated = np.array(walls.rows).T
        late = (wall - wall[0]) - (simulated - simulated[0]) / factor
        report.add(
            f"ticks at {factor:g}x: the last ones behind their time", 1e3 * float(np.median(late[-10:])), 20.0, "ms"
        )


class Silent:
    """What a bridge tells, to nobody."""

    def __init__(self) -> None:
        self.found = threading.Event()

    def vehicle_found(self, vehicle: Vehicle) -> None:
        self.found.set()

    def static_frame(self, system: int, child: str, rotation: object) -> None:
        """Nobody hears it."""

    def publish(self, system: int, topic: object, data: bytes) -> None:
        """Nobody hears it."""

    def warn(self, text: str) -> None:
        """Nobody hears it."""

    def report(self, text: str) -> None:
        """Nobody hears it."""


def setpoint_stream(report: Report) -> None:
    """A bridge's setpoints to an autopilot: how far their rate is from 20 a second."""
    identity, listener = Identity(), Silent()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as autopilot:
        autopilot.bind(("127.0.0.1", 0))
        bridge = Bridge(
            [Connection(endpoint_of(f"udpout:127.0.0.1:{autopilot.getsockname()[1]}"), identity, None)],
            listener, None, identity,
        )  # fmt: skip
        running = threading.Thread(target=bridge.run)
        running.start()
        parser, arrivals = Parser(datagrams=True), list[float]()
        _, address = autopilot.recvfrom(2048)
        beat = {"type": 2, "autopilot": 3, "base_mode": 1, "system_status": 4, "mavlink_version": 3}
        for number in range(2):  # a vehicle is one whose heartbeat repeats
            autopilot.sendto(frame_bytes("HEARTBEAT", beat, 1, 1, number), address)
        listener.found.wait()
        velocity = setpoints.velocity("map", (1.0, 2.0, 3.0), 0.5, "map", "base_link", SetpointLimits())
        bridge.post(lambda now_ns: bridge.vehicles[1].stream.set(velocity, "bench"))
        while len(arrivals) < 5 * SETPOINT_RATE:
            data, _ = autopilot.recvfrom(2048)
            arrivals += [time.monotonic() for message in parser.feed(data) if message.name.startswith("SET_POSITION")]
        bridge.stop()
        running.join()
    rate = (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])
    report.add("setpoints: off their 20 a second", abs(rate - SETPOINT_RATE) / SETPOINT_RATE * 100, 10.0, "%")


if __name__ == "__main__":
    sys.exit(main())
