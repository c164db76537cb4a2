"""Parser of formulas such as `always (altitude(drone) > 2 m implies landed(drone) within 30 s)`.

Operators from lowest to highest precedence: implies; or; and; until; not, always, eventually and never; `within T`,
`for at least T` and `from T to T` after a formula; comparisons, which may be chained; arithmetic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.formulas import (
    COMPARISONS,
    FUNCTIONS,
    Always,
    And,
    AppliedTerm,
    Compared,
    Eventually,
    Formula,
    Interval,
    IsTrue,
    Not,
    NumberTerm,
    Or,
    SignalTerm,
    Term,
    Until,
)
from sim_node.extensions.scenario.units import NONE, UNIT, UNITS, Dimension, shown
from sim_node.text import did_you_mean
from sim_node.text import shown as printable

MAX_LENGTH, MAX_DEPTH = 4000, 60
# Returns the dimension of a signal, and whether it is boolean. Raises FormulaError.
Declare = Callable[[str], tuple[Dimension | None, bool]]
_SPACE, _WORD = re.compile(r"\s*"), re.compile(r"[A-Za-z_]\w*")
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# NAME(...), COLUMN[NAME].PART, or a field of the messages of a topic.
_SIGNAL = r"[A-Za-z_]\w*\([^()]*\)|[A-Za-z_][\w/]*\[[^\]]+\](?:\.[a-z]+|\[\d+\])?|/[\w/]+(?:\.\w+|\[\d+\])+"
_KEYWORDS = (
    *("and", "or", "not", "implies", "until", "always", "eventually", "never"),
    *("within", "for", "at", "least", "from", "to"),
)
_PREFIXES: Mapping[str, Callable[[Formula, Interval], Formula]] = {
    "always": Always,
    "eventually": Eventually,
    "never": lambda part, interval: Always(Not(part), interval),
}
# Operations whose arguments and result have the same dimension.
_SAME = ("+", "-", "min", "max", "hypot", "abs")
_PURE = ("sin", "cos")


def parse(text: str, declare: Declare = lambda name: (None, False)) -> Formula:
    """Parse a formula.

    Args:
        text: The formula.
        declare: Returns the declaration of a signal.

    Returns:
        The formula.

    Raises:
        FormulaError: The text is not a formula. The error has the column.
    """
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"has {len(text)} characters; allowed: {MAX_LENGTH}")
    return _Parser(text, declare).whole()


class _Parser:
    """A recursive-descent parser."""

    def __init__(self, text: str, declare: Declare) -> None:
        self._text, self._declare, self._at, self._depth = text, declare, 0, 0

    def whole(self) -> Formula:
        found = self._formula(self._implication())
        self._skip()
        if self._at < len(self._text):
            word = _WORD.match(self._text, self._at)
            near = did_you_mean(word[0], _KEYWORDS) if word else ""
            self._fail(f"{self._next()} is not expected here{near}")
        return found

    # Each of these methods returns a formula, or a term that may become part of one.

    def _implication(self) -> Formula | Term:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail("is too deeply nested")
        found = self._either()
        if self._take("implies") or self._take("->"):
            found = Or((Not(self._formula(found)), self._formula(self._implication())))
        self._depth -= 1
        return found

    def _either(self) -> Formula | Term:
        return self._several("or", Or, lambda: self._several("and", And, self._until))

    def _several(self, word: str, made: type[And] | type[Or], below: Callable[[], Formula | Term]) -> Formula | Term:
        parts = [below()]
        while self._take(word):
            parts.append(below())
        return parts[0] if len(parts) == 1 else made(tuple(map(self._formula, parts)))

    def _until(self) -> Formula | Term:
        found = self._prefixed()
        while self._take("until"):
            interval = self._interval()
            found = Until(self._formula(found), self._formula(self._prefixed()), interval)
        return found

    def _prefixed(self) -> Formula | Term:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail("is too deeply nested")
        found: Formula | Term
        if self._take("not"):
            found = Not(self._formula(self._prefixed()))
        elif word := next(filter(self._take, _PREFIXES), ""):
            interval = self._interval()
            found = _PREFIXES[word](self._formula(self._prefixed()), interval)
        else:
            found = self._suffixed()
        self._depth -= 1
        return found

    def _suffixed(self) -> Formula | Term:
        found = self._comparison()
        while True:
            if self._take("within"):
                found = Eventually(self._formula(found), Interval(0, self._duration()))
            elif self._take("for"):
                for word in (r"at\b", r"least\b"):
                    self._need(word, "`for at least T` is needed")
                found = Always(self._formula(found), Interval(0, self._duration()))
            elif self._take("from"):
                low = self._duration()
                self._need(r"to\b", "`from T to T` is needed")
                found = Always(self._formula(found), self._between(low, self._duration()))
            else:
                return found

    def _comparison(self) -> Formula | Term:
        found = self._sum()
        parts: list[Formula] = []
        left = found
        while operator := self._match("|".join(COMPARISONS)):
            if not isinstance(left, Term):
                self._fail("a formula cannot be compared")
            self._skip()
            at = self._at
            right = self._term(self._sum())
            self._check_same(left, right, at)
            parts.append(Compared(operator, left, right))
            left = right
        if not parts:
            return found
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _sum(self) -> Formula | Term:
        return self._chained(r"\+|-(?!>)", lambda: self._chained(r"\*|/", self._factor))

    def _chained(self, operators: str, below: Callable[[], Formula | Term]) -> Formula | Term:
        found = below()
        while (operator := self._match(operators)) is not None:
            found = self._applied(operator, self._term(found), self._term(below()))
        return found

    def _factor(self) -> Formula | Term:
        self._skip()
        if self._match("-"):
            self._depth += 1
            if self._depth > MAX_DEPTH:
                self._fail("is too deeply nested")
            term = self._term(self._factor())
            self._depth -= 1
            return self._applied("-", term)
        if self._match(r"\("):
            found = self._implication()
            self._need(r"\)", "`)` is needed")
            return found
        start = self._at
        if number := self._match(_NUMBER):
            return self._number(number)
        if word := _WORD.match(self._text, self._at):
            if word[0] in FUNCTIONS and self._text[word.end() : word.end() + 1] == "(":
                self._at = word.end() + 1
                return self._call(word[0], start)
            if word[0] in ("pi", "inf"):
                self._at = word.end()
                return NumberTerm(math.pi if word[0] == "pi" else math.inf, None, word[0])
        if signal := self._match(_SIGNAL):
            try:
                dimension, truth = self._declare(signal)
            except FormulaError as error:
                raise FormulaError(str(error), start + 1) from None
            return SignalTerm(signal, dimension, truth)
        self._fail(f"a signal, a number or a formula is needed, found {self._next()}")

    def _call(self, function: str, start: int) -> Term:
        terms = [self._term(self._implication())]
        while self._match(","):
            terms.append(self._term(self._implication()))
        self._need(r"\)", f"`,` or `)` is needed in {function}(...)")
        few = function in ("abs", "sqrt", *_PURE)
        if few != (len(terms) == 1):
            raise FormulaError(f"{function}(...) takes {'one value' if few else 'two values or more'}", start + 1)
        return self._applied(function, *terms)

    def _number(self, text: str) -> NumberTerm:
        unit = UNIT.match(self._text, self._at)
        if unit is None:
            return NumberTerm(float(text), None, text)
        self._at = unit.end()
        factor, dimension = UNITS[unit[1]]
        return NumberTerm(float(text) * factor, dimension, f"{text} {unit[1]}")

    def _interval(self) -> Interval:
        if not self._match(r"\["):
            return Interval()
        low = self._duration()
        self._need(",", "`,` is needed in [T, T]")
        found = Interval(low, None) if self._take("end") else self._between(low, self._duration())
        self._need(r"\]", "`]` is needed")
        return found

    def _between(self, low: int, high: int) -> Interval:
        if high < low:
            self._fail(f"the interval ends at {high * 1e-9:g} s, before it begins at {low * 1e-9:g} s")
        return Interval(low, high)

    def _duration(self) -> int:
        self._skip()
        at = self._at
        number = self._number(self._need(_NUMBER, "a time is needed, as in 5 s"))
        if number.dimension not in (None, UNITS["s"].dimension):
            raise FormulaError(f"{number.text} is no time", at + 1)
        if not number.value < 1e9:
            raise FormulaError(f"{number.text}: allowed: up to 1e9 s", at + 1)
        return round(number.value * 1e9)

    def _applied(self, function: str, *terms: Term) -> Term:
        known = [term.dimension for term in terms]
        if function in _SAME:
            for term in terms[1:]:
                self._check_same(terms[0], term, self._at)
            dimension = next((each for each in known if each is not None), None)
        elif function in ("*", "/") and None not in known:
            sign = 1 if function == "*" else -1
            one, other = known
            assert one is not None
            assert other is not None
            a, b, c, d, e = (first + sign * second for first, second in zip(one, other, strict=True))
            dimension = (a, b, c, d, e)
        else:
            dimension = NONE if function in _PURE else None
        if function == "-" and len(terms) == 1 and isinstance(terms[0], NumberTerm):
            return NumberTerm(-terms[0].value, dimension, f"-{terms[0]}")
        return AppliedTerm(function, terms, dimension)

    def _check_same(self, one: Term, other: Term, at: int) -> None:
        if one.dimension is not None and other.dimension is not None and one.dimension != other.dimension:
            message = f"{one} is in {shown(one.dimension)}, and {other} in {shown(other.dimension)}"
            raise FormulaError(message, at + 1)

    def _term(self, found: Formula | Term) -> Term:
        if not isinstance(found, Term):
            self._fail(f"a number is needed, found the formula {found}")
        return found

    def _formula(self, found: Formula | Term) -> Formula:
        if not isinstance(found, Term):
            return found
        if isinstance(found, SignalTerm) and found.truth:
            return IsTrue(found)
        self._fail(f"{found} is a number: compare it, as in {found} > 0")

    def _take(self, word: str) -> bool:
        return self._match(word + r"\b" * word.isalpha()) is not None

    def _need(self, pattern: str, message: str) -> str:
        found = self._match(pattern)
        if found is None:
            self._fail(f"{message}, found {self._next()}")
        return found

    def _match(self, pattern: str) -> str | None:
        self._skip()
        found = re.compile(pattern).match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found[0]

    def _skip(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _next(self) -> str:
        self._skip()
        word = re.match(r"[\w.]+|\S", self._text[self._at :])
        return repr(printable(word[0])) if word else "the end"

    def _fail(self, message: str) -> NoReturn:
        raise FormulaError(message, self._at + 1)
