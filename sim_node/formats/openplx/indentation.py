"""Indentation as tokens: _INDENT and _DEDENT between the tokens of lines, none within brackets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lark import Token

from sim_node.formats.openplx.syntax import SyntaxFault
from sim_node.world.readers.report import LineColumn

DEEPEST_BLOCKS, DEEPEST_BRACKETS = 50, 50
TAB = 4
_OPENING, _CLOSING = {"LPAR", "LSQB", "LBRACE"}, {"RPAR", "RSQB", "RBRACE"}


class Indentation:
    """What a lexer's tokens go through before they are parsed.

    Annotations do not say how far a block is indented: `.doc` may stand further left than the lines after it.
    """

    always_accept: Iterable[str] = ("_NL", "_NL_DOT")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """The tokens with _INDENT and _DEDENT among them. Raises SyntaxFault.

        All that a new line leads to is told before the next token is asked for: the lexer goes by what the parser
        expects.
        """
        levels = [0]
        brackets: list[LineColumn] = []  # where those that are open stand
        only_annotations = False  # so far in the innermost block
        begun = False
        last: Token | None = None
        for token in stream:
            last = token
            kind = token.type
            if kind in ("_NL", "_NL_DOT"):
                annotation = kind == "_NL_DOT"
                if brackets:
                    if annotation:
                        break
                    continue
                if begun:
                    yield Token.new_borrow_pos("_NL", "", token)
                begun = annotation
                indent = len(token.rpartition("\n")[2].rstrip(".").expandtabs(TAB))
                if indent > levels[-1]:
                    if only_annotations:
                        levels[-1] = indent
                    else:
                        levels.append(indent)
                        only_annotations = annotation
                        if len(levels) > DEEPEST_BLOCKS:
                            raise SyntaxFault(f"indented deeper than {DEEPEST_BLOCKS} levels", _end(token))
                        yield _here("_INDENT", token)
                while indent < levels[-1]:
                    levels.pop()
                    only_annotations = False
                    yield _here("_DEDENT", token)
                if indent != levels[-1]:
                    raise SyntaxFault("indented as far as no line above it that it could belong to", _end(token))
                only_annotations = only_annotations and annotation
                if annotation:
                    yield _here("_ANNOTATION", token)
                continue
            begun = True
            if kind in _OPENING:
                brackets.append(_at(token))
                if len(brackets) > DEEPEST_BRACKETS:
                    raise SyntaxFault(f"brackets nested deeper than {DEEPEST_BRACKETS} levels", _at(token))
            elif kind in _CLOSING and brackets:
                brackets.pop()
            yield token
        if brackets:
            raise SyntaxFault("a bracket that is never closed", brackets[-1])
        for _ in levels[1:]:
            yield Token.new_borrow_pos("_DEDENT", "", last)  # type: ignore[arg-type]  # a level came from a token


def _at(token: Token) -> LineColumn:
    return token.line, token.column


def _here(kind: str, new_line: Token) -> Token:
    """A token where the line begins that an end of line leads to."""
    line, column = _end(new_line)
    return Token(kind, "", new_line.end_pos, line, column)


def _end(new_line: Token) -> LineColumn:
    return new_line.end_line, new_line.end_column - new_line.endswith(".")
