"""Extended regular expressions: the same matches as the C library's, and nothing that takes long."""

from __future__ import annotations

import ctypes
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.session.expressions import BadExpression, Expression

# glibc: REG_EXTENDED | REG_NOSUB.
_FLAGS = 1 | 8
ATOMS = st.sampled_from(
    ["a", "b", "c", ".", "[ab]", "[^a]", "[a-c]", "[]a]", "[^]b]", "[a-]", "[[:alpha:]]", "[^[:punct:]]", "\\.", "/"]
)
REPEATED = st.sampled_from(["*", "+", "?", "{2}", "{0,1}", "{1,}", "{0}", "{2,3}", "{0,}"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda parts: st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(parts, REPEATED).map(lambda pair: f"({pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


def matches(expression: str, text: str) -> bool:
    library = ctypes.CDLL(None)
    compiled = ctypes.create_string_buffer(256)
    assert library.regcomp(compiled, expression.encode(), _FLAGS) == 0
    found = library.regexec(compiled, text.encode(), 0, None, 0) == 0
    library.regfree(compiled)
    return bool(found)


@pytest.mark.skipif(sys.platform != "linux", reason="compares with the regcomp of glibc")
@given(EXPRESSIONS, st.sampled_from(["", "^"]), st.sampled_from(["", "$"]), st.text("abc./]-", max_size=8))
def test_what_matches(expression: str, begin: str, end: str, text: str) -> None:
    """Anchors only at the ends: glibc repeats those in a repeated group wrongly."""
    whole = f"{begin}({expression}){end}"
    assert Expression(whole).search(text) == matches(whole, text)


def test_a_repetition_of_an_anchor_matches_at_the_start_only() -> None:
    """By the standard; glibc finds it in the middle."""
    assert not Expression("(^a){2}").search("aa")
    assert Expression("(^a|b){2}").search("ab")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("*a", "character 1: * has nothing to repeat"),
        ("a**", "a repetition is repeated"),
        ("a||b", "an alternative is empty"),
        ("()", "an alternative is empty"),
        ("[z-a]", "the range z-a is empty"),
        (r"\d", r"\d is not defined"),
        ("a{3,1}", "from the smaller number to the larger one"),
        ("a{,3}", "needs {number}"),
        ("[[:foo:]]", "no class [:foo:]; allowed: alnum"),
        ("[a", "a bracket is not closed"),
        ("(a", "a parenthesis is not closed"),
        ("a)", "was not opened"),
        ("(" * 60 + "a" + ")" * 60, "more than 50 parentheses"),
        ("((a{1,255}){1,255}){1,255}", "it is too large"),
        ("a" * 1001, "1001 characters"),
    ],
)
def test_what_is_refused(expression: str, reason: str) -> None:
    with pytest.raises(BadExpression) as refusal:
        Expression(expression)
    assert reason in str(refusal.value)


def test_an_expression_that_others_take_exponential_time_for() -> None:
    assert not Expression("^(a|a)*(a|a)*(a*)*b$").search("a" * 255)
