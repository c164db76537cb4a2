"""Names on the graph that a world determines: no two publishers of one topic, no two servers of one service."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_node.assembly import assemble
from sim_node.cli.main import main
from sim_node.session.graph_names import clashes, graph_names
from sim_node.world import load
from sim_node.world.locate import shipped_worlds

FLOWN = """\
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {step: 0.004}
physics: {integrator: euler, timestep: 0.001}
bodies: [{name: ground, geometry: [{plane: true}]}]
vehicles:
  - {name: drone, model: iris, pose: {position: [0, 0, 0.13]}, autopilot: {type: mavlink_builtin}}
sensors:
"""

pytestmark = pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning")


@pytest.mark.parametrize("world", shipped_worlds())
def test_no_shipped_world_has_two_publishers_on_a_topic(world: str) -> None:
    assert clashes(assemble(load(world))) == []


def test_the_simulated_imu_keeps_its_topic_and_the_autopilots_own_moves() -> None:
    owners = {each.name: each.owner for each in graph_names(assemble(load("guided")))}
    assert owners["/drone/imu/data_raw"] == "sensor drone/IMU"
    assert owners["/drone/autopilot/imu/data_raw"] == "the bridge of vehicle drone"
    assert owners["/drone/imu/data"] == "the bridge of vehicle drone"


@pytest.mark.parametrize(
    ("sensors", "line", "words"),
    [
        pytest.param(
            "  - {name: drone/LEFT-1, type: imu}\n  - {name: drone/left_1, type: imu}\n",
            "9:12: sensors[1].name: ",
            "sensor drone/left_1 publishes on '/drone/left_1/data_raw', as does sensor drone/LEFT-1; change one",
            id="two sensors whose names become one in the characters of ROS",
        ),
        pytest.param(
            "  - {name: drone/Autopilot/Imu, type: imu}\n",
            "8:12: sensors[0].name: ",
            "publishes on '/drone/autopilot/imu/data_raw', as does the bridge of vehicle drone; change one",
            id="a sensor and the bridge",
        ),
        pytest.param(
            "  - {name: drone/local_position, type: ground_truth}\n",
            "8:12: sensors[0].name: ",
            "publishes on '/drone/local_position/odom', as does the bridge of vehicle drone",
            id="a sensor and an estimate",
        ),
    ],
)
def test_check_finds_a_shared_topic_where_it_is_named(
    sensors: str, line: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shared.yaml"
    path.write_text(FLOWN + sensors)
    assert main(["check", str(path)]) == 2
    errors = capsys.readouterr().err
    assert f"{path}:{line}" in errors
    assert words in errors
    assert errors.splitlines()[-1] == "1 error"


def test_two_vehicles_that_share_a_namespace_are_one_problem(tmp_path: Path) -> None:
    """A name that is no namespace becomes vehicleID, which may be another vehicle's name."""
    path = tmp_path / "two.yaml"
    *before, first, _ = FLOWN.splitlines()
    first = first.replace("drone", "red-one").replace("mavlink_builtin", "mavlink_builtin, instance: 0")
    second = first.replace("red-one", "vehicle1").replace("instance: 0", "instance: 1")
    path.write_text("\n".join([*before, first, second]))
    found = clashes(assemble(load(path)))
    kinds = {each.kind for each in graph_names(assemble(load(path))) if each.owner == "the bridge of vehicle vehicle1"}
    assert kinds == {"topic", "service"}
    [problem] = found
    assert problem.where.line == 7
    assert "the bridge of vehicle vehicle1 publishes on" in problem.message
    assert "more, as does the bridge of vehicle red-one" in problem.message
