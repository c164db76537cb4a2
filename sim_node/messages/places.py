"""Positions of numbers in a message, relative to the end of its encapsulation header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np


class ByteRange(NamedTuple):
    """Numbers of the same type: offset after the encapsulation header, bytes, dtype and count."""

    start: int
    dtype: np.dtype[Any]
    size: int

    @property
    def end(self) -> int:
        """Return the offset of the end of the last number."""
        return self.start + self.dtype.itemsize * self.size


class Moved(NamedTuple):
    """A numeric message. base: the multiple of 8 that positions are relative to; whole: see MessageBody.place."""

    base: int
    tree: Tree
    whole: ByteRange | None


# Positions: by field for a message, by row for a list of messages, None for strings.
Tree: TypeAlias = "ByteRange | Moved | dict[str, Tree] | list[Tree] | None"


def joined(node: Tree) -> ByteRange | None:
    """Return all numbers as one range if they have the same type and no gaps; otherwise None."""
    if isinstance(node, Moved):
        return node.whole and node.whole._replace(start=node.base + node.whole.start)
    places = list(_places(node))
    if not places or {each.dtype for each in places} != {places[0].dtype}:
        return None
    if [each.start for each in places[1:]] != [each.end for each in places[:-1]]:
        return None
    return ByteRange(places[0].start, places[0].dtype, sum(each.size for each in places))


def _places(node: Tree, base: int = 0) -> Iterator[ByteRange]:
    """Yield the ranges of all numbers, in order."""
    if isinstance(node, ByteRange):
        yield node._replace(start=node.start + base) if base else node
    elif isinstance(node, Moved):
        yield from _places(node.tree, base + node.base)
    elif node:
        for part in node.values() if isinstance(node, dict) else node:
            yield from _places(part, base)
