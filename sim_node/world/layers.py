"""Collision layers as MuJoCo's bit masks, which determine which shapes collide."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sim_node.world.surfaces import DEFAULT_LAYER, Surface

# MuJoCo's masks are signed 32-bit integers.
MAX_BITS = 31


class CollisionFilter(NamedTuple):
    """The collision filter of a shape: its layer, and the layers that it touches."""

    layer: str = DEFAULT_LAYER
    touches: frozenset[str] | None = None

    def meets(self, other: CollisionFilter) -> bool:
        """Return whether shapes with two filters collide: each has to touch the layer of the other."""
        return all(one.touches is None or two.layer in one.touches for one, two in ((self, other), (other, self)))


class Mask(NamedTuple):
    """MuJoCo's contype and conaffinity of a geom."""

    contype: int
    conaffinity: int


# The filter of shapes without `layer` and `touches`, and of shapes of models. MuJoCo's default uses bit 0.
DEFAULT = CollisionFilter()


class TooManyLayers(ValueError):
    """There are more different collision filters than MuJoCo has bits.

    Attributes:
        count: Number of filters.
        allowed: Number of bits.
    """

    def __init__(self, count: int, allowed: int) -> None:
        super().__init__(f"{count} different combinations of layer and touches; allowed: {allowed}")
        self.count, self.allowed = count, allowed


def filter_of(surface: Surface | None) -> CollisionFilter:
    """Return the collision filter of a shape's surface."""
    if surface is None:
        return DEFAULT
    return CollisionFilter(surface.layer, None if surface.touches is None else frozenset(surface.touches))


def masks_of(kinds: Iterable[CollisionFilter], reserved: int = 0) -> dict[CollisionFilter, Mask]:
    """Return the masks of collision filters.

    In MuJoCo, two geoms collide if the contype of either has a bit in common with the other's conaffinity. Filters that
    touch the same others share a bit in contype, and have the bits of all that they touch in conaffinity.

    Args:
        kinds: The filters. That of shapes without layers is always included, with bit 0.
        reserved: Bits that must not be used, except bit 0.

    Raises:
        TooManyLayers: MuJoCo does not have enough bits.
    """
    present = list(dict.fromkeys((DEFAULT, *kinds)))
    touched = {kind: tuple(kind.meets(other) for other in present) for kind in present}
    # Filters that touch nothing need no bit.
    alike = list(dict.fromkeys(touched[kind] for kind in present if kind is DEFAULT or any(touched[kind])))
    free = [0, *(bit for bit in range(1, MAX_BITS) if not reserved >> bit & 1)]
    if len(alike) > len(free):
        raise TooManyLayers(len(alike), len(free))
    bits = {row: 1 << bit for row, bit in zip(alike, free, strict=False)}
    contypes = {kind: bits.get(touched[kind], 0) for kind in present}
    masks = {}
    for kind in present:
        affinity = 0
        for other, meets in zip(present, touched[kind], strict=True):
            affinity |= contypes[other] if meets else 0
        masks[kind] = Mask(contypes[kind], affinity)
    return masks
