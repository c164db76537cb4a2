"""Command topics while the network is down: what flies or drives stops within the time-out, and goes on afterwards.

All programs are in a network namespace of their own, whose loopback interface is taken down.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from cut_off import RATE
from processes import sim_node
from rosbags.highlevel import AnyReader
from test_driving import YARD
from test_setpoint_topics import TIMEOUT_S
from waiting import PATIENCE

from sim_node.ros.environment import PROFILE_FILES
from sim_node.ros.vehicle_commands import SETPOINTS, TURNS

ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
pytestmark = pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run([*ALONE, "true"], check=False).returncode != 0,
    reason="a network namespace needs unshare, ip and the right to make one",
)


@pytest.fixture(autouse=True)
def _over_the_network(monkeypatch: pytest.MonkeyPatch, ros_domain: None) -> None:
    """Shared memory is no network; where ROS keeps to this machine, it takes that, too, as profiles of our nodes do."""
    monkeypatch.setenv("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE")
    for name in PROFILE_FILES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def cut_off(*words: str | Path, folder: Path) -> str:
    command = [*ALONE, sys.executable, str(Path(__file__).with_name("cut_off.py")), *words]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as alone:
        try:
            output, _ = alone.communicate(timeout=PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(alone.pid, signal.SIGKILL)
    assert alone.returncode == 0, output
    return output


# Takes seconds: make test has commands that expire in test/physics/test_bases.py, and publishers that fall silent.
@pytest.mark.nightly
def test_a_base_stops_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "yard.yaml").write_text(YARD, encoding="utf-8")
    cut_off("base", *sim_node("run", "yard.yaml", "--record", "bag"), folder=tmp_path)
    with AnyReader([tmp_path / "bag"]) as reader:
        connections = [each for each in reader.connections if each.topic == "/amr/odom"]
        messages = (reader.deserialize(data, each.msgtype) for each, _, data in reader.messages(connections))
        speeds = [message.twist.twist.linear.x for message in messages]
    # Without a time-out it would never stop.
    drives = [moving for moving, _ in itertools.groupby(speed > 0.05 for speed in speeds)]
    assert drives.count(True) >= 2, drives


# make test has publishers of every topic that fall silent in
# test/nodes/test_silent_publishers.py.
@pytest.mark.nightly
def test_every_command_topic_of_a_simulation_ends_and_begins_again(tmp_path: Path) -> None:
    cut_off("simulation", folder=tmp_path)


# make test has publishers of every topic that fall silent in test_setpoint_topics.py.
@pytest.mark.nightly
def test_setpoints_of_every_topic_end_and_begin_again(tmp_path: Path) -> None:
    """Counted at the autopilot, which is on a serial line."""
    lines = cut_off("bridge", *SETPOINTS, *TURNS, folder=tmp_path).splitlines()
    late = json.loads(next(line for line in lines if line.startswith('{"')))
    assert list(late) == [*SETPOINTS, *TURNS]
    # The last one is sent again at the rate, besides those that were on their way. 60 of one that is held for ever.
    assert max(late.values()) <= RATE * TIMEOUT_S + 6, late
