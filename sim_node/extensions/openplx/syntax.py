"""The syntax tree of an OpenPLX file: frozen data with locations."""

from __future__ import annotations

from dataclasses import dataclass

from sim_node.world.readers.report import LineColumn


class SyntaxFault(Exception):
    """A syntax error, and its location."""

    def __init__(self, message: str, at: LineColumn) -> None:
        super().__init__(message)
        self.message, self.at = message, at


@dataclass(frozen=True, slots=True)
class Path:
    """Names separated by dots, and their locations."""

    parts: tuple[str, ...]
    places: tuple[LineColumn, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)

    @property
    def at(self) -> LineColumn:
        """The location of the first name."""
        return self.places[0]


@dataclass(frozen=True, slots=True)
class NumberExpression:
    """A Real, or an Int if it has neither a point nor an exponent."""

    value: float | int
    at: LineColumn


@dataclass(frozen=True, slots=True)
class TextExpression:
    """A String. `file`: whether it is written as @"path", relative to its file."""

    value: str
    at: LineColumn
    file: bool = False


@dataclass(frozen=True, slots=True)
class Keyword:
    """`true`, `false` or `this`."""

    word: str
    at: LineColumn


@dataclass(frozen=True, slots=True)
class NameExpression:
    """A reference to a name."""

    name: str
    at: LineColumn


@dataclass(frozen=True, slots=True)
class Items:
    """`[a, b]`, or `{a, b}` if `braces`: the members of a value in order."""

    items: tuple[Expression, ...]
    at: LineColumn
    braces: bool = False


@dataclass(frozen=True, slots=True)
class Negation:
    """A minus sign before an expression."""

    of: Expression
    at: LineColumn


@dataclass(frozen=True, slots=True)
class Operation:
    """Operands of one precedence, from left to right. Each of `rest` is an operator, its location and right operand."""

    first: Expression
    rest: tuple[tuple[str, LineColumn, Expression], ...]
    at: LineColumn


@dataclass(frozen=True, slots=True)
class Attribute:
    """`.name` after an expression."""

    name: str
    at: LineColumn


@dataclass(frozen=True, slots=True)
class Call:
    """`(a, b)` after an expression."""

    arguments: tuple[Expression, ...]
    at: LineColumn


@dataclass(frozen=True, slots=True)
class Index:
    """`[i]` after an expression."""

    index: Expression
    at: LineColumn


Step = Attribute | Call | Index


@dataclass(frozen=True, slots=True)
class Chain:
    """A sequence of attributes, calls and indices: `a.b(c)[0].d`."""

    first: Expression
    steps: tuple[Step, ...]
    at: LineColumn


Expression = NumberExpression | TextExpression | Keyword | NameExpression | Items | Negation | Operation | Chain


@dataclass(frozen=True, slots=True)
class Type:
    """The path of a type. `array`: the number of `[]` after it."""

    path: Path
    array: int = 0


@dataclass(frozen=True, slots=True)
class Declaration:
    """`path is type` or `path becomes type`: a model or a constant at the top of a file, an attribute in a model.

    Attributes:
        modifiers: Any of const, trait and optional.
        types: Several if separated by `or`; none for a model without a base.
        value: The value after the colon, if any.
        block: The block after the colon, if any.
    """

    modifiers: frozenset[str]
    path: Path
    becomes: bool
    types: tuple[Type, ...]
    reference: bool
    traits: tuple[Path, ...]
    value: Expression | None
    block: tuple[Statement, ...]

    @property
    def at(self) -> LineColumn:
        """The location of its name."""
        return self.path.at


@dataclass(frozen=True, slots=True)
class Assignment:
    """`path: value`, or `path:` with a block of members."""

    path: Path
    value: Expression | None
    block: tuple[Statement, ...]

    @property
    def at(self) -> LineColumn:
        """The location of its path."""
        return self.path.at


@dataclass(frozen=True, slots=True)
class With:
    """`with` and the traits of a model."""

    traits: tuple[Path, ...]

    @property
    def at(self) -> LineColumn:
        """The location of the first trait's name."""
        return self.traits[0].at


@dataclass(frozen=True, slots=True)
class Import:
    """`import @"file" as path`. `bundles`: whether it has a $ and is searched for on the bundle search path."""

    file: str
    bundles: bool
    name: Path | None
    at: LineColumn


@dataclass(frozen=True, slots=True)
class Annotation:
    """`.path: value`, a note for other programs."""

    path: Path
    value: Expression | None

    @property
    def at(self) -> LineColumn:
        """The location of its path, after the dot."""
        return self.path.at


@dataclass(frozen=True, slots=True)
class Method:
    """`fn name(parameters) -> type`: a method implemented elsewhere. `operator`: whether it is `operator +(...)`."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    returns: Type | None
    at: LineColumn
    static: bool = False
    operator: bool = False


Statement = Declaration | Assignment | With | Import | Annotation | Method


@dataclass(frozen=True, slots=True)
class Document:
    """The statements of a file."""

    statements: tuple[Statement, ...]
