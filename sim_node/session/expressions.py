"""Extended regular expressions of POSIX, matched in time proportional to the text: filters come from anyone.

IEEE Std 1003.1-2024, Base Definitions, section 9.4. What the standard leaves undefined is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

# Longest expression (characters), deepest nesting of parentheses, and most states of its automaton.
MAX_LENGTH, MAX_DEPTH, MAX_STATES = 1000, 50, 4000
MAX_REPETITIONS = 255  # RE_DUP_MAX
_SPECIAL = "^.[$()|*+?{\\"
_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda c: c in " \t",
    "cntrl": lambda c: ord(c) < 32 or ord(c) == 127,
    "digit": lambda c: c in "0123456789",
    "graph": lambda c: c.isprintable() and not c.isspace(),
    "lower": str.islower,
    "print": str.isprintable,
    "punct": lambda c: c.isascii() and c.isprintable() and not c.isalnum() and c != " ",
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}
_Accepts = Callable[[str], bool]


class BadExpression(ValueError):
    """A text is no extended regular expression. The message gives the position and the reason."""


@dataclass
class _Automaton:
    """States: what each accepts to go on to the next one, or "^" or "$", or the states that it may jump to."""

    accepts: list[_Accepts | str | None] = field(default_factory=list)
    targets: list[list[int]] = field(default_factory=list)

    def add(self, accepts: _Accepts | str | None = None, *targets: int) -> int:
        if len(self.accepts) >= MAX_STATES:
            raise BadExpression(f"it has more than {MAX_STATES} states; use fewer repetitions")
        self.accepts.append(accepts)
        self.targets.append(list(targets))
        return len(self.accepts) - 1


class Expression:
    """An extended regular expression.

    Args:
        text: The expression.

    Raises:
        BadExpression: It is invalid, or too large.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise BadExpression(f"it has {len(text)} characters; allowed: up to {MAX_LENGTH}")
        self._automaton = _Automaton()
        self._start, self._end = _Parser(text, self._automaton).parse()
        # Sets of states that were met, with what follows each by character.
        self._known: dict[frozenset[int], dict[str, frozenset[int]]] = {}

    def search(self, text: str) -> bool:
        """Return whether any part of a text matches."""
        states = self._closure([self._start], begins=True, ends=not text)
        for place, character in enumerate(text):
            if self._end in states:
                return True
            ends = place == len(text) - 1
            after = None if ends else self._known.setdefault(states, {}).get(character)
            if after is None:
                reached = [self._automaton.targets[state][0] for state in states if self._takes(state, character)]
                # A match may begin at each place.
                after = self._closure([*reached, self._start], begins=False, ends=ends)
                if not ends:
                    self._known[states][character] = after
            states = after
        return self._end in states

    def _takes(self, state: int, character: str) -> bool:
        accepts = self._automaton.accepts[state]
        return callable(accepts) and accepts(character)

    def _closure(self, states: list[int], *, begins: bool, ends: bool) -> frozenset[int]:
        """Return the states that can be reached without a character."""
        found, waiting = set(states), list(states)
        while waiting:
            state = waiting.pop()
            accepts = self._automaton.accepts[state]
            if callable(accepts) or (accepts == "^" and not begins) or (accepts == "$" and not ends):
                continue
            for target in self._automaton.targets[state]:
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)


