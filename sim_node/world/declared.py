"""Parts of worlds, declared once: fields are read from files, checked, described and written by one statement each.

    @declared
    class Waypoint:
        \"\"\"A position to fly to.\"\"\"

        position: FloatArray = given(Vector(3), "Position in the parent frame, ENU", "m")
        speed: float | None = given(Number(1e-3, 1e3), "Maximum speed; None for that of the pilot", "m/s", default=None)

makes a frozen dataclass; `read` makes one of a mapping in a file, `keys_of` describes that mapping, `faults` checks an
object that was made in Python, and `data_of` writes it. A new kind of value is a class like `Number`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

from sim_node.world.fields import dataclass_transform, described, equal, same
from sim_node.world.problems import Place
from sim_node.world.readers import keys
from sim_node.world.readers.keys import Form, Keys
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_values import Table, Value

T = TypeVar("T")
# The key of a fault relative to a part, and its message.
Fault = tuple[str, str]
# Returns how a world file refers to another file.
Refer = Callable[..., str]
NONE: Mapping[str, Any] = MappingProxyType({})
# Replaces values that could not be read and whose faults are recorded.
BAD: Any = type("Bad", (), {"__repr__": lambda self: "BAD"})()


class Holds(Protocol):
    """What a field may hold. See sim_node.world.quantities for numbers, words, vectors and the like."""

    @property
    def settles(self) -> bool:
        """Whether `settled` may change a value."""

    def form(self, about: str) -> Form:
        """Return the JSON Schema of the value in a file."""

    def read(self, value: Value, context: Any) -> Any:
        """Return the value read from a file. If there is a fault, it is recorded, and the result is ignored."""

    def settled(self, found: Any, owner: str, key: str) -> Any:
        """Return a value given in Python in the form in which it is stored. Raises ValueError for a wrong shape."""

    def faults(self, found: Any) -> Iterable[Fault]:
        """Yield the faults of a value given in Python."""

    def data(self, found: Any, refer: Refer) -> Any:
        """Return a value as data of a file."""


class Declared(NamedTuple):
    """The declaration of a field. See `given`."""

    holds: Holds | None
    about: str
    unit: str
    key: str
    degrees: bool
    aliases: tuple[str, ...]
    omit: bool

    def form(self) -> Form:
        """Return the JSON Schema of its value in a file."""
        return None if self.holds is None else self.holds.form(self.about + (f", {self.unit}." if self.unit else "."))


class Spread(NamedTuple):
    """A key of files that sets several fields.

    names: the fields. form: schema of its value. read: returns the fields from a value and the context of its file.
    data: returns the value for an object, or None. needed: whether the key is required.
    """

    names: tuple[str, ...]
    form: Form
    read: Callable[[Value, Any], Mapping[str, Any]]
    data: Callable[[Any], Any]
    needed: bool = False


class Nested(NamedTuple):
    """A key of files whose value is a mapping, in which several fields have their own keys.

    names: the fields. about: description. short: the field that is set by a value other than a mapping; empty if it
    must be a mapping. needs: keys of which at least one is required, by the message if none is given; if the message is
    empty, `then` reports it. then: completes the fields read from a value, given the context of its file. written:
    returns the value for a mapping, or None.
    """

    names: tuple[str, ...]
    about: str = ""
    short: str = ""
    needs: Mapping[str, tuple[str, ...]] = NONE
    then: Callable[[dict[str, Any], Value, Any], None] | None = None
    written: Callable[[dict[str, Any]], Any] = dict

    def of(self, every: Iterable[tuple[str, str, Declared]]) -> Spread:
        """Return the Spread of this key. every: name, key and declaration of all fields."""
        own = {key: (name, spec) for name, key, spec in every if name in self.names}
        forms = {key: spec.form() for key, (_, spec) in own.items()}
        mapping = Keys(forms, at_least_one=self.needs.values(), about="" if self.short else self.about)
        head, short = next(((key, spec.holds) for key, (name, spec) in own.items() if name == self.short), ("", None))

        def read_nested(value: Value, context: Any) -> dict[str, Any]:
            if short is not None and isinstance(value.node, Scalar):
                found = {self.short: held} if (held := short.read(value, context)) is not BAD else {}
            else:
                found = _read_keys(own, value.table(mapping), context)
                for why, some in self.needs.items() if isinstance(value.node, MappingNode) else ():
                    if why and all(value.get(key) is None for key in some):
                        value.error(why)
            if self.then is not None:
                self.then(found, value, context)
            return found

        def data(part: Any) -> Any:
            return self.written(_data(part, ((name, key, spec) for key, (name, spec) in own.items()), str))

        return Spread(self.names, keys.either(self.about, forms[head], mapping) if head else mapping, read_nested, data)


class ClassPlan(NamedTuple):
    """The declarations of a class. See `declared`.

    fields: name, key and declaration of each field that files can set; own: those whose key sets no other field.
    by_key: name and declaration of own fields by key and by KEY_deg; inlined: names of the others, and the classes of
    the parts that they hold. settling: names of fields that are stored in another form than they are given in Python,
    and what they hold. titles: fields with the title of an object, of which the last one that is set is used. places:
    fields with the location of a key; maps: fields with the locations of all keys. nested: the key whose mapping
    contains a field's own key, by field; heads: the keys that set several fields, by the first of these. The others
    are as in `declared`.
    """

    fields: tuple[tuple[str, str, Declared], ...]
    own: tuple[tuple[str, str, Declared], ...]
    by_key: Mapping[str, tuple[str, Declared]]
    inlined: tuple[tuple[str, type[Any]], ...]
    settling: tuple[tuple[str, Holds], ...]
    titles: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    defaults: Mapping[str, Any]
    rules: tuple[Callable[[Any], Iterator[Fault]], ...]
    spread: Mapping[str, Spread]
    nested: Mapping[str, str]
    heads: Mapping[str, list[str]]
    maps: tuple[str, ...]
    needs: Mapping[str, tuple[str, ...]]
    one_of: Mapping[str, tuple[str, ...]]
    at_most_one: tuple[tuple[str, str], ...]
    define: str
    bare: tuple[str, ...]
    keys: dict[Any, Keys]

    def required(self, but: Collection[str] = ()) -> list[str]:
        """Return the required keys, except for some."""
        own = [key for name, key, _ in self.own if name not in self.defaults]
        return [key for key in (*own, *(key for key, each in self.spread.items() if each.needed)) if key not in but]


def given(
    holds: Holds | None,
    about: str,
    unit: str = "",
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    key: str = "",
    degrees: bool = False,
    aliases: Iterable[str] = (),
    omit: bool = False,
    kw_only: bool = False,
) -> Any:
    """Declare a field.

    Args:
        holds: What the field may hold; None for a field that files cannot set.
        about: Description, without a full stop.
        unit: Unit; empty if it has none.
        default: Default value. Without a default and a factory, the field is required.
        default_factory: Returns the default.
        key: Key in files, if it differs from the name.
        degrees: Whether files may also give it in degrees, as KEY_deg.
        aliases: Other spellings of the key.
        omit: Whether to omit the default when writing files.
        kw_only: Whether it is a keyword-only argument in Python.

    Returns:
        The field of a dataclass.
    """
    spec = Declared(holds, about, unit, key, degrees, tuple(aliases), omit)
    made: Any = field(default=default, default_factory=default_factory, kw_only=kw_only, metadata={"declared": spec})
    return made


def places_of() -> Any:
    """Declare a field with the locations of a part's keys in its file."""
    spec = Declared(None, "Where the file gives each key", "", "", False, (), False)
    return field(default_factory=dict, compare=False, metadata={"declared": spec, "places": True})


