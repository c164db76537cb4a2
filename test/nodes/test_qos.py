"""Quality of service as data and as rclpy has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy.qos import QoSProfile

from sim_node.messages.topic import INFINITE_NS, Qos
from sim_node.ros.publishers import profile, qos_of

DURATIONS = st.one_of(st.just(INFINITE_NS), st.integers(1, 2**62))


@given(
    st.builds(
        Qos,
        depth=st.integers(1, 1000),
        reliability=st.sampled_from(["reliable", "best_effort", "system_default"]),
        durability=st.sampled_from(["volatile", "transient_local", "system_default"]),
        history=st.sampled_from(["keep_last", "keep_all"]),
        deadline_ns=DURATIONS,
        lifespan_ns=DURATIONS,
        liveliness=st.sampled_from(["automatic", "manual_by_topic"]),
        liveliness_lease_ns=DURATIONS,
        avoid_ros_namespace_conventions=st.booleans(),
    )
)
def test_there_and_back(qos: Qos) -> None:
    assert qos_of(profile(qos)) == qos


def test_infinite_is_what_rclpy_has_where_nothing_is_said() -> None:
    found, default = profile(Qos()), QoSProfile(depth=10)
    for duration in ("deadline", "lifespan", "liveliness_lease_duration"):
        assert getattr(found, duration) == getattr(default, duration)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(KeyError, match="SOMETIMES"):
        profile(Qos(reliability="sometimes"))
