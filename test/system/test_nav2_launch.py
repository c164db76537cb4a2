"""The launch file with Nav2, as far as upstream's launch goes: Nav2's own nodes are in no package index.

In their places are nodes of rclpy, which take their parameters as Nav2's do: by rcl's reader, each by its name.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ament_index_python.packages
import pytest
from installing import own_path
from listening import Listener
from processes import Program
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile
from test_launch import LAUNCH_FILE, launch, members
from tf2_msgs.msg import TFMessage
from waiting import until

pytestmark = [pytest.mark.upstream("launch_ros", "ros2launch"), pytest.mark.usefixtures("ros_domain")]
NAV2 = {
    "nav2_controller": "controller_server", "nav2_planner": "planner_server", "nav2_behaviors": "behavior_server",
    "nav2_bt_navigator": "bt_navigator", "nav2_waypoint_follower": "waypoint_follower", "nav2_amcl": "amcl",
    "nav2_map_server": "map_server", "nav2_lifecycle_manager": "lifecycle_manager",
    "slam_toolbox": "async_slam_toolbox_node", "robot_state_publisher": "robot_state_publisher",
}  # fmt: skip
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
NAVIGATION = ("controller_server", "planner_server", "behavior_server", "bt_navigator", "waypoint_follower")
COSTMAPS = {"controller_server": "local_costmap", "planner_server": "global_costmap"}
NODE = """#!{python}
import sys
import rclpy
from rclpy.executors import SingleThreadedExecutor, ExternalShutdownException
rclpy.init(args=sys.argv)
names = [({name!r}, "")] + [(each, "/" + each) for each in {inside!r}]
executor = SingleThreadedExecutor()
try:
    for name, namespace in names:
        at = {{"namespace": namespace or None, "automatically_declare_parameters_from_overrides": True}}
        executor.add_node(rclpy.create_node(name, **at))
    executor.spin()
except (KeyboardInterrupt, ExternalShutdownException):
    pass
except Exception:
    if rclpy.ok():  # it was not interrupted
        raise
"""
HALL = """
world: hall
physics: {integrator: implicitfast, timestep: 0.002}
ground: {friction: 0.8}
bodies:
  - {name: crate, pose: {position: [2, 0, 0.4]}, geometry: [{box: [0.8, 0.8, 0.8]}]}
bases:
  - name: cart
    model: differential
    sensors: [LIDAR, ENCODERS]
    transforms: odometry
    pose: {position: [1, -2, 0], rpy_deg: [0, 0, 90]}
"""


@pytest.fixture
def launched(tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    """The launch file, beside packages with nodes in the places of Nav2's."""
    prefix = tmp_path / "prefix"
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    for package, name in NAV2.items():
        (index / package).touch()
        path = prefix / "lib" / package / name
        path.parent.mkdir(parents=True)
        inside = [COSTMAPS[name]] if name in COSTMAPS else []
        path.write_text(NODE.format(python=sys.executable, name=name, inside=inside), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    others = os.environ.get("AMENT_PREFIX_PATH", "")
    environment = {**own_path(), "AMENT_PREFIX_PATH": f"{prefix}:{others}"}
    return [str(LAUNCH_FILE.with_name("nav2.launch.py"))], environment


def parameters(ears: Listener, node: str, names: Sequence[str]) -> list[Any]:
    values = ears.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=list(names))).values
    return [parameter_value_to_python(value) for value in values]


def end(running: Program, ears: Listener) -> None:
    """Interrupt it once its nodes are there: a Python that has hardly begun has its own words for Ctrl-C."""
    ears.spin_until(lambda: set(NAVIGATION) <= set(ears.node.get_node_names()), lambda: running.output)
    group = running.process.pid
    os.killpg(group, signal.SIGINT)
    until(lambda: not members(group), f"the end of the group\n{running.output}")
    running.wait()


def has_type(ears: Listener, topic: str, type: str) -> bool:
    return (topic, [type]) in ears.node.get_topic_names_and_types()


