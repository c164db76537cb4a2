"""Frame names and the hierarchical paths that are made of them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.tree.names import hierarchical_path
from sim_node.world import lay_out, names

parts = st.text("abc", min_size=1, max_size=2)
frame_names = st.lists(parts, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize("name", ["map", "drone/base_link", "a/b/c/d", "CAM_1", "1:30", "météo", "a-b.c", "x" * 255])
def test_names_that_tf2_takes(name):
    assert names.fault(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is empty"),
        ("/map", "begins with a slash, which tf2 refuses; did you mean map?"),
        ("/", "begins with a slash"),
        ("a/", "no slash at its end"),
        ("a//b", "no empty part"),
        ("a b", "no white space"),
        ("a\n", "no white space"),
        ("a\u00a0b", "no white space"),
        ("a\x00b", "no control characters"),
        ("\x1b[31m", "no control characters"),
        ("x" * 256, "has 256 characters; allowed: up to 255"),
    ],
)
def test_names_that_are_none(name, reason):
    assert reason in names.fault(name)


@pytest.mark.parametrize(
    ("prefix", "expected"), [("", "a/b"), ("drone", "drone/a/b"), ("drone/", "drone/a/b"), ("x/y", "x/y/a/b")]
)
def test_prefixes(prefix, expected):
    assert names.prefixed(prefix, "a/b") == expected


def test_enclosing_names_nearest_first():
    assert list(names.enclosing("a/b/c")) == ["a/b", "a"]
    assert list(names.enclosing("a")) == []


@pytest.mark.parametrize(
    ("parent_path", "parent", "name", "path"),
    [
        ("world", "world", "drone", "world/drone"),
        ("world/drone", "drone", "drone/base_link", "world/drone/base_link"),
        ("world/drone/base_link", "drone/base_link", "body_visual", "world/drone/base_link/body_visual"),
        (
            "world/drone/base_link",
            "drone/base_link",
            "drone/base_link/body_visual",
            "world/drone/base_link/body_visual",
        ),
        ("world/drone/base_link", "drone/base_link", "drone/body_visual", "world/drone/base_link/body_visual"),
        ("world", "world", "world/drone/base_link", "world/drone/base_link"),
        # A part that only begins alike is another part.
        ("map/drone", "drone", "drone2/base_link", "map/drone/drone2/base_link"),
        # The last part of a name is always its own.
        ("map/a/b", "a/b", "a", "map/a/b/a"),
    ],
)
def test_a_path_says_once_what_a_name_repeats_of_its_parents(parent_path, parent, name, path):
    assert names.extend_path(parent_path, parent, name) == path


@given(st.lists(frame_names, min_size=1, max_size=5))
def test_the_transform_tree_makes_the_same_paths(chain):
    """The tree room has a path of its own making, for frames that come from elsewhere."""
    path = chain[0]
    for parent, name in itertools.pairwise(chain):
        path = names.extend_path(path, parent, name)
    assert path == hierarchical_path(chain)


def test_each_frame_knows_its_path_and_its_parents(read):
    table = lay_out(
        read("""\
        fixed_frame: world
        motions: [{frame: drone/base_link, keyframes: [{t: 0}, {t: 1, position: [1, 0, 0]}]}]
        sensors: [{name: drone/CAM_FRONT}]
        frames: [{name: drone/base_link/body_visual}, {name: lens, parent: drone/CAM_FRONT}]
        """)
    ).frames
    assert {name: (table.path(name), table.parent_path(name)) for name in table.names} == {
        "world": ("world", ""),
        "drone/base_link": ("world/drone/base_link", "world"),
        "drone/CAM_FRONT": ("world/drone/base_link/CAM_FRONT", "world/drone/base_link"),
        "drone/base_link/body_visual": ("world/drone/base_link/body_visual", "world/drone/base_link"),
        "lens": ("world/drone/base_link/CAM_FRONT/lens", "world/drone/base_link/CAM_FRONT"),
    }