class _Parser:
    """Reads an expression, adding each part to an automaton twice where it is repeated twice."""

    def __init__(self, text: str, automaton: _Automaton) -> None:
        self._text, self._automaton, self._at, self._depth = text, automaton, 0, 0

    def parse(self) -> tuple[int, int]:
        start, end = self._alternatives()
        if self._at < len(self._text):
            raise self._fault("a parenthesis is closed that was not opened")
        return start, end

    def _alternatives(self) -> tuple[int, int]:
        add = self._automaton.add
        branches = [self._branch()]
        while self._next("|"):
            branches.append(self._branch())
        if len(branches) == 1:
            return branches[0]
        end = add()
        for _, branch_end in branches:
            self._automaton.targets[branch_end].append(end)
        return add(None, *(start for start, _ in branches)), end

    def _branch(self) -> tuple[int, int]:
        start = end = self._automaton.add()
        begun = self._at
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            first, last = self._piece()
            self._automaton.targets[end].append(first)
            end = last
        if self._at == begun and (self._text or self._depth):
            raise self._fault("an alternative is empty")
        return start, end

    def _piece(self) -> tuple[int, int]:
        begun, depth = self._at, self._depth
        part = self._atom()
        after = self._at
        bounds = self._bounds()
        if bounds is None:
            return part
        least, most = bounds
        resume = self._at

        def copy() -> tuple[int, int]:
            self._at, self._depth = begun, depth
            again = self._atom()
            assert self._at == after
            return again

        add, targets = self._automaton.add, self._automaton.targets
        start = end = add()
        copies = [part, *(copy() for _ in range(1, max(least, most or 1, 1)))]
        if most is None:  # the last one again and again
            copies += [copy()] if least else []
        exit_ = add()
        for number, (first, last) in enumerate(copies if most != 0 else []):
            targets[end].append(first)
            if number >= least:
                targets[end].append(exit_)
            end = last
            if most is None and number == len(copies) - 1:
                targets[last].append(first)
        targets[end].append(exit_)
        self._at = resume
        if self._at < len(self._text) and self._text[self._at] in "*+?{":
            raise self._fault("a repetition is repeated")
        return start, exit_

    def _bounds(self) -> tuple[int, int | None] | None:
        """Read how often a piece is repeated: from, and to (None for any number)."""
        for sign, bounds in {"*": (0, None), "+": (1, None), "?": (0, 1)}.items():
            if self._next(sign):
                return bounds
        if not self._next("{"):
            return None
        inside, brace, _ = self._text[self._at :].partition("}")
        low, comma, high = inside.partition(",")
        if not (brace and low.isascii() and low.isdecimal() and (not high or (high.isascii() and high.isdecimal()))):
            raise self._fault("needs {number}, {number,} or {number,number}")
        self._at += len(inside) + 1
        least = int(low)
        most = least if not comma else int(high) if high else None
        if max(least, most or 0) > MAX_REPETITIONS or (most is not None and most < least):
            raise self._fault(f"repetitions go from the smaller number to the larger one, at most {MAX_REPETITIONS}")
        return least, most

    def _atom(self) -> tuple[int, int]:
        character = self._text[self._at]
        self._at += 1
        if character == "(":
            if self._depth >= MAX_DEPTH:
                raise self._fault(f"more than {MAX_DEPTH} parentheses in each other")
            self._depth += 1
            part = self._alternatives()
            self._depth -= 1
            if not self._next(")"):
                raise self._fault("a parenthesis is not closed")
            return part
        if character in "^$":
            end = self._automaton.add()
            return self._automaton.add(character, end), end
        if character in "*+?{":
            raise self._fault(f"{character} has nothing to repeat")
        if character == "[":
            return self._of(self._bracket())
        if character == ".":
            return self._of(lambda c: True)
        if character == "\\":
            character = self._text[self._at : self._at + 1]
            if not character or character not in _SPECIAL + "]}/-":
                raise self._fault(f"\\{character} is not defined; \\ is for special characters: {_SPECIAL}")
            self._at += 1
        return self._of(lambda c, own=character: c == own)  # type: ignore[misc]

    def _of(self, accepts: _Accepts) -> tuple[int, int]:
        end = self._automaton.add()
        return self._automaton.add(accepts, end), end

    def _bracket(self) -> _Accepts:
        negated = self._next("^")
        tests: list[_Accepts] = []
        first = True
        while first or not self._next("]"):
            first = False
            if self._text[self._at : self._at + 2] == "[:":
                tests.append(self._class())
                continue
            low = self._element()
            if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                high = self._element()
                if high < low:
                    raise self._fault(f"the range {low}-{high} is empty")
                tests.append(lambda c, low=low, high=high: low <= c <= high)  # type: ignore[misc]
            else:
                tests.append(lambda c, own=low: c == own)  # type: ignore[misc]
        return lambda c: any(test(c) for test in tests) != negated

    def _class(self) -> _Accepts:
        name, closed, _ = self._text[self._at + 2 :].partition(":]")
        if not closed or name not in _CLASSES:
            raise self._fault(f"no class [:{name[:20]}:]; allowed: {', '.join(_CLASSES)}")
        self._at += len(name) + 4
        return _CLASSES[name]

    def _element(self) -> str:
        """Read one character of a bracket expression: itself, or as [.c.] or [=c=]."""
        if self._at >= len(self._text):
            raise self._fault("a bracket is not closed")
        opening = self._text[self._at : self._at + 2]
        if opening in ("[.", "[="):
            element, closing = self._text[self._at + 2 : self._at + 3], self._text[self._at + 3 : self._at + 5]
            if closing != opening[1] + "]":
                raise self._fault(f"needs one character, as in {opening}a{opening[1]}]")
            self._at += 5
            return element
        self._at += 1
        return self._text[self._at - 1]

    def _next(self, character: str) -> bool:
        if self._text[self._at : self._at + 1] != character:
            return False
        self._at += 1
        return True

    def _fault(self, reason: str) -> BadExpression:
        return BadExpression(f"at character {self._at}: {reason}")
