"""`sim_node topics`, `echo`, `pub` and `call`, beside plain rclpy in this process.

One of each is started as users do, and ends as Python does: forks do neither.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import yaml

pytest.importorskip("rclpy", reason="needs rclpy")

from forked_programs import program
from geometry_msgs.msg import PointStamped, Twist
from listening import Listener, listener
from processes import Program, sim_node
from processes import program as started
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
WAITING = "Waiting for at least 1 matching subscription(s)...\n"
POINT = """\
header:
  stamp:
    sec: 3
    nanosec: 250000000
  frame_id: map
point:
  x: 1.0
  y: -0.5
  z: 1.0e-07
---
"""


@pytest.fixture
def graph(ros_domain: int) -> Iterator[Listener]:
    with listener() as found:
        yield found


def ended(graph: Listener, *words: str) -> tuple[int, str]:
    """The exit code of a command and what it prints, while this process answers."""
    with program(sim_node(*words)) as running:
        return end_of(graph, running)


def end_of(graph: Listener, running: Program) -> tuple[int, str]:
    graph.spin_until(lambda: running.process.poll() is not None, "the end of the command")
    code = running.wait()
    assert "Traceback" not in running.output
    return code, "".join(f"{line}\n" for line in running.lines)


def latched(graph: Listener, topic: str, *messages: Any) -> None:
    publisher = graph.node.create_publisher(type(messages[0]), topic, LATCHED)
    for message in messages:
        publisher.publish(message)


def point() -> PointStamped:
    message = PointStamped()
    message.header.stamp.sec, message.header.stamp.nanosec, message.header.frame_id = 3, 250_000_000, "map"
    message.point.x, message.point.y, message.point.z = 1.0, -0.5, 1e-7
    return message


def test_echo_prints_a_latched_message(graph: Listener) -> None:
    """The message was published before: only a subscription that is latched, too, receives it."""
    latched(graph, "/point", point())
    assert ended(graph, "echo", "point", "--once") == (0, POINT)
    assert ended(graph, "echo", "/point", "geometry_msgs/PointStamped", "--once", "--csv") == (
        0,
        "3,250000000,map,1.0,-0.5,1e-07\n",
    )
    assert ended(graph, "echo", "/point", "--once", "--field", "header.frame_id") == (0, "map\n---\n")


def test_echo_adapts_to_best_effort_and_ends_with_ctrl_c(graph: Listener) -> None:
    publisher = graph.node.create_publisher(Float64, "/height", BEST_EFFORT)
    graph.node.create_timer(0.02, lambda: publisher.publish(Float64(data=2.5)))
    with started(sim_node("echo", "/height")) as running:
        graph.spin_until(lambda: running.lines[:2] == ["data: 2.5", "---"], "a message")
        running.process.send_signal(signal.SIGINT)
        code, printed = end_of(graph, running)
    assert code == 0
    assert set(printed.splitlines()) == {"data: 2.5", "---"}


def test_long_arrays_are_cut_as_asked(graph: Listener) -> None:
    latched(graph, "/joints", JointState(name=["a", "b"], position=[float(k) for k in range(200)]))
    code, printed = ended(graph, "echo", "/joints", "--once")
    assert code == 0
    assert yaml.safe_load(printed.removesuffix("---\n"))["position"] == [*map(float, range(128)), "..."]
    code, printed = ended(graph, "echo", "/joints", "--once", "-f")
    assert yaml.safe_load(printed.removesuffix("---\n"))["position"] == [*map(float, range(200))]
    code, printed = ended(graph, "echo", "/joints", "--once", "--no-arr")
    assert "position: '<sequence type: double, length: 200>'\n" in printed


def test_bytes_that_are_no_message_are_counted_and_reported_once(graph: Listener) -> None:
    publisher = graph.node.create_publisher(JointState, "/joints", LATCHED)
    for broken in (b"\0\1\0\0", b"\0\1\0\0\1", b"\0\1\0\0" + b"\xff" * 64):
        publisher.publish(broken)
    text = graph.node.create_publisher(String, "/text", LATCHED)
    for broken in (b"\0\1\0\0\4\0\0", b"\0\1\0\0\xff\xff\xff\x7fab\0\0", b"\0\1\0\0\2"):
        text.publish(broken)
    publisher.publish(JointState(name=["elbow"]))
    text.publish(String(data="whole"))
    for topic, whole in (("/joints", "- elbow"), ("/text", "data: whole")):
        code, printed = ended(graph, "echo", topic, "--once")
        assert (code, whole in printed) == (0, True), printed
        assert printed.count(f"{topic}: message skipped") == 1
        assert "3 messages skipped in total" in printed


def test_what_is_not_there_is_one_line(graph: Listener) -> None:
    """Participants announce themselves every 3 s, after a first burst that busy machines may miss."""
    latched(graph, "/drone/height", Float64())
    with ExitStack() as stack:
        echo, pub, alone, call, snapshot = (
            stack.enter_context(program(sim_node(*words)))
            for words in (
                ("echo", "/drone/heigth", "--timeout", "8"),
                ("pub", "/drone/heigth", "{data: 1}", "--once", "--max-wait-time-secs", "8"),
                ("pub", "-1", "/x", "std_msgs/Float64", "--max-wait-time-secs", "0.5"),
                ("call", "/listener/get_parameter_typs", "--timeout", "8"),
                ("call", "/simulation/snapshot", "--timeout", "0.5"),
            )
        )
        misspelt = (1, "sim_node: no topic /drone/heigth within 8 s; did you mean /drone/height?\n")
        assert end_of(graph, echo) == misspelt
        assert end_of(graph, pub) == misspelt
        code, printed = end_of(graph, alone)
        assert code == 1
        assert printed.splitlines()[-1].startswith("sim_node: 0 of 1 subscriptions to /x within 0.5 s")
        code, printed = end_of(graph, call)
        assert code == 1
        assert "no service /listener/get_parameter_typs within 8 s; did you mean" in printed
        assert printed.endswith("/listener/get_parameter_types?\n")
        code, printed = end_of(graph, snapshot)
        assert code == 1
        assert printed.splitlines()[-1].endswith("within 0.5 s; only recordings with --snapshot offer it")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("echo /x nowhere_msgs/msg/Pont", "nowhere_msgs/msg/Pont cannot be imported: nowhere_msgs is not installed"),
        ("echo /x std_msgs/Float64 --field dat", "no field 'dat' of std_msgs/msg/Float64; did you mean data?"),
        ("echo /a//b", "'/a//b' is not a name of a topic: topic name must not contain repeated '/'"),
        ("pub /x geometry_msgs/Twist {linear:{xx:\t1}}", "the values are not YAML: "),
        ("pub /x std_msgs/Float64 {data:[1]}", "data: a double is needed, found a list"),
        ("call /x std_srvs/srv/SetBol", "std_srvs has no such srv; did you mean SetBool?"),
    ],
)
def test_what_is_wrong_is_one_line(graph: Listener, words: str, error: str) -> None:
    code, printed = ended(graph, *words.split(" "))
    assert (code, printed.count("\n")) == (2, 1), printed
    assert error in printed


def test_the_type_on_the_graph_is_compared(graph: Listener) -> None:
    latched(graph, "/height", Float64())
    code, printed = ended(graph, "echo", "/height", "std_msgs/String", "--once")
    assert (code, printed) == (2, "sim_node: /height has type std_msgs/msg/Float64, not std_msgs/msg/String\n")


def test_pub_publishes_what_it_is_given(graph: Listener) -> None:
    received = graph.subscribe(Twist, "/cmd_vel", LATCHED)
    values = "{linear: {x: 2, y: -1e-3}, angular: {z: .5}}"
    # The type is that of the subscription.
    code, printed = ended(graph, "pub", "/cmd_vel", values, "--times", "3", "-r", "50")
    assert code == 0
    expected = Twist()
    expected.linear.x, expected.linear.y, expected.angular.z = 2.0, -1e-3, 0.5
    graph.spin_until(lambda: len(received) == 3, "three messages")
    assert [message for _, message in received] == [expected] * 3
    assert printed.split("publisher: beginning loop\n")[1] == "".join(
        f"publishing #{k}: {expected!r}\n\n" for k in (1, 2, 3)
    )


def test_pub_reaches_best_effort_subscriptions_until_ctrl_c(graph: Listener) -> None:
    """Some of the first messages may be lost on their way to such a subscription."""
    received = graph.subscribe(Float64, "/height", BEST_EFFORT)
    with started(sim_node("pub", "/height", "std_msgs/Float64", "{data: 2.5}", "-r", "1000", "-p", "0")) as running:
        graph.spin_until(lambda: len(received) >= 3, "three messages")
        running.process.send_signal(signal.SIGINT)
        code, printed = end_of(graph, running)
    assert (code, printed.replace(WAITING, "")) == (0, "publisher: beginning loop\n")
    assert {message.data for _, message in received} == {2.5}


def test_pub_without_end_waits_for_a_subscription_too(graph: Listener) -> None:
    graph.subscribe(Float64, "/height", 10)
    words = ("pub", "/heigth", "std_msgs/Float64", "-r", "10", "--max-wait-time-secs", "8")
    code, printed = ended(graph, *words)
    hint = "sim_node: 0 of 1 subscriptions to /heigth within 8 s; did you mean /height?\n"
    assert (code, printed.replace(WAITING, "")) == (1, hint)


@pytest.mark.usefixtures("ros_domain")
def test_pub_waits_for_nobody_where_asked() -> None:
    with program(sim_node("pub", "/height", "std_msgs/Float64", "{data: 2.5}", "-w", "0")) as running:
        running.wait_for("publishing #1")
        assert running.stop() == 0
    assert WAITING not in running.output


def test_pub_stamps_with_the_time_of_the_graph(graph: Listener) -> None:
    from rosgraph_msgs.msg import Clock

    clock = Clock()
    clock.clock.sec = 77
    ticks = graph.node.create_publisher(Clock, "/clock", 10)
    graph.node.create_timer(0.02, lambda: ticks.publish(clock))
    received = graph.subscribe(PointStamped, "/point", 10)
    values = "{header: {stamp: now, frame_id: map}}"
    with program(sim_node("pub", "/point", "geometry_msgs/PointStamped", values, "-r", "20")) as running:
        graph.spin_until(lambda: any(m.header.stamp.sec == 77 for _, m in received), "a stamp of /clock")
        running.process.send_signal(signal.SIGINT)
        code, _ = end_of(graph, running)
    assert code == 0
    assert {m.header.frame_id for _, m in received} == {"map"}


def test_call_prints_request_and_reply(graph: Listener) -> None:
    requests = []

    def serve(request: Any, response: Any) -> Any:
        requests.append(request.data)
        response.success, response.message = True, "on"
        return response

    graph.node.create_service(SetBool, "/light", serve)
    for words in (["std_srvs/srv/SetBool", "{data: true}"], ["{data: true}"]):
        code, printed = ended(graph, "call", "/light", *words)
        assert code == 0
        # A reply whose server has not found the client yet is lost; none is here, in one domain of one machine.
        assert printed.removeprefix("waiting for service to become available...\n") == (
            "requester: making request: std_srvs.srv.SetBool_Request(data=True)\n\n"
            "response:\nstd_srvs.srv.SetBool_Response(success=True, message='on')\n\n"
        )
    assert requests == [True, True]
    code, printed = ended(graph, "call", "/light", "{dta: true}")
    assert (code, printed.splitlines()[-1]) == (
        2,
        "sim_node: dta: std_srvs/srv/SetBool_Request has no such field; did you mean data?",
    )


def test_topics_lists_those_of_other_nodes(graph: Listener) -> None:
    latched(graph, "/point", point())
    graph.subscribe(Float64, "/height", 10)
    graph.subscribe(Float64, "/_hidden", 10)
    code, printed = ended(graph, "topics", "-t")
    assert code == 0
    assert {"/height [std_msgs/msg/Float64]", "/point [geometry_msgs/msg/PointStamped]"} <= set(printed.splitlines())
    assert "hidden" not in printed
    code, counted = ended(graph, "topics", "--count-topics")
    assert (code, int(counted)) == (0, len(printed.splitlines()))
    assert "/_hidden" in ended(graph, "topics", "--include-hidden-topics")[1]


def test_an_empty_graph_is_one_line(ros_domain: int) -> None:
    with started(sim_node("topics")) as running:
        assert running.wait() == 1
    assert running.output == f"sim_node: no topics within 5 s on domain {ros_domain}"


def test_the_services_of_a_run_are_called_by_their_names_alone(ros_domain: int) -> None:
    with program(sim_node("run", "orbit")) as running:
        running.wait_for("/tf_static")
        with started(sim_node("call", "/simulation/pause")) as calling:
            assert calling.wait() == 0
        assert "Trigger_Response(success=True, message='paused at " in calling.output
