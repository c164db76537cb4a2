"""Evaluation of expressions: name lookup, operators and function calls."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sim_node.extensions.openplx import syntax
from sim_node.extensions.openplx.coerce import coerced
from sim_node.extensions.openplx.functions import FUNCTIONS, METHODS, Function, new_spelling
from sim_node.extensions.openplx.library import find, known_bundle, nearest
from sim_node.extensions.openplx.models import Fault, ObjectModel
from sim_node.extensions.openplx.objects import Object, Scope
from sim_node.extensions.openplx.values import (
    MAX_INT,
    OPAQUE,
    BoundMethod,
    Undefined,
    Vec2,
    Vec3,
    is_real,
    kind_of,
    members,
)
from sim_node.text import did_you_mean
from sim_node.world.problems import Place
from sim_node.world.readers.report import LineColumn


def evaluate(expression: syntax.Expression, scope: Scope) -> Any:
    """Return the value of an expression. Raises Fault.

    A name without a value evaluates to Undefined, and so does every expression that uses it.
    """
    return _EVALUATE[type(expression)](expression, scope)


def _literal(expression: syntax.NumberExpression | syntax.TextExpression, scope: Scope) -> Any:
    return expression.value


def _keyword(expression: syntax.Keyword, scope: Scope) -> Any:
    if expression.word != "this":
        return expression.word == "true"
    if scope.this is None:
        raise scope.fault(expression.at, "`this` is an object; a constant is outside of any")
    return scope.this


def _items(expression: syntax.Items, scope: Scope) -> Any:
    values = [evaluate(item, scope) for item in expression.items]
    return tuple(values) if expression.braces else values


def _negation(expression: syntax.Negation, scope: Scope) -> Any:
    return _operated(operator.neg, "-", [evaluate(expression.of, scope)], expression.at, scope)


def _operation(expression: syntax.Operation, scope: Scope) -> Any:
    value = evaluate(expression.first, scope)
    if isinstance(value, tuple) and expression.rest[0][0] in "*/" and len(value) in _VECTORS:
        value = coerced(value, (_VECTORS[len(value)],), 0, scope.place(expression.at))  # {a, b, c} / 2
    for sign, at, right in expression.rest:
        value = _operated(_OPERATORS[sign], sign, [value, evaluate(right, scope)], at, scope)
    return value


def _operated(operate: Callable[..., Any], sign: str, operands: list[Any], at: LineColumn, scope: Scope) -> Any:
    missing = _missing(operands)
    if missing is not None:
        return missing
    kinds = " and ".join(map(kind_of, operands))
    if not all(is_real(operand) or members(type(operand)) for operand in operands):
        raise scope.fault(at, f"{sign} is not for {kinds}")
    try:
        value = operate(*operands)
    except TypeError:
        raise scope.fault(at, f"{sign} is not for {kinds}") from None
    except ZeroDivisionError:
        raise scope.fault(at, "division by zero") from None
    except (ValueError, OverflowError) as error:
        raise scope.fault(at, str(error)) from None
    if isinstance(value, int) and abs(value) > MAX_INT:
        raise scope.fault(at, f"an Int is at most {MAX_INT}; write one of them as a Real, with a point")
    return value


def _name(expression: syntax.NameExpression, scope: Scope) -> Any:
    return _chain(syntax.Chain(expression, (), expression.at), scope)


def _chain(expression: syntax.Chain, scope: Scope) -> Any:
    if isinstance(expression.first, syntax.NameExpression):
        value, used = _looked_up(expression.first, expression.steps, scope)
    else:
        value, used = evaluate(expression.first, scope), 0
    for step in expression.steps[used:]:
        if isinstance(step, syntax.Attribute):
            value = _attribute(value, step, scope)
        elif isinstance(step, syntax.Call):
            value = _called(value, step, scope)
        else:
            value = _indexed(value, step, scope)
    return value


def _looked_up(name: syntax.NameExpression, steps: tuple[syntax.Step, ...], scope: Scope) -> tuple[Any, int]:
    """Return the value of a name, and how many of the attributes after it belong to that name.

    Names are looked up in this order: attributes of the model that contains the line; attributes of the objects whose
    blocks enclose the line, from the inside out; models and constants of the file, its namespaces, imports and bundles.
    """
    around = _holder(name.name, scope)
    if around is not None:
        return around.value(name.name), 0
    parts = [name.name]
    for step in steps:
        if not isinstance(step, syntax.Attribute):
            break
        parts.append(step.name)
    models = scope.instances.models
    found = find(tuple(parts), scope.entry.source, models.library)
    if found is None:
        return _nowhere(name, tuple(parts), scope), len(parts) - 1
    definition, rest = found
    used = len(parts) - len(rest) - 1
    place = scope.place(name.at)
    if definition.statement.value is not None:
        return scope.instances.constant(definition, place), used
    model = models.of(definition, place)
    function = _function_of(model, rest[0], place, scope) if rest else None
    if function is not None:
        return function, len(parts) - 1 if function is OPAQUE else used + 1
    if model.const:
        return scope.instances.constant(definition, place), used
    if model.opaque:
        return OPAQUE, len(parts) - 1
    if not rest:
        raise scope.fault(name.at, f"{'.'.join(parts)} is a model; a value or an object is needed here")
    at = steps[used].at
    static = [full.rpartition(".")[2] for full in FUNCTIONS if full.rpartition(".")[0] == model.name]
    raise scope.fault(at, f"{model.name} has no function {rest[0]}{did_you_mean(new_spelling(rest[0]), static)}")


def _holder(name: str, scope: Scope) -> Object | None:
    """Return the object around the line that has a given attribute, or None if there is none."""
    this, entry = scope.this, scope.entry
    if this is None or this.has(name):
        return this
    blocks = (this.object_at(entry.path[:length]) for length in range(entry.block, 0, -1))
    return next((around for around in blocks if around is not None and around.has(name)), None)


def _function_of(model: ObjectModel, name: str, place: Place, scope: Scope) -> Any:
    """Return a function of a model, Opaque for a method without code, or None if the model has neither."""
    names = (f"{ancestor.name}.{new_spelling(name)}" for ancestor in model.lineage)
    known = next((FUNCTIONS[full] for full in names if full in FUNCTIONS), None)
    if known is not None:
        return BoundMethod(name, _bound(known, ()))
    declared = next((ancestor for ancestor in model.lineage if name in ancestor.methods), None)
    if declared is None:
        return None
    text = f"{declared.name}.{name}, a method without code,"
    scope.instances.models.warn_unknown((), text, place, scope.entry.source)
    return OPAQUE


def _nowhere(name: syntax.NameExpression, parts: tuple[str, ...], scope: Scope) -> Any:
    """Return Opaque for a name of an unknown bundle; otherwise raise a Fault that suggests the nearest name."""
    this, source = scope.this, scope.entry.source
    models = scope.instances.models
    bundle = known_bundle(parts, source, models.library)
    if this is not None and this.model.opaque:
        return OPAQUE
    if len(parts) > 1 and bundle is not None and bundle.shipped:
        models.warn_unknown(parts, ".".join(parts), scope.place(name.at), source)
        return OPAQUE
    hint = did_you_mean(name.name, [] if this is None else this.names()) or nearest(parts, source, models.library)
    if bundle is not None:
        raise scope.fault(name.at, f"unknown name {'.'.join(parts)}{hint}")
    if len(parts) > 1 and not hint and name.name[:1].isupper():
        models.warn_unknown(parts, ".".join(parts), scope.place(name.at), source)
        return OPAQUE
    raise scope.fault(name.at, f"unknown name {name.name}{hint}")


def _attribute(value: Any, step: syntax.Attribute, scope: Scope) -> Any:
    if isinstance(value, Undefined) or value is OPAQUE:
        return value
    if isinstance(value, Object):
        if value.has(step.name):
            return value.value(step.name)
        if value.model.opaque:
            return OPAQUE
        if step.name in value.model.methods:
            text = f"{value.kind}.{step.name}, a method without code,"
            scope.instances.models.warn_unknown((), text, scope.place(step.at), scope.entry.source)
            return OPAQUE
        raise scope.fault(step.at, value.unknown(step.name))
    known, methods = members(type(value)), METHODS.get(type(value), {})
    if step.name in known:
        return getattr(value, step.name)
    method = methods.get(new_spelling(step.name))
    if method is not None:
        return BoundMethod(step.name, _bound(method, (value,)))
    raise scope.fault(step.at, f"{kind_of(value)} has no {step.name}{did_you_mean(step.name, (*known, *methods))}")


def _called(value: Any, step: syntax.Call, scope: Scope) -> Any:
    arguments = [evaluate(argument, scope) for argument in step.arguments]
    missing = _missing([value, *arguments])
    if missing is not None:
        return missing
    if not isinstance(value, BoundMethod):
        raise scope.fault(step.at, f"{kind_of(value)} cannot be called")
    places = [scope.place(argument.at) for argument in step.arguments]
    try:
        found = value.call(value.name, arguments, places, scope.place(step.at))
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise scope.fault(step.at, f"{value.name}: {error}") from None
    return found


def _bound(function: Function, first: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function with its first arguments bound, to be called with the others and their places."""

    def call(name: str, arguments: list[Any], places: list[Place], place: Place) -> Any:
        takes = function.takes[len(first) :]
        if len(arguments) != len(takes):
            raise Fault(
                place, f"{name} takes {len(takes)} argument{'' if len(takes) == 1 else 's'}, found {len(arguments)}"
            )
        given = []
        for argument, of, at in zip(arguments, takes, places, strict=True):
            array = isinstance(of, list)
            kind = of[0] if isinstance(of, list) else of
            given.append(coerced(argument, ("Real" if kind is float else kind,), int(array), at))
        found = _missing([part for one in given for part in (one if isinstance(one, list) else [one])])
        return function.call(*first, *given) if found is None else found

    return call


