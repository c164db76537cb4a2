"""Audit of world files: whether each part of a file is used, approximated, or without effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sim_node.world.locate import LocateError, locate
from sim_node.world.problems import NOWHERE, Problem, Where, WorldError
from sim_node.world.readers.files import Roots
from sim_node.world.readers.registry import read_file
from sim_node.world.readers.report import ElementEffect, Report
from sim_node.world.readers.unread import ReadPart

USED, NO_EFFECT = "used", "no effect"


class AuditRow(NamedTuple):
    """A part of a file: its location, its key, its status, and a message about that."""

    where: Where
    key: str
    status: str
    message: str


def audit(path: str | Path, allow: Iterable[str | Path] = (), *, fetch: bool = False) -> list[AuditRow]:
    """Return every element of a file and of the files that it includes, in order, with its status.

    Attributes are listed only if they have no effect. The content of an element without effect is not listed.

    Args:
        path: A file, a package:// URI, or the name of a shipped world.
        allow: Folders that the file may refer to, in addition to its own.
        fetch: Whether models that the file or its schematic refers to by URLs may be fetched, once.

    Returns:
        The rows; none for formats whose readers reject what they do not use, such as world files in YAML.

    Raises:
        WorldError: The file cannot be read.
    """
    try:
        file = locate(path)
    except LocateError as error:
        raise WorldError([Problem(NOWHERE, "", str(error))]) from None
    report = Report(str(file))
    world = read_file(file, file, Roots.of(file, map(Path, allow), fetch=fetch), report)
    if world is None or report.errors:
        raise WorldError(report.errors)
    effects: dict[tuple[str, tuple[int, int]], ElementEffect] = {}
    for effect in report.effects:
        effects.setdefault((effect.file, effect.at), effect)
    # Remove duplicates: a model that is included several times is read several times.
    rows = (row for root in report.roots for row in _rows(root, getattr(root, "file", report.file), effects))
    return list(dict.fromkeys(rows))


def _rows(part: ReadPart, file: str, effects: dict[tuple[str, tuple[int, int]], ElementEffect]) -> Iterator[AuditRow]:
    for inner in part.within(""):
        within = inner.file or file
        effect = effects.get((within, inner.at))
        is_element = hasattr(inner.part, "tag")
        if effect is not None and (is_element or not inner.part.read):
            yield AuditRow(Where(within, *inner.at), effect.key, effect.status, effect.message)
            if effect.status == NO_EFFECT:
                continue
        elif not inner.part.read:
            yield AuditRow(Where(within, *inner.at), inner.key, NO_EFFECT, "")
            continue
        elif is_element:
            yield AuditRow(Where(within, *inner.at), inner.key, USED, "")
        yield from _rows(inner.part, within, effects)
