"""Which frames are robots, what their links and TF prefixes are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_node.assembly import assemble
from sim_node.viewing.robots import Robot, robots_of
from sim_node.world import load
from sim_node.world.layout import lay_out


def robots(world: str | Path, prefix: str = "") -> dict[str, tuple[Robot, list[str]]]:
    """By name, with their links."""
    loaded = assemble(load(world))
    frames = lay_out(loaded).frames
    found = robots_of(loaded, frames, prefix)
    return {robot.name: (robot, [robot.link(frames.names[row]) for row in robot.rows]) for robot in found}


def test_a_vehicle_is_a_robot_whose_links_lack_its_name() -> None:
    (robot, links) = robots("quadrotor")["drone"]
    assert robot.tf_prefix == "drone"
    assert links == ["base_link", *(f"rotor_{k}" for k in range(4)), "TRUTH", "IMU", "MAG", "BARO", "GPS"]


def test_each_vehicle_is_one() -> None:
    assert list(robots("formation")) == ["alpha", "bravo", "charlie"]


def test_a_model_begins_at_its_root_link() -> None:
    (robot, links) = robots("arm")["arm"]
    assert robot.tf_prefix == "arm"
    assert links[0] == "base_link"
    assert "tool0" in links


def test_a_mechanism_begins_at_what_its_first_joint_is_fixed_to() -> None:
    (robot, links) = robots("cart_pole")["rail"]
    assert robot.tf_prefix == ""
    assert links == ["rail", "cart/joint", "cart", "ENCODERS", "pole/joint", "pole", "tip", "IMU_TIP"]


def test_frames_without_joints_are_none() -> None:
    assert not robots("orbit")
    assert not robots("two_vehicles")


def test_what_only_floats_is_none(tmp_path: Path) -> None:
    world = tmp_path / "ball.yaml"
    world.write_text("world: ball\nbodies:\n  - {name: ball, joint: free, geometry: [{sphere: 0.1, mass: 1}]}\n")
    assert not robots(world)


@pytest.mark.parametrize("prefix", ["", "lab/", "lab_", "a/b_"])
@pytest.mark.parametrize("world", ["quadrotor", "cart_pole", "arm", "all_joints"])
def test_the_frame_of_a_link_is_the_prefix_and_the_link(world: str, prefix: str) -> None:
    """rviz' TFLinkUpdater: TF Prefix, a slash, the link; the link alone where there is no prefix."""
    loaded = assemble(load(world))
    frames = lay_out(loaded).frames
    for robot in robots_of(loaded, frames, prefix):
        for row in robot.rows:
            link = robot.link(frames.names[row])
            resolved = f"{robot.tf_prefix}/{link}" if robot.tf_prefix else link
            assert resolved == prefix + frames.names[row]
