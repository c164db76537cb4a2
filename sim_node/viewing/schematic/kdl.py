"""KDL documents as nodes with locations, in versions 1 and 2 of the language (https://kdl.dev).

Existing Python parsers for KDL do not report node locations, which messages about schematics need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sim_node.world.problems import quoted, shown_key
from sim_node.world.readers.report import LineColumn
from sim_node.world.readers.unread import Inner

Scalar = str | int | float | bool | None
MAX_LENGTH = 4 * 1024 * 1024
MAX_DEPTH = 50


class KdlFault(ValueError):
    """A text is not valid KDL.

    Args:
        message: What was found, and what is allowed.
        at: Line and column.
    """

    def __init__(self, message: str, at: LineColumn) -> None:
        super().__init__(message)
        self.message, self.at = message, at


@dataclass(slots=True)
class KdlValue:
    """A value and its location. read: see `unread`."""

    value: Scalar
    at: LineColumn
    read: bool = False

    def within(self, key: str) -> tuple[()]:
        """Return nothing, because a value has no parts."""
        return ()


@dataclass(slots=True)
class KdlNode:
    """A node.

    Attributes:
        name: Its name.
        at: Line and column of its name.
        arguments: Its arguments.
        properties: Its properties. If a name occurs twice, the last one is used.
        property_places: Line and column of the name of each property.
        children: The child nodes, in braces.
        overridden: Properties followed by others with the same name.
        types: Type annotations of the node and of its values, such as (f64)1.0, which have no meaning here.
        read: See `unread`.
    """

    name: str
    at: LineColumn
    arguments: tuple[KdlValue, ...]
    properties: Mapping[str, KdlValue]
    property_places: Mapping[str, LineColumn]
    children: tuple[KdlNode, ...]
    overridden: tuple[tuple[str, KdlValue, LineColumn], ...] = ()
    types: tuple[KdlValue, ...] = ()
    read: bool = False

    def within(self, key: str) -> Iterator[Inner]:
        """Yield its arguments, properties and children."""
        for value in self.arguments:
            yield Inner(f"{key}.argument", value.at, value)
        for name, value in self.properties.items():
            yield Inner(f"{key}.{shown_key(name)}", self.property_places[name], value)
        for name, value, at in self.overridden:
            yield Inner(f"{key}.{shown_key(name)}", at, value)
        for each in self.types:
            yield Inner(f"{key}.({each.value})", each.at, each)
        for child in self.children:
            yield Inner(f"{key}.{shown_key(child.name)}", child.at, child)


def parse(text: str) -> tuple[KdlNode, ...]:
    """Return the nodes of a document.

    Args:
        text: The document.

    Raises:
        KdlFault: It is not KDL.
    """
    if len(text) > MAX_LENGTH:
        raise KdlFault(f"has {len(text)} characters; allowed: up to {MAX_LENGTH}", (1, 1))
    return _Parser(text.removeprefix("\ufeff")).document()


class _Token(NamedTuple):
    kind: str
    value: Scalar
    at: LineColumn
    text: str


_NEWLINE = "\r\n|[\r\n\u000b\u000c\u0085\u2028\u2029]"
_SPACE = "[\\t \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]"
# Characters that end a bare word; version 1 also excludes `,`, `<` and `>`, which version 2 allows.
_WORD = r'[^\s\\/(){};\[\]="#]'
_PATTERNS = re.compile(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in {
            "space": f"{_SPACE}+",
            "newline": _NEWLINE,
            "line_comment": "//[^\r\n\u000b\u000c\u0085\u2028\u2029]*",
            "block_comment": r"/\*",
            "slashdash": "/-",
            "continuation": r"\\",
            "raw": r'r?(?P<hashes>#+)(?P<raw_quotes>"""|")|r"',
            "multiline": '"""',
            "string": r'"(?:[^"\\]|\\.)*"',
            "keyword": r"#(?:true|false|null|inf|-inf|nan)(?![\w-])",
            "mark": r"[(){};=]",
            "word": f"{_WORD}+",
        }.items()
    ),
    re.DOTALL,
)
_KEYWORDS: dict[str, Scalar] = {
    **{"#true": True, "#false": False, "#null": None, "true": True, "false": False, "null": None},
    **{"#inf": float("inf"), "#-inf": float("-inf"), "#nan": float("nan")},
}
_NUMBER = re.compile(
    r"[+-]?(?:0x[\da-fA-F][\da-fA-F_]*|0o[0-7][0-7_]*|0b[01][01_]*|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d[\d_]*)?)"
)
_LIKE_A_NUMBER = re.compile(r"[+-]?\.?\d")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(\s+)|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "s": " ", '"': '"', "\\": "\\", "/": "/"}
_ESCAPES = " ".join(f"\\{letter}" for letter in _ESCAPED)
_VALUES = ("value", "word")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer(_NEWLINE, text))]
        self._line = 0
        self._tokens = self._scan()
        self._token = next(self._tokens)
        self._pushed: _Token | None = None

    def document(self) -> tuple[KdlNode, ...]:
        nodes = self._nodes(0)
        if self._token.kind != "end":
            raise KdlFault(f"found {_shown(self._token)} without an opening brace", self._token.at)
        return nodes

    # Tokeniser

    def _scan(self) -> Iterator[_Token]:
        """Yield the tokens, including spaces, because a token directly after a name has another meaning."""
        text, place = self._text, 0
        while place < len(text):
            at = self._at(place)
            match = _PATTERNS.match(text, place)
            if match is None:
                found = "a string without an end" if text[place] == '"' else f"found {quoted(text[place])}"
                raise KdlFault(found, at)
            kind, found = str(match.lastgroup), match[0]
            if kind in ("hashes", "raw_quotes"):
                kind = "raw"
            place = match.end()
            if kind == "block_comment":
                place = self._comment_end(match.start())
                yield _Token("space", None, at, found)
            elif kind == "continuation":
                place = self._continued(place)
                yield _Token("space", None, at, found)
            elif kind == "raw":
                place, value = self._raw(match)
                yield _Token("value", value, at, text[match.start() : place])
            elif kind == "multiline":
                place, value = self._multiline(match.end(), at)
                yield _Token("value", value, at, text[match.start() : place])
            elif kind == "string":
                yield _Token("value", _unescaped(found[1:-1], at), at, found)
            elif kind == "keyword":
                yield _Token("value", _KEYWORDS[found], at, found)
            elif kind == "word":
                yield _word(found, at)
            elif kind != "line_comment":
                yield _Token(found if kind == "mark" else kind, None, at, found)
        yield _Token("end", None, self._at(len(text)), "")
        while True:
            yield _Token("end", None, self._at(len(text)), "")

    def _at(self, place: int) -> LineColumn:
        while self._line + 1 < len(self._starts) and self._starts[self._line + 1] <= place:
            self._line += 1
        while self._starts[self._line] > place:
            self._line -= 1
        return self._line + 1, place - self._starts[self._line] + 1

    def _comment_end(self, place: int) -> int:
        """Return the end of a comment, which may contain nested comments."""
        depth, start = 0, place
        for match in re.compile(r"/\*|\*/").finditer(self._text, place):
            depth += 1 if match[0] == "/*" else -1
            if depth == 0:
                return match.end()
        raise KdlFault("a comment without an end", self._at(start))

    def _continued(self, place: int) -> int:
        match = re.compile(f"{_SPACE}*(?://[^\r\n]*)?(?:{_NEWLINE}|$)").match(self._text, place)
        if match is None:
            raise KdlFault("\\ continues a line, and stands at its end", self._at(place - 1))
        return match.end()

    def _raw(self, match: re.Match[str]) -> tuple[int, str]:
        quotes, hashes = match["raw_quotes"] or '"', match["hashes"] or ""
        end = self._text.find(quotes + hashes, match.end())
        if end < 0:
            raise KdlFault("a string without an end", self._at(match.start()))
        inside = self._text[match.end() : end]
        if quotes == '"""':
            inside = _dedented(inside, self._at(match.start()))
        return end + len(quotes + hashes), inside

    def _multiline(self, place: int, at: LineColumn) -> tuple[int, str]:
        match = re.compile(r'((?:[^"\\]|\\.|"(?!""))*)"""', re.DOTALL).match(self._text, place)
        if match is None:
            raise KdlFault("a string without an end", at)
        return match.end(), _unescaped(_dedented(match[1], at), at)

    # Parser

    def _next(self) -> _Token:
        token = self._token
        if self._pushed is None:
            self._token = next(self._tokens)
        else:
            self._token, self._pushed = self._pushed, None
        return token

    def _skip(self, *kinds: str) -> bool:
        """Skip tokens of these kinds. Return whether there were any."""
        skipped = False
        while self._token.kind in kinds:
            self._next()
            skipped = True
        return skipped

    def _nodes(self, depth: int) -> tuple[KdlNode, ...]:
        if depth > MAX_DEPTH:
            raise KdlFault(f"braces nested deeper than {MAX_DEPTH} levels", self._token.at)
        found: list[KdlNode] = []
        while True:
            self._skip("space", "newline", ";")
            if self._token.kind in ("end", "}"):
                return tuple(found)
            ignored = self._slashdash()
            node = self._node(depth)
            if not ignored:
                found.append(node)

    def _slashdash(self) -> bool:
        """Return whether `/-` marks the following element to be ignored, and skip the marker."""
        ignored = self._token.kind == "slashdash"
        if ignored:
            self._next()
            self._skip("space", "newline")
        return ignored

    def _node(self, depth: int) -> KdlNode:
        types = self._type()
        name = self._next()
        if name.kind not in _VALUES or not isinstance(name.value, str):
            raise KdlFault(f"found {_shown(name)}; the name of a node is needed", name.at)
        arguments: list[KdlValue] = []
        properties: dict[str, KdlValue] = {}
        places: dict[str, LineColumn] = {}
        children: tuple[KdlNode, ...] | None = None
        overridden: list[tuple[str, KdlValue, LineColumn]] = []
        while True:
            spaced, ignored = self._skip("space"), self._slashdash()
            token = self._token
            if token.kind in ("newline", ";", "end", "}") and not ignored:
                return KdlNode(
                    name.value,
                    name.at,
                    tuple(arguments),
                    properties,
                    places,
                    children or (),
                    tuple(overridden),
                    tuple(types),
                )
            if token.kind == "{":
                inside = self._children(depth)
                if ignored:
                    continue
                if children is not None:
                    raise KdlFault("a node has braces once", token.at)
                children = inside
                continue
            if not spaced and not ignored:
                raise KdlFault(f"found {_shown(token)}; a space is needed before it", token.at)
            typed = self._type()
            types += [] if ignored else typed
            token = self._next()
            if token.kind not in _VALUES:
                raise KdlFault(f"found {_shown(token)}; a value, key=value or the end of the line is needed", token.at)
            if not typed and isinstance(token.value, str) and self._is_property():
                typed, value = self._type(), self._value()
                if ignored:
                    continue
                types, named = types + typed, token.value
                if named in properties:
                    overridden.append((named, properties[named], places[named]))
                properties[named], places[named] = value, token.at
            elif not ignored:
                arguments.append(_plain(token))

    def _is_property(self) -> bool:
        """Return whether `=` follows, possibly between spaces, and skip it."""
        if self._token.kind == "space":
            following = self._next()
            if self._token.kind != "=":
                # The space belongs to the next element.
                self._pushed, self._token = self._token, following
                return False
        if self._token.kind != "=":
            return False
        self._next()
        self._skip("space")
        return True

    def _value(self) -> KdlValue:
        token = self._next()
        if token.kind not in _VALUES:
            raise KdlFault(f"found {_shown(token)}; a value is needed", token.at)
        return _plain(token)

    def _children(self, depth: int) -> tuple[KdlNode, ...]:
        opened = self._next()
        nodes = self._nodes(depth + 1)
        if self._token.kind != "}":
            raise KdlFault("a brace is not closed", opened.at)
        self._next()
        return nodes

    def _type(self) -> list[KdlValue]:
        """Return the type annotation before a name or a value, such as (f64)1.0, if there is one."""
        if self._token.kind != "(":
            return []
        opened = self._next()
        self._skip("space")
        name = self._next()
        self._skip("space")
        if name.kind not in _VALUES or self._next().kind != ")":
            raise KdlFault("a type is a name in parentheses", opened.at)
        self._skip("space")
        return [KdlValue(name.value, opened.at)]


