"""Formulas of schematics: expressions of the Elodin Query Language (EQL) as trees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim_node.world.problems import NOWHERE, Where, quoted

if TYPE_CHECKING:
    from lark import Lark

GRAMMAR = Path(__file__).with_name("eql.lark")
MAX_LENGTH, MAX_DEPTH = 10_000, 100
# Formulas that take words as arguments.
TAKING_WORDS = frozenset({"cast"})
# Parts of names that need no quotes: NAME in the grammar, and fields with their indices.
_PLAIN = re.compile(r"[^\W\d]\w*(/\w+)*(\[\d+\])*")
# Names of the grammar's terminals, for messages.
_TERMINALS = {
    **{
        "NAME": "a name",
        "QUOTED": "a name",
        "TOPIC": "a topic",
        "WORD": "a word",
        "NUMBER": "a number",
        "INTEGER": "a number",
    },
    **{"OPERATOR": "+ - * /", "COMMA": ",", "DOT": ".", "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]"},
    "$END": "the end",
}


class EqlFault(ValueError):
    """A text is not a valid formula.

    Args:
        message: What was found, and what is allowed.
        column: Position in the text, from 1.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message, self.column = message, column


@dataclass(frozen=True, slots=True)
class NumberNode:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class NameNode:
    """The name of an entity, followed by components: `drone.world_pos`. A topic begins with a slash.

    Indices within a topic's messages belong to its fields: `/tf.transforms[0].transform` has three parts.
    """

    parts: tuple[str, ...]

    @property
    def is_field(self) -> bool:
        """Return whether it refers to a field of a topic."""
        return len(self.parts) > 1 and self.parts[0].startswith("/")

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class IndexNode:
    """One of the numbers of a value, from 0."""

    of: Tree
    index: int


@dataclass(frozen=True, slots=True)
class CallNode:
    """A formula applied to a value: `of.name(arguments)`."""

    of: Tree
    name: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Two values and the operator between them: + - * or /."""

    left: Tree
    operator: str
    right: Tree


@dataclass(frozen=True, slots=True)
class RowNode:
    """Values in a row: `(1, 2, 3)`."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class WordNode:
    """A word that a formula takes, such as the type in `.cast(f64)`."""

    text: str


