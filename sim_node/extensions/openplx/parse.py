"""The OpenPLX parser: converts indentation to tokens, applies the grammar, and builds a syntax tree."""

# ruff: noqa: D102  the methods of Builder are the rules of the grammar

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError

from sim_node.extensions.openplx import syntax
from sim_node.extensions.openplx.syntax import SyntaxFault
from sim_node.extensions.openplx.values import MAX_INT
from sim_node.world.problems import quoted
from sim_node.world.readers.report import LineColumn, Report

MAX_BLOCK_DEPTH, MAX_BRACKET_DEPTH = 50, 50
TAB = 4
_OPENING, _CLOSING = {"LPAR", "LSQB", "LBRACE"}, {"RPAR", "RSQB", "RBRACE"}


class Indentation:
    """Post-lexer that converts indentation to tokens.

    Annotations do not determine the indentation of a block: `.doc` may be indented less than the lines after it.
    """

    always_accept: Iterable[str] = ("_NL", "_NL_DOT")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Yield the tokens with _INDENT and _DEDENT among them. Raises SyntaxFault.

        All tokens of a new line are yielded before the next token is requested, because the lexer is contextual: it
        depends on what the parser expects.
        """
        blocks = _Blocks()
        brackets: list[LineColumn] = []  # locations of the open brackets
        last: Token | None = None
        for token in stream:
            last = token
            kind = token.type
            if kind in ("_NL", "_NL_DOT"):
                if not brackets:
                    yield from blocks.begin_line(token)
                elif kind == "_NL_DOT":
                    break
                continue
            blocks.begun = True
            if kind in _OPENING:
                brackets.append(at(token))
                if len(brackets) > MAX_BRACKET_DEPTH:
                    raise SyntaxFault(f"brackets nested deeper than {MAX_BRACKET_DEPTH} levels", at(token))
            elif kind in _CLOSING and brackets:
                brackets.pop()
            yield token
        if brackets:
            raise SyntaxFault("a bracket is not closed", brackets[-1])
        for _ in blocks.levels[1:]:
            yield Token.new_borrow_pos("_DEDENT", "", last)  # type: ignore[arg-type]  # a level came from a token


class _Blocks:
    """The indentation of the open blocks."""

    def __init__(self) -> None:
        self.levels = [0]
        self.begun = False
        self._only_annotations = False  # whether the innermost block has only annotations so far

    def begin_line(self, token: Token) -> Iterator[Token]:
        annotation, levels = token.type == "_NL_DOT", self.levels
        if self.begun:
            yield Token.new_borrow_pos("_NL", "", token)
        self.begun = annotation
        indent = len(token.rpartition("\n")[2].rstrip(".").expandtabs(TAB))
        if indent > levels[-1]:
            if self._only_annotations:
                levels[-1] = indent
            else:
                levels.append(indent)
                self._only_annotations = annotation
                if len(levels) > MAX_BLOCK_DEPTH:
                    raise SyntaxFault(f"indented deeper than {MAX_BLOCK_DEPTH} levels", _end(token))
                yield _here("_INDENT", token)
        while indent < levels[-1]:
            levels.pop()
            self._only_annotations = False
            yield _here("_DEDENT", token)
        if indent != levels[-1]:
            raise SyntaxFault("indentation does not match any line above", _end(token))
        self._only_annotations = self._only_annotations and annotation
        if annotation:
            yield _here("_ANNOTATION", token)


def at(token: Token) -> LineColumn:
    """Return the location of a token."""
    return token.line or 1, token.column or 1


def _here(kind: str, new_line: Token) -> Token:
    """Return a token at the beginning of the line that follows a newline token."""
    line, column = _end(new_line)
    return Token(kind, "", new_line.end_pos, line, column)


def _end(new_line: Token) -> LineColumn:
    return new_line.end_line or 1, (new_line.end_column or 1) - new_line.endswith(".")


MAX_LENGTH = 8 * 1024 * 1024
# Longer texts are not cached: a syntax tree is about a hundred times as large as its text.
MAX_KEPT = 30_000
GRAMMAR = Path(__file__).with_name("openplx.lark")
# Names of the grammar's terminals in messages.
_TERMINALS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "LONG_STRING": "a string",
    "FILE": '@"path"',
    "IMPORTED": '@"path" or $"path"',
    "_NL": "the end of the line",
    "_INDENT": "an indented block",
    "_DEDENT": "the end of the block",
    "$END": "the end of the file",
    "EMPTY_BRACKETS": "[]",
    "PLUS": "+",
    "MINUS": "-",
    "TIMES": "*",
    "OVER": "/",
    "COLON": ":",
    "COMMA": ",",
    "DOT": ".",
    "LPAR": "(",
    "RPAR": ")",
    "LSQB": "[",
    "RSQB": "]",
    "LBRACE": "{",
    "RBRACE": "}",
    "__ANON_0": "->",
}
_BEGIN_VALUES = {
    *("NUMBER", "STRING", "LONG_STRING", "FILE", "NAME", "TRUE", "FALSE", "THIS"),
    *("LPAR", "LSQB", "LBRACE", "EMPTY_BRACKETS", "PLUS", "MINUS"),
}


def parse(text: str, report: Report) -> syntax.Document | None:
    """Return the syntax tree of a text. If it is invalid, report the error and return None."""
    if len(text) > MAX_LENGTH:
        report.error(f"has {len(text) // 1024**2} million characters; allowed: up to {MAX_LENGTH // 1024**2}")
        return None
    try:
        return _kept(text) if len(text) <= MAX_KEPT else _parsed(text)
    except SyntaxFault as fault:
        report.error(fault.message, fault.at)
    except VisitError as error:  # wraps exceptions of the tree builder
        inner = error.orig_exc
        if not isinstance(inner, SyntaxFault):
            raise
        report.error(inner.message, inner.at)
    except UnexpectedToken as error:
        token: Token = error.token
        at = _end_of_text(text) if token.type == "$END" else (token.line or 1, token.column or 1)
        if token.type == "_INDENT":
            report.error("unexpected indentation: the line above does not open a block", at)
            return None
        found = _TERMINALS[token.type] if token.type in ("_NL", "_DEDENT", "$END") else quoted(str(token))
        report.error(f"found {found}; allowed here: {_allowed(_expected(error))}", at)
    except UnexpectedCharacters as error:
        char = text[error.pos_in_stream or 0]
        message = "a string without an end" if char == '"' else f"found {quoted(char)}"
        report.error(f"{message}; allowed here: {_allowed(error.allowed or ())}", (error.line, error.column))
    return None


def _parsed(text: str) -> syntax.Document:
    return cast(syntax.Document, _parser().parse(text + "\n"))


# A world often reuses many models of one file, and is read again after each change of another file. A robot based on
# the bundles uses some hundred small files.
_kept = lru_cache(maxsize=256)(_parsed)


@cache
def _parser() -> Lark:
    grammar = GRAMMAR.read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", postlex=Indentation(), transformer=Builder(), maybe_placeholders=False)


def _end_of_text(text: str) -> LineColumn:
    text = text.rstrip()
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _expected(error: Any) -> set[str]:
    try:
        return set(error.accepts or error.expected)
    except SyntaxFault:  # lark 0.12 calls the tree builder to find the accepted tokens
        return set(error.expected)


def _allowed(terminals: Iterable[str]) -> str:
    names = set(terminals) - {"_NL_DOT", "_ANNOTATION"}
    words = set()
    if "NUMBER" in names:
        names -= _BEGIN_VALUES
        words = {"a value"}
    words |= {_TERMINALS.get(name, name.lower()) for name in names}
    return ", ".join(sorted(words, key=lambda word: (not word[0].isalpha(), word)))


class Builder(Transformer):  # type: ignore[type-arg]  # lark 0.12 has it without parameters
    """Builds the syntax tree: one method per rule of openplx.lark, which receives the results of its parts."""

    def start(self, children: list[Any]) -> syntax.Document:
        return syntax.Document(tuple(children))

    def block(self, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    types = traits = parameters = items = block

    # Statements

    def import_(self, children: list[Any]) -> syntax.Import:
        token = children[0]
        name = children[1] if len(children) > 1 else None
        return syntax.Import(token[2:-1], token[0] == "$", name, at(token))

    def declaration(self, children: list[Any]) -> syntax.Declaration:
        modifiers, path, relation, types, reference, traits, (value, block) = children
        return syntax.Declaration(modifiers, path, relation == "becomes", types, reference, traits, value, block)

    def assignment(self, children: list[Any]) -> syntax.Assignment | syntax.Declaration:
        modifiers, path, (value, block) = children
        if modifiers:
            return syntax.Declaration(modifiers, path, False, (), False, (), value, block)
        return syntax.Assignment(path, value, block)

    def with_traits(self, children: list[Any]) -> syntax.With:
        return syntax.With(tuple(children))

    def annotation(self, children: list[Any]) -> syntax.Annotation:
        path, (value, _) = children
        return syntax.Annotation(path, value)

    def method(self, children: list[Any]) -> syntax.Method:
        static = children[0].type == "STATIC"
        name, parameters, *returns = children[1:] if static else children
        return syntax.Method(str(name), parameters, returns[0] if returns else None, at(name), static)

    def operator(self, children: list[Any]) -> syntax.Method:
        symbol, parameters, returns = children
        return syntax.Method(str(symbol), parameters, returns, at(symbol), operator=True)

    # Parts of statements

    def modifiers(self, children: list[Any]) -> frozenset[str]:
        for index, word in enumerate(children):
            if word in children[:index]:
                raise SyntaxFault(f"a second {word}", at(word))
        return frozenset(str(word) for word in children)

    def nothing(self, children: list[Any]) -> tuple[None, tuple[()]]:
        return None, ()

    def value(self, children: list[Any]) -> tuple[syntax.Expression, tuple[()]]:
        return children[0], ()

    def nested(self, children: list[Any]) -> tuple[None, tuple[syntax.Statement, ...]]:
        return None, children[0]

    def type(self, children: list[Any]) -> syntax.Type:
        return syntax.Type(children[0], len(children) - 1)

    def reference(self, children: list[Any]) -> bool:
        return bool(children)

    def parameter(self, children: list[Any]) -> tuple[str, syntax.Type]:
        return str(children[0]), children[1]

    def path(self, children: list[Any]) -> syntax.Path:
        return syntax.Path(tuple([str(name) for name in children]), tuple([at(name) for name in children]))

    # Expressions

    def expression(self, children: list[Any]) -> syntax.Operation:
        first, *rest = children
        pairs = zip(rest[::2], rest[1::2], strict=True)
        return syntax.Operation(first, tuple((str(sign), at(sign), right) for sign, right in pairs), first.at)

    product = expression

    def negation(self, children: list[Any]) -> syntax.Expression:
        *signs, of = children
        minus = sum(sign == "-" for sign in signs) % 2
        return syntax.Negation(of, at(signs[0])) if minus else of

    def chain(self, children: list[Any]) -> syntax.Chain:
        first, *steps = children
        return syntax.Chain(first, tuple(steps), first.at)

    def attribute(self, children: list[Any]) -> syntax.Attribute:
        return syntax.Attribute(str(children[0]), at(children[0]))

    def call(self, children: list[Any]) -> syntax.Call:
        bracket, arguments = children
        return syntax.Call(arguments, at(bracket))

    def index(self, children: list[Any]) -> syntax.Index:
        bracket, index = children
        return syntax.Index(index, at(bracket))

    def number(self, children: list[Any]) -> syntax.NumberExpression:
        token = children[0]
        if not token.isdecimal():
            return syntax.NumberExpression(float(token), at(token))
        # int() is slow for very many digits.
        if len(token) > 19 or int(token) > MAX_INT:
            raise SyntaxFault(f"{token[:24]} is out of range; an Int is at most {MAX_INT}", at(token))
        return syntax.NumberExpression(int(token), at(token))

    def string(self, children: list[Any]) -> syntax.TextExpression:
        token = children[0]
        text = token[1:-1]
        return syntax.TextExpression(_unescaped(text) if "\\" in text else str(text), at(token))

    def long_string(self, children: list[Any]) -> syntax.TextExpression:
        return syntax.TextExpression(str(children[0][3:-3]), at(children[0]))

    def file(self, children: list[Any]) -> syntax.TextExpression:
        return syntax.TextExpression(str(children[0][2:-1]), at(children[0]), file=True)

    def name(self, children: list[Any]) -> syntax.NameExpression:
        return syntax.NameExpression(str(children[0]), at(children[0]))

    def keyword(self, children: list[Any]) -> syntax.Keyword:
        return syntax.Keyword(str(children[0]), at(children[0]))

    def inner(self, children: list[Any]) -> syntax.Expression:
        return children[0]  # type: ignore[no-any-return]

    def array(self, children: list[Any]) -> syntax.Items:
        bracket, items = children
        return syntax.Items(items, at(bracket))

    def composite(self, children: list[Any]) -> syntax.Items:
        bracket, items = children
        return syntax.Items(items, at(bracket), braces=True)

    def empty(self, children: list[Any]) -> syntax.Items:
        return syntax.Items((), at(children[0]))


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text, flags=re.DOTALL)
