"""${VARIABLES}, held to what a shell makes of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation.programs.processes import VariableFault, expanded

VALUES = {"SET": "value", "SPACED": "two words", "EMPTY": "", "DOLLAR": "$SET"}
PLAIN = st.text("abc-:/.{ ", max_size=6)


def texts(inside: bool) -> st.SearchStrategy[str]:
    """Texts with variables, as both a shell in double quotes and `expanded` read them."""
    plain = st.text("abc-:/. ", max_size=6) if inside else PLAIN
    set_ones = st.sampled_from(["${SET}", "${SPACED}", "${DOLLAR}"])

    def with_defaults(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        names = st.sampled_from(["SET", "EMPTY", "UNSET", "DOLLAR"])
        return st.tuples(plain, st.builds("${{{}:-{}}}".format, names, inner), plain).map("".join)

    return st.recursive(st.one_of(plain, set_ones), with_defaults, max_leaves=5)


@given(texts(inside=True))
def test_a_shell_expands_the_same(text: str) -> None:
    """POSIX 1003.1-2017, shell command language, 2.6.2: parameter expansion, as bash does it in double quotes."""
    script = f'printf %s "{text}"'
    expected = subprocess.run(["bash", "-c", script], env=VALUES, stdout=subprocess.PIPE, check=True).stdout.decode()
    assert expanded(text, VALUES) == expected


def test_the_home_folder_stands_for_a_tilde_in_front() -> None:
    home = str(Path.home())
    assert expanded("~/x", {}) == f"{home}/x"
    assert expanded("${DIR}/x", {"DIR": "~/ardupilot"}) == f"{home}/ardupilot/x"
    assert expanded("--defaults=${DIR:-~/a},~", {}) == f"--defaults={home}/a,~"


def test_two_dollars_are_one() -> None:
    assert expanded("$${HOME} costs 5$$", {}) == "${HOME} costs 5$"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${PX4_DIR}/bin/px4", "PX4_DIR is not set and has no default"),
        ("${EMPTY}", "EMPTY is not set"),
        ("$HOME", r"'\$HOME' is not a variable"),
        ("${A", r"\$\{A is not closed"),
        ("${A:-b", r"\$\{A is not closed"),
        ("${A-b}", r"\$\{A is not closed"),
        ("5$", r"'\$' is not a variable"),
        ("$(reboot)", r"'\$\(reboot\)' is not a variable"),
    ],
)
def test_what_cannot_be_filled_in_is_reported(text: str, message: str) -> None:
    with pytest.raises(VariableFault, match=message):
        expanded(text, VALUES)
