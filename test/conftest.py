"""What all tests share: hypothesis profiles, and a corner of the ROS graph of their own."""

from __future__ import annotations

import os
import signal

import hypothesis
import pytest

# Before anything creates a DDS participant: nothing leaves this machine.
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ.pop("ROS_LOCALHOST_ONLY", None)

# A shell that runs the tests in the background has SIGINT ignored, and so would have what the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Timings say nothing on a shared machine, and the same examples every time make a failure everybody's.
hypothesis.settings.register_profile(
    "project",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "project"))

# DDS maps domains to ports; up to 101 they stay clear of Linux' ephemeral range. Each test takes the next one of
# its worker's, so that what a test before it leaves on the graph is not seen.
_FIRST_DOMAIN, _DOMAINS_PER_WORKER = 61, 10
_used = 0


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch) -> int:
    """A DDS domain for this test and the processes that it starts."""
    global _used
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 4
    domain = _FIRST_DOMAIN + worker * _DOMAINS_PER_WORKER + _used % _DOMAINS_PER_WORKER
    _used += 1
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    return domain
