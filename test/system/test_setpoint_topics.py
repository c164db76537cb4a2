"""Every setpoint topic of the bridge: publishers that die, freeze or fall silent, stamps of another age, halves."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rclpy
from claims import free_port
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from listening import Listener, listener
from nightly import only
from peer import HOME, CoSimulator, peer
from publishing import publisher
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool
from waiting import PATIENCE

from sim_node.ros.bridge import BridgeNode
from sim_node.ros.participant import start_spinning
from sim_node.ros.vehicle_commands import ESTIMATES, GOTO, SETPOINTS, THRUST, TURNS

RELIABLE = QoSProfile(depth=100)
RATE, TIMEOUT_S = 20.0, 0.5
# Topics with a stamp, and the types of their messages.
STAMPED = {topic: kind for topic, (kind, _) in {**SETPOINTS, **TURNS, **ESTIMATES}.items()} | {GOTO: PoseStamped}
SENT = {
    "SET_POSITION_TARGET_LOCAL_NED", "SET_POSITION_TARGET_GLOBAL_INT", "SET_ATTITUDE_TARGET", "ODOMETRY",
    "VISION_POSITION_ESTIMATE",
}  # fmt: skip


class Flown:
    """A bridge in this process, an autopilot that it has found, and somebody on the graph."""

    def __init__(self, node: BridgeNode, ears: Listener, autopilot: CoSimulator) -> None:
        self.node, self.ears, self.autopilot = node, ears, autopilot
        self._results = ears.subscribe(DiagnosticStatus, "/vehicle1/command_result", RELIABLE)
        self._publishers: dict[str, Any] = {}

    def sent(self, since: float) -> list[Any]:
        """The setpoints and estimates on the wire since a time."""
        with self.autopilot._changed:
            received = list(self.autopilot.received)
        return [message for at, message in received if at >= since and message.get_type() in SENT]

    def publish(self, topic: str, message: Any) -> None:
        if topic not in self._publishers:
            publisher = self.ears.node.create_publisher(type(message), f"/vehicle1/{topic}", RELIABLE)
            self.ears.spin_until(publisher.get_subscription_count, f"the subscription to {topic}")
            self._publishers[topic] = publisher
        self._publishers[topic].publish(message)

    def results(self, topic: str, since: float) -> list[str]:
        return [each.message for at, each in self._results if at >= since and each.name == topic]

    def until_result(self, topic: str, words: str, since: float, again: Callable[[], None] = lambda: None) -> None:
        def told() -> bool:
            again()
            return any(words in text for text in self.results(topic, since))

        self.ears.spin_until(told, lambda: f"{words!r} of {topic}, in {self.results(topic, since)}")

    def until_idle(self, again: Callable[[], None] = lambda: None) -> None:
        """No setpoint is repeated any more, and none is on its way into the bridge."""
        stream = self.node.bridge.vehicles[1].stream
        for each in self._publishers.values():
            self.ears.spin_until(each.wait_for_all_acked, "the bridge's reader")
        self.barrier()  # the bridge takes messages before requests

        def idle() -> bool:
            again()
            return stream.setpoint is None

        self.ears.spin_until(idle, "the end of the last setpoint")

    def barrier(self) -> None:
        """What was on its way to the autopilot is there afterwards."""
        assert self.ears.call(SetBool, "/vehicle1/cmd/arming", SetBool.Request(data=True)).success

    def assert_nothing_more(self) -> None:
        self.barrier()
        since = time.monotonic()
        self.ears.spin_for(3 / RATE)
        self.barrier()
        assert not self.sent(since)

    def until_nothing_more(self) -> None:
        """A publisher that has not run for a while on a busy machine was reported, too; its next message came then."""

        def silent() -> bool:
            self.barrier()
            since = time.monotonic()
            self.ears.spin_for(3 / RATE)
            self.barrier()
            return not self.sent(since)

        self.ears.spin_until(silent, "nothing more")

    def now(self) -> Any:
        return self.ears.node.get_clock().now().to_msg()


@pytest.fixture(scope="module")
def flown() -> Iterator[Flown]:
    port = free_port()
    rclpy.init()
    node = BridgeNode({"urls": [f"udpin:127.0.0.1:{port}"]})
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    stop = start_spinning(executor)
    node.loop.start(ended=lambda: None)
    try:
        with peer(port) as autopilot, listener() as ears:
            made = Flown(node, ears, autopilot)
            made.barrier()
            ears.spin_until(lambda: node.bridge.vehicles[1].telemetry.home is not None, "home")
            yield made
    finally:
        node.loop.stop()
        stop()
        node.destroy_node()
        rclpy.shutdown()


def valid(topic: str, stamp: Any = None) -> Any:
    """A message that is accepted. Of another type, none is known: a new one needs an entry here."""
    message = STAMPED[topic]()
    frame = "vehicle1/base_link" if topic == "setpoint_attitude/cmd_vel" else "map"
    kind = type(message).__name__
    if kind == "NavSatFix":
        frame, (message.latitude, message.longitude, message.altitude) = "earth", (HOME[0], HOME[1], HOME[2] + 60.0)
    elif kind == "Odometry":
        message.child_frame_id, message.pose.pose.orientation.w = "vehicle1/base_link", 1.0
    elif kind == "PoseStamped":
        message.pose.orientation.w, message.pose.position.z = 1.0, 5.0
    else:
        assert kind in ("TwistStamped", "Vector3Stamped"), f"no message of {topic} is known"
    message.header.frame_id = frame
    if stamp is not None:
        message.header.stamp = stamp
    return message


@pytest.mark.parametrize("topic", [*SETPOINTS, *TURNS])
def test_a_silent_publisher_is_not_repeated_for_long(flown: Flown, topic: str) -> None:
    """Its publisher is there, and stays: DDS knows of nothing."""
    began = time.monotonic()

    def publish() -> None:
        if topic in TURNS:
            flown.publish(THRUST, Float64(data=0.5))
        flown.publish(topic, valid(topic))

    def on_the_wire() -> bool:
        publish()
        return bool(flown.sent(began))

    flown.ears.spin_until(on_the_wire, topic)
    publish()
    last = time.monotonic()
    flown.until_result(topic, "stopped: no message for 0.5 s", began)
    flown.until_nothing_more()
    # Each of the last messages at once, and the newest again at the rate.
    assert len(flown.sent(last)) <= RATE * TIMEOUT_S + 4
    assert flown.ears.node.count_publishers(f"/vehicle1/{topic}") == 1


@pytest.mark.parametrize(
    ("offset_s", "words"),
    [(None, "s old; allowed: 0.5 s"), (-5.0, "s old; allowed: 0.5 s"), (3600.0, "in the future; allowed: 0.5 s")],
    ids=["1970", "old", "future"],
)
def test_a_stamp_of_another_time_is_refused_on_every_topic(flown: Flown, offset_s: float | None, words: str) -> None:
    flown.assert_nothing_more()
    since = time.monotonic()
    for topic in STAMPED:
        message = valid(topic, flown.now())
        message.header.stamp.sec = 1 if offset_s is None else message.header.stamp.sec + int(offset_s)
        if topic in TURNS:
            flown.publish(THRUST, Float64(data=0.5))
        flown.until_result(topic, words, since, lambda t=topic, m=message: flown.publish(t, m))  # type: ignore[misc]
    flown.barrier()
    assert not flown.sent(since)


# One of each kind: position, attitude, estimate.
@pytest.mark.parametrize("topic", only([*SETPOINTS, *TURNS, *ESTIMATES], 0, 4, 6))
def test_a_message_without_a_stamp_that_waited_in_a_busy_bridge_is_refused(flown: Flown, topic: str) -> None:
    """The executor is held up until the message is older than the timeout; it came as soon as it was published."""
    flown.until_idle()
    flown.assert_nothing_more()
    if topic in TURNS:
        flown.publish(THRUST, Float64(data=0.5))
    flown.publish(topic, valid(topic, flown.now()))  # from here on there is a subscription
    flown.until_idle()
    flown.assert_nothing_more()
    since, held, free = time.monotonic(), threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        free.wait()

    flown.node._orders.add(hold)
    assert held.wait(PATIENCE)
    try:
        if topic in TURNS:
            flown.publish(THRUST, Float64(data=0.5))
        flown.publish(topic, valid(topic))
        flown.ears.spin_for(TIMEOUT_S + 0.1)
    finally:
        free.set()
    flown.until_result(topic, "s because this node was busy; allowed: 0.5 s", since)
    flown.assert_nothing_more()
    assert not flown.sent(since)


@pytest.mark.parametrize("topic", STAMPED)
def test_a_stamp_of_now_is_accepted(flown: Flown, topic: str) -> None:
    since = time.monotonic()

    def on_the_wire() -> bool:
        if topic in TURNS:
            flown.publish(THRUST, Float64(data=0.5))
        flown.publish(topic, valid(topic, flown.now()))
        return bool(flown.sent(since))

    flown.ears.spin_until(on_the_wire, topic)
    # A goto holds until another command ends it.
    flown.until_idle(lambda: flown.publish("set_mode", String(data="LAND")) if topic == GOTO else None)
    flown.assert_nothing_more()


# Both come in one message to the autopilot.
@pytest.mark.parametrize("topic", only(TURNS, 0))
def test_attitude_and_thrust_are_sent_as_a_pair(flown: Flown, topic: str) -> None:
    flown.until_idle()
    flown.ears.spin_for(TIMEOUT_S)  # any thrust of before is too old
    since = time.monotonic()
    attitude = valid(topic)
    # Half of it, again and again.
    flown.until_result(topic, "thrust", since, lambda: flown.publish(topic, attitude))
    assert not any("stopped" in text for text in flown.results(topic, since))
    flown.barrier()
    assert not flown.sent(since)

    def first_pair() -> bool:
        flown.publish(topic, attitude)
        flown.publish(THRUST, Float64(data=0.25))
        return bool(flown.sent(since))

    flown.ears.spin_until(first_pair, "the first pair")
    assert {round(each.thrust, 6) for each in flown.sent(since)} == {0.25}

    def thrusts_alone() -> bool:
        """One attitude, and thrusts that follow it, each sent with it. On a busy machine it may be too old by then."""
        began = time.monotonic()
        flown.publish(topic, attitude)
        for percent in range(30, 40):
            flown.publish(THRUST, Float64(data=percent / 100))
            flown.ears.spin_for(0.02)
        flown.barrier()
        return len({each.thrust for each in flown.sent(began)}) >= 3

    flown.ears.spin_until(thrusts_alone, "three thrusts with one attitude")
    # The publisher of attitudes falls silent; that of thrusts does not keep its last one alive.
    flown.until_result(topic, "stopped", since, lambda: flown.publish(THRUST, Float64(data=0.75)))
    flown.until_result(THRUST, "the last attitude is", since, lambda: flown.publish(THRUST, Float64(data=0.75)))
    flown.assert_nothing_more()
    for value in (math.nan, -0.1, 1.1):
        since = time.monotonic()
        flown.until_result(THRUST, "allowed: 0 to 1", since, lambda v=value: flown.publish(THRUST, Float64(data=v)))  # type: ignore[misc]


def test_a_mission_with_numbers_that_mavlink_cannot_hold_is_refused(flown: Flown) -> None:
    since = time.monotonic()
    rows = ["0 1 0 16 0 0 0 0 47 8 488 1", "1 0 3 16 1e300 0 0 0 47 8 10 1"]
    mission = String(data="\n".join(["QGC WPL 110", *rows]))
    flown.until_result("mission upload", "float", since, lambda: flown.publish("mission/upload", mission))
    assert not flown.autopilot.of("MISSION_COUNT", since)


# The same stream repeats all of them; make test kills the publisher of one, and lets each fall silent below.
@pytest.mark.parametrize("topic", only([*SETPOINTS, *TURNS], 0))
def test_publishers_of_another_process_that_are_stopped_go_on_and_are_killed(flown: Flown, topic: str) -> None:
    """DDS keeps a publisher that was killed for 20 s more."""
    message = valid(topic)
    if topic == "setpoint_velocity/cmd_vel":
        message.twist.linear.x = 5.0
    pair = [(THRUST, Float64(data=0.5))] if topic in TURNS else []
    with publisher((f"/vehicle1/{name}", each) for name, each in [*pair, (topic, message)]) as process:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            began = time.monotonic()
            flown.ears.spin_until(lambda: len(flown.sent(began)) > 20, "the stream")  # noqa: B023
            if topic == "setpoint_velocity/cmd_vel":
                assert flown.sent(began)[-1].vy == 5.0
            process.send_signal(number)
            cut = time.monotonic()
            # On a busy machine the publisher may have been silent for so long before.
            flown.until_result(topic, "stopped: no message for 0.5 s", began)
            flown.until_nothing_more()
            # What it had published by then, and the last one again. 400 before.
            assert len(flown.sent(cut)) <= RATE * TIMEOUT_S + 6
            process.send_signal(signal.SIGCONT)
