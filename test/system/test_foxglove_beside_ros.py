"""A run that serves Foxglove beside ROS: the same messages on both, until Ctrl-C."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from forked_programs import program
from listening import listener
from processes import sim_node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

pytest.importorskip("foxglove", reason="needs foxglove-sdk")

from foxglove_client import connected
from red_wall import WORLD


@pytest.mark.usefixtures("ros_domain", "opengl")
def test_a_run_beside_ros_serves_foxglove_too(tmp_path: Path) -> None:
    world = tmp_path / "served.yaml"
    world.write_text(WORLD, encoding="utf-8")
    with program(sim_node("run", world, "--foxglove", "0")) as running, listener() as ros:
        running.wait_for("foxglove: ws://127.0.0.1:")
        running.wait_for("stop ")
        clocks = ros.subscribe(Clock, "/clock", QoSProfile(depth=10))
        ros.spin_until(lambda: clocks, what="/clock")
        found = re.search(r"ws://127\.0\.0\.1:\d+", running.output)
        assert found
        with connected(found[0]) as client:
            client.subscribe("/clock", "/tf", "/cart/cam/image_raw")
            client.until(lambda client: all(map(client.of, ("/clock", "/tf", "/cart/cam/image_raw"))))
            # Ctrl-C ends it also while a client is there.
            assert running.stop() == 0
    for received in client.of("/tf"):
        [cart] = [each for each in received.message.transforms if each.child_frame_id == "cart/base_link"]
        stamp = cart.header.stamp.sec + cart.header.stamp.nanosec * 1e-9
        assert cart.transform.translation.x == pytest.approx(stamp, abs=1e-6)
    assert {received.message.clock.sec >= 0 for received in client.of("/clock")} == {True}
    picture = client.of("/cart/cam/image_raw")[-1].message
    pixels = np.asarray(picture.data).reshape(picture.height, picture.width, 3).astype(int)
    assert (pixels[..., 0] > 2 * pixels[..., 1]).all()
