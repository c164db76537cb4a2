"""Frame names and the hierarchical paths that are made of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node import names

parts = st.text("abc", min_size=1, max_size=2)
frame_names = st.lists(parts, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize("name", ["map", "drone/base_link", "a/b/c/d", "CAM_1", "1:30", "météo", "a-b.c", "x" * 255])
def test_names_that_tf2_takes(name: str) -> None:
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
def test_names_that_are_none(name: str, reason: str) -> None:
    assert reason in str(names.fault(name))


@pytest.mark.parametrize(
    ("prefix", "expected"), [("", "a/b"), ("drone", "drone/a/b"), ("drone/", "drone/a/b"), ("x/y", "x/y/a/b")]
)
def test_prefixes(prefix: str, expected: str) -> None:
    assert names.prefixed(prefix, "a/b") == expected


def test_enclosing_names_nearest_first() -> None:
    assert list(names.enclosing("a/b/c")) == ["a/b", "a"]
    assert list(names.enclosing("a")) == []


@pytest.mark.parametrize(
    ("chain", "path"),
    [
        (["world"], "world"),
        (["world", "drone"], "world/drone"),
        (["world", "drone", "drone/base_link"], "world/drone/base_link"),
        (["world", "drone/base_link", "body_visual"], "world/drone/base_link/body_visual"),
        (["world", "drone/base_link", "drone/base_link/body_visual"], "world/drone/base_link/body_visual"),
        (["world", "drone/base_link", "drone/body_visual"], "world/drone/base_link/body_visual"),
        (["world", "world/drone/base_link"], "world/drone/base_link"),
        # A part that only begins alike is another part.
        (["map", "drone", "drone2/base_link"], "map/drone/drone2/base_link"),
        # The last part of a name is always its own.
        (["map", "a/b", "a"], "map/a/b/a"),
    ],
)
def test_a_path_says_once_what_a_name_repeats_of_its_parents(chain: Sequence[str], path: str) -> None:
    assert names.hierarchical_path(chain) == path


@given(st.lists(frame_names, min_size=1, max_size=5))
def test_a_path_begins_at_the_root_ends_in_the_frame_and_grows_with_every_name(chain: Sequence[str]) -> None:
    paths = [names.hierarchical_path(chain[:length]) for length in range(1, len(chain) + 1)]
    assert paths[0] == chain[0]
    assert names.last(paths[-1]) == names.last(chain[-1])
    assert all(longer.startswith(shorter + "/") for shorter, longer in itertools.pairwise(paths))
