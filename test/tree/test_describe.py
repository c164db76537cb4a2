"""The tree as text, plain values and a graph; hierarchical paths."""

from __future__ import annotations

import json

import pytest

from sim_node.spatial.tree import TransformTree, UnknownFrame
from sim_node.spatial.tree.describe import as_text

SECOND = 1_000_000_000
IDENTITY = [0, 0, 0, 0, 0, 0, 1]


@pytest.fixture
def tree() -> TransformTree:
    tree = TransformTree()
    for tick in range(101):
        tree.set_transform("world", "drone", tick * SECOND // 100, IDENTITY)
    tree.set_transform("drone", "base_link", 0, IDENTITY, static=True)
    tree.set_transform("base_link", "CAM_FRONT", SECOND, IDENTITY)
    tree.set_transform("base_link", "body_visual", SECOND, IDENTITY)
    tree.set_transform('odd "name"', "alone", 0, IDENTITY, static=True)
    return tree


def test_text(tree: TransformTree) -> None:
    assert tree.as_text() == (
        "world  ENU\n"
        "└─ drone  FLU  100.0 Hz, newest 1 s\n"
        "   └─ base_link  FLU  static\n"
        "      ├─ CAM_FRONT  FLU  promoted\n"
        "      └─ body_visual  FLU  newest 1 s\n"
        'odd "name"  ENU\n'
        "└─ alone  FLU  static"
    )
    assert TransformTree().as_text() == ""


def test_plain_values(tree: TransformTree) -> None:
    values = json.loads(json.dumps(tree.as_dict()))
    assert values["drone"] == {
        "parent": "world",
        "kind": "dynamic",
        "stored": 101,
        "oldest_ns": 0,
        "newest_ns": SECOND,
        "rate_hz": 100.0,
        "convention": "FLU",
    }
    assert values["world"] == dict.fromkeys(values["world"]) | {"kind": "root", "stored": 0, "convention": "ENU"}


def test_graph(tree: TransformTree) -> None:
    graph = tree.as_dot()
    assert graph.startswith("digraph transforms {\n")
    assert '"drone" -> "base_link" [label="static", style=dashed];' in graph
    assert r'"odd \"name\"" -> "alone"' in graph


def test_frames_parents_and_chains(tree: TransformTree) -> None:
    assert tree.frames == ("world", "drone", "base_link", "CAM_FRONT", "body_visual", 'odd "name"', "alone")
    assert "drone" in tree
    assert "dron" not in tree
    assert tree.parent("world") is None
    assert tree.chain("CAM_FRONT", "body_visual") == ("body_visual", "base_link", "CAM_FRONT")
    assert tree.chain("world", "body_visual") == ("body_visual", "base_link", "drone", "world")
    assert tree.chain("drone", "drone") == ("drone",)


def test_hierarchical_paths(tree: TransformTree) -> None:
    """Slash-separated as in the seed, world/drone/base_link/body_visual; what a name repeats is said once."""
    assert tree.path("body_visual") == "world/drone/base_link/body_visual"
    assert tree.parent_path("body_visual") == "world/drone/base_link"
    assert tree.parent_path("world") == ""
    tree.set_transform("world", "two/base_link", SECOND, IDENTITY)
    tree.set_transform("two/base_link", "two/CAM_1", SECOND, IDENTITY)
    tree.set_transform("two/base_link", "two/base_link/CAM_2", SECOND, IDENTITY)
    assert tree.path("two/CAM_1") == "world/two/base_link/CAM_1"
    assert tree.path("two/base_link/CAM_2") == "world/two/base_link/CAM_2"
    with pytest.raises(UnknownFrame):
        tree.path("three")


def test_what_a_terminal_would_obey_is_escaped() -> None:
    """Names are what any peer has sent."""
    tree = TransformTree()
    tree.set_transform("map", "\x1b[2J", 0, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], static=True)
    assert "\\x1b[2J" in as_text(tree.describe())
    assert "\x1b" not in as_text(tree.describe())
