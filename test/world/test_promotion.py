"""Sensors below a base_link that do not move are static, even where they arrive as motions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node.spatial.tree import TransformTree
from sim_node.world import World, lay_out, load

STILL = "keyframes: [{t: 0, position: [1, 2, 3]}, {t: 5, position: [1, 2, 3]}]"


def is_static(world: World, name: str) -> bool:
    layout = lay_out(world)
    row = layout.frames.index(name)
    assert (row not in [moving for moving, _ in layout.moving]) == bool(layout.frames.static[row])
    return bool(layout.frames.static[row])


def mounted(name: str, keyframes: str = STILL, parent: str = "base_link") -> str:
    return (
        f"frames: [{{name: base_link}}, {{name: mast}}]\nmotions: [{{frame: {name}, parent: {parent}, {keyframes}}}]\n"
    )


@pytest.mark.parametrize(
    "name", ["CAM_FRONT", "LIDAR_TOP", "RADAR_1", "IMU_MAIN", "GPS_MAIN", "GNSS_REAR", "CAM_", "drone/CAM_FRONT"]
)
def test_sensors_are_promoted_with_their_pose(read: Callable[..., World], name: str) -> None:
    world = read(mounted(name))
    assert is_static(world, name)
    layout = lay_out(world)
    assert layout.poses[layout.frames.index(name)].tolist() == [1, 2, 3, 0, 0, 0, 1]


@pytest.mark.parametrize("name", ["cam_front", "CAM", "XCAM_1", "camera", "CAM_1/lens", "rotor"])
def test_other_names_stay_in_motion(read: Callable[..., World], name: str) -> None:
    assert not is_static(read(mounted(name)), name)


def test_a_sensor_that_moves_stays_in_motion(read: Callable[..., World]) -> None:
    moving = "keyframes: [{t: 0}, {t: 1, rpy_deg: [0, 0, 0.001]}]"
    assert not is_static(read(mounted("CAM_FRONT", moving)), "CAM_FRONT")


def test_one_keyframe_stands_still(read: Callable[..., World]) -> None:
    assert is_static(read(mounted("CAM_FRONT", "keyframes: [{t: 0, position: [1, 0, 0]}]")), "CAM_FRONT")


def test_a_whole_turn_is_where_it_began(read: Callable[..., World]) -> None:
    """360 degrees are the rotation of 0 degrees but for rounding."""
    turned = "keyframes: [{t: 0, rpy_deg: [0, 0, 0]}, {t: 1, rpy_deg: [0, 0, 360]}]"
    assert is_static(read(mounted("CAM_FRONT", turned)), "CAM_FRONT")


def test_only_below_a_base_link(read: Callable[..., World]) -> None:
    assert not is_static(read(mounted("CAM_TOWER", parent="mast")), "CAM_TOWER")


def test_at_any_depth_below_a_base_link_even_if_what_is_between_moves(read: Callable[..., World]) -> None:
    world = read("""\
        motions:
          - {frame: drone/base_link, keyframes: [{t: 0}, {t: 1, position: [1, 0, 0]}]}
          - {frame: gimbal, parent: drone/base_link, keyframes: [{t: 0}, {t: 1, rpy_deg: [0, 0, 9]}]}
          - {frame: CAM_ZOOM, parent: gimbal, keyframes: [{t: 0, position: [0, 0, 0.1]}]}
        """)
    assert is_static(world, "CAM_ZOOM")
    assert not is_static(world, "gimbal")


def test_the_patterns_may_be_others(write: Callable[..., Path]) -> None:
    text = mounted("SONAR_1") + "  - {frame: CAM_1, parent: base_link, keyframes: [{t: 0}]}\n"
    text = text.replace("motions: [", "motions:\n  - ").replace("}]}]\n", "}]}\n")
    assert not is_static(load(write(text)), "SONAR_1")
    sonar = load(write("static_patterns: [SONAR_*]\n" + text))
    assert (is_static(sonar, "SONAR_1"), is_static(sonar, "CAM_1")) == (True, False)
    none = load(write("static_patterns: []\n" + text))
    assert not is_static(none, "SONAR_1")
    assert not is_static(none, "CAM_1")


@pytest.mark.parametrize("name", ["CAM_FRONT", "cam_front", "drone/GNSS_1", "CAM_1/lens", "IMU_", "rotor"])
@pytest.mark.parametrize("parent", ["base_link", "mast"])
def test_the_transform_tree_promotes_the_same_frames(read: Callable[..., World], name: str, parent: str) -> None:
    """What a file says and what a listener would conclude from the same transforms."""
    world = read(mounted(name, parent=parent))
    listener = TransformTree()
    for base in ("base_link", "mast"):
        listener.set_transform("map", base, 0, [0.0, 0, 0, 0, 0, 0, 1], static=True)
    listener.set_transform(parent, name, 0, np.array([1.0, 2, 3, 0, 0, 0, 1]))
    assert (listener.as_dict()[name]["kind"] == "promoted") == is_static(world, name)
