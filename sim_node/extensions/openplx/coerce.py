"""Conversion of values to the types of attributes and arguments."""

from __future__ import annotations

from typing import Any

from sim_node.extensions.openplx.models import UNKNOWN, Fault, Kind, ObjectModel
from sim_node.extensions.openplx.values import OPAQUE, VALUES, Undefined, is_real, kind_of, members, with_article
from sim_node.world.problems import Place

_NO = object()


def coerced(value: Any, kinds: tuple[Kind, ...], array: int, place: Place) -> Any:
    """Return the value as one of some types, or as an array of them. Raises Fault."""
    if isinstance(value, Undefined) or value is OPAQUE:
        return value
    if array:
        if not isinstance(value, list):
            raise Fault(place, f"an array is needed, found {kind_of(value)}")
        return [coerced(item, kinds, array - 1, place) for item in value]
    for kind in kinds:
        found = _as(value, kind)
        if found is not _NO:
            return found
    raise Fault(place, f"{' or '.join(map(_article, kinds))} is needed, found {kind_of(value)}")


def _as(value: Any, kind: Kind) -> Any:
    """Return the value as a type, or _NO."""
    if kind is UNKNOWN or kind == "Blob":
        return value
    if kind == "Real":
        return float(value) if is_real(value) else _NO
    if kind == "Int":
        return value if isinstance(value, int) and not isinstance(value, bool) else _NO
    if kind == "Bool":
        return value if isinstance(value, bool) else _NO
    if kind == "String":
        return value if isinstance(value, str) else _NO
    if isinstance(kind, type):
        return value if isinstance(value, kind) else _from_members(value, kind)
    model = getattr(value, "model", None)
    assert isinstance(kind, ObjectModel)
    return value if isinstance(model, ObjectModel) and (model.is_a(kind.name) or model.opaque) else _NO


def _from_members(value: Any, kind: type) -> Any:
    """Convert `{1, 2, 3}` to a value."""
    names = members(kind)
    if not isinstance(value, tuple) or len(value) != len(names):
        return _NO
    default = kind()
    parts = []
    for name, part in zip(names, value, strict=True):
        if isinstance(part, Undefined) or part is OPAQUE:
            return part
        member = getattr(default, name)
        parts.append(_as(part, "Real" if isinstance(member, float) else type(member)))
    return _NO if any(part is _NO for part in parts) else kind(*parts)


def _article(kind: Kind) -> str:
    if isinstance(kind, type):
        kind = next(name for name, value in VALUES.items() if value is kind)
    name = kind.name if isinstance(kind, ObjectModel) else str(kind)
    return with_article(name)
