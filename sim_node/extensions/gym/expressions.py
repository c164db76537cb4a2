"""Expressions over named numbers and arrays, for rewards and terminations. They are checked when they are read."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.text import did_you_mean, shown

MAX_LENGTH = 2000
# The value of a signal, an action or an expression.
Quantity = float | npt.NDArray[np.float64]
_NODES = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Load),
    *(ast.Constant, ast.Subscript, ast.List, ast.Tuple, ast.Slice),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)
# The name under which `previous(NAME)` finds the value of the previous control step.
_BEFORE = "previous({})"
_PREVIOUS = "previous"
_ARRAY = "array()"


class ExpressionError(ValueError):
    """An expression is invalid, or cannot be evaluated. The message gives the reason."""


def norm(vector: npt.ArrayLike) -> float:
    """Return the Euclidean norm of an array, or the absolute value of a number."""
    array = np.asarray(vector)
    return math.sqrt(float(np.vdot(array, array)))


def _for_both(scalar: Callable[[float], float], array: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function for numbers and arrays, because NumPy's functions take ten times as long for a number."""
    return lambda value: scalar(value) if isinstance(value, float) else array(value)


def _clip(value: Any, low: float, high: float) -> Any:
    return min(max(value, low), high) if isinstance(value, float) else np.clip(value, low, high)


# The functions of expressions.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "all": lambda value: bool(np.all(value)),
    "any": lambda value: bool(np.any(value)),
    "atan2": lambda y, x: np.arctan2(y, x),
    "clip": _clip,
    "cos": _for_both(math.cos, np.cos),
    "dot": lambda a, b: float(np.dot(a, b)),
    "exp": _for_both(math.exp, np.exp),
    "log": _for_both(math.log, np.log),
    "max": lambda *values: max(map(float, values)) if len(values) > 1 else float(np.max(values[0])),
    "min": lambda *values: min(map(float, values)) if len(values) > 1 else float(np.min(values[0])),
    "norm": norm,
    "sign": lambda value: np.sign(value),
    "sin": _for_both(math.sin, np.sin),
    "sqrt": _for_both(math.sqrt, np.sqrt),
    "sum": lambda value: float(np.sum(value)),
    "tan": _for_both(math.tan, np.tan),
    "tanh": _for_both(math.tanh, np.tanh),
}
CONSTANTS: Mapping[str, float] = {"pi": math.pi}
_GLOBALS: dict[str, Any] = {
    "__builtins__": {},
    **FUNCTIONS,
    **CONSTANTS,
    _ARRAY: lambda *values: np.array(values, dtype=np.float64),
}


@dataclass(frozen=True)
class CompiledExpression:
    """A compiled expression.

    Attributes:
        text: The expression.
        names: The names of the values that it uses.
        previous: The names of the values of the previous control step that it uses.
    """

    text: str
    names: tuple[str, ...]
    previous: tuple[str, ...]
    _code: CodeType

    @classmethod
    def parse(cls, text: str) -> CompiledExpression:
        """Compile an expression.

        Operators are those of Python for numbers and arrays. `[a, b]` makes an array, `x[0]` is an element,
        `previous(x)` is the value of the previous control step, and FUNCTIONS are the functions.

        Args:
            text: The expression.

        Returns:
            The compiled expression. Names are not checked; see `check_names`.

        Raises:
            ExpressionError: It is not an expression, or uses unsupported syntax.
        """
        if len(text) > MAX_LENGTH:
            raise ExpressionError(f"has {len(text)} characters; allowed: {MAX_LENGTH}")
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else "too deeply nested"
            raise ExpressionError(f"{shown(text)!r} is not an expression: {reason}") from None
        rewriting = _Rewriting()
        try:
            tree = ast.fix_missing_locations(rewriting.visit(tree))
            code = compile(tree, "<expression>", "eval")
        except (RecursionError, MemoryError):
            raise ExpressionError(f"{shown(text)!r} is not an expression: too deeply nested") from None
        return cls(text, tuple(rewriting.names), tuple(rewriting.previous), code)

    def check_names(self, known: Iterable[str]) -> None:
        """Raise ExpressionError for a name that is not known; the message gives the nearest."""
        known = list(known)
        for name in (*self.names, *self.previous):
            if name not in known:
                raise ExpressionError(f"no {shown(name)!r}{did_you_mean(name, known)} (known: {', '.join(known)})")

    def evaluate(self, values: dict[str, Any]) -> Any:
        """Return the value.

        Args:
            values: Values by name; those of the previous control step under `before(name)`.

        Returns:
            A float, a boolean or an array.

        Raises:
            ExpressionError: The operands do not fit.
        """
        try:
            return eval(self._code, _GLOBALS, values)
        except (ArithmeticError, ValueError, TypeError, IndexError) as error:
            raise ExpressionError(f"{self.text!r} cannot be evaluated: {error}") from None


def before(name: str) -> str:
    """Return the name under which an expression looks up a value of the previous control step."""
    return _BEFORE.format(name)


class _Rewriting(ast.NodeTransformer):
    """Checks nodes and rewrites those that differ from Python: arrays, previous values, and integers as floats."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.previous: dict[str, None] = {}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _NODES):
            raise ExpressionError(f"{_kind(node)} cannot be used; operators, functions, names and numbers can")
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in FUNCTIONS or node.id == _PREVIOUS:
            raise ExpressionError(f"{node.id} is a function; write {node.id}(...)")
        if node.id not in CONSTANTS:
            self.names[node.id] = None
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            raise ExpressionError(f"{ast.unparse(node)} is not a number")
        # Powers of integers could be arbitrarily long.
        try:
            return ast.Constant(float(node.value))
        except OverflowError:
            raise ExpressionError(f"{shown(ast.unparse(node))} is out of the range of a 64-bit float") from None

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        value: Any = self.visit(node.value)
        bounds = [node.slice.lower, node.slice.upper, node.slice.step] if isinstance(node.slice, ast.Slice) else []
        for index in bounds or [node.slice]:
            number = index.operand if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) else index
            if number is not None and not (isinstance(number, ast.Constant) and type(number.value) is int):
                raise ExpressionError(f"the index {ast.unparse(node.slice)} is not a whole number")
        return ast.Subscript(value, node.slice, node.ctx)

    def visit_List(self, node: ast.List) -> ast.AST:
        items: list[Any] = [self.visit(item) for item in node.elts]
        return ast.Call(ast.Name(_ARRAY, ast.Load()), items, [])

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return self.visit_List(ast.List(node.elts, node.ctx))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            raise ExpressionError(f"{name}: functions take values only")
        if name == _PREVIOUS:
            if len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
                raise ExpressionError("previous(...) needs one name")
            self.previous[node.args[0].id] = None
            return ast.Name(before(node.args[0].id), ast.Load())
        if name not in FUNCTIONS:
            known = (*FUNCTIONS, _PREVIOUS)
            raise ExpressionError(f"no function {shown(name)!r}{did_you_mean(name, known)} (known: {', '.join(known)})")
        arguments: list[Any] = [self.visit(argument) for argument in node.args]
        return ast.Call(node.func, arguments, [])


def _kind(node: ast.AST) -> str:
    return {
        ast.Attribute: "a dot",
        ast.Lambda: "lambda",
        ast.Dict: "a mapping",
        ast.JoinedStr: "a text",
        ast.NamedExpr: ":=",
        ast.BitXor: "^ (a power is **)",
    }.get(type(node), type(node).__name__)
