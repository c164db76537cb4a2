"""POSIX extended regular expressions, matched by RE2 in linear time, because filters come from untrusted clients.

See IEEE Std 1003.1-2024, Base Definitions, section 9.4. What the standard leaves undefined is rejected.
"""

from __future__ import annotations

import re

from sim_node.packages import how_to_install

MAX_LENGTH, MAX_DEPTH = 1000, 50
MAX_REPETITIONS = 255  # RE_DUP_MAX
_SPECIAL = "^.[$()|*+?{\\"
# Contents of RE2 brackets, for characters of all scripts.
_CLASSES = {
    "alnum": r"\pL\pN",
    "alpha": r"\pL",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\pL\pM\pN\pP\pS",
    "lower": r"\p{Ll}",
    "print": r" \pL\pM\pN\pP\pS",
    "punct": "!-/:-@[-`{-~",
    "space": r"\s\x0b\x1c-\x1f\x{85}\pZ",
    "upper": r"\p{Lu}",
    "xdigit": "0-9A-Fa-f",
}
_TOKENS = re.compile(r"\[\^?\]?(?:\[([:.=]).+?\1\]|[^]])*\]|\\.|\{\d+(?:,\d*)?\}|.", re.DOTALL | re.ASCII)
_ELEMENTS = re.compile(r"\[:\w*:\]|\[([.=]).\1\]|.", re.DOTALL)
# Contexts in which a repetition operator is not allowed.
_NOTHING = ("", "(", "|")


class BadExpression(ValueError):
    """A text is not a valid extended regular expression. The message gives the position and the reason."""


class Expression:
    """A POSIX extended regular expression.

    Args:
        text: The expression.

    Raises:
        BadExpression: It is invalid or too large, or RE2 is not installed.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise BadExpression(f"it has {len(text)} characters; allowed: up to {MAX_LENGTH}")
        try:
            import re2  # imported here: only filters need it
        except ImportError as error:
            raise BadExpression(f"expressions need RE2: {how_to_install(error)}") from None
        options = re2.Options()
        options.dot_nl, options.never_capture, options.log_errors = True, True, False
        try:
            self._compiled = re2.compile(_translated(text), options)
        except re2.error as error:
            raise BadExpression(f"it is too large: {error.args[0].decode()}") from None

    def search(self, text: str) -> bool:
        """Return whether any part of a text matches."""
        return self._compiled.search(text) is not None


def _translated(text: str) -> str:
    """Translate an expression to RE2's syntax."""
    translated, depth, before = "", 0, ""
    for match in _TOKENS.finditer(text):
        token, at = match[0], match.start() + 1
        is_repetition = token[0] in "*+?{"
        if is_repetition:
            _check_repetition(token, at, before)
        elif token in ("|", ")") and before in _NOTHING:
            raise _fault(at, "an alternative is empty" if depth or token == "|" else _UNOPENED)
        depth += (token == "(") - (token == ")")
        if depth < 0:
            raise _fault(at, _UNOPENED)
        if depth > MAX_DEPTH:
            raise _fault(at, f"more than {MAX_DEPTH} parentheses in each other")
        translated += token if is_repetition or token in _PLAIN else _atom(token, at)
        before = "*" if is_repetition else token if token in _NOTHING else "a"
    if depth:
        raise _fault(len(text), "a parenthesis is not closed")
    if text and before in _NOTHING:
        raise _fault(len(text), "an alternative is empty")
    return translated


_UNOPENED = "a parenthesis is closed that was not opened"
_PLAIN = "^$.()|"


def _check_repetition(token: str, at: int, before: str) -> None:
    if before in _NOTHING:
        raise _fault(at, f"{token} has nothing to repeat")
    if before == "*":
        raise _fault(at, "a repetition is repeated")
    if token == "{":
        raise _fault(at, "needs {number}, {number,} or {number,number}")
    numbers = [int(number) for number in re.findall(r"\d+", token)]
    if numbers != sorted(numbers) or max(numbers, default=0) > MAX_REPETITIONS:
        raise _fault(at, f"repetitions go from the smaller number to the larger one, at most {MAX_REPETITIONS}")


def _atom(token: str, at: int) -> str:
    if token == "[":
        raise _fault(at, "a bracket is not closed")
    if token[0] == "[" and len(token) > 1:
        return _bracket(token, at)
    if token[0] == "\\" and (len(token) == 1 or token[1] not in _SPECIAL + "]}/-"):
        raise _fault(at, f"{token} is not defined; \\ is for special characters: {_SPECIAL}")
    return _literal(token[-1])


def _bracket(token: str, at: int) -> str:
    negation = "^" if token.startswith("[^") else ""
    elements = [match[0] for match in _ELEMENTS.finditer(token[1 + len(negation) : -1])]
    translated = ""
    while elements:
        low = elements.pop(0)
        if low.startswith("[:"):
            if low[2:-2] not in _CLASSES:
                raise _fault(at, f"no class {low[:20]}; allowed: {', '.join(_CLASSES)}")
            translated += _CLASSES[low[2:-2]]
        elif low == "[" and elements and elements[0] in ":.=":
            raise _fault(at, f"[{elements[0]} needs a name or one character, as in [:alpha:] or [.a.]")
        elif len(elements) > 1 and elements[0] == "-":
            low, high = _character(low), _character(elements[1])
            if high < low:
                raise _fault(at, f"the range {low}-{high} is empty")
            translated += f"{_literal(low)}-{_literal(high)}"
            del elements[:2]
        else:
            translated += _literal(_character(low))
    return f"[{negation}{translated}]"


def _character(element: str) -> str:
    return element[2] if len(element) == 5 else element[0]  # [.c.] or [=c=]


def _literal(character: str) -> str:
    return f"\\x{{{ord(character):x}}}"


def _fault(at: int, reason: str) -> BadExpression:
    return BadExpression(f"at character {at}: {reason}")