def place_of(key: str = "", *, default: Place, kw_only: bool = False) -> Any:
    """Declare a field with the location of a part, or of one of its keys, in its file."""
    about = f"Where the file gives `{key}`" if key else "Where the file describes it"
    spec = Declared(None, about, "", key, False, (), False)
    return field(default=default, compare=False, kw_only=kw_only, metadata={"declared": spec, "place": key})


def rule(method: T) -> T:
    """Declare a method that yields the faults (key and message) of fields that are inconsistent with each other."""
    method.is_rule = True  # type: ignore[attr-defined]
    return method


@dataclass_transform(frozen_default=True, field_specifiers=(given, place_of, field))
def declared(
    made: type[Any] | None = None,
    *,
    needs: Mapping[str, tuple[str, ...]] = NONE,
    one_of: Mapping[str, tuple[str, ...]] = NONE,
    at_most_one: tuple[tuple[str, str], ...] = (),
    spread: Mapping[str, Spread | Nested] = NONE,
    define: str = "",
    bare: tuple[str, ...] = (),
) -> Any:
    """Make a frozen dataclass of a class with declared fields. Its docstring gets the section `Attributes`.

    Args:
        made: The class.
        needs: Keys of which at least one is required, by the message if none is given.
        one_of: Keys of which exactly one is required, by the message otherwise, in which {found} stands for those that
            are given.
        at_most_one: Keys that exclude each other.
        spread: Keys that set several fields each.
        define: Name of its definition in the JSON Schema, if it occurs in several places.
        bare: The fields of an object that replaces one with faults, so that the rest of a file can be checked; the
            first one must be valid. By default, there is no replacement.

    Returns:
        The dataclass. Its arrays are read-only and have the declared shapes; wrong shapes raise ValueError. An optional
        static method `_derive(found, table)` may change the fields read from a file; keys in an optional property
        `_derived` are not written.
    """

    def make(of: type[Any]) -> type[Any]:
        own = [spec for each in vars(of).values() if (spec := _spec_of(each)) is not None]
        arrays = any(getattr(spec.holds, "is_array", False) for spec in own) or getattr(of, "__hash__", None) is None
        if any(spec.holds is not None for spec in own) and "__post_init__" not in vars(of):
            of.__post_init__ = settle
        if arrays:
            of.__eq__, of.__hash__ = same, None  # type: ignore[assignment]
        of.__repr__ = described  # type: ignore[assignment]
        found = dataclass(frozen=True, slots=True, eq=not arrays, repr=False)(of)
        found.__doc__ = _documented(found)
        found.__plan__ = _plan(
            found, spread, needs=needs, one_of=one_of, at_most_one=at_most_one, define=define, bare=bare
        )
        return found

    return make if made is None else make(made)


