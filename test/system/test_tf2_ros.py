"""The listener that everybody has, tf2_ros' own in Python, on the node's frames and over a reset."""

from __future__ import annotations

from typing import Any

import pytest
import rclpy
from listening import Listener, listener
from processes import program, sim_node
from rclpy.parameter import Parameter
from rclpy.time import Time
from std_srvs.srv import Trigger

tf2_ros = pytest.importorskip("tf2_ros", reason="tf2_ros is not here (no package index has it); source a ROS 2")


def latest(buffer: Any, ears: Listener, target: str, source: str) -> Any:
    ears.spin_until(lambda: buffer.can_transform(target, source, Time()), what=f"{source} in {target}")
    return buffer.lookup_transform(target, source, Time())


def seconds(transform: Any) -> float:
    return float(transform.header.stamp.sec + transform.header.stamp.nanosec * 1e-9)


@pytest.mark.usefixtures("ros_domain")
def test_a_tf2_ros_listener_follows_a_reset() -> None:
    """docs/simulation-node.md, Resets: a Buffer that knows its node forgets the future; static frames stay."""
    # 100 messages a wall second, so that a listener in Python keeps up.
    command = sim_node("run", "orbit", "--speed", "20", "--ros-args", "-p", "publish_rate:=5.0")
    with program(command), listener() as ears:
        ears.node.set_parameters([Parameter("use_sim_time", value=True)])
        buffer = tf2_ros.Buffer(node=ears.node)
        tf2_ros.TransformListener(buffer, ears.node)
        mount = latest(buffer, ears, "drone/base_link", "drone/CAM_FRONT").transform
        ears.spin_until(
            lambda: seconds(latest(buffer, ears, "map", "drone/base_link")) > 15.0, what="more than tf2's cache of 10 s"
        )

        assert ears.call(Trigger, "/simulation/reset", Trigger.Request()).success
        ears.spin_until(
            lambda: seconds(latest(buffer, ears, "map", "drone/base_link")) < 10.0, what="frames of the new run"
        )
        restarted = seconds(latest(buffer, ears, "map", "drone/base_link"))
        ears.spin_until(
            lambda: seconds(latest(buffer, ears, "map", "drone/base_link")) > restarted + 1.0,
            what="the new run to go on",
        )
        assert latest(buffer, ears, "drone/base_link", "drone/CAM_FRONT").transform == mount
        with pytest.raises(tf2_ros.ExtrapolationException):
            buffer.lookup_transform("map", "drone/base_link", rclpy.time.Time(seconds=1000))
