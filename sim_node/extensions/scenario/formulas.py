"""Formulas of signal temporal logic: the syntax tree, and its robustness over samples of a run, chunk by chunk.

Robustness is that of Donzé and Maler, Robust Satisfaction of Temporal Logic over Real-Valued Signals (2010), over
samples at a fixed period: the margin by which a formula holds, or fails if it is negative. A window that reaches beyond
the end of a run is truncated there. `Robustness` takes samples in chunks of any size, with the same result as for all
samples at once, and keeps no more samples than the windows of bounded operators need.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.units import Dimension
from sim_node.spatial.geometry.arrays import FloatArray

# Samples (T,) by the text of the signal.
Samples = Mapping[str, FloatArray]
INF = math.inf


@dataclass(frozen=True, slots=True)
class NumberTerm:
    """A number in SI units, with its original text."""

    value: float
    dimension: Dimension | None = None
    text: str = ""

    def of(self, samples: Mapping[str, Any]) -> Any:
        """Return the number."""
        return self.value

    def __str__(self) -> str:
        return self.text or f"{self.value:g}"


@dataclass(frozen=True, slots=True)
class SignalTerm:
    """A signal, by its text."""

    name: str
    dimension: Dimension | None = None
    truth: bool = False

    def of(self, samples: Mapping[str, Any]) -> Any:
        """Return its samples (T,), or its number if one is given."""
        return samples[self.name]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class AppliedTerm:
    """A function of other terms."""

    function: str
    terms: tuple[Term, ...]
    dimension: Dimension | None = None

    def of(self, samples: Mapping[str, Any]) -> Any:
        """Return its values (T,), or a single value. Undefined values, such as roots of negative numbers, are NaN."""
        with np.errstate(all="ignore"):
            return FUNCTIONS[self.function](*(term.of(samples) for term in self.terms))

    def __str__(self) -> str:
        if self.function in "+-*/" and len(self.terms) == 2:
            return f"({self.terms[0]} {self.function} {self.terms[1]})"
        if self.function == "-":
            return f"-{self.terms[0]}"
        return f"{self.function}({', '.join(map(str, self.terms))})"


Term = NumberTerm | SignalTerm | AppliedTerm
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "+": np.add,
    "-": lambda *terms: np.subtract(*terms) if len(terms) == 2 else np.negative(terms[0]),
    "*": np.multiply,
    "/": np.true_divide,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "min": lambda *terms: _folded(np.minimum, terms),
    "max": lambda *terms: _folded(np.maximum, terms),
    "hypot": lambda *terms: _folded(np.hypot, terms),
}
# The functions of each comparison: its robustness, and whether it holds.
COMPARISONS: Mapping[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "<=": (lambda a, b: b - a, operator.le),
    ">=": (lambda a, b: a - b, operator.ge),
    "==": (lambda a, b: -np.abs(a - b), operator.eq),
    "!=": (lambda a, b: np.abs(a - b), operator.ne),
    "<": (lambda a, b: b - a, operator.lt),
    ">": (lambda a, b: a - b, operator.gt),
}


def _folded(function: Callable[[Any, Any], Any], terms: Sequence[Any]) -> Any:
    found = terms[0]
    for term in terms[1:]:
        found = function(found, term)
    return found


@dataclass(frozen=True, slots=True)
class Interval:
    """A time interval relative to the current instant, ns. `high_ns` is None for the end of the run."""

    low_ns: int = 0
    high_ns: int | None = None

    def samples(self, period_ns: int) -> tuple[int, int | None]:
        """Return the first and the last sample in it. Raises FormulaError if it contains none."""
        low = -(-self.low_ns // period_ns)
        if self.high_ns is None:
            return low, None
        high = self.high_ns // period_ns
        if high < low:
            raise FormulaError(f"no sample is in {self}: they are {period_ns * 1e-9:g} s apart")
        return low, high

    def __str__(self) -> str:
        if self.high_ns is None:
            return f"[{self.low_ns * 1e-9:g} s, end]" if self.low_ns else ""
        return f"[{self.low_ns * 1e-9:g} s, {self.high_ns * 1e-9:g} s]"


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of two terms."""

    operator: str
    left: Term
    right: Term
    parts: ClassVar[tuple[Formula, ...]] = ()

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True)
class IsTrue:
    """A boolean signal. It has no margin, so its robustness is infinite."""

    signal: SignalTerm
    parts: ClassVar[tuple[Formula, ...]] = ()

    def __str__(self) -> str:
        return str(self.signal)


