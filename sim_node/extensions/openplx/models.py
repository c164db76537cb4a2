"""Models with all inherited declarations and assignments, base models first."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from sim_node.extensions.openplx import syntax
from sim_node.extensions.openplx.library import Definition, Library, Source, find, known_bundle, nearest
from sim_node.extensions.openplx.renamed import ATTRIBUTES
from sim_node.extensions.openplx.values import PRIMITIVES, VALUES
from sim_node.text import did_you_mean
from sim_node.world.problems import Place
from sim_node.world.readers.report import LineColumn

MAX_LINEAGE_DEPTH = 60
MAX_INHERITED = 1_000_000


class Fault(Exception):
    """A fault in a model, with its location."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.place, self.message = place, message


class UnknownType:
    """A type that is not defined; attributes of its objects are not checked."""


UNKNOWN = UnknownType()


@dataclass(eq=False, slots=True)
class Entry:
    """One line of a model, with the path of its enclosing blocks: a declaration, an assignment or both.

    Attributes:
        block: The number of names of the path that come from the enclosing blocks.
        model: The model that contains it; None for a constant.
        read: Whether the line was used; see `reader.unread_lines`.
    """

    path: tuple[str, ...]
    places: tuple[LineColumn, ...]
    block: int
    source: Source
    model: ObjectModel | None
    declaration: syntax.Declaration | None
    value: syntax.Expression | None
    read: bool = False

    def within(self, key: str) -> tuple[()]:
        """Return nothing, because the lines of its block are separate entries."""
        return ()

    @property
    def is_of_bundle(self) -> bool:
        """Whether a model of a bundle contains it."""
        return self.model is not None and "." in self.model.name

    def place(self, depth: int | None = None) -> Place:
        """Return the location of the name at a depth of the path, by default of the last name."""
        at = self.places[-1 if depth is None else depth]
        return self.source.place(at, self.key)

    @property
    def key(self) -> str:
        """The name for messages: MODEL.a.b."""
        return ".".join(self.path if self.model is None else (self.model.short_name, *self.path))


