"""The bridge node under load: how late topics are at 450 and at 1,000 frames a second, what 20
vehicles at 400 each lose, and what one PX4 at its full rates costs under each name.

Run from the repository: python -m bench.bridge_node [--seconds 10] [--out bench/results/bridge_node.json]

Latency is from a datagram's sendto to the callback of a subscriber in this process, both in Python, so it holds DDS
and rclpy's executor too. Exit code 1 where the 99th percentile is above 2 ms, at 1,000 frames a second 5 ms, or where
a frame is lost.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu

from bench.pairs import aim
from sim_node.mavlink.codec import frame_bytes, kind_named

# The 99th percentile of latency, s, by the frames that one vehicle sends in a second.
LATENCY_TARGETS = {450: 0.002, 1000: 0.005}
VEHICLES, RATE_EACH = 20, 400
# What PX4 sends to an onboard computer (mavlink_main.cpp, MAVLINK_MODE_ONBOARD), Hz.
PX4_RATES = {
    **{"ATTITUDE": 100, "HIGHRES_IMU": 50, "ATTITUDE_QUATERNION": 50, "GLOBAL_POSITION_INT": 50, "ATTITUDE_TARGET": 50},
    **{"LOCAL_POSITION_NED": 30, "ODOMETRY": 30, "ALTITUDE": 10, "SERVO_OUTPUT_RAW": 10, "VFR_HUD": 10, "WIND_COV": 10},
    **{"POSITION_TARGET_LOCAL_NED": 10, "GPS_RAW_INT": 5, "SYS_STATUS": 5, "EXTENDED_SYS_STATE": 5},
    **{"ESTIMATOR_STATUS": 5, "BATTERY_STATUS": 1, "HEARTBEAT": 1, "HOME_POSITION": 1, "SYSTEM_TIME": 1},
}
QUATERNIONS = ("ODOMETRY", "ATTITUDE_TARGET", "HOME_POSITION")
FIXED: dict[str, dict[str, Any]] = {
    "HEARTBEAT": {"autopilot": 12, "type": 2, "base_mode": 129, "custom_mode": 6 << 16, "mavlink_version": 3},
    "ATTITUDE_QUATERNION": {"q1": 1.0},
    "GLOBAL_POSITION_INT": {"lat": 473977420, "lon": 85455940, "alt": 488000},
    "GPS_RAW_INT": {"lat": 473977420, "lon": 85455940, "alt": 488000, "fix_type": 3, "h_acc": 700, "v_acc": 900},
    "HOME_POSITION": {"latitude": 473977420, "longitude": 85455940, "altitude": 488000},
    "HIGHRES_IMU": {"zacc": -9.81, "abs_pressure": 955.0, "fields_updated": 0x1FFF},
    "ODOMETRY": {"frame_id": 1, "child_frame_id": 1},
}
# Names of others, by the package that they need.
OTHER_NAMES = {"mavros": "mavros_msgs", "px4": "px4_msgs", "ap": "ardupilot_msgs"}
BEATS = (255, 0)  # sequence numbers: frames begin with 1
SIM_NODE = Path(sys.executable).parent / "sim_node"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--out", type=Path, default=Path("bench/results/bridge_node.json"))
    arguments = parser.parse_args()
    latencies = {rate: measure_latency(arguments.seconds, rate) for rate in LATENCY_TARGETS}
    load = measure_load(arguments.seconds)
    others = [name for name, package in OTHER_NAMES.items() if find_spec(package) is not None]
    cost = {names: measure_cost(names, arguments.seconds) for names in ("enu", *others, ",".join(("enu", *others)))}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(
        json.dumps({"latency": latencies, "load": load, "cost": cost}, indent=2) + "\n", encoding="utf-8"
    )
    late = any(latencies[rate]["p99_s"] > target for rate, target in LATENCY_TARGETS.items())
    return 1 if late or load["lost"] else 0


def measure_latency(seconds: float, rate: int) -> dict[str, float]:
    """One vehicle; the body's roll rate carries the frame's number."""
    sender = mavlink.MAVLink(None, 1, 1)
    count = int(seconds * rate)
    frames = [frame(sender, number, rate) for number in range(count)]
    sent_at = np.zeros(count)
    late: list[float] = []

    with bridge() as (port, _, node, spin), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        best_effort = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(Imu, "/vehicle1/imu/data", take_message(late, sent_at), best_effort)
        beat(way, port, sender)
        spin(2.0)

        def send() -> None:
            start = time.monotonic() + 0.1
            for number, data in enumerate(frames):
                time.sleep(max(0.0, start + number / rate - time.monotonic()))
                sent_at[number] = time.monotonic()
                way.sendto(data, ("127.0.0.1", port))

        thread = threading.Thread(target=send)
        thread.start()
        spin(seconds + 0.5)
        thread.join()
    values = np.array(late)
    p50, p99 = np.percentile(values, [50, 99])
    print(
        f"latency at {rate} frames/s        p50 {p50 * 1e3:.2f} ms   p99 {p99 * 1e3:.2f} ms   "
        f"{len(values)} of {count}{aim(f'target {LATENCY_TARGETS[rate] * 1e3:g} ms', p99 < LATENCY_TARGETS[rate])}"
    )
    return {"p50_s": float(p50), "p99_s": float(p99), "received": len(values), "sent": count}


def take_message(late: list[float], sent_at: Any) -> Any:
    def take(message: Imu) -> None:
        number = round(message.angular_velocity.x)
        if 0 <= number < len(sent_at) and sent_at[number]:
            late.append(time.monotonic() - sent_at[number])

    return take


def measure_load(seconds: float) -> dict[str, float]:
    """Every vehicle sends attitudes, positions and sensors in turns; the bridge's own counts tell what it missed."""
    senders = [mavlink.MAVLink(None, system, 1) for system in range(1, VEHICLES + 1)]
    rounds = int(seconds * RATE_EACH)
    frames = [[mixed(sender, number) for sender in senders] for number in range(rounds)]
    heard: list[DiagnosticArray] = []
    with bridge() as (port, process, node, spin), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        node.create_subscription(DiagnosticArray, "/diagnostics", heard.append, 10)
        for sender in senders:
            beat(way, port, sender)
        spin(3.0)
        before = process.cpu_times()
        start = time.monotonic()

        def send() -> None:
            for number, together in enumerate(frames):
                time.sleep(max(0.0, start + number / RATE_EACH - time.monotonic()))
                for data in together:
                    way.sendto(data, ("127.0.0.1", port))

        thread = threading.Thread(target=send)
        thread.start()
        while thread.is_alive():
            spin(0.2)
        took = time.monotonic() - start
        after = process.cpu_times()
        spin(2.5)
    link = {pair.key: pair.value for pair in heard[-1].status[0].values}
    sent = (rounds + len(BEATS)) * VEHICLES
    lost = sent - int(link["messages"])
    cpu_s = after.user + after.system - before.user - before.system
    cores, each_s, dropped = cpu_s / took, cpu_s / (sent - lost), int(link["dropped (datagrams)"])
    print(
        f"{VEHICLES} vehicles x {RATE_EACH} frames/s        {sent / took:.0f} frames/s sent   {cores:.2f} cores, "
        f"{each_s * 1e6:.0f} us a frame   {lost} of {sent} lost, {dropped} told{aim('target none', not lost)}"
    )
    return {
        "sent": sent,
        "lost": lost,
        "dropped": dropped,
        "cores": cores,
        "cpu_s": each_s,
        "frames_per_s": sent / took,
    }