@dataclass(frozen=True, slots=True)
class _OfOne:
    """A formula with one operand."""

    part: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The formula."""
        return (self.part,)


@dataclass(frozen=True, slots=True)
class Not(_OfOne):
    """The negation of a formula."""

    def __str__(self) -> str:
        return f"not {_bracketed(self.part)}"


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction of formulas."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " and ".join(map(_bracketed, self.parts))


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of formulas. `premise implies conclusion` is `not premise or conclusion`."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " or ".join(map(_bracketed, self.parts))


@dataclass(frozen=True, slots=True)
class Always(_OfOne):
    """A formula holds at each instant of an interval."""

    interval: Interval = field(default_factory=Interval)

    def __str__(self) -> str:
        return f"always{self.interval} {_bracketed(self.part)}"


@dataclass(frozen=True, slots=True)
class Eventually(_OfOne):
    """A formula holds at one or more instants of an interval."""

    interval: Interval = field(default_factory=Interval)

    def __str__(self) -> str:
        return f"eventually{self.interval} {_bracketed(self.part)}"


@dataclass(frozen=True, slots=True)
class Until:
    """A second formula holds at an instant of an interval, and a first one at each instant from now until then."""

    left: Formula
    right: Formula
    interval: Interval = field(default_factory=Interval)

    @property
    def parts(self) -> tuple[Formula, ...]:
        """Both formulas."""
        return self.left, self.right

    def __str__(self) -> str:
        return f"{_bracketed(self.left)} until{self.interval} {_bracketed(self.right)}"


Formula = Compared | IsTrue | Not | And | Or | Always | Eventually | Until
# The functions of each n-ary operator: the combination of robustnesses, and whether it holds.
JOINED: Mapping[type[Formula], tuple[np.ufunc, Callable[[Iterable[bool]], bool]]] = {
    And: (np.minimum, all),
    Or: (np.maximum, any),
}


def _bracketed(part: Formula) -> str:
    return f"({part})" if part.parts and not isinstance(part, Not) else str(part)


def walk(formula: Formula) -> Iterator[Formula]:
    """Yield a formula and all of its subformulas."""
    yield formula
    for part in formula.parts:
        yield from walk(part)


def terms_of(formula: Formula) -> Iterator[Term]:
    """Yield every term of a formula, top down."""
    below: list[Term] = []
    for part in walk(formula):
        if isinstance(part, Compared):
            below += [part.left, part.right]
        elif isinstance(part, IsTrue):
            below.append(part.signal)
    while below:
        term = below.pop(0)
        yield term
        if isinstance(term, AppliedTerm):
            below += term.terms


def signals_of(formula: Formula) -> tuple[str, ...]:
    """Return the signals of a formula, in order."""
    return tuple(dict.fromkeys(term.name for term in terms_of(formula) if isinstance(term, SignalTerm)))


def horizon_ns(formula: Formula) -> int | None:
    """Return the time after an instant at which its value is known, ns; None if only at the end of the run."""
    reaches = [horizon_ns(part) for part in formula.parts]
    own = formula.interval.high_ns if isinstance(formula, (Always, Eventually, Until)) else 0
    if own is None or None in reaches:
        return None
    return own + max((reach for reach in reaches if reach is not None), default=0)


class Robustness:
    """Computes the robustness of a formula at each sample, from chunks of samples.

    Args:
        formula: The formula.
        period_ns: Time between two samples, ns.
        unknown: The robustness of comparisons without a value, such as with NaN, and of all comparisons after the end:
            -inf for the lower bound of the robustness, inf for the upper bound; None to truncate windows at the end.
        signs: Whether to return 1 or -1 for whether the formula holds, which differs from the sign of the robustness
            only where that is 0.

    Raises:
        FormulaError: No sample is in an interval.
    """

    def __init__(self, formula: Formula, period_ns: int, *, unknown: float | None = None, signs: bool = False) -> None:
        # Below a negation, the lower bound is minus the upper bound.
        below = -unknown if isinstance(formula, Not) and unknown is not None else unknown
        self._formula, self._unknown, self._signs = formula, unknown, signs
        self._parts = [Robustness(part, period_ns, unknown=below, signs=signs) for part in formula.parts]
        # The values of each part, beginning with the next instant to return.
        self._held = [np.empty(0) for _ in self._parts]
        self._low, self._high = 0, 0
        if isinstance(formula, (Always, Eventually, Until)):
            low, high = formula.interval.samples(period_ns)
            self._low, self._high = low, -1 if high is None else high

    def push(self, samples: Samples, *, last: bool = False) -> FloatArray:
        """Add the next samples.

        Args:
            samples: Samples (T,) by signal; all have the same length.
            last: Whether the run ends with them.

        Returns:
            The robustness (N,) at the next instants for which it is known.
        """
        formula = self._formula
        if isinstance(formula, (Compared, IsTrue)):
            return self._of_samples(formula, samples)
        for index, part in enumerate(self._parts):
            self._held[index] = np.concatenate([self._held[index], part.push(samples, last=last)])
        known = min(map(len, self._held))
        looks_to_end = self._high < 0
        count = known if last else 0 if looks_to_end else max(0, known - self._high)
        values = self._values(count, last)[:count] if count else np.empty(0)
        self._held = [held[count:] for held in self._held]
        return values

    def _of_samples(self, formula: Compared | IsTrue, samples: Samples) -> FloatArray:
        size = len(next(iter(samples.values()))) if samples else 1
        if isinstance(formula, IsTrue):
            found = np.asarray(formula.signal.of(samples), dtype=float)
            values = np.where(found != 0.0, INF, -INF)
            if self._signs:
                values = np.sign(values)
            values = np.where(np.isnan(found), np.nan, values)
        else:
            left, right = formula.left.of(samples), formula.right.of(samples)
            by_how_much, holds = COMPARISONS[formula.operator]
            with np.errstate(invalid="ignore"):
                distance = np.asarray(by_how_much(left, right), dtype=float)
            if not self._signs and np.isfinite(distance).all():
                return np.broadcast_to(distance, (size,))
            with np.errstate(invalid="ignore"):
                # The distance between infinities is undefined, but they can be compared.
                missing = np.isnan(left) | np.isnan(right)
                signs = np.where(holds(left, right), 1.0, -1.0)
            infinite = np.where(signs > 0.0, INF, -INF)
            values = np.where(np.isnan(distance), infinite, signs if self._signs else distance)
            values = np.broadcast_to(np.where(missing, np.nan, values), (size,))
        return values if self._unknown is None else np.where(np.isnan(values), self._unknown, values)

    def _values(self, count: int, last: bool) -> FloatArray:
        """Return the values at the next instants from the held values of the parts."""
        formula, held = self._formula, self._held
        match formula:
            case Not():
                return -held[0]
            case And() | Or():
                return np.asarray(_folded(JOINED[type(formula)][0], [each[:count] for each in held]))
            case Always():
                return -self._eventually(-held[0], count, last, None if self._unknown is None else -self._unknown)
            case Eventually():
                return self._eventually(held[0], count, last, self._unknown)
            case Until():
                return self._until(count, last)
            case _:
                raise AssertionError(formula)

    def _eventually(self, values: FloatArray, count: int, last: bool, unknown: float | None) -> FloatArray:
        """Return the largest value in the window of each instant."""
        if self._high < 0:
            found = np.maximum.accumulate(values[::-1])[::-1][self._low :]
            return np.concatenate([found, np.full(count - len(found), -INF)])
        if last:
            values = np.concatenate([values, np.full(self._high, -INF if unknown is None else unknown)])
        return _windowed_max(values[self._low :], self._high - self._low + 1)

    def _until(self, count: int, last: bool) -> FloatArray:
        """Return bounded until: F psi in the window, unbounded until from its start, and G phi before the start."""
        left, right = (held[: min(map(len, self._held))] for held in self._held)
        beyond = -INF if self._unknown is None else self._unknown
        if self._high >= 0 and last:
            # Truncated windows ignore the first formula after the end.
            left = np.concatenate([left, np.full(self._high, INF if self._unknown is None else self._unknown)])
            right = np.concatenate([right, np.full(self._high, beyond)])
        found = _plain_until(left, right)[self._low :]
        if self._low:
            found = np.minimum(found, -_windowed_max(-left, self._low)[: len(found)])
        if self._high >= 0:
            present = _windowed_max(right[self._low :], self._high - self._low + 1)
            return np.minimum(found[: len(present)], present)
        return np.concatenate([found, np.full(count - len(found), -INF)])


def _windowed_max(values: FloatArray, size: int) -> FloatArray:
    """Return the maxima (N - size + 1,) of all windows of `size` values, by van Herk's and Gil and Werman's method."""
    count = len(values) - size + 1
    if count <= 0:
        return np.empty(0)
    if size == 1:
        return values
    if count == 1:
        return np.array([values.max()])
    blocks = -(-len(values) // size)
    padded = np.full(blocks * size, -INF)
    padded[: len(values)] = values
    rows = padded.reshape(blocks, size)
    before = np.maximum.accumulate(rows, axis=1).ravel()
    after = np.maximum.accumulate(rows[:, ::-1], axis=1)[:, ::-1].ravel()
    return np.asarray(np.maximum(after[:count], before[size - 1 : size - 1 + count]))


def _plain_until(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the robustness (N,) of unbounded until.

    It is u[k] = max(right[k], min(left[k], u[k + 1])): a chain of functions x -> max(p, min(q, x)), which are composed
    in pairs, then in pairs of pairs, and so on.
    """
    most, least = left.copy(), right.copy()
    size, reach = len(left), 1
    while reach < size:
        inner_most, inner_least = most[reach:], least[reach:]
        # max(p, min(q, max(p', min(q', x)))) = max(max(p, min(q, p')), min(min(q, q'), x)), by distributivity.
        least[: size - reach] = np.maximum(least[:-reach], np.minimum(most[:-reach], inner_least))
        most[: size - reach] = np.minimum(most[:-reach], inner_most)
        reach *= 2
    return np.asarray(least)


