"""Conventions of frames in the tools: what query_tf_tree says of a frame, and what flight_goto takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.extensions.assistants import Access, Graph, Patience, ToolCall
from sim_node.extensions.assistants.flight import target_of
from sim_node.extensions.assistants.transforms import query_tf_tree
from sim_node.names import convention
from sim_node.spatial.tree import TransformTree

HALF = np.sqrt(0.5)
METRES = st.tuples(*[st.floats(-100.0, 100.0)] * 3)
ANGLE = st.floats(-3.0, 3.0)


class Received:
    """A graph from which transforms have come in."""

    def __init__(self, tree: TransformTree) -> None:
        self._tree = tree

    @property
    def tree(self) -> TransformTree:
        return self._tree

    def now_ns(self) -> int | None:
        return None

    def silent_for(self) -> Mapping[str, float]:
        return {}


def asked(**arguments: Any) -> Any:
    """What query_tf_tree says of the frames that MAVROS publishes: odom with odom_ned, base_link with base_link_frd."""
    tree = TransformTree()
    tree.set_transform("map", "odom", 0, [0, 0, 0, 0, 0, 0, 1], static=True)
    tree.set_transform("odom", "odom_ned", 0, [0, 0, 0, HALF, HALF, 0, 0], static=True)
    tree.set_transform("odom", "drone/base_link", 0, [1, 2, 3, 0, 0, 0, 1], static=True)
    tree.set_transform("drone/base_link", "drone/base_link_frd", 0, [0, 0, 0, 1, 0, 0, 0], static=True)
    graph = cast(Graph, Received(tree))
    return query_tf_tree(ToolCall(Access(), Patience(), lambda: graph), **arguments)


def test_numbers_of_a_transform_say_along_which_axes_they_are() -> None:
    found = asked(target="odom_ned", source="drone/base_link")
    np.testing.assert_allclose(found["translation"], [2, 1, -3], atol=1e-12)  # north, east, down
    assert (found["target_convention"], found["source_convention"]) == ("NED", "FLU")


def test_each_frame_of_the_tree_has_its_convention() -> None:
    rows = {row["frame"]: row["convention"] for row in asked()["frames"]}
    assert rows == {
        "map": "ENU",
        "odom": "ENU",
        "odom_ned": "NED",
        "drone/base_link": "FLU",
        "drone/base_link_frd": "FRD",
    }


@pytest.mark.parametrize(
    ("name", "is_root", "axes"),
    [
        ("drone/CAM_FRONT_optical", False, "optical"),
        ("camera_optical_frame", False, "optical"),
        ("earth", True, "ECEF"),
        ("lab", True, "ENU"),
        ("lab", False, "FLU"),
        ("map_ned", True, "NED"),
        ("robot/odom", False, "ENU"),
        ("planned", False, "FLU"),
    ],
)
def test_a_name_tells_the_axes(name: str, is_root: bool, axes: str) -> None:
    assert convention(name, is_root=is_root) == axes


@given(METRES, ANGLE, METRES, ANGLE)
def test_a_target_is_the_same_place_in_all_conventions(
    place: tuple[float, float, float], yaw: float, at: tuple[float, float, float], heading: float
) -> None:
    """By the matrices of REP 103's axes, and a turn about the vertical axis."""
    ned = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]]) @ place
    turned = Rotation.from_euler("z", heading).inv().apply(np.subtract(place, at))
    frd = np.diag([1, -1, -1]) @ turned
    east = np.pi / 2 - yaw
    for given_place, given_yaw, axes in (
        (place, yaw, "ENU"),
        (ned, east, "NED"),
        (turned, yaw - heading, "FLU"),
        (frd, heading - yaw, "FRD"),
    ):
        target, wanted = target_of(list(given_place), given_yaw, axes, at, heading)  # type: ignore[arg-type]
        np.testing.assert_allclose(target, place, atol=1e-9)
        assert np.isclose(np.cos(wanted - yaw), 1.0, atol=1e-12)
