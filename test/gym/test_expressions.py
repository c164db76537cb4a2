"""Expressions of rewards and terminations: their values, beside NumPy, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.extensions.gym.expressions import CompiledExpression, ExpressionError, before

NUMBERS = st.floats(-100.0, 100.0)


def value(text: str, **values: Any) -> Any:
    return CompiledExpression.parse(text).evaluate(values)


@given(NUMBERS, NUMBERS, st.lists(NUMBERS, min_size=3, max_size=3))
def test_values_are_those_of_numpy(a: float, b: float, numbers: list[float]) -> None:
    v = np.array(numbers)
    assert value("a - 2 * b ** 2", a=a, b=b) == a - 2.0 * b**2
    assert value("norm(v - [1, 2, 3])", v=v) == pytest.approx(float(np.linalg.norm(v - [1.0, 2.0, 3.0])), abs=1e-12)
    assert value("v[0] + v[-1] + sum(v[0:2])", v=v) == pytest.approx(v[0] + v[-1] + v[:2].sum(), abs=1e-12)
    assert value("clip(a, -1, 1)", a=a) == np.clip(a, -1.0, 1.0)
    assert value("min(a, b) if a > b else max(v)", a=a, b=b, v=v) == (min(a, b) if a > b else v.max())
    assert value("abs(a) > 2 or not b <= 1 and 0 < a < 1", a=a, b=b) == (abs(a) > 2 or (not b <= 1 and 0 < a < 1))
    assert np.array_equal(value("tanh(v)", v=v), np.tanh(v))
    assert value("any(v > 99) or all(v < 0)", v=v) == bool((v > 99).any() or (v < 0).all())


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "exp", "sqrt", "log", "tanh"])
def test_functions_of_numbers_are_those_of_the_standard_library(name: str) -> None:
    assert value(f"{name}(x)", x=0.7) == pytest.approx(getattr(math, name)(0.7), rel=1e-15)
    assert value(f"{name}(x)", x=np.array([0.7, 0.2]))[1] == pytest.approx(getattr(math, name)(0.2), rel=1e-15)


def test_previous_is_the_value_of_the_step_before() -> None:
    expression = CompiledExpression.parse("x - previous(x)")
    assert (expression.names, expression.previous) == (("x",), ("x",))
    assert expression.evaluate({"x": 3.0, before("x"): 1.0}) == 2.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("__import__('os')", "no function '__import__'"),
        ("x.__class__", "a dot cannot be used"),
        ("[y for y in x]", "ListComp cannot be used"),
        ("lambda: 0", "lambda cannot be used"),
        ("'text'", "is not a number"),
        ("nrom(x)", "did you mean norm"),
        ("x[y]", "not a whole number"),
        ("x +", "is not an expression"),
        ("norm", "is a function"),
        ("x ^ 2", "a power is **"),
        ("max(*x)", "take values only"),
        ("1e999 + 10**400 * " + "9" * 400, "out of the range"),
        ("(" * 500 + "x" + ")" * 500, "is not an expression"),
        ("x" * 3000, "3000 characters"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason.replace("(", r"\(").replace("*", r"\*")):
        CompiledExpression.parse(text)


@pytest.mark.parametrize(("text", "values"), [("1 / x", {"x": 0.0}), ("9**9**9", {}), ("x[7]", {"x": np.zeros(3)})])
def test_an_error_of_evaluation_names_the_expression(text: str, values: dict[str, Any]) -> None:
    with pytest.raises(ExpressionError, match="cannot be evaluated"):
        value(text, **values)


def test_an_unknown_name_is_reported_with_the_nearest() -> None:
    with pytest.raises(ExpressionError, match="no 'heihgt'; did you mean height"):
        CompiledExpression.parse("heihgt > 2").check_names(["height", "speed"])
