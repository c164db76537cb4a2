"""A ghost of a run follows the poses that another program publishes, which comes later than the run."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.executors import SingleThreadedExecutor
from waiting import until

from sim_node import loads
from sim_node.ros.simulation import SimulationNode
from sim_node.viewing.browser.ghosts import TopicGhost

WORLD = """
world: flight
motions:
  - frame: drone/base_link
    keyframes: [{t: 0, position: [0, 0, 3]}, {t: 99, position: [99, 0, 3]}]
bodies: [{name: ball, parent: drone/base_link, geometry: [{sphere: 0.3}]}]
"""


def test_an_estimate_of_another_program_is_a_ghost(ros_domain: int) -> None:
    rclpy.init()
    quiet = {"start_paused": True, "simulation_interfaces": ""}
    node = SimulationNode(loads(WORLD), quiet, view=0, ghosts=[TopicGhost("/filter/pose", "")])
    node.loop.start()
    other = rclpy.create_node("filter")
    publisher = other.create_publisher(PoseStamped, "/filter/pose", 10)
    message = PoseStamped()
    message.header.frame_id = node.world.fixed_frame
    message.pose.position.x, message.pose.position.z, message.pose.orientation.w = 2.0, 5.0, 1.0
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    executor.add_node(other)
    viewer = node.session.viewer
    assert viewer is not None

    def has_come() -> bool:
        publisher.publish(message)
        executor.spin_once(timeout_sec=0.05)
        node.loop.step(1)
        assert viewer.scene is not None
        frames = viewer.scene.frames
        return bool(viewer.scene.in_root[frames.index("ghost/drone/base_link"), :3].tolist() == [2.0, 0.0, 5.0])

    until(has_come, "the estimate")
    executor.shutdown()
    other.destroy_node()
    node.destroy_node()
    rclpy.shutdown()
