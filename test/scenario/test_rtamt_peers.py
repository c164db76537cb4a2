"""Robustness of random formulas over random traces, as RTAMT computes it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from strangers import environment_of

from sim_node.extensions.scenario.formulas import (
    Always,
    And,
    Compared,
    Eventually,
    Formula,
    Interval,
    Not,
    NumberTerm,
    Or,
    SignalTerm,
    Until,
    holds,
    robustness,
)

SECOND = 1_000_000_000
NAMES = ("a", "b", "c")


@pytest.mark.peers
def test_two_hundred_random_formulas_have_the_robustness_of_rtamt() -> None:
    python = environment_of("rtamt")
    random = np.random.default_rng(20_26)
    cases = [(_formula(random, 4), _trace(random)) for _ in range(200)]
    asked = [
        {"formula": text, "trace": {name: values.tolist() for name, values in trace.items()}}
        for (_, text), trace in cases
    ]
    script = Path(__file__).parent / "clients" / "rtamt_robustness.py"
    answer = subprocess.run([python, script], input=json.dumps(asked), capture_output=True, text=True, check=True)
    kinds = set()
    for ((formula, text), trace), theirs in zip(cases, json.loads(answer.stdout), strict=True):
        ours = robustness(formula, trace, SECOND)
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-12, err_msg=text)
        assert (holds(formula, trace, SECOND) == (np.array(theirs) > 0.0)).all(), text
        kinds.add(type(formula))
    assert len(kinds) > 5


def _trace(random: np.random.Generator) -> dict[str, np.ndarray]:
    return {name: random.normal(size=80).cumsum() * 0.3 for name in NAMES}


def _formula(random: np.random.Generator, depth: int) -> tuple[Formula, str]:
    """Return a formula, and how RTAMT writes it."""
    if depth == 0 or random.random() < 0.1:
        operator = str(random.choice(["<", "<=", ">", ">="]))
        one, other = (str(name) for name in random.choice(NAMES, 2, replace=False))
        number = round(float(random.normal()), 3)
        right, shown = (SignalTerm(other), other) if random.random() < 0.4 else (NumberTerm(number), f"({number})")
        return Compared(operator, SignalTerm(one), right), f"({one} {operator} {shown})"
    kind = random.integers(7)
    part, text = _formula(random, depth - 1)
    if kind == 0:
        return Not(part), f"(not {text})"
    if kind <= 2:
        other_part, other_text = _formula(random, depth - 1)
        word = ("and", "or")[kind - 1]
        return (And, Or)[kind - 1]((part, other_part)), f"({text} {word} {other_text})"
    interval, span = _interval(random)
    if kind == 3:
        other_part, other_text = _formula(random, depth - 1)
        return Until(part, other_part, interval), f"({text} until{span} {other_text})"
    word, made = (("always", Always), ("eventually", Eventually))[kind % 2]
    return made(part, interval), f"({word}{span} {text})"


def _interval(random: np.random.Generator) -> tuple[Interval, str]:
    if random.random() < 0.25:
        return Interval(), ""
    low, high = sorted(int(each) for each in random.integers(0, 13, 2))
    return Interval(low * SECOND, high * SECOND), f"[{low}:{high}]"
