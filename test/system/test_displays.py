"""What a running node sends for rviz, heard by somebody who comes late, and whether generated configurations fit it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import rclpy.qos as ros_qos
import yaml
from forked_programs import program
from listening import Listener, listener
from nav_msgs.msg import Path
from nightly import only
from processes import sim_node
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from urdf_parser_py.urdf import URDF
from visualization_msgs.msg import Marker, MarkerArray

from sim_node.cli.main import main

LATCHED = ros_qos.QoSProfile(depth=10, durability=ros_qos.DurabilityPolicy.TRANSIENT_LOCAL)
TF = ros_qos.QoSProfile(depth=100)
TF_STATIC = ros_qos.QoSProfile(depth=100, durability=ros_qos.DurabilityPolicy.TRANSIENT_LOCAL)
# What each display of rviz_default_plugins subscribes to, by its source.
TYPES = {
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "RobotModel": "std_msgs/msg/String",
    "Odometry": "nav_msgs/msg/Odometry",
    "Path": "nav_msgs/msg/Path",
    "Image": "sensor_msgs/msg/Image",
    "LaserScan": "sensor_msgs/msg/LaserScan",
    "PointCloud2": "sensor_msgs/msg/PointCloud2",
    "Range": "sensor_msgs/msg/Range",
    "FluidPressure": "sensor_msgs/msg/FluidPressure",
    "Temperature": "sensor_msgs/msg/Temperature",
    "RelativeHumidity": "sensor_msgs/msg/RelativeHumidity",
    "Illuminance": "sensor_msgs/msg/Illuminance",
    "Wrench": "geometry_msgs/msg/WrenchStamped",
}
RELIABILITY = {"Reliable": "RELIABLE", "Best Effort": "BEST_EFFORT"}
DURABILITY = {"Transient Local": "TRANSIENT_LOCAL", "Volatile": "VOLATILE"}


def displays(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in nodes:
        yield each
        yield from displays(each.get("Displays", []))


def profile(topic: dict[str, Any]) -> ros_qos.QoSProfile:
    return ros_qos.QoSProfile(
        depth=topic["Depth"],
        reliability=ros_qos.ReliabilityPolicy[RELIABILITY[topic["Reliability Policy"]]],
        durability=ros_qos.DurabilityPolicy[DURABILITY[topic["Durability Policy"]]],
        liveliness=ros_qos.LivelinessPolicy.AUTOMATIC,
    )


def frames_of(ears: Listener, moving: list[Any], still: list[Any]) -> set[str]:
    ears.spin_until(lambda: bool(moving and still), what="/tf and /tf_static")
    return {t.child_frame_id for got in (moving, still) for t in got[-1][1].transforms}


@pytest.mark.usefixtures("ros_domain")
# Which has the most kinds of displays.
@pytest.mark.parametrize("world", only(["lidar_room", "quadrotor", "arm"], 0))
def test_every_display_hears_what_the_node_offers(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each topic of the configuration is published, of the type that its display takes, with QoS that match."""
    assert main(["rviz", world, "--frame-prefix=lab/", "--namespace=hall"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)["Visualization Manager"]["Displays"]
    topics = [(d["Class"].rpartition("/")[2], d.get("Topic") or d.get("Description Topic")) for d in displays(shown)]
    wanted = [(plugin, topic) for plugin, topic in topics if topic]
    assert wanted
    arguments = ["--ros-args", "-p", "frame_prefix:=lab/", "-r", "__ns:=/hall"]
    with program(sim_node("run", world, *arguments)) as running, listener() as ears:
        running.wait_for("stop         Ctrl-C")
        for plugin, topic in wanted:

            def offers(name: str = topic["Value"]) -> Any:
                return ears.node.get_publishers_info_by_topic(name)

            ears.spin_until(partial(lambda ask: bool(ask()), offers), what=topic["Value"])
            (offer,) = offers()
            assert offer.topic_type == TYPES[plugin]
            fit, reason = ros_qos.qos_check_compatible(offer.qos_profile, profile(topic))
            assert fit == ros_qos.QoSCompatibility.OK, reason
            assert topic["Filter size"] > 10


@pytest.mark.usefixtures("ros_domain")
def test_a_late_joiner_has_markers_and_description_once_and_paths_grow() -> None:
    with program(sim_node("run", "quadrotor", "--speed", "4")) as running, listener() as ears:
        running.wait_for("stop         Ctrl-C")
        paths = ears.subscribe(Path, "/drone/path", ros_qos.QoSProfile(depth=10))
        ears.spin_until(lambda: len(paths) > 8, what="paths")
        moving, still = ears.subscribe(TFMessage, "/tf", TF), ears.subscribe(TFMessage, "/tf_static", TF_STATIC)
        markers = ears.subscribe(MarkerArray, "/simulation/markers", LATCHED)
        described = ears.subscribe(String, "/drone/robot_description", LATCHED)
        frames = frames_of(ears, moving, still) | {"map"}
        ears.spin_until(lambda: bool(markers and described), what="markers and a description")
        before = len(paths)
        ears.spin_until(lambda: len(paths) > before + 5, what="more paths")
        assert len(markers) == len(described) == 1, "sent once"

        found = markers[0][1].markers
        assert found[0].action == Marker.DELETEALL
        assert {marker.header.frame_id for marker in found} <= frames
        assert {marker.ns for marker in found[1:]} >= {"shapes", "robots", "missions", "sensors"}

        robot = URDF.from_xml_string(described[0][1].data.encode())
        assert {f"drone/{link.name}" for link in robot.links} <= frames
        last = paths[-1][1]
        assert last.header.frame_id == "map"
        stamps = [pose.header.stamp.sec * 10**9 + pose.header.stamp.nanosec for pose in last.poses]
        np.testing.assert_allclose(np.diff(stamps), 0.2e9, atol=0.02e9)
        assert len(last.poses) > len(paths[0][1].poses)

        # A reset: markers once more, for viewers that have dropped theirs, and a new path.
        count = len(paths)
        assert ears.call(Trigger, "/simulation/reset", Trigger.Request()).success
        ears.spin_until(lambda: len(markers) == 2, what="markers after the reset")
        ears.spin_until(lambda: any(len(path.poses) < len(last.poses) for _, path in paths[count:]), "a path anew")


@pytest.mark.usefixtures("ros_domain")
def test_what_is_switched_off_is_not_there() -> None:
    off = [word for name in ("markers", "robot_descriptions", "paths") for word in ("-p", f"{name}:=false")]
    with program(sim_node("run", "quadrotor", "--ros-args", *off)) as running, listener() as ears:
        running.wait_for("stop         Ctrl-C")
        truth = ears.node.get_publishers_info_by_topic
        ears.spin_until(lambda: bool(truth("/drone/truth/odom")), what="the other topics")
        assert not any(map(truth, ("/simulation/markers", "/drone/robot_description", "/drone/path")))
