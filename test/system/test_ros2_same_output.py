"""What `sim_node echo`, `pub` and `call` print is what `ros2 topic` and `ros2 service` print."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from forked_programs import program
from installing import own_path
from listening import Listener, listener
from processes import sim_node

pytest.importorskip("rclpy", reason="needs rclpy")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, JointState, LaserScan, PointCloud2, PointField
from std_msgs.msg import ByteMultiArray, Float64, String
from std_srvs.srv import SetBool

pytestmark = [pytest.mark.upstream("ros2topic", "ros2service"), pytest.mark.usefixtures("ros_domain")]
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
MESSAGES = {
    "/joints": JointState(
        name=["\u00e9: x", "\x1b", "y" * 200], position=[1e-9, float("nan"), float("inf")], velocity=[0.1] * 200
    ),
    "/status": DiagnosticArray(
        status=[DiagnosticStatus(level=b"\2", name="n", values=[KeyValue(key="k", value="true")])]
    ),
    "/cloud": PointCloud2(data=list(range(256)), fields=[PointField(name="x")]),
    "/imu": Imu(),
    "/bytes": ByteMultiArray(data=[b"a", b"\xff"]),
    "/text": String(data="a\nb "),
    "/scan": LaserScan(ranges=[0.1, 0.2]),
}
# CSV of texts that a terminal would obey, and of bytes, is another one.
PLAIN = ("/cloud", "/imu", "/scan")


@pytest.fixture
def graph() -> Iterator[Listener]:
    with listener() as found:
        yield found


def of_ros2(*words: str) -> str:
    """What it prints, once it has found the topic in the time that it looks for it."""
    while True:
        ran = subprocess.run(["ros2", *words], env=own_path(), capture_output=True, text=True, check=False)
        assert ran.returncode == 0 or "Could not determine" in ran.stderr, ran.stderr
        if ran.returncode == 0:
            return ran.stdout


def of_ours(graph: Listener, *words: str) -> str:
    with program(sim_node(*words)) as running:
        graph.spin_until(lambda: running.process.poll() is not None, "the end of the command")
        assert running.wait() == 0, running.output
        return "".join(f"{line}\n" for line in running.lines)


@pytest.mark.parametrize("topic", MESSAGES)
def test_echo(graph: Listener, topic: str) -> None:
    graph.node.create_publisher(type(MESSAGES[topic]), topic, LATCHED).publish(MESSAGES[topic])
    for options in ((), ("--flow-style", "-f"), ("--no-arr",), *([("--csv",)] if topic in PLAIN else [])):
        expected = of_ros2("topic", "echo", topic, "--once", "--no-daemon", *options)
        assert of_ours(graph, "echo", topic, "--once", *options) == expected


def test_pub(graph: Listener) -> None:
    received = graph.subscribe(Float64, "/height", 10)
    words = ("/height", "std_msgs/msg/Float64", "{data: 1.5}", "--times", "2", "-r", "20")
    expected = [line for line in of_ros2("topic", "pub", *words).splitlines() if "Waiting" not in line]
    printed = [line for line in of_ours(graph, "pub", *words).splitlines() if "Waiting" not in line]
    assert printed == expected
    graph.spin_until(lambda: len(received) == 4, "four messages")
    assert {message.data for _, message in received} == {1.5}


def test_call(graph: Listener) -> None:
    graph.node.create_service(SetBool, "/light", lambda request, response: response)
    words = ("/light", "std_srvs/srv/SetBool", "{data: true}")
    with program(["ros2", "service", "call", *words], **own_path()) as theirs:
        graph.spin_until(lambda: theirs.process.poll() is not None, "the end of ros2 service call")
        theirs.wait()
    ours = of_ours(graph, "call", *words).splitlines()
    assert [line for line in ours if "waiting" not in line] == [line for line in theirs.lines if "waiting" not in line]
