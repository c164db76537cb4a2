"""What mates say that has no effect here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import place_of
from sim_node.extensions.openplx.values import with_article
from sim_node.world.problems import Place

# How a mate gives way along the axes that it holds, each an object with an attribute for each axis.
COMPLIANCE = ("flexibility", "dissipation", "toughness", "clearance")
RIGID_KINDS = ("Rigid", "Unbreakable")


class Unsimulated(NamedTuple):
    """A reason, its place, and the attribute of the mate."""

    why: str
    place: Place
    given: Object


def unsimulated(mate: Object) -> Iterator[Unsimulated]:
    """Yield what is given of a mate and has no effect: its compliance."""
    for name in COMPLIANCE:
        if not mate.has(name) or mate.learn("rigid", name, partial(_is_rigid, mate, name)):
            continue
        given = mate.value(name)
        if isinstance(given, Object) and (axis := _yielding_axis(given)):
            why = f"{with_article(mate.kind)} is rigid here; its {name}, {with_article(axis.kind)}, is ignored"
            yield Unsimulated(why, place_of(axis if _is_default(given) else given), given)


def _is_rigid(mate: Object, name: str) -> bool:
    given = mate.value(name)
    return not isinstance(given, Object) or _yielding_axis(given) is None


def _yielding_axis(given: Object) -> Object | None:
    """Return what gives way along the first axis of a mate that does; None if there is none."""
    parts = (given.value(name) for name in given.names())
    return next((axis for axis in parts if isinstance(axis, Object) and not _is_default(axis)), None)


def _is_default(of: Object) -> bool:
    kind = of.kind.rpartition(".")[2]
    return kind.startswith("Default") or kind in RIGID_KINDS
