"""Suggested names: typing mistakes are mended, other words get no suggestion."""

from __future__ import annotations

import string
import unicodedata
from functools import cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sim_node.text import did_you_mean, edits, nearest, shown

# Unicode categories: control, format (among them marks of writing direction), surrogate, private, unassigned, and the
# separators of lines and paragraphs.
UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
WORDS = st.text(string.ascii_lowercase + "_", min_size=4, max_size=16)


def distance(one: str, other: str) -> int:
    """The optimal string alignment distance by its recursive definition."""

    @cache
    def upto(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        found = [upto(i - 1, j) + 1, upto(i, j - 1) + 1, upto(i - 1, j - 1) + (one[i - 1] != other[j - 1])]
        if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
            found.append(upto(i - 2, j - 2) + 1)
        return min(found)

    return upto(len(one), len(other))


@given(st.text("abcd", max_size=8), st.text("abcd", max_size=8), st.integers(0, 8))
def test_edits_are_counted_as_the_definition_counts_them(one: str, other: str, limit: int) -> None:
    expected = distance(one, other)
    assert edits(one, other, limit) == (expected if expected <= limit else None)


@given(WORDS, st.integers(0, 15), st.sampled_from(["drop", "double", "replace", "swap"]), st.sampled_from("xyz0"))
def test_one_mistyped_letter_is_mended(name: str, at: int, mistake: str, letter: str) -> None:
    at %= len(name) - 1
    typed = {
        "drop": name[:at] + name[at + 1 :],
        "double": name[:at] + name[at] + name[at:],
        "replace": name[:at] + letter + name[at + 1 :],
        "swap": name[:at] + name[at + 1] + name[at] + name[at + 2 :],
    }[mistake]
    assume(typed != name)
    assert nearest(typed, [name, "0123456789", "ZZZZ"]) == (name,)


@given(WORDS)
def test_case_does_not_count(name: str) -> None:
    assert nearest(name.upper(), ["0123456789", name]) == (name,)


@given(st.text("abcdefg", min_size=1, max_size=12), st.lists(st.text("uvwxyz", min_size=1, max_size=12)))
def test_a_word_with_no_letter_in_common_is_never_suggested(name: str, known: list[str]) -> None:
    assert did_you_mean(name, known) == ""


@given(WORDS, st.lists(WORDS, max_size=8))
def test_what_is_suggested_is_near(name: str, known: list[str]) -> None:
    """A third of the letters, or what the name abbreviates."""
    for found in nearest(name, known, limit=8):
        assert distance(name, found) <= max(1, len(name) / 3) or found.startswith(name)


@pytest.mark.parametrize(
    ("typed", "known", "meant"),
    [
        ("lunar", ["ENU", "NED", "FLU", "FRD", "ECEF", "LLA"], ""),
        ("x", ["y", "z"], ""),
        ("tf", ["tg"], ""),
        ("no.yaml", ["w.yaml", "a.yaml"], ""),
        ("name", ["frame"], ""),
        ("robot", ["orbit"], ""),
        ("yrad.yaml", ["w.yaml", "yard.yaml"], "yard.yaml"),
        ("base_link", ["drone/odom", "drone/base_link"], "drone/base_link"),
        ("quad", ["orbit", "quadrotor"], "quadrotor"),
        ("tf", ["tf2", "clock"], "tf2"),
        ("/nowhere/change", ["/nowhere/change", "/simulation/pause"], ""),
        ("/nowhere/change", ["/nowhere/change", "/nowhre/change"], "/nowhre/change"),
    ],
)
def test_which_is_meant(typed: str, known: list[str], meant: str) -> None:
    assert did_you_mean(typed, known) == (f"; did you mean {meant}?" if meant else "")


def test_the_nearest_comes_first_and_each_once() -> None:
    assert nearest("camera_1", ["camera_12", "camera_2", "camera_2", "Camera_1"], limit=2) == ("Camera_1", "camera_12")


@given(st.text(max_size=300), st.integers(10, 200))
def test_what_is_shown_cannot_move_a_terminal_and_has_a_limit(text: str, limit: int) -> None:
    line = shown(text, limit)
    assert len(line) <= limit
    assert not any(unicodedata.category(letter) in UNSAFE for letter in line)


@given(st.text(string.ascii_letters + string.digits + "_/-. äλ雪", max_size=100))
def test_an_ordinary_name_is_shown_as_it_is(name: str) -> None:
    assert shown(name) == name