def _spec_of(of: Any) -> Declared | None:
    return of.metadata.get("declared") if isinstance(of, Field) else None


def settle(part: Any) -> None:
    """Convert values given in Python to their declared form: arrays read-only, lists as tuples."""
    plan, owner = plan_of(type(part)), type(part).__name__.lower()
    for key in plan.titles:
        owner = getattr(part, key) or owner
    for name, holds in plan.settling:
        found = getattr(part, name)
        if found is not None:
            kept = holds.settled(found, owner, name)
            if kept is not found:
                object.__setattr__(part, name, kept)


def _documented(kind: type[Any]) -> str:
    """Return the docstring of a class, with a section on its declared fields."""
    text = (kind.__doc__ or "").rstrip()
    if "Attributes:" in text or not text:
        return text
    head, raises, tail = text.partition("\n    Raises:")
    lines = [
        f"        {each.name}: {spec.about}{f' ({spec.unit})' if spec.unit else ''}."
        for each in fields(kind)
        if (spec := _spec_of(each)) is not None
    ]
    return "\n".join([head.rstrip(), "", "    Attributes:", *lines, *([raises + tail] if raises else []), "    "])


def _plan(kind: type[Any], spread: Mapping[str, Spread | Nested], **rest: Any) -> ClassPlan:
    specs = {
        each.name: spec for each in fields(kind) if (spec := _spec_of(each)) is not None and spec.holds is not None
    }
    every = tuple((name, spec.key or name, spec) for name, spec in specs.items())
    shared = {name for each in spread.values() for name in each.names}
    standing = {
        each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in fields(kind)
    }
    methods: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        methods.update(vars(base))
    own = tuple(each for each in every if each[0] not in shared)
    heads: dict[str, list[str]] = {}
    for key, each in spread.items():
        heads.setdefault("".join(each.names[:1]), []).append(key)
    return ClassPlan(
        every,
        own,
        {
            spelled: (name, spec)
            for name, key, spec in own
            if _inlined(spec) is None
            for spelled in (key, *([f"{key}_deg"] * spec.degrees))
        },
        tuple((name, inner) for name, _, spec in own if (inner := _inlined(spec)) is not None),
        tuple((name, spec.holds) for name, _, spec in every if spec.holds is not None and spec.holds.settles),
        tuple(key for key in ("body", "frame", "name") if hasattr(kind, key)),
        tuple((each.name, each.metadata["place"]) for each in fields(kind) if "place" in each.metadata),
        {name: found for name, found in standing.items() if found is not MISSING},
        tuple(each for each in methods.values() if getattr(each, "is_rule", False)),
        {key: each.of(every) if isinstance(each, Nested) else each for key, each in spread.items()},
        {name: key for key, each in spread.items() if isinstance(each, Nested) for name in each.names},
        heads,
        tuple(each.name for each in fields(kind) if "places" in each.metadata),
        **rest,
        keys={},
    )