def _word(text: str, at: LineColumn) -> _Token:
    if text in _KEYWORDS:  # version 1
        return _Token("value", _KEYWORDS[text], at, text)
    if _LIKE_A_NUMBER.match(text):
        if not _NUMBER.fullmatch(text):
            raise KdlFault(f"{quoted(text)} is not a number; a text that begins like one needs quotes", at)
        plain = text.replace("_", "").lower()
        digits = plain.lstrip("+-")
        if digits[:2] in ("0x", "0o", "0b"):
            return _Token("value", int(digits, 0) * (-1 if plain[0] == "-" else 1), at, text)
        try:
            return _Token("value", float(plain) if set(plain) & set(".e") else int(plain), at, text)
        except ValueError:  # more digits than int() accepts
            raise KdlFault(f"{quoted(text)} is too long for a number", at) from None
    return _Token("word", text, at, text)


def _plain(token: _Token) -> KdlValue:
    return KdlValue(token.value, token.at)


def _unescaped(text: str, at: LineColumn) -> str:
    def replaced(match: re.Match[str]) -> str:
        code, space, letter = match.groups()
        if space:
            return ""
        if code:
            number = int(code, 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                raise KdlFault(f"\\u{{{code}}} is no character", at)
            return chr(number)
        if letter not in _ESCAPED:
            raise KdlFault(f"\\{letter} is not an escape; allowed: {_ESCAPES}", at)
        return _ESCAPED[letter]

    return _ESCAPE.sub(replaced, text)


def _dedented(text: str, at: LineColumn) -> str:
    """Return the lines of a multi-line string without the indentation of its last line."""
    lines = re.split(_NEWLINE, text)
    indent = lines[-1]
    if len(lines) < 2 or lines[0].strip() or indent.strip():
        raise KdlFault('the text between """ and """ begins on a line of its own and ends before one', at)
    inside = lines[1:-1]
    if any(line.strip() and not line.startswith(indent) for line in inside):
        raise KdlFault('a line between """ and """ is indented less than the last one', at)
    return "\n".join(line[len(indent) :] if line.strip() else "" for line in inside)


def _shown(token: _Token) -> str:
    ends = {"end": "the end of the text", "newline": "the end of the line"}
    return ends.get(token.kind, quoted(token.text))
