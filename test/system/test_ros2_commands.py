"""The `ros2` command on a running node: topics, services, parameters."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from installing import own_path
from processes import EXECUTABLE, Program, program, sim_node

pytestmark = [
    pytest.mark.upstream("ros2topic", "ros2node", "ros2service", "ros2param"),
    pytest.mark.usefixtures("ros_domain"),
]
# What is said where the node was not found in the time that a command looks for it. Its daemon would outlive the test.
NOT_FOUND = ("Node not found", "Unable to find node", "Could not determine", "does not appear to be published")


@pytest.fixture
def node(ros_domain: int) -> Iterator[Program]:
    with program(sim_node("run", "orbit")) as running:
        running.wait_for("/tf_static")
        yield running


def ros2(*words: str) -> tuple[int, str]:
    """The exit code of a command and what it prints."""
    while True:
        ran = subprocess.run(
            ["ros2", *words], env=own_path(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        assert "Traceback" not in ran.stdout, ran.stdout
        if not any(said in ran.stdout for said in NOT_FOUND):
            return ran.returncode, ran.stdout


def test_topics(node: Program) -> None:
    code, received = ros2("topic", "echo", "--once", "/tf", "tf2_msgs/msg/TFMessage", "--no-daemon")
    assert code == 0
    moving = next(yaml.safe_load_all(received))["transforms"]
    assert (moving[0]["header"]["frame_id"], moving[0]["child_frame_id"]) == ("map", "drone/base_link")

    latched = ("--qos-durability", "transient_local", "--qos-reliability", "reliable", "--no-daemon")
    code, received = ros2("topic", "echo", "--once", "/tf_static", "tf2_msgs/msg/TFMessage", *latched)
    assert code == 0
    fixed = next(yaml.safe_load_all(received))["transforms"]
    assert {"drone/CAM_FRONT", "drone/LIDAR_TOP"} <= {transform["child_frame_id"] for transform in fixed}


def test_services(node: Program) -> None:
    code, said = ros2("service", "call", "/simulation/pause", "std_srvs/srv/Trigger")
    assert code == 0
    assert "success=True, message='paused at " in said
    code, said = ros2("service", "call", "/simulation/step", "std_srvs/srv/Trigger")
    assert code == 0
    assert "success=True" in said


def test_parameters(node: Program) -> None:
    assert ros2("param", "get", "/simulation", "publish_rate", "--no-daemon") == (0, "Double value is: 60.0\n")
    code, said = ros2("param", "describe", "/simulation", "real_time_factor", "--no-daemon")
    assert (code, "Simulated seconds per wall second" in said) == (0, True), said
    assert "successful" in ros2("param", "set", "/simulation", "publish_rate", "20.0", "--no-daemon")[1]
    refused = ros2("param", "set", "/simulation", "frame_prefix", "lab/", "--no-daemon")[1]
    assert "failed" in refused
    assert "read-only" in refused


def test_what_param_dump_writes_is_a_parameter_file(node: Program, tmp_path: Path, ros_domain: int) -> None:
    code, dumped = ros2("param", "dump", "/simulation", "--no-daemon")
    assert code == 0
    values = yaml.safe_load(dumped)
    values["/simulation"]["ros__parameters"]["world"] = "two_vehicles"
    node.stop()
    written = tmp_path / "simulation.yaml"
    written.write_text(yaml.safe_dump(values), encoding="utf-8")
    with program([EXECUTABLE, "--ros-args", "--params-file", written]) as again:
        again.wait_for("two_vehicles: node /simulation")
