"""The keys of mappings in world files and what each may hold, for the readers and for the JSON Schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

# The form of a value: JSON Schema (draft-07), which may contain Keys in place of a schema, and functions without
# arguments that return a form, so that registries are read when the schema is created, not on import.
Form = Any


class Keys(dict[str, Form]):
    """The keys of a mapping in their order, with the form of each value.

    Args:
        forms: The form of the value of each key.
        required: Required keys.
        aliases: Other spellings of keys.
        about: What the mapping describes, for the schema.
        exactly_one: Sets of keys of which exactly one must be given.
        at_most_one: Sets of keys that exclude each other.
        at_least_one: Sets of keys of which at least one must be given.
        define: Name of a definition in the schema, for mappings that occur in several places or in themselves.
    """

    def __init__(
        self,
        forms: Mapping[str, Form],
        *,
        required: Iterable[str] = (),
        aliases: Mapping[str, str] | None = None,
        about: str = "",
        exactly_one: Iterable[Iterable[str]] = (),
        at_most_one: Iterable[Iterable[str]] = (),
        at_least_one: Iterable[Iterable[str]] = (),
        define: str = "",
    ) -> None:
        super().__init__(forms)
        self.required = tuple(required)
        self.aliases: dict[str, str] = dict(aliases or {})
        self.about = about
        self.define = define
        self._one, self._most, self._least = (
            tuple(map(tuple, sets)) for sets in (exactly_one, at_most_one, at_least_one)
        )

    def form(self) -> dict[str, Form]:
        """Return the form of the mapping itself."""
        values: dict[str, Form] = dict(self)
        for alias, key in self.aliases.items():
            values[alias] = {"allOf": [self[key]], "description": f"Another name of {key}.", "deprecated": True}
        # A key that is required may be given by an alias.
        spelled = {key: [key, *(alias for alias, of in self.aliases.items() if of == key)] for key in self.required}
        plain = [key for key, names in spelled.items() if len(names) == 1]
        one_of = [*self._one, *(names for names in spelled.values() if len(names) > 1)]
        rules: list[Form] = [{"oneOf": [{"required": [key]} for key in keys]} for keys in one_of]
        rules += [{"anyOf": [{"required": [key]} for key in keys]} for keys in self._least]
        rules += [{"not": {"required": list(pair)}} for keys in self._most for pair in combinations(keys, 2)]
        return {
            "type": "object",
            **({"description": self.about} if self.about else {}),
            "properties": values,
            **({"required": plain} if plain else {}),
            "additionalProperties": False,
            **({"allOf": rules} if rules else {}),
        }


def text(about: str, least: int = 0) -> Form:
    """Return the form of a text of `least` characters or more."""
    return _described(about, {"type": "string", **({"minLength": least} if least else {})})


def frame(about: str) -> Form:
    """Return the form of a frame name."""
    return text(about, least=1)


def number(about: str, low: float = -math.inf, high: float = math.inf, above: float = -math.inf) -> Form:
    """Return the form of a finite number in [low, high], and greater than `above`."""
    return _described(about, _in_range("number", low, high, above))


def whole(about: str, low: float, high: float) -> Form:
    """Return the form of a whole number in [low, high]."""
    return _described(about, _in_range("integer", low, high, -math.inf))


def flag(about: str) -> Form:
    """Return the form of true or false."""
    return _described(about, {"type": "boolean"})


def choice(about: str, words: Iterable[str]) -> Form:
    """Return the form of one of several words, such as the names of a registry."""
    return _described(about, {"enum": lambda: list(words)})


def vector(about: str, size: int, limit: float = math.inf) -> Form:
    """Return the form of a list of `size` numbers with absolute values up to `limit`."""
    return listing(about, number("", -limit, limit), size, size)


def listing(about: str, item: Form, least: int = 0, most: int | None = None) -> Form:
    """Return the form of a list."""
    sizes = {**({"minItems": least} if least else {}), **({} if most is None else {"maxItems": most})}
    return _described(about, {"type": "array", "items": item, **sizes})


def one_or_each(about: str, item: Form, size: int | None = None) -> Form:
    """Return the form of one value for all, or a list of `size` values, or of any length."""
    return _described(about, {"anyOf": [item, listing("", item, size or 0, size)]})


def by_name(about: str, item: Form) -> Form:
    """Return the form of a mapping of names to values."""
    return _described(about, {"type": "object", "additionalProperties": item})


def either(about: str, *forms: Form) -> Form:
    """Return the form of a value of one of several forms."""
    return _described(about, {"anyOf": list(forms)})


def word(about: str, *words: str | bool | None) -> Form:
    """Return the form of constants."""
    return _described(about, {"enum": list(words)})


def by_key(about: str, key: str, forms: Callable[[], Mapping[str, Form]], otherwise: Form | None = None) -> Form:
    """Return the form of a mapping whose keys depend on the word under one key.

    Args:
        about: What it describes.
        key: The key.
        forms: Returns the keys by that word.
        otherwise: The keys without that key; None if it must be given.

    Returns:
        The form.
    """

    def expanded() -> Form:
        branches = forms()
        rules: list[Form] = [
            {"if": {"properties": {key: {"const": name}}, "required": [key]}, "then": keys}
            for name, keys in branches.items()
        ]
        if otherwise is not None:
            rules.append({"if": {"not": {"required": [key]}}, "then": otherwise})
        base = {"type": "object", "properties": {key: {"enum": list(branches)}}}
        return _described(about, {**base, **({} if otherwise is not None else {"required": [key]}), "allOf": rules})

    return expanded


ANYTHING: Form = {}


def schema_of(form: Form, title: str) -> dict[str, Any]:
    """Return the JSON Schema of a form, with its definitions."""
    definitions: dict[str, Any] = {}
    schema = _rendered(form, definitions)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        **schema,
        "definitions": dict(sorted(definitions.items())),
    }


def _rendered(form: Form, definitions: dict[str, Any]) -> Any:
    if isinstance(form, Keys):
        if not form.define:
            return _rendered(form.form(), definitions)
        if form.define not in definitions:
            definitions[form.define] = {}  # it may contain itself
            definitions[form.define] = _rendered(form.form(), definitions)
        return {"$ref": f"#/definitions/{form.define}"}
    if callable(form):
        return _rendered(form(), definitions)
    if isinstance(form, Mapping):
        return {key: _rendered(value, definitions) for key, value in form.items()}
    if isinstance(form, (list, tuple)):
        return [_rendered(value, definitions) for value in form]
    return form


def _described(about: str, form: dict[str, Form]) -> Form:
    return {"description": about, **form} if about else form


def _in_range(kind: str, low: float, high: float, above: float) -> dict[str, Form]:
    limits = {"minimum": low, "maximum": high, "exclusiveMinimum": above}
    return {"type": kind, **{word: limit for word, limit in limits.items() if math.isfinite(limit)}}