def test_what_the_parameters_name_is_on_the_graph(launched: tuple[list[str], dict[str, str]]) -> None:
    with launch(launched) as (running, ears):
        frames: set[str] = set()

        def hear(message: TFMessage) -> None:
            frames.update(each.child_frame_id for each in message.transforms)

        ears.node.create_subscription(TFMessage, "/tf", hear, 100)
        scan = "obstacle_layer.scan.topic"
        for node in ("local_costmap", "global_costmap"):
            topic, base, wide = parameters(
                ears, f"/{node}/{node}", [scan, "robot_base_frame", "obstacle_layer.scan.max_obstacle_height"]
            )
            ears.spin_until(partial(has_type, ears, topic, "sensor_msgs/msg/LaserScan"), f"{topic}; {running.output}")
            assert wide == 2.0
            ears.spin_until(partial(frames.__contains__, base), f"{base}; {running.output}")
        (local,) = parameters(ears, "/local_costmap/local_costmap", ["global_frame"])
        ears.spin_until(lambda: local in frames, f"{local}; {running.output}")
        odometry, sim_time = parameters(ears, "/controller_server", ["odom_topic", "use_sim_time"])
        ears.spin_until(lambda: has_type(ears, odometry, "nav_msgs/msg/Odometry"), odometry)
        assert sim_time is True
        assert parameters(ears, "/bt_navigator", ["odom_topic", "robot_base_frame"]) == [odometry, "amr1/base_link"]
        assert parameters(ears, "/lifecycle_manager_navigation", ["node_names"]) == [list(NAVIGATION)]
        (made,) = parameters(ears, "/map_server", ["yaml_filename"])
        assert parameters(ears, "/lifecycle_manager_map", ["node_names"]) == [["map_server"]], "once the map is there"
        assert Path(made).is_file()
        end(running, ears)
    assert not Path(made).parent.exists(), "what the launch wrote goes with it"


def test_amcl_begins_where_the_world_puts_the_robot(launched: tuple[list[str], dict[str, str]], tmp_path: Path) -> None:
    world = tmp_path / "hall.yaml"
    world.write_text(HALL, encoding="utf-8")
    words = [f"world:={world}", "robot:=cart", "localisation:=amcl", "map:=/some/hall.yaml"]
    with launch(launched, *words, "robot_state_publisher:=true") as (running, ears):
        ours: set[str] = set()
        heard: list[TFMessage] = []

        def hear(message: TFMessage) -> None:
            heard.append(message)
            ours.update(each.child_frame_id for each in message.transforms)

        for topic, quality in (("/tf", 100), ("/tf_static", LATCHED)):
            ears.node.create_subscription(TFMessage, topic, hear, quality)
        names = ["set_initial_pose", "initial_pose.x", "initial_pose.y", "initial_pose.yaw", "base_frame_id"]
        begins, *pose, base = parameters(ears, "/amcl", names)
        assert begins is True
        assert pose == pytest.approx([1.0, -2.0, 1.5707963], abs=1e-3)
        assert base == "cart/base_link"
        assert parameters(ears, "/map_server", ["yaml_filename"]) == ["/some/hall.yaml"]
        (description,) = parameters(ears, "/robot_state_publisher", ["robot_description"])
        theirs = {
            str(child.get("link"))
            for joint in ElementTree.fromstring(description).iter("joint")
            for child in joint.iter("child")
            if joint.get("type") != "floating"
        }
        assert {"cart/LIDAR", "cart/left_wheel"} <= theirs
        assert parameters(ears, "/simulation", ["publish_description"]) == [False]
        ears.spin_until(lambda: {"cart/base_link"} <= ours and len(heard) > 50, f"/tf; {running.output}")
        assert ours.isdisjoint(theirs), "no frame twice"
        end(running, ears)


def test_slam_toolbox_makes_the_map(launched: tuple[list[str], dict[str, str]], tmp_path: Path) -> None:
    world = tmp_path / "hall.yaml"
    world.write_text(HALL, encoding="utf-8")
    with launch(launched, f"world:={world}", "robot:=cart", "localisation:=slam") as (running, ears):
        assert parameters(ears, "/slam_toolbox", ["scan_topic", "odom_frame"]) == ["/cart/lidar/scan", "cart/odom"]
        assert parameters(ears, "/lifecycle_manager_slam", ["node_names"]) == [["slam_toolbox"]]
        assert "map_server" not in ears.node.get_node_names()
        assert not ears.node.get_publishers_info_by_topic("/map")
        end(running, ears)


def test_without_nav2_nothing_is_started() -> None:
    if ament_index_python.packages.get_packages_with_prefixes().get("nav2_controller"):
        pytest.skip("Nav2 is here")
    with launch(([str(LAUNCH_FILE.with_name("nav2.launch.py"))], own_path()), "localisation:=slam") as (running, _):
        assert running.wait() == 1
        assert "nav2_controller" in running.output
        assert "not installed: sudo apt install ros-" in running.output
        assert "-navigation2 ros-" in running.output
        assert "process started" not in running.output


def test_a_robot_that_is_not_there_ends_the_launch(launched: tuple[list[str], dict[str, str]]) -> None:
    with launch(launched, "robot:=amr3", "localisation:=amcl", "map:=/some/hall.yaml") as (running, _):
        assert running.wait() == 1
        assert "amr3" in running.output
        assert "Traceback" not in running.output
