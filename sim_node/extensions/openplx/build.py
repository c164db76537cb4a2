"""From the parse tree to the syntax tree."""

# ruff: noqa: D102  the methods are the rules of the grammar

from __future__ import annotations

import re
from typing import Any

from lark import Token, Transformer

from sim_node.extensions.openplx import syntax
from sim_node.extensions.openplx.syntax import SyntaxFault
from sim_node.extensions.openplx.values import MAX_INT
from sim_node.world.readers.report import LineColumn


def at(token: Token) -> LineColumn:
    """Return the location of a token."""
    return token.line, token.column


class Builder(Transformer):  # type: ignore[type-arg]  # lark 0.12 has it without parameters
    """One method per rule of openplx.lark, which receives the results of its parts."""

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
