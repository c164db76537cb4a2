"""Configurations of rviz2: sound YAML, displays that rviz has, views that see the world."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from nightly import rows

from sim_node.assembly import assemble
from sim_node.cli.main import main
from sim_node.mavlink.topics import telemetry_of
from sim_node.simulation import Simulation
from sim_node.viewing.rviz import rviz_config
from sim_node.world import load
from sim_node.world.locate import shipped_worlds

# rviz_default_plugins/plugins_description.xml of ROS 2 Humble to Kilted, and the classes that rviz_common has itself.
PLUGINS = {
    "AccelStamped",
    "Axes",
    "Camera",
    "DepthCloud",
    "Effort",
    "FluidPressure",
    "Grid",
    "GridCells",
    "Illuminance",
    "Image",
    "InteractiveMarkers",
    "LaserScan",
    "Map",
    "Marker",
    "MarkerArray",
    "Odometry",
    "Path",
    "PointCloud",
    "PointCloud2",
    "PointStamped",
    "Polygon",
    "Pose",
    "PoseArray",
    "PoseWithCovariance",
    "Range",
    "RelativeHumidity",
    "RobotModel",
    "TF",
    "Temperature",
    "TwistStamped",
    "Wrench",
    "FPS",
    "Orbit",
    "ThirdPersonFollower",
    "TopDownOrtho",
    "XYOrbit",
    "FocusCamera",
    "Interact",
    "Measure",
    "MoveCamera",
    "PublishPoint",
    "Select",
    "SetGoal",
    "SetInitialPose",
}
COMMON = ("Displays", "Group", "Help", "Selection", "Time", "Tool Properties", "Transformation", "Views")
KNOWN = {*(f"rviz_default_plugins/{name}" for name in PLUGINS), *(f"rviz_common/{name}" for name in COMMON)}

TELEMETRY = {"drone": telemetry_of("drone")}

pytestmark = pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning")


def config(world: str | Path, **given: object) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(rviz_config(assemble(load(world)), **given))  # type: ignore[arg-type]
    return found


def displays(shown: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All displays, those in groups too."""
    waiting = list(shown["Visualization Manager"]["Displays"])
    while waiting:
        each = waiting.pop(0)
        waiting += each.get("Displays", [])
        yield each


def classes(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("Class"):
            yield node["Class"]
        for value in node.values():
            yield from classes(value)
    elif isinstance(node, list):
        for value in node:
            yield from classes(value)


@pytest.mark.parametrize("world", rows(shipped_worlds(), usual=("arm", "lidar_room", "quadrotor")))
def test_every_class_is_one_that_rviz_comes_with(world: str) -> None:
    shown = config(world, telemetry=TELEMETRY)
    assert set(classes(shown)) <= KNOWN
    assert shown["Visualization Manager"]["Global Options"]["Fixed Frame"] == load(world).fixed_frame
    names = [display["Name"] for display in displays(shown)]
    assert {"Grid", "TF", "Markers"} <= set(names)


# A minute of each world is simulated; what moves by keyframes, by joints and freely is in these.
@pytest.mark.parametrize("world", rows(shipped_worlds(), usual=("orbit",)))
def test_the_view_sees_all_frames_all_the_time(world: str) -> None:
    """Each frame of the first minute lies within the pyramid of rviz' camera: 45 degrees from edge to edge.

    rviz' Orbit: the eye is at the focal point plus the distance along
    (cos yaw cos pitch, sin yaw cos pitch, sin pitch).
    What a run throws away or flies freely is not foreseen.
    """
    if world in ("ardupilot", "px4", "all_joints"):
        pytest.skip("an autopilot flies it" if world != "all_joints" else "things fall for ever in it")
    view = config(world)["Visualization Manager"]["Views"]["Current"]
    yaw, pitch = view["Yaw"], view["Pitch"]
    back = np.array([math.cos(yaw) * math.cos(pitch), math.sin(yaw) * math.cos(pitch), math.sin(pitch)])
    focus = np.array([view["Focal Point"][axis] for axis in "XYZ"])
    eye = focus + view["Distance"] * back
    across = np.cross(-back, [0.0, 0.0, 1.0])
    across /= np.linalg.norm(across)
    up = np.cross(across, -back)
    simulation = Simulation(load(world), sensors=False)
    # Waves repeat within seconds, and cost as much to simulate as all other worlds together.
    step = 1.0 if world == "buoys" else 5.0
    for _ in range(12):
        places = simulation.frames.in_root(simulation.present().poses)[:, :3] - eye
        depth = places @ -back
        assert (depth > 0.0).all()
        reach = math.tan(math.pi / 8.0) * depth
        assert (np.abs(places @ across) <= reach).all(), "left or right of it"
        assert (np.abs(places @ up) <= reach).all(), "above or below it"
        simulation.run(step)


def test_robots_are_looked_up_under_their_prefix_and_received_late() -> None:
    shown = config("formation", prefix="lab/", namespace="/hall")
    models = [display for display in displays(shown) if display["Class"] == "rviz_default_plugins/RobotModel"]
    assert [model["TF Prefix"] for model in models] == ["lab/alpha", "lab/bravo", "lab/charlie"]
    topics = [model["Description Topic"] for model in models]
    assert topics[0]["Value"] == "/hall/lab/alpha/robot_description"
    assert {topic["Durability Policy"] for topic in topics} == {"Transient Local"}
    follow = [view["Target Frame"] for view in shown["Visualization Manager"]["Views"]["Saved"][1:]]
    assert follow == ["lab/alpha/base_link", "lab/bravo/base_link", "lab/charlie/base_link"]


def test_sensors_are_received_best_effort_with_queues_above_ten() -> None:
    sensors = next(display for display in displays(config("lidar_room")) if display["Name"] == "Sensors")["Displays"]
    kinds = {display["Class"].rpartition("/")[2] for display in sensors}
    assert kinds == {"Image", "LaserScan", "PointCloud2", "Range"}
    for display in sensors:
        assert display["Topic"]["Reliability Policy"] == "Best Effort"
        assert display["Topic"]["Filter size"] > 10


def test_shapes_of_robots_are_drawn_once() -> None:
    """By the RobotModel where there is one, else by the markers."""
    for world, drawn in (("quadrotor", False), ("orbit", True)):
        (markers,) = (display for display in displays(config(world)) if display["Name"] == "Markers")
        assert markers["Namespaces"]["robots"] is drawn
        assert markers["Namespaces"]["shapes"]


def test_telemetry_is_subscribed_to_as_the_bridge_sends_it() -> None:
    """docs/bridge.md: local_position/odom is best effort, home_position/local latched."""
    shown = {display["Name"]: display for display in displays(config("px4", telemetry=TELEMETRY))}
    assert shown["local_position/odom"]["Topic"]["Value"] == "/drone/local_position/odom"
    assert shown["local_position/odom"]["Topic"]["Reliability Policy"] == "Best Effort"
    assert shown["local_position/pose"]["Class"] == "rviz_default_plugins/Pose"


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rviz", "orbit"]) == 0
    printed = capsys.readouterr().out
    path = tmp_path / "orbit.rviz"
    assert main(["rviz", "orbit", "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == printed
    assert yaml.safe_load(printed)["Visualization Manager"]["Name"] == "root"


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rviz", "orbit", "-o", str(tmp_path / "no" / "orbit.rviz")]) == 2
    assert "cannot be written: No such file" in capsys.readouterr().err
