"""Objects of models, whose attributes are evaluated on demand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sim_node.extensions.openplx import syntax
from sim_node.extensions.openplx.coerce import coerced
from sim_node.extensions.openplx.library import Definition
from sim_node.extensions.openplx.models import UNKNOWN, Entry, Fault, Kind, Models, ObjectModel, SlotType
from sim_node.extensions.openplx.renamed import ATTRIBUTES
from sim_node.extensions.openplx.values import OPAQUE, Undefined, members, with_article, with_member
from sim_node.text import did_you_mean
from sim_node.world.problems import Place
from sim_node.world.readers.report import LineColumn

MAX_OBJECTS = 200_000
MAX_OBJECT_DEPTH, MAX_VALUE_DEPTH = 60, 100

# A line that concerns an object: the line, the object whose model contains it, and the path length to the former.
Bound = tuple[Entry, "Object", int]
# Attributes, as pairs of object and name, in the order in which they were requested.
Asked = list[tuple["Object", str]]
_PENDING = object()


class Scope(NamedTuple):
    """The context of an expression: a line, and the object that `this` refers to; None for a constant."""

    instances: Instances
    entry: Entry
    this: Object | None

    def place(self, at: LineColumn) -> Place:
        """Return a location in the expression's file."""
        return self.entry.source.place(at, self.entry.key)

    def fault(self, at: LineColumn, message: str) -> Fault:
        """Return a fault at a location in the expression."""
        return Fault(self.place(at), message)


@dataclass(eq=False)
class Instances:
    """State shared by the objects of one world.

    Attributes:
        evaluate: Evaluates an expression in a scope.
        asked: The attributes requested since the evaluation of the current attribute began.
    """

    models: Models
    evaluate: Callable[[syntax.Expression, Scope], Any]
    count: int = 0
    depth: int = 0
    asked: Asked = field(default_factory=list)
    _constants: dict[Definition, Any] = field(default_factory=dict)

    def root(self, model: ObjectModel) -> Object:
        """Return a new object without an owner."""
        return Object(self, model, None, model.short_name, {}, model.place)

    def constant(self, definition: Definition, asking: Place) -> Any:
        """Return the value of a constant, or the single object of a const model."""
        if self._constants.get(definition) is _PENDING:
            raise Fault(asking, f"{definition.name} refers to itself")
        if definition not in self._constants:
            self._constants[definition] = _PENDING
            try:
                self._constants[definition] = self._constant(definition, asking)
            except BaseException:
                del self._constants[definition]
                raise
        return self._constants[definition]

    def _constant(self, definition: Definition, asking: Place) -> Any:
        statement = definition.statement
        if statement.value is None:
            return self.root(self.models.of(definition, asking))
        name = (definition.statement.path.parts[0],)
        entry = Entry(name, (statement.at,), 0, definition.source, None, statement, statement.value)
        return self.evaluated(entry, None, self.models.slot_type(entry))

    def evaluated(self, entry: Entry, this: Object | None, type_: SlotType) -> Any:
        """Return the value of a line, converted to its type. Raises Fault."""
        assert entry.value is not None
        if self.depth >= MAX_VALUE_DEPTH:
            raise Fault(entry.place(), f"values refer to each other more than {MAX_VALUE_DEPTH} levels deep")
        self.depth += 1
        try:
            value = self.evaluate(entry.value, Scope(self, entry, this))
        finally:
            self.depth -= 1
        return coerced(value, type_.kinds, type_.array, entry.source.place(entry.value.at, entry.key))


