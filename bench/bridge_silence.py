"""How long the bridge's loop is silent at most while first messages, missions, setpoints and parameters go through.

Run from the repository, on a machine with nothing else to do: python -m bench.bridge_silence [--rounds 3]

The loop turns at least every 10 ms. What is measured is the longest time from one turn to the next, in a bridge node of
its own process, whose autopilot and graph are here. Exit code 1 above 20 ms.
"""

from __future__ import annotations

import argparse
import json
import selectors
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rclpy
from geometry_msgs.msg import PoseStamped
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from rcl_interfaces.srv import ListParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from bench.pairs import aim
from sim_node.ros.environment import prepare

LIMIT_S = 0.020
ITEMS, PARAMETERS = 200, 900
HOME = (473977420, 85455940, 488000)
CHILD = "from bench.bridge_silence import bridge; bridge()"


class Turns(selectors.DefaultSelector):
    """A selector that keeps the longest time between two of its returns, and when it was."""

    def __init__(self) -> None:
        super().__init__()
        self.last = 0.0
        self.longest = 0.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(timeout)
        now = time.monotonic()
        if self.last:
            self.longest = max(self.longest, now - self.last)
        self.last = now
        return found


def bridge() -> None:
    """The child: a bridge node that prints its longest silence after each line on stdin."""
    from sim_node.interrupt import ExitInterrupt
    from sim_node.ros.bridge import BridgeNode
    from sim_node.ros.spin import run_node

    def make() -> BridgeNode:
        turns = Turns()
        original, selectors.DefaultSelector = selectors.DefaultSelector, lambda: turns  # type: ignore[misc, assignment]
        node = BridgeNode()
        selectors.DefaultSelector = original  # type: ignore[misc]

        def answer() -> None:
            for _ in sys.stdin:
                print(f"silence {turns.longest:.6f}", flush=True)
                turns.longest = 0.0

        threading.Thread(target=answer, daemon=True).start()
        return node

    with ExitInterrupt() as interrupt:
        sys.exit(run_node(make, interrupt))


class Autopilot:
    """ArduPilot as far as it takes: telemetry at 50 Hz, missions, commands. In a thread."""

    def __init__(self, port: int) -> None:
        self.mav = mavlink.MAVLink(None, 1, 1)
        self.mav.robust_parsing = True
        self.setpoints = 0
        self._mission: list[Any] = []
        self._expected = 0
        self._stopping = False
        self._address = ("127.0.0.1", port)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stopping = True
        self._thread.join()
        self._socket.close()

    def send(self, message: Any) -> None:
        self._socket.sendto(message.pack(self.mav), self._address)

    def _run(self) -> None:
        began = time.monotonic()
        due, count, mav = began, 0, self.mav
        while not self._stopping:
            self._socket.settimeout(max(0.0005, due - time.monotonic()))
            try:
                for message in mav.parse_buffer(self._socket.recv(4096)) or []:
                    self._answer(message)
            except TimeoutError:
                pass
            if time.monotonic() < due:
                continue
            boot = int((due - began) * 1000) + 1000
            due, count = due + 0.02, count + 1
            self.send(mav.attitude_quaternion_encode(boot, 1, 0, 0, 0, 0, 0, 0))
            self.send(mav.local_position_ned_encode(boot, 0, 0, 0, 0, 0, 0))
            self.send(mav.highres_imu_encode(boot * 1000, 0, 0, -9.8, 0, 0, 0, 0.2, 0, 0.4, 955, 0, 400, 20, 0xFFF))
            if count % 10 == 0:
                self.send(mav.heartbeat_encode(2, 3, 1 | 128, 4, 4))
                self.send(mav.home_position_encode(*HOME, 0, 0, 0, [1, 0, 0, 0], 0, 0, 0))
                self.send(mav.global_position_int_encode(boot, *HOME, 0, 0, 0, 0, 0))
                self.send(mav.gps_raw_int_encode(boot * 1000, 3, *HOME, 121, 200, 0, 0, 10))

    def _answer(self, message: Any) -> None:
        kind, mav = message.get_type(), self.mav
        if kind == "COMMAND_LONG":
            self.send(mav.command_ack_encode(message.command, 0))
        elif kind == "TIMESYNC" and message.tc1 == 0:
            self.send(mav.timesync_encode(time.monotonic_ns(), message.ts1))
        elif kind.startswith("SET_POSITION"):
            self.setpoints += 1
        elif kind == "MISSION_COUNT":
            self._mission, self._expected = [], message.count
            self.send(mav.mission_request_int_encode(255, 191, 0))
        elif kind == "MISSION_ITEM_INT" and message.seq == len(self._mission):
            self._mission.append(message)
            if len(self._mission) < self._expected:
                self.send(mav.mission_request_int_encode(255, 191, len(self._mission)))
            else:
                self.send(mav.mission_ack_encode(255, 191, 0))