def measure_cost(names: str, seconds: float) -> float:
    """Return the cores that the bridge of one PX4 at its full rates takes."""
    events = sorted((at / rate, name) for name, rate in PX4_RATES.items() for at in range(int((seconds + 4.0) * rate)))
    with bridge("--names", names) as (port, process, _, spin), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        start, before, began = time.monotonic(), process.cpu_times(), 0.0
        for number, (due, name) in enumerate(events):
            time.sleep(max(0.0, start + due - time.monotonic()))
            boot_ms = 1000 + round(due * 1e3)
            fields = {"time_boot_ms": boot_ms, "time_usec": boot_ms * 1000, **FIXED.get(name, {})}
            if name in QUATERNIONS:
                fields["q"] = (1.0, 0.0, 0.0, 0.0)
            known = kind_named(name).fields._fields
            kept = {field: value for field, value in fields.items() if field in known}
            way.sendto(frame_bytes(name, kept, 1, 1, number & 0xFF), ("127.0.0.1", port))
            if not began and due > 4.0:  # it has found the vehicle, and made its topics
                before, began = process.cpu_times(), time.monotonic()
        after, took = process.cpu_times(), time.monotonic() - began
        spin(0.1)
    cores = float(after.user + after.system - before.user - before.system) / took
    print(f"one PX4 at {sum(PX4_RATES.values())} frames/s, names {names:20} {100 * cores:.0f} % of a core")
    return cores


def frame(sender: mavlink.MAVLink, number: int, rate: int) -> bytes:
    sender.seq = number & 0xFF
    message = sender.attitude_quaternion_encode(
        1000 + number * 1000 // rate, 1.0, 0.0, 0.0, 0.0, float(number), 0.0, 0.0
    )
    return bytes(message.pack(sender))


def mixed(sender: mavlink.MAVLink, number: int) -> bytes:
    sender.seq = (number + 1) & 0xFF
    boot = 1000 + number * 1000 // RATE_EACH
    if number % 3 == 0:
        message: Any = sender.attitude_quaternion_encode(boot, 1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3)
    elif number % 3 == 1:
        message = sender.local_position_ned_encode(boot, 1.0, 2.0, -3.0, 0.1, 0.2, 0.3)
    else:
        message = sender.highres_imu_encode(boot * 1000, 0, 0, -9.8, 0, 0, 0, 0.2, 0, 0.4, 950.0, 0, 500.0, 20.0, 0xFFF)
    return bytes(message.pack(sender))


def beat(way: socket.socket, port: int, sender: mavlink.MAVLink) -> None:
    """Send the two heartbeats after which the bridge knows a vehicle."""
    for sender.seq in BEATS:
        way.sendto(sender.heartbeat_encode(2, 12, 1, 0, 4).pack(sender), ("127.0.0.1", port))


@contextmanager
def bridge(*arguments: str) -> Iterator[tuple[int, psutil.Process, Any, Any]]:
    """A bridge in a process of its own, its port, and a node that listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    process = subprocess.Popen(
        [SIM_NODE, "bridge", "--url", f"udpin:127.0.0.1:{port}", *arguments], stdout=subprocess.PIPE, text=True
    )
    rclpy.init()
    node = rclpy.create_node("bench")
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin(seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=left)

    try:
        assert process.stdout is not None
        process.stdout.readline()
        spin(1.0)
        yield port, psutil.Process(process.pid), node, spin
    finally:
        process.terminate()
        process.wait()
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()


if __name__ == "__main__":
    sys.exit(main())
