"""Unread parts of files: readers mark the parts that they use, and the others are reported with their locations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from sim_node.world.readers.report import LineColumn, Report

_INDEX = re.compile(r"\[\d+\]")


class ReadPart(Protocol):
    """A part of a file. Whoever passes it to a reader marks it as read. Parts inside it are marked separately.

    Attributes:
        read: Whether a reader has used it.
    """

    read: bool

    def within(self, key: str) -> Iterable[Inner]:
        """Yield the direct children of this part, whose own key is given."""


class Inner(NamedTuple):
    """A part in another one: its key for messages, its location, and its file; empty for the file of the report."""

    key: str
    at: LineColumn
    part: ReadPart
    file: str = ""


def unread(root: ReadPart, key: str = "") -> Iterator[Inner]:
    """Yield the unread parts below a part, without those inside of other unread parts."""
    stack = [iter(root.within(key))]
    while stack:
        for inner in stack[-1]:
            if not inner.part.read:
                yield inner
            elif below := inner.part.within(inner.key):
                stack.append(iter(below))
                break
        else:
            stack.pop()


def mark(root: ReadPart) -> None:
    """Mark a part as read, with everything in it, such as a part that is reported as a whole."""
    root.read = True
    for inner in root.within(""):
        mark(inner.part)


def report_unread(parts: Iterable[Inner], report: Report) -> None:
    """Warn once about all parts with the same key in a file, at the first of them."""
    found: dict[tuple[str, str], list[Inner]] = {}
    for inner in parts:
        found.setdefault((inner.file or report.file, _INDEX.sub("[]", inner.key)), []).append(inner)
    for (file, _), (first, *more) in found.items():
        others = f" ({len(more)} more like it)" if more else ""
        report.about(file).warning(f"has no effect here{others}", first.at, first.key)
