"""Configurations of rviz2 for bags: of other people's, and of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from recorded_runs import record
from test_rviz import KNOWN, classes, config, displays
from written import LATCHED, T0, Row, header, make, pose_stamped, qos, tf_message, write_bag

from sim_node.cli.main import main

URDF = '<robot name="cart"><link name="base"/></robot>'


def written(capsys: pytest.CaptureFixture[str], bag: Path) -> dict[str, Any]:
    assert main(["rviz", str(bag)]) == 0
    found: dict[str, Any] = yaml.safe_load(capsys.readouterr().out)
    return found


@pytest.fixture
def robot_bag(tmp_path: Path) -> Path:
    topics = {
        "/tf": ("tf2_msgs/msg/TFMessage", [qos(depth=100)]),
        "/tf_static": ("tf2_msgs/msg/TFMessage", [LATCHED]),
        "/goal": ("geometry_msgs/msg/PoseStamped", [qos(reliable=False), qos(reliable=False)]),
        "/plan": ("geometry_msgs/msg/PoseStamped", [LATCHED]),
        "/cart/robot_description": ("std_msgs/msg/String", [LATCHED]),
        "/battery": ("std_msgs/msg/Header", [qos()]),
    }
    rows = [
        Row("/tf_static", T0, tf_message((T0, "earth", "odom", 40.0))),
        Row("/cart/robot_description", T0, make("std_msgs/msg/String", URDF)),
        Row("/tf", T0 + 1, tf_message((T0, "odom", "cart/base", 1.0))),
        Row("/goal", T0 + 2, pose_stamped(T0, 1.0)),
        Row("/plan", T0 + 3, pose_stamped(T0, 1.0)),
        Row("/battery", T0 + 4, header(T0, "cart/base")),
    ]
    return write_bag(tmp_path / "bag", topics, rows)


def test_a_bag_is_shown_on_its_root_as_its_publishers_offered_it(
    robot_bag: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = written(capsys, robot_bag)
    assert set(classes(shown)) <= KNOWN
    assert shown["Visualization Manager"]["Global Options"]["Fixed Frame"] == "earth"
    by_name = {display["Name"]: display for display in displays(shown)}
    assert set(by_name) == {"Grid", "TF", "cart", "/goal", "/plan"}
    assert by_name["/goal"]["Class"] == "rviz_default_plugins/Pose"
    assert by_name["/goal"]["Topic"]["Reliability Policy"] == "Best Effort"
    assert by_name["/plan"]["Topic"]["Durability Policy"] == "Transient Local"
    assert by_name["cart"]["TF Prefix"] == "cart"
    assert by_name["cart"]["Description Topic"]["Value"] == "/cart/robot_description"


# Takes seconds: make test has the displays of a bag.
@pytest.mark.nightly
def test_a_run_looks_as_its_world_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the bag of a run is shown by is what its world is shown by; names and groups apart."""

    def kinds(shown: dict[str, Any]) -> set[tuple[str, str]]:
        topics = ((each, each.get("Topic") or each.get("Description Topic")) for each in displays(shown))
        return {(each["Class"], topic["Value"].lstrip("/")) for each, topic in topics if topic}

    record("lidar_room", tmp_path / "bag", seconds=0.5)
    of_bag = written(capsys, tmp_path / "bag")
    of_world = config("lidar_room")
    assert kinds(of_bag) == kinds(of_world)
    manager = "Visualization Manager"
    assert of_bag[manager]["Global Options"]["Fixed Frame"] == of_world[manager]["Global Options"]["Fixed Frame"]


def test_shapes_of_recorded_robots_are_drawn_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record("quadrotor", tmp_path / "bag", seconds=0.1)
    (markers,) = (each for each in displays(written(capsys, tmp_path / "bag")) if "Namespaces" in each)
    assert markers["Namespaces"]["robots"] is False
    assert markers["Namespaces"]["shapes"]


def test_options_of_worlds_are_refused(robot_bag: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rviz", str(robot_bag), "--namespace", "hall"]) == 2
    assert "a bag does not support --namespace" in capsys.readouterr().err


def test_a_bag_without_transforms_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = write_bag(
        tmp_path / "bag", {"/p": ("geometry_msgs/msg/PoseStamped", [])}, [Row("/p", T0, pose_stamped(T0, 0.0))]
    )
    assert main(["rviz", str(bag)]) == 2
    assert "the bag has no transforms" in capsys.readouterr().err