def robustness(formula: Formula, samples: Samples, period_ns: int, *, unknown: float | None = None) -> FloatArray:
    """Return the robustness of a formula at each sample of a run.

    Args:
        formula: The formula.
        samples: The samples (T,) of each signal.
        period_ns: Time between two samples, ns.
        unknown: The robustness where there is no value, and after the end. See `Robustness`.

    Returns:
        The robustness (T,).

    Raises:
        FormulaError: No sample is in an interval.
    """
    return Robustness(formula, period_ns, unknown=unknown).push(samples, last=True)


def holds(formula: Formula, samples: Samples, period_ns: int, *, unknown: float | None = None) -> npt.NDArray[np.bool_]:
    """Return a mask (T,) of the samples at which a formula holds; False where a value is NaN. See `Robustness`."""
    return np.asarray(Robustness(formula, period_ns, unknown=unknown, signs=True).push(samples, last=True) > 0.0)


def is_of_one_instant(formula: Formula) -> bool:
    """Return whether a formula has no temporal operators."""
    return not any(isinstance(each, (Always, Eventually, Until)) for each in walk(formula))


def holds_now(formula: Formula, *, unknown: bool = False) -> Callable[[Mapping[str, float]], bool]:
    """Return a function that tells whether a formula holds for given signal values, like `holds` but much faster.

    Args:
        formula: The formula, without temporal operators.
        unknown: Whether comparisons without a value, such as with NaN, count as true.
    """
    match formula:
        case Compared(symbol, left, right):
            compare, first, second = COMPARISONS[symbol][1], left.of, right.of

            def compared(now: Mapping[str, float]) -> bool:
                one, other = first(now), second(now)
                return unknown if one != one or other != other else bool(compare(one, other))

            return compared
        case IsTrue(signal):
            return lambda now: unknown if (value := signal.of(now)) != value else value != 0.0
        case Not(part):
            denied = holds_now(part, unknown=not unknown)
            return lambda now: not denied(now)
        case And(parts) | Or(parts):
            join, joined = JOINED[type(formula)][1], [holds_now(part, unknown=unknown) for part in parts]
            return lambda now: join(each(now) for each in joined)
        case _:
            raise AssertionError(formula)