# Defaults for plain dataclasses, which do not call `declared`.
_UNSAID: Mapping[str, Any] = {"needs": NONE, "one_of": NONE, "at_most_one": (), "define": "", "bare": ()}
# Cache of plans, which are looked up for each part of a file.
_PLANS: dict[type[Any], ClassPlan] = {}


def plan_of(kind: type[Any]) -> ClassPlan:
    """Return the declarations of a declared class, or of a plain dataclass with declared fields or bases."""
    found = _PLANS.get(kind)
    if found is None:
        above: ClassPlan | None = getattr(kind, "__plan__", None)
        own = vars(kind)
        if above is None or ("__plan__" not in own and "__dataclass_fields__" in own):
            rest = {name: getattr(above, name, nothing) for name, nothing in _UNSAID.items()}
            above = kind.__plan__ = _plan(kind, getattr(above, "spread", NONE), **rest)
        found = _PLANS[kind] = above
    return found


def is_declared(part: object) -> bool:
    """Return whether the fields of an object are declared."""
    return hasattr(type(part), "__plan__")


def holder_of(kind: type[Any], name: str) -> Holds:
    """Return what a field of a class may hold."""
    return next(spec.holds for each, _, spec in plan_of(kind).fields if each == name and spec.holds is not None)


def keys_of(kind: type[Any], *, but: tuple[str, ...] = (), partial: bool = False) -> Keys:
    """Return the keys of a class in files.

    Args:
        kind: The class.
        but: Keys to leave out.
        partial: Whether all keys are optional, as for defaults of several parts.
    """
    plan = plan_of(kind)
    known = plan.keys.get((but, partial))
    if known is None:
        known = plan.keys[but, partial] = _keys(plan, (kind.__doc__ or "").partition("\n")[0], but, partial)
    return known


