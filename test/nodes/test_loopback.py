"""Nodes that receive UDP on loopback only hear nodes that have the defaults of ROS 2, and are heard by them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nightly import only
from waiting import PATIENCE

pytest.importorskip("rclpy", reason="needs ROS 2")

from sim_node.ros import environment

# Publishes on a topic and waits for the other's, says when it has it, and goes on until it is stopped.
PEER = """
import sys
if sys.argv[1] == "ours":
    from sim_node.ros.environment import prepare
    prepare()
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node(sys.argv[1])
heard = []
publisher = node.create_publisher(String, sys.argv[1], 10)
node.create_subscription(String, sys.argv[2], lambda message: heard.append(len(message.data)), 10)
said = False
while True:
    publisher.publish(String(data="x" * 400_000))
    rclpy.spin_once(node, timeout_sec=0.05)
    if heard and not said:
        said = True
        print("heard", flush=True)
"""
SET = {*environment.PROFILE_FILES, *environment._REACH_SET_BY_USERS, "ROS_DISTRO"}
# A network namespace whose only interface is loopback.
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def can_be_alone() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0


def hear_each_other(theirs: dict[str, str]) -> None:
    """Run one of ours and one of others until both have heard the other."""
    unset = {name: value for name, value in os.environ.items() if name not in SET}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", PEER, *words],
            env=unset | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for words, variables in ((("theirs", "ours"), theirs), (("ours", "theirs"), {}))
    ]
    try:
        for each in both:
            assert each.stdout is not None
            assert each.stdout.readline() == "heard\n"
    finally:
        for each in both:
            each.kill()
            each.communicate(timeout=PATIENCE)


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize(
    "theirs",
    only(
        [
            {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
            {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"},
            # Without shared memory, as from another container on this machine's network.
            {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"},
        ],
        2,
    ),
    ids=["localhost", "subnet", "without shared memory"],
)
def test_nodes_of_others_on_this_machine_hear_ours_and_are_heard(theirs: dict[str, str]) -> None:
    hear_each_other(theirs)


# Takes seconds: make test has another node without shared memory.
@pytest.mark.nightly
def test_a_machine_without_a_network_is_enough(ros_domain: int) -> None:
    if not can_be_alone():
        pytest.skip("a network namespace needs the right to make one (unshare --net)")
    path = [str(Path(__file__).parent), *sys.path]
    here = f"import sys; sys.path[:0] = {path!r}; import test_loopback as t; t.hear_each_other(t.LOCAL)"
    ran = subprocess.run(
        [*ALONE, sys.executable, "-c", here], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


LOCAL = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
