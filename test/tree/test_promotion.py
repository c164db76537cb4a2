"""Sensors below base_link that stand still are kept as static, by their names."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from sim_node.spatial.tree import PastExtrapolation, TransformTree

SECOND = 1_000_000_000


def at(x: float) -> list[float]:
    return [float(x), 0, 0, 0, 0, 0, 1]


def kind(tree: TransformTree, frame: str) -> Any:
    return tree.as_dict()[frame]["kind"]


@pytest.mark.parametrize("name", ["CAM_FRONT", "LIDAR_0", "RADAR_x", "IMU_1", "GPS_", "GNSS_a", "drone/CAM_1"])
def test_the_seed_patterns(name: str) -> None:
    tree = TransformTree(tolerance=0.0)
    tree.set_transform("map", "drone/base_link", SECOND, at(1))
    tree.set_transform("drone/base_link", name, SECOND, at(2))
    assert kind(tree, name) == "promoted"
    assert tree.lookup("drone/base_link", name, 10**18)[0] == 2


@pytest.mark.parametrize("name", ["cam_front", "CAM", "XCAM_1", "CAM_1/mount", "camera"])
def test_other_names_stay_dynamic(name: str) -> None:
    tree = TransformTree()
    tree.set_transform("base_link", name, SECOND, at(2))
    assert kind(tree, name) == "dynamic"


def test_only_below_base_link() -> None:
    tree = TransformTree()
    tree.set_transform("map", "CAM_TOWER", SECOND, at(2))
    assert kind(tree, "CAM_TOWER") == "dynamic"


def test_the_order_in_which_edges_come_does_not_matter() -> None:
    tree = TransformTree()
    tree.set_transform("mast", "CAM_1", SECOND, at(2))
    tree.set_transform("mast", "CAM_1", 2 * SECOND, at(2))
    assert kind(tree, "CAM_1") == "dynamic"
    tree.set_transform("base_link", "mast", SECOND, at(1))
    assert kind(tree, "CAM_1") == "promoted"


def test_what_was_seen_to_move_is_not_promoted() -> None:
    tree = TransformTree()
    tree.set_transform("mast", "CAM_1", SECOND, at(2))
    tree.set_transform("mast", "CAM_1", 2 * SECOND, at(2.1))
    tree.set_transform("base_link", "mast", SECOND, at(1))
    assert kind(tree, "CAM_1") == "dynamic"


def test_a_promoted_frame_that_moves_is_dynamic_again_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    """A gimbal: it stood from 1 s to 3 s, is a metre on at 4 s, and half way between in between."""
    tree = TransformTree(tolerance=0.0)
    for stamp in (1, 2, 3):
        tree.set_transform("base_link", "CAM_GIMBAL", stamp * SECOND, at(2))
    with caplog.at_level(logging.WARNING, "sim_node.spatial.tree"):
        for stamp in (4, 5):
            tree.set_transform("base_link", "CAM_GIMBAL", stamp * SECOND, at(stamp - 1))
    assert caplog.text.count("CAM_GIMBAL was stored as static because of its name, but it moves") == 1
    assert kind(tree, "CAM_GIMBAL") == "dynamic"
    stamps = np.array([10, 20, 30, 35, 40, 45]) * SECOND // 10
    found = tree.lookup_many("base_link", "CAM_GIMBAL", stamps)
    np.testing.assert_allclose(found[:, 0], [2, 2, 2, 2.5, 3, 3.5])
    with pytest.raises(PastExtrapolation):
        tree.lookup("base_link", "CAM_GIMBAL", SECOND - 1)


def test_rounding_and_the_quaternion_s_sign_are_no_movement() -> None:
    tree = TransformTree()
    tree.set_transform("base_link", "IMU_1", 1, at(2))
    tree.set_transform("base_link", "IMU_1", 2, [2 + 1e-12, 0, 0, 0, 0, 0, -1])
    assert kind(tree, "IMU_1") == "promoted"


def test_patterns_are_the_caller_s_choice() -> None:
    tree = TransformTree(static_patterns=("*_camera_link",))
    tree.set_transforms(["base_link"] * 2, ["front_camera_link", "CAM_1"], 1, [at(1), at(1)])
    assert (kind(tree, "front_camera_link"), kind(tree, "CAM_1")) == ("promoted", "dynamic")
    tree = TransformTree(static_patterns=())
    tree.set_transform("base_link", "CAM_1", 1, at(1))
    assert kind(tree, "CAM_1") == "dynamic"


def test_an_explicit_static_transform_overrides() -> None:
    tree = TransformTree()
    tree.set_transform("base_link", "CAM_1", 1, at(1))
    tree.set_transform("base_link", "CAM_1", 2, at(5), static=True)
    assert (kind(tree, "CAM_1"), tree.lookup("base_link", "CAM_1")[0]) == ("static", 5)