class Graph:
    """A node here that calls services and publishes."""

    def __init__(self) -> None:
        rclpy.init()
        self.node: Node = rclpy.create_node("bench")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.node.create_client(kind, name)
        while not client.service_is_ready():
            self._executor.spin_once(timeout_sec=0.05)
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future)
        return future.result()

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("bench/results/bridge_silence.json"))
    arguments = parser.parse_args()
    prepare()
    graph = Graph()
    worst: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            for name, silence in one_round(graph, Path(folder) / "mission.yaml").items():
                worst[name] = max(worst.get(name, 0.0), silence)
    graph.close()
    missed = False
    for name, silence in worst.items():
        late = silence > LIMIT_S
        missed |= late
        print(f"bridge loop silence, {name:<24}{silence * 1e3:>8.1f} ms{aim(f'limit {LIMIT_S * 1e3:g} ms', not late)}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(worst, indent=2) + "\n", encoding="utf-8")
    return 1 if missed else 0


def one_round(graph: Graph, plan: Path) -> dict[str, float]:
    """The longest silence (s) while each thing happens for the first time in a new process."""
    items = "".join(f"  - {{type: waypoint, position: [{i}, 0, 10]}}\n" for i in range(ITEMS))
    plan.write_text(f"frame: enu\nitems:\n{items}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    parameters = ["-p", f"urls:=['udpin:127.0.0.1:{port}']", "-p", f"mission_file:={plan}"]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, "--ros-args", *parameters],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    silences: dict[str, float] = {}

    def note(name: str) -> None:
        child.stdin.write("\n")  # type: ignore[union-attr]
        for line in child.stdout:  # type: ignore[union-attr]
            if line.startswith("silence"):
                silences[name] = float(line.split()[1])
                return

    note("start")
    del silences["start"]
    autopilot = Autopilot(port)
    try:
        graph.call(SetBool, "/vehicle1/cmd/arming", SetBool.Request(data=True))
        note("first vehicle")
        assert graph.call(Trigger, "/vehicle1/mission/push", Trigger.Request()).success
        note("first mission")
        for index in range(PARAMETERS):
            autopilot.send(autopilot.mav.param_value_encode(b"P%d" % index, 1.0, 9, PARAMETERS, index))
        graph.call(ListParameters, "/bridge/list_parameters", ListParameters.Request())
        note("first parameter list")
        publisher = graph.node.create_publisher(PoseStamped, "/vehicle1/setpoint_position/local", 10)
        setpoint = PoseStamped()
        setpoint.header.frame_id = "map"
        setpoint.pose.position.z = 5.0
        setpoint.pose.orientation.w = 1.0
        while autopilot.setpoints < 20:
            publisher.publish(setpoint)
            graph.spin(0.05)
        note("first setpoint")
        graph.node.destroy_publisher(publisher)
    finally:
        autopilot.close()
        child.terminate()
        child.wait()
    return silences


if __name__ == "__main__":
    sys.exit(main())
