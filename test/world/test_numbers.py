"""Seconds as decimals to whole nanoseconds."""

from __future__ import annotations

import decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.world.readers.numbers import as_nanoseconds, as_number

LATEST_NS = (2**31 - 1) * 10**9

digits = st.text("0123456789", max_size=12)
decimals = st.tuples(st.sampled_from(["", "-", "+"]), digits, st.sampled_from(["", "."]), digits).map("".join)
written = st.one_of(decimals, st.tuples(decimals, st.integers(-15, 15)).map(lambda each: f"{each[0]}e{each[1]}"))


@given(written)
def test_the_nearest_nanosecond_by_exact_fractions(text: str) -> None:
    """Python's Fraction reads the same decimals, and rounds half to even."""
    try:
        expected = round(Fraction(text) * 1_000_000_000)
    except ValueError:
        expected = None
    if expected is not None and abs(expected) > LATEST_NS:
        expected = None
    assert as_nanoseconds(text) == expected


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("2147483647", LATEST_NS),
        ("2147483647.0000000004", LATEST_NS),
        ("2147483647.0000000006", None),
        ("-2147483647.000000001", None),
        ("0.00000000050000000000000000000000000000000000000000000000001", 1),
        ("0.0000000005", 0),
        ("0.0000000015", 2),
        ("1e-99999999999999999999", 0),
        ("-1700000000.123456789", -1_700_000_000_123_456_789),
    ],
)
def test_the_ends_of_the_range(text: str, nanoseconds: int | None) -> None:
    assert as_nanoseconds(text) == nanoseconds


def test_the_callers_precision_is_no_matter() -> None:
    with decimal.localcontext(decimal.Context(prec=3)):
        assert as_nanoseconds("1700000000.1234567891") == 1_700_000_000_123_456_789


@pytest.mark.parametrize(
    "text", ["", ".", "-", "1e", "e1", "1_0", "0x1", "１", "٣", "nan", ".inf", "1 2", "1,5", "1e999"]
)
def test_what_is_no_time(text: str) -> None:
    assert as_nanoseconds(text) is None


@pytest.mark.parametrize("text", ["", "1_0", "１", "0x1", "one", ".nan"])
def test_what_is_no_number(text: str) -> None:
    number = as_number(text)
    assert number != number