@dataclass(eq=False)
class ObjectModel:
    """A type of objects.

    Attributes:
        lineage: The models that it inherits from, base models first, and itself last.
        own: Its own lines.
        heads: Its own and inherited lines by the first name of their paths.
        opaque: Whether something in its lineage is unknown.
        depth: The length of the inheritance chain.
        types: Cache of the types of attributes.
        learned: Cache of answers about attributes that no line of an owner affects, by question; see `Object.learn`.
    """

    name: str
    place: Place
    lineage: tuple[ObjectModel, ...] = ()
    own: list[Entry] = field(default_factory=list)
    heads: dict[str, list[Entry]] = field(default_factory=dict)
    slots: dict[str, None] = field(default_factory=dict)
    methods: set[str] = field(default_factory=set)
    const: bool = False
    trait: bool = False
    opaque: bool = False
    ancestors: frozenset[str] = frozenset()
    depth: int = 1
    types: dict[str, SlotType | None] = field(default_factory=dict)
    learned: dict[str, dict[str, bool]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Model {self.name}>"

    @cached_property
    def stated(self) -> frozenset[str]:
        """The first names of the paths of those of its lines that are not from a bundle."""
        return frozenset(name for name, lines in self.heads.items() if not all(line.is_of_bundle for line in lines))

    @property
    def short_name(self) -> str:
        """The name without its namespace."""
        return self.name.rpartition(".")[2]

    def is_a(self, name: str) -> bool:
        """Return whether a model with a given full name is in its lineage."""
        return name in self.ancestors


# A type: the name of a primitive, the class of a value, a model, or unknown.
Kind = str | type | ObjectModel | UnknownType


@dataclass(frozen=True, slots=True)
class SlotType:
    """The type of an attribute: one of `kinds`, or an array of them with `array` dimensions."""

    kinds: tuple[Kind, ...]
    array: int
    optional: bool
    reference: bool
    entry: Entry

    @property
    def opaque(self) -> bool:
        """Whether all of its kinds are unknown."""
        return all(kind is UNKNOWN for kind in self.kinds)


class Models:
    """The models of a library. Each model is flattened once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._models: dict[Definition, ObjectModel | Fault | None] = {}
        self._slot_types: dict[Entry, SlotType] = {}
        self._warned: set[str] = set()
        self._depth = 0
        # The number of inherited lines and models, each of which costs time and memory.
        self.inherited = 0

    def of(self, definition: Definition, asking: Place) -> ObjectModel:
        """Return the model of a definition. Raises Fault if it inherits from itself."""
        if definition in self._models:
            found = self._models[definition]
            if found is None:
                raise Fault(asking, f"{definition.name} inherits from itself")
            if isinstance(found, Fault):  # reported only once, however many models inherit from it
                raise found
            return found
        if self._depth >= MAX_LINEAGE_DEPTH:
            raise Fault(asking, f"inherits from models that inherit, more than {MAX_LINEAGE_DEPTH} deep")
        self._models[definition] = None
        self._depth += 1
        try:
            model = self._flatten(definition)
        except Fault as fault:
            self._models[definition] = fault
            raise
        except BaseException:
            del self._models[definition]
            raise
        finally:
            self._depth -= 1
        self._models[definition] = model
        return model

    def _flatten(self, definition: Definition) -> ObjectModel:
        statement, source = definition.statement, definition.source
        model = ObjectModel(definition.name, definition.place, const="const" in statement.modifiers)
        model.trait = "trait" in statement.modifiers
        bases = [self._base(of.path, source, model) for of in statement.types[:1]]
        traits = [*statement.traits, *_traits(statement.block)]
        self._inherit(model, [*bases, *(self._base(path, source, model) for path in traits)])
        self._gather(model, statement.block, source, (), ())
        _refuse_duplicates(model)
        for entry in model.own:
            old = entry.path[0]
            new = ATTRIBUTES.get(old, old)
            is_renamed = new != old and new in model.slots and old not in model.slots and entry.declaration is None
            model.heads.setdefault(new if is_renamed else old, []).append(entry)
            if entry.declaration is not None and len(entry.path) == 1:
                model.slots[entry.path[0]] = None
        return model

    def _inherit(self, model: ObjectModel, bases: list[ObjectModel | None]) -> None:
        lineage: dict[ObjectModel, None] = {}
        model.depth += max((base.depth for base in bases if base is not None), default=0)
        if model.depth > MAX_LINEAGE_DEPTH:
            raise Fault(model.place, f"inherits from models that inherit, more than {MAX_LINEAGE_DEPTH} deep")
        for base in bases:
            if base is None:
                model.opaque = True
            else:
                lineage |= dict.fromkeys(base.lineage)
                model.opaque = model.opaque or base.opaque
        lines = len(lineage) + sum(len(base.own) for base in lineage)
        if self.inherited + lines > MAX_INHERITED:
            raise Fault(model.place, f"the models inherit more than {MAX_INHERITED} lines from each other")
        self.inherited += lines
        for base in lineage:
            model.slots |= base.slots
            model.methods |= base.methods
            for entry in base.own:
                model.heads.setdefault(entry.path[0], []).append(entry)
        model.lineage = (*lineage, model)
        model.ancestors = frozenset(ancestor.name for ancestor in model.lineage)

    def _base(self, path: syntax.Path, source: Source, model: ObjectModel) -> ObjectModel | None:
        kind = self.kind(path, source, model.short_name)
        if isinstance(kind, (str, type)):
            raise Fault(
                source.place(path.at, model.short_name), f"{path} is a type of values, which models cannot inherit from"
            )
        return None if isinstance(kind, UnknownType) else kind

    def _gather(
        self,
        model: ObjectModel,
        block: tuple[syntax.Statement, ...],
        source: Source,
        path: tuple[str, ...],
        places: tuple[LineColumn, ...],
    ) -> None:
        for line in block:
            if isinstance(line, syntax.Method):
                if not path:
                    model.methods.add(line.name)
            elif isinstance(line, syntax.Import):
                raise Fault(source.place(line.at, "import"), "imports belong at the top of a file, before its models")
            elif isinstance(line, (syntax.Declaration, syntax.Assignment)):
                declaration = line if isinstance(line, syntax.Declaration) else None
                whole, all_places = (*path, *line.path.parts), (*places, *line.path.places)
                entry = Entry(whole, all_places, len(path), source, model, declaration, line.value)
                if declaration is not None and not declaration.types:
                    raise Fault(entry.place(), "what type is it? NAME is TYPE")
                if declaration is None and line.value is None and not line.block:
                    raise Fault(entry.place(), "a name needs a value or a type: NAME: VALUE, or NAME is TYPE")
                if declaration is not None or line.value is not None:
                    model.own.append(entry)
                self._gather(model, line.block, source, whole, all_places)

    def kind(self, path: syntax.Path, source: Source, key: str) -> Kind:
        """Resolve the name of a type in a file. Raises Fault for an undefined name."""
        if len(path.parts) == 1 and path.parts[0] in PRIMITIVES:
            return path.parts[0]
        found = find(path.parts, source, self.library)
        if found is not None and not found[1]:
            definition = found[0]
            if definition.name in VALUES:
                return VALUES[definition.name]
            if definition.statement.value is not None:
                raise Fault(source.place(path.at, key), f"{path} is a constant, not a type")
            return self.of(definition, source.place(path.at, key))
        place = source.place(path.at, key)
        bundle = known_bundle(path.parts, source, self.library)
        if len(path.parts) == 1 or (bundle is not None and not bundle.shipped):
            hint = nearest(path.parts, source, self.library)
            if len(path.parts) == 1 and not hint:
                hint = did_you_mean(path.parts[0], PRIMITIVES)
            raise Fault(place, f"no type {path}{hint}")
        if bundle is not None and (hint := nearest(path.parts, source, self.library)):
            raise Fault(place, f"no type {path}{hint}")
        self.warn_unknown(path.parts, str(path), place, source)
        return UNKNOWN

    def warn_unknown(self, parts: tuple[str, ...], text: str, place: Place, source: Source) -> None:
        """Warn once about an unknown name of a bundle."""
        if text in self._warned:
            return
        self._warned.add(text)
        hint = nearest(parts, source, self.library)
        message = f"{text} is unknown and ignored{hint or ' (is the folder of its bundle in OPENPLX_BUNDLE_PATH?)'}"
        self.library.report.about(place.where.file).warning(message, place.where[1:], place.key)

    def slot_type(self, entry: Entry) -> SlotType:
        """Return the type of a declaration. Raises Fault."""
        found = self._slot_types.get(entry)
        if found is None:
            declaration = entry.declaration
            assert declaration is not None
            key = entry.key
            kinds = [self.kind(of.path, entry.source, key) for of in declaration.types]
            traits = [*declaration.traits, *_traits(declaration.block)]
            if traits:
                kinds = [self._with_traits(kind, traits, entry) for kind in kinds]
            optional = "optional" in declaration.modifiers
            found = SlotType(tuple(kinds), declaration.types[0].array, optional, declaration.reference, entry)
            self._slot_types[entry] = found
        return found

    def _with_traits(self, kind: Kind, traits: list[syntax.Path], entry: Entry) -> Kind:
        if not isinstance(kind, ObjectModel):
            return kind
        model = ObjectModel(kind.name, entry.place())
        self._inherit(model, [kind, *(self._base(path, entry.source, model) for path in traits)])
        return model


def _traits(block: tuple[syntax.Statement, ...]) -> list[syntax.Path]:
    return [trait for line in block if isinstance(line, syntax.With) for trait in line.traits]


def _refuse_duplicates(model: ObjectModel) -> None:
    """Report attributes that a model declares or assigns twice."""
    for what in ("declared", "assigned"):
        seen: dict[tuple[str, ...], Entry] = {}
        for entry in model.own:
            if (entry.declaration if what == "declared" else entry.value) is None:
                continue
            before = seen.setdefault(entry.path, entry)
            if before is not entry:
                raise Fault(entry.place(), f"{what} twice; first at {before.place().where}")
