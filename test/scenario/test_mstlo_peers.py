"""Robustness of random formulas over random traces, as mstlo computes it: a monitor in Rust, beside RTAMT."""

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
    horizon_ns,
    robustness,
)

SECOND = 1_000_000_000
NAMES = ("a", "b", "c")
SAMPLES = 150


@pytest.mark.peers
def test_two_hundred_random_formulas_have_the_robustness_of_mstlo() -> None:
    python = environment_of("mstlo")
    random = np.random.default_rng(20_26)
    cases = [_formula(random, 4) for _ in range(200)]
    traces = [{name: random.normal(size=SAMPLES).cumsum() * 0.3 for name in NAMES} for _ in cases]
    asked = [
        {"formula": text, "trace": {name: values.tolist() for name, values in trace.items() if name in text}}
        for (_, text), trace in zip(cases, traces, strict=True)
    ]
    script = Path(__file__).parent / "clients" / "mstlo_robustness.py"
    answer = subprocess.run([python, script], input=json.dumps(asked), capture_output=True, text=True, check=True)
    compared = 0
    for (formula, text), trace, verdicts in zip(cases, traces, json.loads(answer.stdout), strict=True):
        # It tells what is decided within the trace, and nothing of the samples after that.
        horizon = horizon_ns(formula)
        assert horizon is not None
        decided = SAMPLES - horizon // SECOND
        assert [at for at, _ in verdicts][:decided] == list(range(decided)), text
        theirs = np.array([value for _, value in verdicts])[:decided]
        np.testing.assert_allclose(
            robustness(formula, trace, SECOND)[:decided], theirs, rtol=0.0, atol=1e-12, err_msg=text
        )
        assert (holds(formula, trace, SECOND)[:decided] == (theirs > 0.0)).all(), text
        compared += decided
    assert compared > 15_000


def _formula(random: np.random.Generator, depth: int) -> tuple[Formula, str]:
    """Return a formula, and how mstlo writes it: it compares with numbers alone, and all its intervals end."""
    if depth == 0 or random.random() < 0.1:
        operator, name = str(random.choice(["<", "<=", ">", ">="])), str(random.choice(NAMES))
        number = round(float(random.normal()), 3)
        return Compared(operator, SignalTerm(name), NumberTerm(number)), f"({name} {operator} {number})"
    kind = random.integers(7)
    part, text = _formula(random, depth - 1)
    if kind == 0:
        return Not(part), f"!({text})"
    low, high = sorted(int(each) for each in random.integers(0, 13, 2))
    interval = Interval(low * SECOND, high * SECOND)
    if kind in (5, 6):
        made, letter = ((Always, "G"), (Eventually, "F"))[kind - 5]
        return made(part, interval), f"{letter}[{low}, {high}]({text})"
    other_part, other_text = _formula(random, depth - 1)
    if kind in (1, 2):
        word = ("&&", "||")[kind - 1]
        return (And, Or)[kind - 1]((part, other_part)), f"({text} {word} {other_text})"
    # Its until wants the left side at the instant of the right one, too; ours, as RTAMT's, up to the one before.
    return Until(part, And((part, other_part)), interval), f"({text} U[{low}, {high}] {other_text})"
