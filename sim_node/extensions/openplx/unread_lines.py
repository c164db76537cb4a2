"""Lines of models on which nothing in the world of a system depends."""

from __future__ import annotations

from collections.abc import Iterator

from sim_node.extensions.openplx.models import Entry, ObjectModel
from sim_node.extensions.openplx.objects import Asked, Bound, Object, declares
from sim_node.extensions.openplx.tree import is_standard
from sim_node.extensions.openplx.values import OPAQUE
from sim_node.world.readers.unread import Inner


def unread_lines(root: Object, asked: Asked) -> Iterator[Inner]:
    """Yield the lines that were not used, of files that are not of the standard bundles.

    A line is used if the attribute that it is about was asked for, or one that was computed from it. Of an object that
    was not asked for, its declaration is yielded; what is reported as a whole is left out.

    Args:
        root: The system.
        asked: The attributes that the world was made of.
    """
    used = _with_sources(asked)
    for of, name in used:
        inside = isinstance(of.known(name), Object)
        for entry, _, depth in of.lines(name):
            # Lines about the inside of an object are used with its own attributes.
            if not inside or len(entry.path) == depth + 1:
                entry.read = True
    found: dict[Entry, None] = {}
    stack = [root]
    while stack:
        of = stack.pop()
        for name in {**of.model.heads, **of.outer}:
            value = of.known(name)
            if value is OPAQUE:  # of an unknown type, which is reported
                continue
            if (of, name) not in used:
                found |= dict.fromkeys(_stated(of.lines(name), root))
            elif isinstance(value, Object) and value.owner is of and value.name == name and not value.reported:
                stack.append(value)
    for entry in found:
        where = entry.place().where
        yield Inner(entry.key, (where.line, where.column), entry, where.file)


def _with_sources(asked: Asked) -> dict[tuple[Object, str], None]:
    """Return attributes with all those that their values were computed from."""
    found: dict[tuple[Object, str], None] = {}
    stack = list(asked)
    while stack:
        each = stack.pop()
        if each not in found:
            found[each] = None
            stack += each[0].sources(each[1])
    return found


def _stated(lines: list[Bound], root: Object) -> list[Entry]:
    """Return the unused lines about an attribute that say something: its declaration as an object, or its values."""
    own = [line for line in lines if not line[0].read and _is_own(line[0], root)]
    declaring = [line[0] for line in own if declares(line)]
    if declaring:
        return [entry for entry in declaring if entry.value is not None or _is_object(entry, root)]
    return [entry for entry, _, _ in own if entry.value is not None or _is_object(entry, root)]


def _is_own(entry: Entry, root: Object) -> bool:
    return not is_standard(entry.source) or entry.source.shown == root.place.where.file


def _is_object(entry: Entry, root: Object) -> bool:
    if entry.declaration is None:
        return False
    type_ = root.instances.models.slot_type(entry)
    return not (type_.array or type_.optional or type_.reference) and any(
        isinstance(k, ObjectModel) for k in type_.kinds
    )
