"""Where the numbers of a message lie behind its encapsulation header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np


class ByteRange(NamedTuple):
    """Numbers of one type: where they begin behind the encapsulation header, and how many there are."""

    start: int
    dtype: np.dtype[Any]
    size: int

    @property
    def end(self) -> int:
        """Return where they end."""
        return self.start + self.dtype.itemsize * self.size


class Moved(NamedTuple):
    """A message of numbers only; base: a multiple of 8 from which its places count. whole: see Body.place."""

    base: int
    tree: Tree
    whole: ByteRange | None


# Where things lie: of a message by field, of a list of messages by row; None for texts.
Tree: TypeAlias = "ByteRange | Moved | dict[str, Tree] | list[Tree] | None"


def joined(node: Tree) -> ByteRange | None:
    """Return all numbers as one, where they are of one type and without gaps."""
    if isinstance(node, Moved):
        return node.whole and node.whole._replace(start=node.base + node.whole.start)
    places = list(_places(node))
    if not places or {each.dtype for each in places} != {places[0].dtype}:
        return None
    if [each.start for each in places[1:]] != [each.end for each in places[:-1]]:
        return None
    return ByteRange(places[0].start, places[0].dtype, sum(each.size for each in places))


def _places(node: Tree, base: int = 0) -> Iterator[ByteRange]:
    """The places of all numbers, in their order."""
    if isinstance(node, ByteRange):
        yield node._replace(start=node.start + base) if base else node
    elif isinstance(node, Moved):
        yield from _places(node.tree, base + node.base)
    elif node:
        for part in node.values() if isinstance(node, dict) else node:
            yield from _places(part, base)
