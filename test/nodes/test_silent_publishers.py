"""Every command topic of a run whose publisher falls silent, is killed or stopped, or stamps by another clock."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Any

import pytest
from nightly import only
from waiting import until

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

import commanded
from commanded import ATTITUDE, CASES, HALF, LONG_STEPS, THRUST, Graph, interrupt, level, together
from trajectory_msgs.msg import JointTrajectory

DOCS = Path(__file__).parents[2] / "docs" / "commands.md"
# Actions have goals, and clients that wait for their results.
ACTIONS = {"/arm/follow_joint_trajectory"}


@pytest.fixture
def graph() -> Iterator[Graph]:
    with commanded.graph() as made:
        yield made


def absolute(graph: Graph) -> set[str]:
    return {graph.node.resolve_topic_name(topic) for topic in graph.node._commands.topics}


def test_what_each_topic_does_when_its_publisher_falls_silent(graph: Graph) -> None:
    """As the documentation has it: a topic that is not in its table, or not here, fails."""
    topics = absolute(graph) - ACTIONS
    assert topics == {name.split()[0] for name in CASES}
    text = DOCS.read_text(encoding="utf-8").partition("## When a publisher falls silent")[2]
    rows = [
        re.findall(r"`([A-Z]+(?:/[a-z_/]+)?)`", line.split("|")[1]) for line in text.splitlines() if line[:3] == "| `"
    ]
    documented = [name for row in rows for name in row]
    for topic in topics | ACTIONS:
        last = [name for name in documented if "/" in name and topic.endswith(name[name.index("/") :])]
        assert last or topic == "/winch/speed", f"{topic} is not in the table"
    for names in together():
        for name in names:
            graph.command(name)
        graph.loop.step(LONG_STEPS)
        for name in names:
            assert graph.acts(CASES[name]) == pytest.approx(CASES[name].silent, abs=1e-9), name


# Takes seconds: make test has each topic whose publisher falls silent below, and one that is killed in
# test/system/test_setpoint_topics.py.
@pytest.mark.nightly
def test_publishers_of_another_process_that_are_stopped_go_on_and_are_killed(graph: Graph) -> None:
    interrupt(graph, lambda process: process.send_signal(SIGSTOP), lambda process: process.send_signal(SIGCONT))


# Takes seconds: make test has each topic whose publisher falls silent below, and one that is killed in
# test/system/test_setpoint_topics.py.
@pytest.mark.nightly
def test_half_of_an_attitude_is_not_kept_alive_by_the_other(graph: Graph) -> None:
    """First it does not act at all; then it ends, although thrusts, or attitudes, go on."""
    case, message = CASES[ATTITUDE], level()

    def refused() -> bool:
        graph.publish(ATTITUDE, message)
        return any("attitude without thrust" in line for line in graph.log)

    until(refused, "a refusal")
    graph.loop.step(1)
    assert graph.acts(case) == 0.0
    for topic, half in ((ATTITUDE, message), (THRUST, HALF)):
        graph.command(ATTITUDE)

        def ended(topic: str = topic, half: Any = half) -> bool:
            graph.publish(topic, half)
            graph.loop.step(1)
            return graph.acts(case) == 0.0

        until(ended, f"the end, while {topic} goes on")
        graph.loop.step(LONG_STEPS)


@pytest.mark.parametrize("clock", only(["old", "wall"], 0))
def test_stamps_of_another_clock_are_refused_aloud(graph: Graph, clock: str) -> None:
    graph.loop.step(400)
    stamped = {name: case for name, case in CASES.items() if hasattr(case.message, "header") and " " not in name}
    assert len(stamped) == 5
    for topic, case in stamped.items():
        message = type(case.message)()
        for field in message.get_fields_and_field_types():
            setattr(message, field, getattr(case.message, field))
        message.header.stamp.sec = 1 if clock == "old" else int(time.time())
        is_start = isinstance(message, JointTrajectory)
        words = ("it ends in the past" if clock == "old" else "it starts in") if is_start else "its stamp is"
        for other, half in case.beside:
            graph.publish(other, half)

        def refused(topic: str = topic, message: Any = message, words: str = words) -> bool:
            graph.publish(topic, message)
            return any(line.startswith(f"{topic.lstrip('/')}: a command is refused: {words}") for line in graph.log)

        until(refused, f"a refusal of {topic}")
        graph.loop.step(1)
        assert graph.acts(case) == 0.0
        message.header.stamp.sec = 0  # it means now

    for name in stamped:
        graph.command(name)
