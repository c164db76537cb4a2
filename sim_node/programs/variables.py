"""${VARIABLES} in texts, as a shell has them: ${NAME}, ${NAME:-DEFAULT}, $$ for a dollar. Nothing else is expanded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class VariableFault(ValueError):
    """A text whose variables cannot be filled in; says which and why."""


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with the values of its variables; ~/ at its beginning, and a value's, is the home folder.

    A default takes the place of a variable that is not set or empty, and may have variables of its own. Raises
    VariableFault for a variable without a value or a default, and for a $ that begins none.
    """
    expanded, rest = _expand(text, values, inside=False)
    assert not rest, "only inside braces does the text end early"
    return _at_home(expanded)


def _expand(text: str, values: Mapping[str, str], inside: bool) -> tuple[str, str]:
    """The expanded text as far as it goes, and what follows: inside braces that is from the closing one on."""
    parts = []
    while text:
        plain = re.match(r"[^$}]*" if inside else r"[^$]*", text)
        assert plain is not None
        parts.append(plain[0])
        text = text[plain.end() :]
        if text.startswith("$$"):
            parts.append("$")
            text = text[2:]
        elif text.startswith("$"):
            value, text = _variable(text, values)
            parts.append(value)
        elif text:
            break
    return "".join(parts), text


def _variable(text: str, values: Mapping[str, str]) -> tuple[str, str]:
    """The value of the variable that a text begins with, and what follows it."""
    name = _NAME.match(text, 2) if text.startswith("${") else None
    if name is None:
        raise VariableFault(f"{text[:20]!r} is no variable; ${{NAME}}, ${{NAME:-DEFAULT}} or $$ is needed")
    default, rest = None, text[name.end() :]
    if rest.startswith(":-"):
        default, rest = _expand(rest[2:], values, inside=True)
    if not rest.startswith("}"):
        raise VariableFault(f"${{{name[0]} is not closed; ${{NAME}} or ${{NAME:-DEFAULT}} is needed")
    value = values.get(name[0]) or default
    if value is None:
        raise VariableFault(f"{name[0]} is not set, and has no default; set it as in {name[0]}=... sim_node run ...")
    return _at_home(value), rest[1:]


def _at_home(text: str) -> str:
    return str(Path.home()) + text[1:] if text == "~" or text.startswith("~/") else text