def _keys(plan: ClassPlan, about: str, but: tuple[str, ...], partial: bool) -> Keys:
    forms: dict[str, Form] = {}
    aliases: dict[str, str] = {}
    either = list(plan.at_most_one)
    shared = {name for each in plan.spread.values() for name in each.names}
    for name, key, spec in plan.fields:
        forms.update((head, plan.spread[head].form) for head in plan.heads.get(name, ()) if head not in but)
        if name in shared or key in but or spec.holds is None:
            continue
        if (inner := _inlined(spec)) is not None:
            forms.update(keys_of(inner))
            continue
        forms[key] = spec.form()
        aliases.update(dict.fromkeys(spec.aliases, key))
        if spec.degrees:
            forms[f"{key}_deg"] = keys.number(f"{spec.about}, degrees.", *_degrees(spec))
            either.append((key, f"{key}_deg"))
    forms.update((key, each.form) for key, each in plan.spread.items() if key not in but and key not in forms)
    return Keys(
        forms,
        required=() if partial else plan.required(but),
        aliases=aliases,
        about=about,
        exactly_one=() if partial else plan.one_of.values(),
        at_most_one=either,
        at_least_one=() if partial else plan.needs.values(),
        define="" if partial else plan.define,
    )


def _inlined(spec: Declared) -> type[Any] | None:
    """Return the class of a part whose keys are inlined in those of its owner; None for other fields."""
    return getattr(spec.holds, "inlined", None)


def _degrees(spec: Declared) -> tuple[float, float]:
    """Return the range in degrees of a number in radians."""
    of: Any = spec.holds
    return math.degrees(of.low), math.degrees(of.high)


def read(
    kind: type[T],
    value: Value,
    context: Any = None,
    *,
    known: Keys | None = None,
    only: Collection[str] | None = None,
    common: Table | None = None,
    **beside: Any,
) -> T:
    """Return the object that a mapping in a file describes, or BAD if there are faults, which are recorded.

    Args:
        kind: The class of the object.
        value: The mapping.
        context: The Context of the file, for fields that refer to other files.
        known: The keys of the mapping, if it may have others than those of the class.
        only: The keys of the class to read; None for all.
        common: A table with the keys that the mapping does not have itself.
        beside: Fields that the mapping does not set.
    """
    errors, plan = value.report.errors, plan_of(kind)
    before = len(errors)
    if common is None:
        table = value.table(keys_of(kind) if known is None else known)
    else:
        table = _with_defaults(value, keys_of(kind), common)
    found = read_fields(kind, table, context, only)
    found.update(beside)
    if len(errors) > before:
        return _bare(kind, found)
    part = kind(**found)
    judged = [*(getattr(part, name) for name, _ in plan.inlined), part]
    for key, message in (each for of in judged if of is not None for each in broken_rules(of)):
        at, *inner = (each.partition("[")[0] for each in key.split("."))
        holder = table.get(at)
        for each in inner:
            holder = holder and (holder.get(each) or holder)
        (holder or value).error(message if holder or not key else f"{key} {message}")
    return part if len(errors) == before else _bare(kind, found)


def _bare(kind: type[T], found: Mapping[str, Any]) -> T:
    """Return the replacement of a part with faults; BAD if there is none."""
    plan = plan_of(kind)
    if not (plan.bare and found.get(plan.bare[0])):
        return BAD  # type: ignore[no-any-return]
    names = (*plan.bare, *(name for name, _ in plan.places))
    return kind(**{name: found[name] for name in names if name in found})