Tree = NumberNode | NameNode | WordNode | IndexNode | CallNode | Sum | RowNode


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression.

    Attributes:
        text: The text written by the user.
        tree: The syntax tree.
        where: Its location.
    """

    text: str
    tree: Tree = field(compare=False)
    where: Where = field(default=NOWHERE, compare=False)

    def curves(self) -> tuple[Formula, ...]:
        """Return the parts between top-level commas."""
        if not isinstance(self.tree, RowNode):
            return (self,)
        return tuple(Formula(written(each), each, self.where) for each in self.tree.items)

    def names(self) -> Iterator[NameNode]:
        """Yield the names in it, in order."""
        waiting: list[Tree] = [self.tree]
        while waiting:
            tree = waiting.pop()
            if isinstance(tree, NameNode):
                yield tree
            elif isinstance(tree, RowNode):
                waiting += reversed(tree.items)
            elif isinstance(tree, Sum):
                waiting += [tree.right, tree.left]
            elif isinstance(tree, IndexNode):
                waiting.append(tree.of)
            elif isinstance(tree, CallNode):
                waiting += [*reversed(tree.arguments), tree.of]


def written(tree: Tree) -> str:
    """Convert a tree to text."""
    if isinstance(tree, NumberNode):
        short = f"{tree.value:g}"
        return short if float(short) == tree.value else repr(tree.value)
    if isinstance(tree, NameNode):
        return ".".join(each if _PLAIN.fullmatch(each) or each[0] in "/~" else f"'{each}'" for each in tree.parts)
    if isinstance(tree, WordNode):
        return f'"{tree.text}"'
    if isinstance(tree, RowNode):
        return f"({', '.join(map(written, tree.items))})"
    if isinstance(tree, IndexNode):
        return f"{written(tree.of)}[{tree.index}]"
    if isinstance(tree, Sum):
        right = written(tree.right)
        return f"{written(tree.left)} {tree.operator} {f'({right})' if isinstance(tree.right, Sum) else right}"
    of = written(tree.of)
    arguments = ", ".join(map(written, tree.arguments))
    return f"{f'({of})' if isinstance(tree.of, Sum) else of}.{tree.name}({arguments})"


def formula(text: str, where: Where = NOWHERE) -> Formula:
    """Parse a formula.

    Args:
        text: The formula.
        where: Its location.

    Returns:
        The formula.

    Raises:
        EqlFault: It is invalid.
    """
    # Imported here because most worlds have no schematics.
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError

    if len(text) > MAX_LENGTH:
        raise EqlFault(f"a formula of {len(text)} characters; allowed: up to {MAX_LENGTH}", 1)
    if (depth := _depth(text)) > MAX_DEPTH:
        raise EqlFault(f"parentheses nested {depth} deep; allowed: up to {MAX_DEPTH}", 1)
    try:
        return Formula(text, _parser().parse(text), where)  # type: ignore[arg-type]  # the transformer makes a Tree
    except VisitError as error:
        if isinstance(error.orig_exc, EqlFault):
            raise error.orig_exc from None
        raise
    except UnexpectedToken as error:
        token: Any = error.token
        ended = token.type == "$END"
        found = "the end" if ended else quoted(str(token))
        column = len(text.rstrip()) + 1 if ended else int(token.start_pos or 0) + 1
        raise EqlFault(f"found {found}; allowed here: {_allowed(error.expected)}", column) from None
    except UnexpectedCharacters as error:
        at = int(error.pos_in_stream or 0)
        raise EqlFault(f"found {quoted(text[at])}; allowed here: {_allowed(error.allowed or ())}", at + 1) from None


def _allowed(terminals: Any) -> str:
    words = {_TERMINALS.get(name, name.lower()) for name in terminals if name != "WS"}
    return ", ".join(sorted(words, key=lambda word: (not word[0].isalpha(), word)))


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        deepest = max(deepest, depth)
    return deepest


def _arguments(name: str, given: Tree | None) -> tuple[Tree, ...]:
    """Return the arguments of a formula. If it takes words, a plain name counts as a word."""
    arguments = () if given is None else given.items if isinstance(given, RowNode) else (given,)
    if name not in TAKING_WORDS:
        return arguments
    return tuple(WordNode(str(each)) if isinstance(each, NameNode) else each for each in arguments)


@cache
def _parser() -> Lark:
    from lark import Lark, Token, Transformer

    def name_of(token: Token) -> str:
        return str(token)[1:-1] if token.type == "QUOTED" else str(token)

    class Builder(Transformer):  # type: ignore[type-arg]
        def start(self, items: list[Tree]) -> Tree:
            return items[0]

        def row(self, items: list[Tree]) -> Tree:
            return items[0] if len(items) == 1 else RowNode(tuple(items))

        def number(self, items: list[Token]) -> Tree:
            return NumberNode(float(items[0]))

        def name(self, items: list[Token]) -> Tree:
            return NameNode((name_of(items[0]),))

        def word(self, items: list[Token]) -> Tree:
            return WordNode(str(items[0])[1:-1])

        def brackets(self, items: list[Tree]) -> Tree:
            return items[0]

        def sum(self, items: list[Any]) -> Tree:
            return Sum(items[0], str(items[1]), items[2])

        def index(self, items: list[Any]) -> Tree:
            if int(items[1]) < 0:
                raise EqlFault(f"found the index {items[1]}; indices begin at 0", int(items[1].start_pos) + 1)
            if isinstance(items[0], NameNode) and items[0].is_field:
                return NameNode((*items[0].parts[:-1], f"{items[0].parts[-1]}[{int(items[1])}]"))
            return IndexNode(items[0], int(items[1]))

        def field(self, items: list[Any]) -> Tree:
            if not isinstance(items[0], NameNode):
                raise EqlFault(f"found .{items[1]}; a formula such as .linear() is needed", int(items[1].start_pos))
            return NameNode((*items[0].parts, name_of(items[1])))

        def call(self, items: list[Any]) -> Tree:
            return CallNode(items[0], str(items[1]), _arguments(str(items[1]), items[2] if len(items) > 2 else None))

    return Lark(GRAMMAR.read_text(encoding="utf-8"), parser="lalr", transformer=Builder(), maybe_placeholders=False)