class Object:
    """An instance of a model, as an attribute of its owner.

    Attributes:
        outer: Lines of enclosing models that concern it, by attribute.
        reported: Whether it was reported to have no effect, or need not be.
    """

    __slots__ = (
        *("_sources", "_types", "_values", "depth", "instances", "model", "name", "outer", "owner", "place"),
        "reported",
    )

    def __init__(
        self,
        instances: Instances,
        model: ObjectModel,
        owner: Object | None,
        name: str,
        outer: dict[str, list[Bound]],
        place: Place,
    ) -> None:
        self.instances, self.model, self.owner, self.name = instances, model, owner, name
        self.outer, self.place = outer, place
        for old, new in ATTRIBUTES.items():
            if old in outer and new in model.slots and old not in model.slots:
                outer.setdefault(new, []).extend(outer.pop(old))
        self.depth: int = 0 if owner is None else owner.depth + 1
        self.reported = False
        self._values: dict[str, Any] = {}
        self._sources: dict[str, Asked] = {}
        self._types: dict[str, SlotType | None] = {}
        instances.count += 1
        if instances.count > MAX_OBJECTS:
            raise Fault(place, f"more than {MAX_OBJECTS} objects")

    def __repr__(self) -> str:
        return f"<{self.kind} {self.path or self.name}>"

    @property
    def kind(self) -> str:
        """The name of its type, for messages."""
        return self.model.name

    @property
    def path(self) -> str:
        """Its dotted path below the root."""
        return ".".join(reversed([each.name for each in self.owners() if each.owner is not None]))

    def owners(self) -> Iterator[Object]:
        """Yield the object itself and its owners, from the inside out."""
        at: Object | None = self
        while at is not None:
            yield at
            at = at.owner

    def is_a(self, name: str) -> bool:
        """Return whether a model of a full name is in its lineage."""
        return self.model.is_a(name)

    def names(self) -> Iterable[str]:
        """Return the names of its attributes, in the order of declaration."""
        declared = (name for name, lines in self.outer.items() if any(declares(line) for line in lines))
        return dict.fromkeys((*self.model.slots, *declared))

    def has(self, name: str) -> bool:
        """Return whether it has an attribute with a given name, or with the new name of a renamed attribute."""
        if name in self.model.slots or any(map(declares, self.outer.get(name, ()))):
            return True
        return name in ATTRIBUTES and self.has(ATTRIBUTES[name])

    def lines(self, name: str) -> list[Bound]:
        """Return all lines that concern an attribute, base models first."""
        own: list[Bound] = [(entry, self, 0) for entry in self.model.heads.get(name, ())]
        return own + self.outer.get(name, [])

    def is_stated(self, name: str) -> bool:
        """Return whether a line outside the bundles concerns an attribute or a part of it."""
        return name in self.model.stated or not all(line[0].is_of_bundle for line in self.outer.get(name, ()))

    def given(self, *path: str) -> bool:
        """Return whether the attribute at a path, or a part of it, is assigned outside the models that declare it."""
        at = self
        for name in path[:-1]:
            if not at.has(name):
                return False
            inner = at.value(name)
            if not isinstance(inner, Object):
                return False
            at = inner
        lines = at.lines(path[-1])
        declaring = {entry.model for entry, scope, depth in lines if declares((entry, scope, depth))}
        return any(entry.value is not None and entry.model not in declaring for entry, _, _ in lines)

    def slot_type(self, name: str) -> SlotType | None:
        """Return the type of an attribute; None if there is no such attribute. Raises Fault."""
        # Unless a line of an owner concerns it, an attribute has the same type in all objects of a model.
        known = self._types if name in self.outer else self.model.types
        if name not in known:
            types = [self.instances.models.slot_type(line[0]) for line in self.lines(name) if declares(line)]
            for before, after in itertools.pairwise(types):
                _check_specialises(before, after)
            known[name] = types[-1] if types else None
        return known[name]

    def learn(self, question: str, name: str, answer: Callable[[], bool]) -> bool:
        """Return the answer to a question about an attribute, cached for all objects of a model where possible.

        The answer is shared if no line of an owner concerns the attribute and all of its lines are from bundles.
        """
        if name in self.outer or name in self.model.stated:
            return answer()
        known = self.model.learned.setdefault(question, {})
        if name not in known:
            known[name] = answer()
        return known[name]

    def value(self, name: str) -> Any:
        """Return the value of an attribute. Raises Fault for unknown names and for values that cannot be evaluated."""
        instances = self.instances
        instances.asked.append((self, name))
        found = self._values.get(name)
        if found is _PENDING:
            raise Fault(self.lines(name)[-1][0].place(), "refers to itself")
        if isinstance(found, Fault):
            raise found
        if found is None:
            self._values[name] = _PENDING
            before, instances.asked = instances.asked, []
            try:
                found = self._values[name] = self._work_out(name)
            except Fault as fault:
                self._values[name] = fault
                raise
            except BaseException:
                del self._values[name]
                raise
            finally:
                if instances.asked:
                    self._sources[name] = instances.asked
                instances.asked = before
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of an attribute, or a default if there is no such attribute. Raises Fault."""
        return self.value(name) if self.has(name) else default

    def objects(self, name: str) -> list[Object]:
        """Return the objects in an array attribute; empty if it is not an array. Raises Fault."""
        return objects_in(self.value(name))

    def known(self, name: str) -> Any:
        """Return the value of an attribute if it was already evaluated, otherwise None."""
        return self._values.get(name)

    def sources(self, name: str) -> Asked:
        """Return the attributes from which the value of an attribute was computed."""
        return self._sources.get(name, [])

    def at(self, path: Iterable[str]) -> Any:
        """Return the object or value below it at a path of names."""
        found: Any = self
        for name in path:
            if not isinstance(found, Object):
                return found
            found = found.value(name)
        return found

    def object_at(self, path: Iterable[str]) -> Object | None:
        """Return the object at a path of names, without evaluating values; None if the path leads through a value."""
        at = self
        for name in path:
            type_ = at.slot_type(name)
            if type_ is None or type_.array or not any(isinstance(kind, ObjectModel) for kind in type_.kinds):
                return None
            found = at.value(name)
            if not isinstance(found, Object):
                return None
            at = found
        return at

    def unknown(self, name: str) -> str:
        """Return an error message for an unknown attribute, with the nearest name."""
        return f"{with_article(self.kind)} has no {name}{did_you_mean(name, [*self.names(), *self.model.methods])}"

    def _work_out(self, name: str) -> Any:
        lines = self.lines(name)
        type_ = self.slot_type(name)
        if type_ is None:
            return self._undeclared(name, lines)
        if type_.opaque:
            return OPAQUE
        whole, inner = _divided(lines)
        value: Any = None if whole is None else self.instances.evaluated(*whole[:2], type_)
        if value is None and not inner and (type_.optional or type_.reference):
            return Undefined(self._called(name))
        kind = type_.kinds[0]
        if type_.array or isinstance(kind, str) or (isinstance(kind, type) and len(type_.kinds) > 1):
            if inner:
                raise Fault(inner[0][0].place(inner[0][2] + 1), f"{name} has no members")
            return Undefined(self._called(name)) if value is None else value
        if isinstance(kind, type):
            return self._with_members(kind() if value is None else value, inner)
        if inner and isinstance(value, Object):
            message = f"{name} is {value.path or value.kind} here, which has its own"
            raise Fault(inner[0][0].place(inner[0][2] + 1), message)
        return self._create(name, type_, inner) if value is None else value

    def _undeclared(self, name: str, lines: list[Bound]) -> Any:
        if name in ATTRIBUTES and self.has(ATTRIBUTES[name]):
            return self.value(ATTRIBUTES[name])
        if self.model.opaque:
            return OPAQUE
        raise Fault(lines[0][0].place(lines[0][2]) if lines else self.place, self.unknown(name))

    def _create(self, name: str, type_: SlotType, inner: list[Bound]) -> Object | Any:
        model = next((kind for kind in type_.kinds if isinstance(kind, ObjectModel)), None)
        if model is None:
            return OPAQUE
        if self.depth >= MAX_OBJECT_DEPTH:
            raise Fault(
                type_.entry.place(),
                f"objects are nested more than {MAX_OBJECT_DEPTH} levels deep; does one contain itself?",
            )
        outer: dict[str, list[Bound]] = {}
        for entry, scope, depth in inner:
            outer.setdefault(entry.path[depth + 1], []).append((entry, scope, depth + 1))
        return Object(self.instances, model, self, name, outer, type_.entry.place())

    def _with_members(self, value: Any, lines: list[Bound]) -> Any:
        """Return a value with the members that lines assign to it, applied in order."""
        for entry, scope, depth in lines:
            value = self._with_one(value, entry, scope, depth + 1)
        return value

    def _with_one(self, value: Any, entry: Entry, scope: Object, depth: int) -> Any:
        if isinstance(value, Undefined) or value is OPAQUE:
            return value
        name, known = entry.path[depth], members(type(value))
        if name not in known:
            kind = f"a Math.{type(value).__name__}" if known else "a Real"
            raise Fault(entry.place(depth), f"{kind} has no {name}{did_you_mean(name, known)}")
        member = getattr(value, name)
        if len(entry.path) > depth + 1:
            new = self._with_one(member, entry, scope, depth + 1)
        else:
            if entry.declaration is not None:
                raise Fault(entry.place(), f"a Math.{type(value).__name__} takes no other attributes")
            takes: Kind = "Real" if isinstance(member, float) else type(member)
            new = self.instances.evaluated(entry, scope, SlotType((takes,), 0, False, False, entry))
        return new if isinstance(new, Undefined) or new is OPAQUE else with_member(value, name, new)

    def _called(self, name: str) -> str:
        return ".".join(filter(None, (self.path, name)))


def objects_in(value: Any) -> list[Object]:
    """Return the objects in an array; empty for any other value."""
    return [item for item in value if isinstance(item, Object)] if isinstance(value, list) else []


def _divided(lines: list[Bound]) -> tuple[Bound | None, list[Bound]]:
    """Return the last line that assigns the whole value, and the lines after it that assign members."""
    whole = [index for index, (entry, _, depth) in enumerate(lines) if entry.value and len(entry.path) == depth + 1]
    last = whole[-1] if whole else -1
    inner = [line for line in lines[last + 1 :] if len(line[0].path) > line[2] + 1]
    return lines[last] if whole else None, inner


def declares(line: Bound) -> bool:
    """Return whether a line declares the attribute that it concerns."""
    entry, _, depth = line
    return entry.declaration is not None and len(entry.path) == depth + 1


def _check_specialises(before: SlotType, after: SlotType) -> None:
    """Check that a redeclared attribute has the same type as before or a more specific one."""
    if before.array != after.array:
        raise Fault(after.entry.place(), "was declared as an array" if before.array else "was not declared as an array")
    for kind in after.kinds:
        fits = any(
            kind == general
            or UNKNOWN in (kind, general)
            or (
                isinstance(kind, ObjectModel)
                and isinstance(general, ObjectModel)
                and (kind.is_a(general.name) or kind.opaque)
            )
            for general in before.kinds
        )
        if not fits:
            first = before.entry.place().where
            raise Fault(after.entry.place(), f"becomes something that it is not: it was declared otherwise at {first}")