def read_fields(
    kind: type[Any], table: Table, context: Any = None, only: Collection[str] | None = None
) -> dict[str, Any]:
    """Return the fields of a class that a mapping sets. only: the keys to read; None for all of the class."""
    plan, value = plan_of(kind), table.value
    found = _read_keys(plan.by_key, table, context, only)
    for name, inner in plan.inlined:
        if any(key in table for key in keys_of(inner)):
            found[name] = inner(**read_fields(inner, table, context))
    for key, each in plan.spread.items():
        if (only is None or key in only) and (given := table.get(key)) is not None:
            found.update(each.read(given, context))
    for why, some in plan.needs.items():
        if not any(key in table for key in some):
            value.error(why)
    for why, some in plan.one_of.items():
        several = [key for key in some if key in table]
        if len(several) != 1:
            value.error(why.format(found=" and ".join(several) or "none"))
    for one, other in plan.at_most_one:
        if one in table and (given := table.get(other)) is not None:
            given.error(f"cannot be combined with {one}; give one of them")
    for name in plan.maps:
        own = keys_of(kind)
        found[name] = {key: given.place for key in table if key in own and (given := table.get(key)) is not None}
    for name, key in plan.places:
        at = table.get(key) if key else value
        # A key that is not given is located at the first one.
        first = found.get(plan.places[0][0])
        found[name] = at.place if at else value.place if first is None else Place(first.where, f"{value.path}.{key}")
    if (derive := getattr(kind, "_derive", None)) is not None:
        derive(found, table)
    return found


def _read_keys(
    by_key: Mapping[str, tuple[str, Declared]], table: Table, context: Any, only: Collection[str] | None = None
) -> dict[str, Any]:
    """Return the fields that a mapping sets. by_key: their names and declarations by key."""
    found: dict[str, Any] = {}
    for key in table:
        if key not in by_key or (only is not None and key not in only):
            continue
        name, spec = by_key[key]
        given = table.get(key)
        assert given is not None
        assert spec.holds is not None
        if key == (spec.key or name):
            if (held := spec.holds.read(given, context)) is not BAD:
                found[name] = held
        elif (spec.key or name) in table:
            given.error(f"cannot be combined with {spec.key or name}; give one of them")
        else:
            found[name] = math.radians(given.number(*_degrees(spec)))
    return found


def _with_defaults(value: Value, own: Keys, common: Table) -> Table:
    table = value.table(dict(own))
    if not isinstance(value.node, MappingNode):
        return table
    table = table.over(common)
    for key in own.required:
        if key not in table:
            value.error(f"{key} is missing")
    return table


def broken_rules(part: Any) -> Iterator[Fault]:
    """Yield the faults of fields that are inconsistent with each other."""
    for each in plan_of(type(part)).rules:
        yield from each(part)


def faults(part: Any) -> Iterator[Fault]:
    """Yield the key and the message of each fault of an object created in Python."""
    sound, plan = True, plan_of(type(part))
    for name, key, spec in plan.fields:
        found = getattr(part, name)
        if spec.holds is not None and found is not None and found is not plan.defaults.get(name):
            for below, message in spec.holds.faults(found):
                sound = False
                unit = f" {spec.unit}" if spec.unit and not below and getattr(spec.holds, "is_measured", False) else ""
                above = f"{plan.nested[name]}." if name in plan.nested else ""
                yield above + (below if _inlined(spec) else key + below), message + unit
    if sound:
        yield from broken_rules(part)


def data_of(part: Any, refer: Refer = str) -> dict[str, Any]:
    """Return an object as data of a file, with defaults, but without values that are None."""
    plan = plan_of(type(part))
    data: dict[str, Any] = {}
    own = {each[0]: each for each in plan.own}
    for name in (*(each.name for each in fields(part)), ""):
        data.update((key, plan.spread[key].data(part)) for key in plan.heads.get(name, ()))
        data.update(_data(part, (own[name],), refer) if name in own else {})
    # Keys that a class has derived from others are not written.
    derived = getattr(part, "_derived", ())
    return {key: found for key, found in data.items() if found is not None and key not in derived}


def _data(part: Any, own: Iterable[tuple[str, str, Declared]], refer: Refer) -> dict[str, Any]:
    """Return fields of an object by key."""
    plan = plan_of(type(part))
    data: dict[str, Any] = {}
    for name, key, spec in own:
        found = getattr(part, name)
        if found is None or spec.holds is None or (spec.omit and equal(found, plan.defaults[name])):
            continue
        held = spec.holds.data(found, refer)
        data.update(held if _inlined(spec) else {key: held})
    return data
