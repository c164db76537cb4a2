"""Verdicts: whether the expectations held in a run, by what margin, and where they were first violated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sim_node.extensions.scenario.expectations import Expect, Expectation, expected
from sim_node.extensions.scenario.formulas import (
    INF,
    Always,
    And,
    Eventually,
    Formula,
    Not,
    Or,
    Samples,
    Until,
    holds,
    robustness,
    signals_of,
)

PASS, FAIL, ERROR = "pass", "fail", "error"
# From worst to best.
VERDICTS = (ERROR, FAIL, PASS)


@dataclass(frozen=True)
class VerdictFinding:
    """The finding for one expectation in a run.

    Attributes:
        title: The expectation.
        verdict: Whether it held, did not, or could not be judged.
        reason: Why it did not hold or could not be judged; empty if it held.
        robustness: The margin by which it held, or failed if negative; infinite if only boolean signals decide; NaN if
            it could not be judged.
        violated_at: Simulation time of the first violation, s, or None.
        values: The signals at that instant.
    """

    title: str
    verdict: str
    reason: str = ""
    robustness: float = math.nan
    violated_at: float | None = None
    values: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Verdict:
    """The findings for all expectations in a run.

    Attributes:
        findings: The finding for each expectation.
        ended: Why the run ended early; empty if it did not.
    """

    findings: tuple[VerdictFinding, ...]
    ended: str = ""

    @property
    def verdict(self) -> str:
        """The verdict: fail if any expectation failed, otherwise error if any could not be judged, otherwise pass."""
        found = {finding.verdict for finding in self.findings}
        if FAIL in found:
            return FAIL
        return ERROR if ERROR in found or self.ended else PASS

    @property
    def first(self) -> VerdictFinding | None:
        """The first violation, or else the first expectation that could not be judged."""
        failed = [each for each in self.findings if each.verdict == FAIL]
        if failed:
            return min(failed, key=lambda each: INF if each.violated_at is None else each.violated_at)
        return next((each for each in self.findings if each.verdict == ERROR), None)

    @property
    def reason(self) -> str:
        """Why it is not a pass, in a sentence; empty if it is."""
        first = self.first
        return "; ".join(part for part in (first.reason if first else "", self.ended) if part)

    @property
    def robustness(self) -> float:
        """The least robustness of all expectations; NaN if one has none."""
        return float(np.min([each.robustness for each in self.findings])) if self.findings else math.nan


def judge(expect: Expect, samples: Samples, period_ns: int, start_ns: int = 0, ended: str = "") -> Verdict:
    """Judge a run.

    Args:
        expect: The expectations.
        samples: The samples (T,) of each signal.
        period_ns: Time between two samples, ns.
        start_ns: Simulation time of the first sample, ns.
        ended: Why the run ended early; empty if it did not.

    Returns:
        The verdict.
    """
    judged = (_judge(each, samples, period_ns, start_ns, bool(ended)) for each in expect.must)
    return Verdict(tuple(judged), ended)


def _judge(expectation: Expectation, samples: Samples, period_ns: int, start_ns: int, cut: bool) -> VerdictFinding:
    formula = expected(expectation.formula)
    if not len(next(iter(samples.values()), ())):
        return VerdictFinding(expectation.title, ERROR, f"{expectation.title}: there are no samples")
    least = _plain(robustness(formula, samples, period_ns, unknown=-INF))
    certain = least > 0.0 or (least == 0.0 and bool(holds(formula, samples, period_ns, unknown=-INF)[0]))
    if certain and not (cut and _looks_to_end(_inward(formula, negate=False))):
        return VerdictFinding(expectation.title, PASS, robustness=least)
    if certain:
        return VerdictFinding(expectation.title, ERROR, f"{expectation.title}: held as long as the run went on")
    if bool(holds(formula, samples, period_ns, unknown=INF)[0]):
        reason = _why_unknown(formula, samples, period_ns, start_ns)
        return VerdictFinding(expectation.title, ERROR, f"{expectation.title}: could not be judged: {reason}")
    instant = first_violation(formula, samples, period_ns)
    by = _plain(robustness(formula, samples, period_ns, unknown=INF))
    at = start_ns * 1e-9 + instant * period_ns * 1e-9
    values = {name: float(samples[name][instant]) for name in signals_of(formula)}
    shown = ", ".join(f"{name} = {value:.6g}" for name, value in values.items())
    amount = f" by {-by:.4g}" if math.isfinite(by) else ""
    reason = f"{expectation.title}: violated at {at:.6g} s{amount}" + (f": {shown}" if shown else "")
    return VerdictFinding(expectation.title, FAIL, reason, by, at, values)


def _plain(found: np.ndarray) -> float:
    return float(found[0]) + 0.0  # without the sign of zero


def _looks_to_end(formula: Formula) -> bool:
    """Return whether the verdict on a longer run could differ although the formula holds in this one."""
    if isinstance(formula, Always) and formula.interval.high_ns is None:
        return True
    return any(_looks_to_end(part) for part in formula.parts)


def _why_unknown(formula: Formula, samples: Samples, period_ns: int, start_ns: int) -> str:
    missing = [(name, int(np.argmax(np.isnan(samples[name])))) for name in signals_of(formula)]
    gaps = [(at, name) for name, at in missing if np.isnan(samples[name][at])]
    if gaps:
        at, name = min(gaps)
        return f"{name} has no value at {(start_ns + at * period_ns) * 1e-9:.6g} s"
    size = len(next(iter(samples.values())))
    return f"the run ended at {(start_ns + (size - 1) * period_ns) * 1e-9:.6g} s, before it was decided"


def first_violation(formula: Formula, samples: Samples, period_ns: int) -> int:
    """Return the sample at which a formula that does not hold at the start is violated.

    It is where the deciding part is false: the first such instant for `always`; the end of the window for `eventually`
    and `until`.
    """
    return _violated(_inward(formula, negate=False), samples, period_ns, 0)


def _violated(formula: Formula, samples: Samples, period_ns: int, at: int) -> int:
    """Return the sample that decides that a formula is false. Only comparisons may be negated in it."""
    size = len(next(iter(samples.values())))
    match formula:
        case And(parts):
            false = [part for part in parts if not _holds(part, samples, period_ns)[at]]
            return min((_violated(part, samples, period_ns, at) for part in false), default=at)
        case Or(parts):
            return max(_violated(part, samples, period_ns, at) for part in parts)
        case Always(part, interval):
            low, high = interval.samples(period_ns)
            window = _holds(part, samples, period_ns)[at + low : None if high is None else at + high + 1]
            if window.all():
                return at
            return _violated(part, samples, period_ns, at + low + int(np.argmin(window)))
        case Eventually(_, interval):
            high = interval.samples(period_ns)[1]
            return size - 1 if high is None else min(size - 1, at + high)
        case Until(left, _, interval):
            high = interval.samples(period_ns)[1]
            last = size - 1 if high is None else min(size - 1, at + high)
            window = _holds(left, samples, period_ns)[at : last + 1]
            return last if window.all() else _violated(left, samples, period_ns, at + int(np.argmin(window)))
        case _:
            return at


def _holds(formula: Formula, samples: Samples, period_ns: int) -> np.ndarray:
    return holds(formula, samples, period_ns, unknown=INF)


def _inward(formula: Formula, *, negate: bool) -> Formula:
    """Return a formula, or its negation, with negations moved inward to comparisons, boolean signals and until."""
    match formula:
        case Not(part):
            return _inward(part, negate=not negate)
        case And(parts):
            return (Or if negate else And)(tuple(_inward(part, negate=negate) for part in parts))
        case Or(parts):
            return (And if negate else Or)(tuple(_inward(part, negate=negate) for part in parts))
        case Always(part, interval):
            return (Eventually if negate else Always)(_inward(part, negate=negate), interval)
        case Eventually(part, interval):
            return (Always if negate else Eventually)(_inward(part, negate=negate), interval)
        case Until(left, right, interval) if not negate:
            return Until(_inward(left, negate=False), _inward(right, negate=False), interval)
        case _:
            return Not(formula) if negate else formula
