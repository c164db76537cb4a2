"""With what a recorded topic is offered again."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.messages.topic import INFINITE_NS, Qos
from sim_node.recording.bag import BagTopic
from sim_node.recording.qos import offer, profiles

PROFILES = st.builds(
    Qos,
    depth=st.integers(1, 20),
    reliability=st.sampled_from(["reliable", "best_effort"]),
    durability=st.sampled_from(["volatile", "transient_local"]),
    deadline_ns=st.sampled_from([10**8, 10**9, INFINITE_NS]),
    liveliness=st.sampled_from(["automatic", "manual_by_topic"]),
    liveliness_lease_ns=st.sampled_from([10**9, INFINITE_NS]),
)
# DDS 1.4, section 2.2.3: what is offered must be at least what is asked for, in this order.
STRENGTH = {"best_effort": 0, "reliable": 1, "volatile": 0, "transient_local": 1, "automatic": 0, "manual_by_topic": 1}


def matches(offered: Qos, asked: Qos) -> bool:
    return (
        STRENGTH[offered.reliability] >= STRENGTH[asked.reliability]
        and STRENGTH[offered.durability] >= STRENGTH[asked.durability]
        and offered.deadline_ns <= asked.deadline_ns
        and STRENGTH[offered.liveliness] >= STRENGTH[asked.liveliness]
        and offered.liveliness_lease_ns <= asked.liveliness_lease_ns
    )


@given(st.lists(PROFILES, min_size=1, max_size=4))
def test_whoever_received_one_of_the_publishers_hears_the_replay(recorded: list[Qos]) -> None:
    """A subscriber that asked for exactly what a publisher offered is the hardest to please."""
    offered = offer(BagTopic("/a", "std_msgs/msg/String", 1, tuple(recorded)))
    assert all(matches(offered, asked) for asked in recorded)


@given(st.lists(PROFILES, min_size=2, max_size=4))
def test_the_order_of_publishers_does_not_matter(recorded: list[Qos]) -> None:
    offers = {
        offer(BagTopic("/a", "std_msgs/msg/String", 1, order)) for order in itertools.permutations(tuple(recorded))
    }
    assert len(offers) == 1


def test_late_subscribers_get_what_each_publisher_kept() -> None:
    latched = Qos(depth=1, durability="transient_local")
    assert offer(BagTopic("/map", "nav_msgs/msg/OccupancyGrid", 2, (latched, latched, Qos(depth=7)))).depth == 2


@pytest.mark.parametrize(
    ("name", "latched", "reliability"),
    [
        ("/tf", False, "reliable"),
        ("/tf_static", True, "reliable"),
        ("/drone/tf_static", True, "reliable"),
        ("/drone/robot_description", True, "reliable"),
        ("/imu/data", False, "reliable"),
    ],
)
def test_without_recorded_profiles_everybody_can_hear_it(name: str, latched: bool, reliability: str) -> None:
    """Reliable offers match reliable and best-effort subscribers; tf2_ros latches static transforms."""
    offered = offer(BagTopic(name, "std_msgs/msg/String", 1))
    assert (offered.latched, offered.reliability) == (latched, reliability)


@pytest.mark.parametrize(
    "text", ["5", "true", "text", "a: b", "[1, 2]", "[[]]", "[" * 20_000, "2001-99-99", "- " * 5000]
)
def test_texts_that_hold_no_profiles_give_none(text: str) -> None:
    assert profiles(text) == ()
