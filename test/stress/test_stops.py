"""A short share of `python -m stress.stops`: two commands, each stopped once by Ctrl-C and once by kill -9."""

from __future__ import annotations

import os

import pytest
from nightly import only

from stress.stops import COMMANDS, stop_often


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("name", only(["run --no-ros", "export"], 0))
def test_a_stop_leaves_nothing_behind(name: str) -> None:
    tally = stop_often(name, 1, seed=3, domain=int(os.environ["ROS_DOMAIN_ID"]), bag_s=1.0)
    assert not tally.faults
    assert tally.stops == 2


def test_commands_are_known() -> None:
    """Those that run until somebody stops them, and those that write for long."""
    words = {command.words.split()[0] for command in COMMANDS.values()}
    assert words == {"run", "record", "replay", "view", "bridge", "autopilot", "render", "export", "repair"}
