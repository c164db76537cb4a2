"""Graphs of the page: fields of topics in bags and runs, sensors and components, as they go over the page's socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page import opened
from page_graphs import graphs
from robot_topics import a, header, pose, stamped, written

from sim_node.session import Session
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.schematic import read_schematic
from sim_node.world import WorldError
from sim_node.world.frame_table import table_of

WORLD = """
world: flight
time: {step: 0.01}
motions:
  - frame: drone/base_link
    keyframes: [{t: 0, position: [0, 0, 3]}, {t: 100, position: [100, 0, 3]}]
bodies:
  - {name: ground, geometry: [{plane: true}]}
sensors:
  - name: drone/RANGE
    type: rangefinder
    rate: 100
    noise: {deviation: 0, resolution: 0}
    pose: {position: [0, 0, -0.25], rpy_deg: [0, 90, 0]}
schematic: |
  graph "drone/RANGE" name=Sensor
  graph "/drone/range/range.range" name=Topic
  graph "/tf.transforms[0].transform.linear()" name=Transform
"""


def odometry(height: float) -> Any:
    odom = a("nav_msgs/Odometry", header=header("odom"), child_frame_id="base_link")
    odom.pose.pose = pose((1.0, 2.0, height))
    return odom


def bag_of(folder: Path) -> Path:
    """A rover that falls from 100 m, with two joints."""
    joints = a("sensor_msgs/JointState", header=header("base_link"), position=np.array([0.5, 1.5]))
    return written(
        folder / "fall",
        [
            ("/goal", 0.0, stamped("odom", (1, 2, 3))),
            ("/joints", 0.0, joints),
            *(("/odom", t / 10, odometry(100.0 - 0.5 * 9.81 * (t / 10) ** 2)) for t in range(21)),
            ("/joints", 2.0, joints),
        ],
    )


def shown(bag: Path, schematic: str) -> tuple[Viewer, BagView]:
    viewer = Viewer(0, "test")
    viewer.schematic = read_schematic(schematic, "fall.kdl")
    try:
        return viewer, BagView(bag, viewer, print)
    except WorldError:
        viewer.close()
        raise


def test_fields_of_a_bag_that_is_not_ours_are_drawn(tmp_path: Path) -> None:
    """Heights of a fall from 100 m."""
    text = """
    graph "/odom.pose.pose.position.z"
    graph "/odom.pose.pose.position, 2.0 * /joints.position[1]"
    graph "/odom.pose.pose.translate_world_z(-100)"
    """
    viewer, view = shown(bag_of(tmp_path), text)
    view.start(paused=True)
    for second in (1, 2):
        view.seek(view.span[0] + second * 10**9)
    labels, samples = graphs(viewer.url, lambda samples: bool(samples) and samples[0][-1][1] == [pytest.approx(80.38)])
    view.close()
    assert labels[0] == ["z"]
    assert labels[1][:3] == [f"/odom.pose.pose.position {axis}" for axis in "xyz"]
    assert labels[2][4:] == ["x", "y", "z"]
    assert samples[0][-1][0] == pytest.approx(2.0)
    assert samples[0][-1][1] == pytest.approx([100.0 - 0.5 * 9.81 * 4.0])
    assert samples[1][-1][1] == pytest.approx([1.0, 2.0, 80.38, 3.0])
    assert samples[2][-1][1] == pytest.approx([0, 0, 0, 1, 1.0, 2.0, -19.62])


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("/odm.pose.pose.position.z", "there is no topic /odm; did you mean /odom?"),
        ("/odom.pose.pose.positon.z", "/odom: pose.pose has no field positon; did you mean position?"),
        ("/odom.child_frame_id", "/odom: child_frame_id is not a number, but a text"),
        ("/odom.pose.covariance", "/odom: pose.covariance is an array; give an index, as in pose.covariance[0]"),
        ("/odom.pose.covariance[36]", "/odom: pose.covariance has 36 elements and no [36]"),
        ("/odom", "the field is missing; signals look like /odom.pose.position.x"),
    ],
)
def test_unknown_topics_and_fields_are_located(tmp_path: Path, formula: str, message: str) -> None:
    bag = written(tmp_path / "short", [("/odom", 0.0, odometry(1.0)), ("/odom", 1.0, odometry(1.0))])
    with pytest.raises(WorldError) as raised:
        shown(bag, f'graph "{formula}"')
    assert f"fall.kdl:1:7: graph: {message}" in str(raised.value)


def test_a_sensor_and_the_topics_of_a_run_are_drawn(tmp_path: Path) -> None:
    """2.75 m above the ground, at 1 m/s along x."""
    path = tmp_path / "flight.yaml"
    path.write_text(WORLD, encoding="utf-8")
    with Session(path, view=0, real_time_factor=0.0) as session:
        session.run(1.0)
        assert session.viewer is not None
        _, samples = graphs(
            session.viewer.url,
            lambda samples: len(samples) == 3 and all(rows[-1][0] == pytest.approx(1.0) for rows in samples.values()),
        )
    assert samples[0][-1][1] == pytest.approx([2.75])
    assert samples[1][-1][1] == pytest.approx([2.75])
    for time_s, values in samples[2]:
        assert values == pytest.approx([time_s, 0.0, 3.0])


def test_objects_are_drawn_again_when_the_first_frames_come() -> None:
    """As in a graph whose transforms come later."""
    viewer = Viewer(0, "test")
    viewer.schematic = read_schematic('object_3d "(1, 2, 3)" { sphere radius=1; }', "ball.kdl")
    identity = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    viewer.set_scene(table_of({"map": "earth"}, ()), np.array([identity] * 2))
    viewer.set_scene(table_of({"odom": "map"}, ()), np.array([identity] * 2))
    with opened(viewer.url) as page:
        assert page.has("BatchedMeshesMessage", name="/world/objects/0")
    viewer.close()
