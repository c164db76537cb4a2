"""Message definitions: fields in order, of ROS 2's standard packages and of installed ones."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sim_node.text import did_you_mean
from sim_node.world.locate import share

# Definitions of ROS 2 Jazzy, from tools/standard_messages.py: headers "# package/msg/Name", then one field per line.
_STANDARD = Path(__file__).with_name("standard_messages.txt")
# Type, bound of a string, array suffix, name, and a default, a constant's value or a comment.
_FIELD = re.compile(r"([\w/]+)(?:<=(\d+))?(\[(<=)?(\d*)\])?\s+(\w+)\s*(.*)")
_TEXT = re.compile(r"""(["'])(.*?)\1""")

# numpy's names of primitive types.
PRIMITIVES = {
    "bool": "?",
    "byte": "u1",
    "char": "u1",
    "float32": "<f4",
    "float64": "<f8",
    **{f"{sign}int{8 * size}": f"<{code}{size}" for sign, code in (("", "i"), ("u", "u")) for size in (1, 2, 4, 8)},
}
TEXT = "string"


class UnknownMessage(LookupError):
    """The definition of a message type is unknown or cannot be parsed. The message names the type."""


class Field(NamedTuple):
    """One field of a message.

    Attributes:
        name: Its name.
        type: A primitive, TEXT, or package/msg/Name.
        size: Number of elements of a fixed array; 1 for a single value; None for a list.
        array: Whether it is an array or a list.
        max_length: Maximum number of elements of a bounded list, or None.
        max_bytes: Maximum number of bytes of a bounded string, or None.
        default: The default value, or None.
    """

    name: str
    type: str
    size: int | None
    array: bool
    max_length: int | None
    max_bytes: int | None
    default: object


@cache
def fields_of(type: str) -> tuple[Field, ...]:
    """Return the fields of package/msg/Name in order. Raises UnknownMessage."""
    package = type.partition("/msg/")[0]
    return tuple(field for line in _text_of(type).splitlines() if (field := _field(line, package, type)) is not None)


@cache
def constant_of(type: str, name: str) -> int:
    """Return an integer constant of package/msg/Name; 0 if the message does not have it. Raises UnknownMessage."""
    found = re.search(rf"^\s*\w+\s+{name}\s*=\s*(\d+)", _text_of(type), re.MULTILINE)
    return int(found[1]) if found else 0


def _text_of(type: str) -> str:
    package, _, name = type.partition("/msg/")
    text = _standard().get(type)
    if text is None:
        folder = share(package) if name else None
        path = None if folder is None else folder / "msg" / f"{name}.msg"
        if path is None or not path.is_file():
            hint = did_you_mean(type, _standard())
            raise UnknownMessage(f"unknown message type {type}{hint}; is its package installed and sourced?")
        text = path.read_text(encoding="utf-8")
    return text


@cache
def _standard() -> dict[str, str]:
    parts = _STANDARD.read_text(encoding="utf-8").removeprefix("# ").split("\n# ")
    return {name: fields for name, _, fields in (part.partition("\n") for part in parts)}


def _field(line: str, package: str, type: str) -> Field | None:
    """Parse a line to a field; None for a constant, a comment or an empty line."""
    plain = line.strip()
    if not plain or plain.startswith("#"):
        return None
    found = _FIELD.fullmatch(plain)
    if found is None:
        raise UnknownMessage(f"the definition of {type} has a line that cannot be parsed: {plain}")
    of, text_bound, brackets, bounded, count, name, rest = found.groups()
    if rest.startswith("="):
        return None
    if of == "wstring":
        raise UnknownMessage(f"{type} has a field {name} of type wstring, which cannot be written")
    if of != TEXT and of not in PRIMITIVES:
        owner, _, last = of.rpartition("/")
        of = f"{owner.removesuffix('/msg') or package}/msg/{last}"
    fixed = brackets is None or bool(count and not bounded)
    number = 1 if brackets is None else int(count) if fixed else None
    max_length, max_bytes = int(count) if bounded else None, int(text_bound) if text_bound else None
    return Field(name, of, number, brackets is not None, max_length, max_bytes, _default(rest, of))


def _default(text: str, of: str) -> object:
    if of == TEXT and (quoted := _TEXT.match(text)):
        return quoted[2]
    plain = text.partition("#")[0].strip()
    if not plain:
        return None
    if of == TEXT:
        return plain
    return ast.literal_eval(re.sub(r"\b(true|false)\b", lambda word: word[0].capitalize(), plain))
