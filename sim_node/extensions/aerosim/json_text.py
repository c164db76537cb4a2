"""Conversion of JSON text to located nodes and plain values, and back to text that is the same on every machine."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping as AnyMapping
from typing import Any

import numpy as np

from sim_node.world.problems import Problem, Where, WorldError, quoted, shown_key
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import MAX_DEPTH, Mapping, Node, Scalar, Sequence, plain_of
from sim_node.world.readers.yaml_values import Value

_SPACE = re.compile(r"[ \t\r\n]*")
# RFC 8259: punctuation, a string, a number, or a word.
_TOKEN = re.compile(
    r'(?P<mark>[{}\[\]:,])|(?P<text>"(?:[^"\\\x00-\x1f]|\\.)*")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.+-])|(?P<word>true|false|null)(?!\w)"
)
_FOUND = re.compile(r"[^\s,:{}\[\]\"]{1,40}")


def compose_json(text: str, report: Report) -> Node:
    """Return the root node of a JSON document.

    Args:
        text: The document.
        report: Receives duplicate keys; its file is that of the locations.

    Returns:
        The node. Numbers and words are plain scalars, strings are quoted ones.

    Raises:
        WorldError: The text is not JSON; the message has line and column.
    """
    return _Composer(text, report).document()


def keys_of(value: Value) -> dict[str, Any]:
    """Read a mapping as plain data."""
    if not isinstance(value.node, Mapping):
        value.error(f"a mapping is needed, found {value.found()}")
        return {}
    data = plain_of(value.node)
    assert isinstance(data, dict)
    return data


class _Composer:
    """Builds nodes with an explicit stack, so that nesting cannot exhaust Python's."""

    def __init__(self, text: str, report: Report) -> None:
        self._text, self._report = text, report
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._at = 0

    def document(self) -> Node:
        # Open lists and mappings, each with the key that awaits its value.
        stack: list[tuple[Sequence | Mapping, Scalar | None]] = []
        while True:
            done: Node
            kind, token, begin = self._next()
            if token in ("{", "["):
                if len(stack) >= MAX_DEPTH:
                    raise self._fault(begin, f"nested deeper than {MAX_DEPTH} levels")
                line, column = self._place(begin)
                done = Mapping({}, line, column) if token == "{" else Sequence([], line, column)
                if not self._ends("}" if token == "{" else "]"):
                    stack.append((done, self._key(done) if isinstance(done, Mapping) else None))
                    continue
            elif kind == "mark" or not token:
                raise self._unexpected(begin, "a value")
            else:
                done = self._scalar(kind, token, begin)
            while stack:
                holder, key = stack.pop()
                if isinstance(holder, Sequence):
                    holder.items.append(done)
                else:
                    assert key is not None
                    self._insert(holder, key, done)
                closing = "]" if isinstance(holder, Sequence) else "}"
                _, token, begin = self._next()
                if token == ",":
                    stack.append((holder, self._key(holder) if isinstance(holder, Mapping) else None))
                    break
                if token != closing:
                    raise self._unexpected(begin, f"',' or '{closing}'")
                done = holder
            else:
                _, token, begin = self._next()
                if token or begin < len(self._text):
                    raise self._unexpected(begin, "the end of the document")
                return done

    def _next(self) -> tuple[str, str, int]:
        """Return the kind, text and offset of the next token; an empty text at the end and for an invalid token."""
        match_space = _SPACE.match(self._text, self._at)
        begin = self._at if match_space is None else match_space.end()
        match = _TOKEN.match(self._text, begin)
        if match is None:
            self._at = begin
            return "", "", begin
        self._at = match.end()
        return match.lastgroup or "", match.group(), begin

    def _ends(self, closing: str) -> bool:
        before = self._at
        if self._next()[1] == closing:
            return True
        self._at = before
        return False

    def _key(self, holder: Mapping) -> Scalar:
        kind, token, begin = self._next()
        if kind != "text":
            raise self._unexpected(begin, "a key in double quotes")
        key = self._scalar(kind, token, begin)
        _, token, begin = self._next()
        if token != ":":
            raise self._unexpected(begin, "':'")
        return key

    def _insert(self, holder: Mapping, key: Scalar, value: Node) -> None:
        first = holder.entries.setdefault(key.text, (key, value))[0]
        if first is not key:
            message = f"is a duplicate, the first is on line {first.line}"
            self._report.error(message, (key.line, key.column), shown_key(key.text))

    def _scalar(self, kind: str, token: str, begin: int) -> Scalar:
        line, column = self._place(begin)
        if kind != "text":
            return Scalar(token, True, line, column)
        try:
            text = json.loads(token)
            text.encode()
        except ValueError:  # also for an unpaired surrogate
            raise self._fault(begin, f"{quoted(token)} has an invalid escape") from None
        return Scalar(text, False, line, column)

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def _unexpected(self, offset: int, needed: str) -> WorldError:
        if offset >= len(self._text):
            return self._fault(offset, f"not JSON: {needed} is needed, found the end of the file")
        word = _FOUND.match(self._text, offset)
        found = word.group() if word else self._text[offset]
        hint = ""
        if found == '"':
            hint = "; a text ends on its line, with escapes for control characters"
        elif found in ("}", "]") and self._text[:offset].rstrip().endswith(","):
            hint = "; JSON allows no comma before it"
        elif found in ("NaN", "Infinity", "-Infinity", "nan", "inf"):
            hint = "; JSON has finite numbers only"
        return self._fault(offset, f"not JSON: {needed} is needed, found {quoted(found)}{hint}")

    def _fault(self, offset: int, message: str) -> WorldError:
        return WorldError([Problem(Where(self._report.file, *self._place(offset)), "", message)])


def json_text(data: AnyMapping[str, Any], *, compact: bool = False) -> str:
    """Return plain data as JSON: keys in the order of the data, numbers with the shortest digits that read back.

    Args:
        data: Mappings, lists, strings, numbers, booleans and None.
        compact: Whether to write one line without spaces.

    Returns:
        The text. Unless it is compact, each mapping of numbers is on one line, and the text ends with a newline.

    Raises:
        ValueError: A number is not finite.
    """
    if compact:
        return json.dumps(_without_signed_zeros(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return _indented(_without_signed_zeros(data), "") + "\n"


def _indented(value: Any, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, dict) and value and any(isinstance(each, (dict, list)) for each in value.values()):
        rows = [f"{inner}{_line(str(key))}: {_indented(each, inner)}" for key, each in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return "[\n" + ",\n".join(f"{inner}{_indented(each, inner)}" for each in value) + f"\n{indent}]"
    if isinstance(value, dict) and any(not isinstance(each, (int, float)) for each in value.values()):
        rows = [f"{inner}{_line(str(key))}: {_line(each)}" for key, each in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _without_signed_zeros(value: Any) -> Any:
    if isinstance(value, AnyMapping):
        return {str(key): _without_signed_zeros(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_signed_zeros(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return value + 0.0 if isinstance(value, float) else value
