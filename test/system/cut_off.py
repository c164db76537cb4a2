"""What a test of a cut network runs in a network namespace of its own: publishers that go on while loopback is down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tty
from collections.abc import Callable
from threading import Thread
from typing import Any

import rclpy
from pymavlink.dialects.v20 import common as mavlink
from rclpy.node import Node
from waiting import until

DOWN_S, RATE, LIMIT_S = 3.0, 20.0, 60.0


def set_network(state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


def cut(seconds: float) -> tuple[float, float]:
    """Take the network down for a while: from when to when, s of the monotonic clock."""
    set_network("down")
    began = time.monotonic()
    time.sleep(seconds)
    ended = time.monotonic()
    set_network("up")
    return began, ended


def publish_at(node: Node, topic: str, message: Any) -> Callable[[], None]:
    """Publish from another thread, whatever this one waits for. Returns what ends it."""
    publisher, wanted = node.create_publisher(type(message), topic, 1), True

    def work() -> None:
        while wanted:
            publisher.publish(message)
            time.sleep(1.0 / RATE)

    def end() -> None:
        nonlocal wanted
        wanted = False
        thread.join()
        node.destroy_publisher(publisher)

    thread = Thread(target=work)
    thread.start()
    return end


def base(words: list[str]) -> None:
    """Drive the base of a run with 0.5 m/s. The test reads from the bag when it moved."""
    from geometry_msgs.msg import Twist
    from nav_msgs.msg import Odometry

    program = subprocess.Popen(words)
    rclpy.init()
    node = rclpy.create_node("planner")
    heard: list[Odometry] = []
    node.create_subscription(Odometry, "/amr/odom", heard.append, 10)
    command = Twist()
    command.linear.x = 0.5
    end = publish_at(node, "/amr/cmd_vel", command)

    def time_at_which_it_moves() -> float:
        """Simulated time of the newest odometry, s."""
        deadline = time.monotonic() + 1.0  # what waited in a queue is old
        while not heard or time.monotonic() < deadline or heard[-1].twist.twist.linear.x < 0.4:
            rclpy.spin_once(node, timeout_sec=0.1)
        stamp = heard[-1].header.stamp
        return float(stamp.sec + 1e-9 * stamp.nanosec)

    down_s = DOWN_S
    began = time_at_which_it_moves()
    cut(down_s)
    while (now := time_at_which_it_moves()) < began + DOWN_S:  # a busy machine is slower than real time
        began, down_s = now, 2.0 * down_s
        cut(down_s)
    end()
    program.send_signal(signal.SIGINT)
    sys.exit(program.wait())


def simulation(words: list[str]) -> None:
    """Command all topics of a simulation, in this process, from another one."""
    import commanded

    with commanded.graph() as graph:
        commanded.interrupt(graph, lambda _: set_network("down"), lambda _: set_network("up"))


def bridge(words: list[str]) -> None:
    """Publish on topics of a bridge whose autopilot is on a serial line, which stays up.

    Prints as the last line, for each topic, how many setpoints came on the line while the network was down.
    """
    from peer import HOME
    from std_msgs.msg import Float64
    from test_setpoint_topics import valid

    from sim_node.ros.vehicle_commands import THRUST, TURNS

    ours, theirs = os.openpty()
    tty.setraw(ours)
    tty.setraw(theirs)
    came: list[float] = []

    def receive() -> None:
        parser = mavlink.MAVLink(None)
        parser.robust_parsing = True
        while True:
            messages = parser.parse_buffer(os.read(ours, 4096)) or ()
            came.extend(time.monotonic() for each in messages if each.get_type().startswith("SET_"))

    def send() -> None:
        sender = mavlink.MAVLink(None, 1, 1)
        latitude, longitude, height_mm = round(HOME[0] * 1e7), round(HOME[1] * 1e7), round(HOME[2] * 1e3)
        while True:
            for message in (
                sender.heartbeat_encode(mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_PX4, 0, 0, 4),
                sender.global_position_int_encode(0, latitude, longitude, height_mm, 0, 0, 0, 0, 0),
                sender.home_position_encode(latitude, longitude, height_mm, 0, 0, 0, (1, 0, 0, 0), 0, 0, 0),
            ):
                os.write(ours, message.pack(sender))
            time.sleep(0.25)

    for work in (receive, send):
        Thread(target=work, daemon=True).start()
    program = subprocess.Popen(
        [sys.executable, "-m", "sim_node.cli.main", "bridge", "--url", f"serial:{os.ttyname(theirs)}:115200"]
    )
    rclpy.init()
    node = rclpy.create_node("planner")
    late: dict[str, int] = {}
    for topic in words:
        messages = {topic: valid(topic), **({THRUST: Float64(data=0.5)} if topic in TURNS else {})}
        ends = [publish_at(node, f"/vehicle1/{name}", message) for name, message in messages.items()]
        until(lambda: len(came) > 5, f"{topic} on the line", patience=LIMIT_S)
        down, up = cut(DOWN_S)
        late[topic] = sum(down < at < up for at in came)
        until(lambda up=up: came[-1] > up, f"{topic} after the network is up", patience=LIMIT_S)  # type: ignore[misc]
        for end in ends:
            end()
        until(lambda: came[-1] < time.monotonic() - 2.0, f"the end of {topic}", patience=LIMIT_S)
        came.clear()
    print(json.dumps(late), flush=True)
    program.send_signal(signal.SIGINT)
    sys.exit(program.wait())


if __name__ == "__main__":
    {"base": base, "simulation": simulation, "bridge": bridge}[sys.argv[1]](sys.argv[2:])