def _indexed(value: Any, step: syntax.Index, scope: Scope) -> Any:
    index = evaluate(step.index, scope)
    missing = _missing([value, index])
    if missing is not None:
        return missing
    if not isinstance(value, list):
        raise scope.fault(step.at, f"{kind_of(value)} has no items")
    if not isinstance(index, int) or isinstance(index, bool):
        raise scope.fault(step.index.at, f"an Int is needed, found {kind_of(index)}")
    if not 0 <= index < len(value):
        raise scope.fault(step.index.at, f"no item {index}; there are {len(value)}, counted from 0")
    return value[index]


def _missing(values: list[Any]) -> Any:
    """Return the first opaque value, else the first undefined one, else None."""
    if any(value is OPAQUE for value in values):
        return OPAQUE
    return next((value for value in values if isinstance(value, Undefined)), None)


# The types of `{a, b}` and `{a, b, c}` as operands.
_VECTORS: dict[int, type] = {2: Vec2, 3: Vec3}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_EVALUATE: dict[type, Callable[[Any, Scope], Any]] = {
    syntax.NumberExpression: _literal,
    syntax.TextExpression: _literal,
    syntax.Keyword: _keyword,
    syntax.NameExpression: _name,
    syntax.Items: _items,
    syntax.Negation: _negation,
    syntax.Operation: _operation,
    syntax.Chain: _chain,
}
