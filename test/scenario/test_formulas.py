"""Robustness of formulas: the definition itself, laws of signal temporal logic, and chunks of any size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.formula_text import parse
from sim_node.extensions.scenario.formulas import (
    Always,
    And,
    Compared,
    Eventually,
    Formula,
    Interval,
    IsTrue,
    Not,
    NumberTerm,
    Or,
    Robustness,
    SignalTerm,
    Until,
    holds,
    holds_now,
    horizon_ns,
    is_of_one_instant,
    robustness,
    signals_of,
)
from sim_node.extensions.scenario.units import UNITS

SECOND = 1_000_000_000
TRACES = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=25).map(
    lambda rows: {"a()": np.array([row[0] / 2 for row in rows]), "b()": np.array([row[1] / 2 for row in rows])}
)
INTERVALS = st.one_of(
    st.just(Interval()),
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda p: Interval(min(p) * SECOND, max(p) * SECOND)),
    st.integers(0, 5).map(lambda low: Interval(low * SECOND, None)),
)
ATOMS = st.builds(
    lambda operator, one, number: Compared(operator, SignalTerm(one), NumberTerm(float(number), None, str(number))),
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    st.sampled_from(["a()", "b()"]),
    st.integers(-4, 4),
)
FORMULAS = st.recursive(
    ATOMS,
    lambda below: st.one_of(
        st.builds(Not, below),
        st.tuples(below, below).map(And),
        st.tuples(below, below).map(Or),
        st.builds(Always, below, INTERVALS),
        st.builds(Eventually, below, INTERVALS),
        st.builds(Until, below, below, INTERVALS),
    ),
    max_leaves=6,
)


def by_definition(formula: Formula, trace: dict[str, np.ndarray], at: int) -> float:
    """The robustness at one sample, as the definition says it: slowly."""
    size = len(trace["a()"])

    def window(interval: Interval) -> range:
        low, high = interval.samples(SECOND)
        return range(at + low, size if high is None else min(size, at + high + 1))

    match formula:
        case Compared(operator, SignalTerm(name), NumberTerm(number)):
            value = float(trace[name][at])
            return {
                "<": number - value,
                "<=": number - value,
                ">": value - number,
                ">=": value - number,
                "==": -abs(value - number),
                "!=": abs(value - number),
            }[operator]
        case Not(part):
            return -by_definition(part, trace, at)
        case And(parts):
            return min(by_definition(part, trace, at) for part in parts)
        case Or(parts):
            return max(by_definition(part, trace, at) for part in parts)
        case Always(part, interval):
            return min((by_definition(part, trace, k) for k in window(interval)), default=math.inf)
        case Eventually(part, interval):
            return max((by_definition(part, trace, k) for k in window(interval)), default=-math.inf)
        case Until(left, right, interval):

            def reached(k: int) -> float:
                before = (by_definition(left, trace, m) for m in range(at, k))
                return min(by_definition(right, trace, k), *before, math.inf)

            return max(map(reached, window(interval)), default=-math.inf)
    raise AssertionError(formula)


@given(FORMULAS, TRACES)
def test_robustness_is_that_of_the_definition(formula: Formula, trace: dict[str, np.ndarray]) -> None:
    found = robustness(formula, trace, SECOND)
    assert found.shape == trace["a()"].shape
    assert found[0] == by_definition(formula, trace, 0)
    middle = len(found) // 2
    assert found[middle] == by_definition(formula, trace, middle)


@given(FORMULAS, TRACES, st.lists(st.integers(1, 7), max_size=10))
def test_chunks_of_any_size_give_the_same(formula: Formula, trace: dict[str, np.ndarray], sizes: list[int]) -> None:
    whole = robustness(formula, trace, SECOND)
    online, parts, at = Robustness(formula, SECOND), [], 0
    for size in sizes:
        parts.append(online.push({name: values[at : at + size] for name, values in trace.items()}))
        at += size
    known = np.concatenate([np.empty(0), *parts])
    horizon = horizon_ns(formula)
    taken = min(at, len(whole))
    assert len(known) == (0 if horizon is None else max(0, taken - horizon // SECOND))
    parts.append(online.push({name: values[at:] for name, values in trace.items()}, last=True))
    assert np.concatenate(parts).tobytes() == whole.tobytes()


@given(FORMULAS, TRACES)
def test_laws(formula: Formula, trace: dict[str, np.ndarray]) -> None:
    found, true = robustness(formula, trace, SECOND), holds(formula, trace, SECOND)
    # Soundness: the sign of the robustness decides.
    assert true[found > 0.0].all()
    assert not true[found < 0.0].any()
    assert (robustness(Not(formula), trace, SECOND) == -found).all()
    assert (holds(Not(formula), trace, SECOND) == ~true).all()
    # What may come after the end bounds what has been seen.
    least = robustness(formula, trace, SECOND, unknown=-math.inf)
    most = robustness(formula, trace, SECOND, unknown=math.inf)
    assert (least <= found).all()
    assert (found <= most).all()
    # Moving all signals by d moves it by d at most.
    moved = robustness(formula, {name: values + 0.25 for name, values in trace.items()}, SECOND)
    finite = np.isfinite(found)
    assert (np.abs(moved[finite] - found[finite]) <= 0.25).all()


@given(FORMULAS, TRACES, st.integers(1, 8))
def test_least_and_largest_bound_every_longer_run(formula: Formula, trace: dict[str, np.ndarray], cut: int) -> None:
    """What may still come is bounded by both, for formulas whose value does not depend on where the run ends."""
    if horizon_ns(formula) is None:
        return
    short = {name: values[:cut] for name, values in trace.items()}
    longer = robustness(formula, trace, SECOND, unknown=math.inf)[0]
    assert robustness(formula, short, SECOND, unknown=-math.inf)[0] <= longer
    assert robustness(formula, short, SECOND, unknown=math.inf)[0] >= longer


@given(FORMULAS)
def test_the_text_of_a_formula_is_that_formula(formula: Formula) -> None:
    again = parse(str(formula))
    trace = {name: np.linspace(-4.0, 4.0, 9) for name in ("a()", "b()")}
    assert str(again) == str(formula)
    assert (robustness(again, trace, SECOND) == robustness(formula, trace, SECOND)).all()


def test_missing_values_are_unknown() -> None:
    trace = {"a()": np.array([1.0, np.nan, 3.0])}
    formula = parse("always a() > 0")
    assert robustness(formula, trace, SECOND, unknown=-math.inf)[0] == -math.inf
    assert robustness(formula, trace, SECOND, unknown=math.inf)[0] == 1.0
    assert not holds(formula, trace, SECOND)[0]
    # What is false whatever is missing is false.
    assert robustness(parse("always a() > 2"), trace, SECOND, unknown=math.inf)[0] == -1.0


PRESENT = st.recursive(
    ATOMS | st.sampled_from(["a()", "b()"]).map(lambda name: IsTrue(SignalTerm(name))),
    lambda below: st.one_of(st.builds(Not, below), *(st.tuples(below, below).map(both) for both in (And, Or))),
    max_leaves=6,
)
NUMBERS = st.one_of(st.integers(-9, 9).map(lambda number: number / 2), st.sampled_from([math.nan, math.inf, -math.inf]))


@given(PRESENT, NUMBERS, NUMBERS, st.booleans())
def test_a_formula_of_one_instant_holds_as_it_does_of_samples(
    formula: Formula, a: float, b: float, unknown: bool
) -> None:
    now = {"a()": a, "b()": b}
    samples = {name: np.array([number]) for name, number in now.items()}
    beyond = math.inf if unknown else -math.inf
    assert is_of_one_instant(formula)
    assert holds_now(formula, unknown=unknown)(now) == holds(formula, samples, SECOND, unknown=beyond)[0]


@given(FORMULAS)
def test_what_has_an_interval_is_of_more_than_one_instant(formula: Formula) -> None:
    assert is_of_one_instant(formula) == (not any(word in str(formula) for word in ("always", "eventually", "until")))


def test_memory_is_that_of_the_windows() -> None:
    online = Robustness(parse("(a() > 0 within 5 s) implies (b() > 0 until[2 s, 9 s] a() < 0)"), SECOND)
    chunk = {"a()": np.ones(10_000), "b()": np.ones(10_000)}
    for _ in range(5):
        online.push(chunk)
    below = [online]
    held = 0
    for node in below:
        below += node._parts
        held += sum(map(len, node._held))
    assert held < 100


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("a() > 2 m for at least 5 s", "always[0 s, 5 s] a() > 2 m"),
        ("a() > 2 within 500 ms", "eventually[0 s, 0.5 s] a() > 2"),
        ("always a() > 2 for at least 5 s", "always (always[0 s, 5 s] a() > 2)"),
        ("a() > 2 from 1 s to 2 min", "always[1 s, 120 s] a() > 2"),
        ("never a() > 2", "always not a() > 2"),
        ("1 < a() <= 2", "1 < a() and a() <= 2"),
        ("a() > 1 and b() > 2 or a() < 0", "(a() > 1 and b() > 2) or a() < 0"),
        ("a() > 1 implies b() > 2 implies a() < 0", "not a() > 1 or (not b() > 2 or a() < 0)"),
        ("always[5 s, end] a() > 1", "always[5 s, end] a() > 1"),
        ("(a() + 1) * -2 >= max(b(), 3)", "((a() + 1) * -2) >= max(b(), 3)"),
        ("a() > 1 until[0, 2 s] b() > 1", "a() > 1 until[0 s, 2 s] b() > 1"),
        ("/drone/odom.pose.pose.position.z > 2", "/drone/odom.pose.pose.position.z > 2"),
    ],
)
def test_what_texts_mean(text: str, means: str) -> None:
    assert str(parse(text)) == means


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a() >", 6, "a signal, a number or a formula is needed, found the end"),
        ("a() > 1 withn 3 s", 9, "'withn' is not expected here; did you mean within?"),
        ("a() > 1 within 3 m", 16, "3 m is no time"),
        ("a()", 4, "a() is a number: compare it, as in a() > 0"),
        ("(a() > 1) + 2 > 3", 12, "a number is needed, found the formula a() > 1"),
        ("h() > 3 s", 7, "h() is in m, and 3 s in s"),
        ("h() + 1 deg > 3", 13, "h() is in m, and 1 deg in rad"),
        ("always[5 s, 2 s] a() > 1", 16, "the interval ends at 2 s, before it begins at 5 s"),
        ("a() > 1 for 3 s", 13, "`for at least T` is needed, found '3'"),
        ("abs(a(), b()) > 1", 1, "abs(...) takes one value"),
        ("(" * 500 + "a() > 1", 31, "is too deeply nested"),
        ("__import__('os')", 1, "__import__('os') is a number: compare it"),
    ],
)
def test_faults_of_texts(text: str, column: int, message: str) -> None:
    def declare(name: str) -> tuple[tuple[int, int, int, int, int] | None, bool]:
        return (UNITS["m"].dimension if name == "h()" else None), False

    with pytest.raises(FormulaError) as caught:
        parse(text, declare)
    assert message in str(caught.value)
    if "__" not in text:
        assert caught.value.column == column


def test_a_signal_that_is_true_or_false_is_a_formula() -> None:
    formula = parse("t() within 2 s", lambda name: (None, True))
    assert formula == Eventually(IsTrue(SignalTerm("t()", None, True)), Interval(0, 2 * SECOND))
    assert signals_of(formula) == ("t()",)
    assert robustness(formula, {"t()": np.array([0.0, 0.0, 1.0, 0.0])}, SECOND).tolist() == [
        *(math.inf, math.inf, math.inf),
        -math.inf,
    ]


def test_an_interval_between_two_samples_is_refused() -> None:
    with pytest.raises(FormulaError, match=r"no sample is in \[0\.2 s, 0\.8 s\]: they are 1 s apart"):
        Robustness(parse("always[0.2 s, 0.8 s] a() > 1"), SECOND)
