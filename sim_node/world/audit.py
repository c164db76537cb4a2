"""What each part of a file does in a world: used, approximated, or without effect."""

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
    """A part of a file: where it is, its key, what it does, and what there is to say of that."""

    where: Where
    key: str
    status: str
    message: str


def audit(path: str | Path, allow: Iterable[str | Path] = (), *, fetch: bool = False) -> list[AuditRow]:
    """Return every element of a file and of those that it includes, in their order, with what it does here.

    Attributes are listed if they have no effect. Of what has none, what is in it is not listed.

    Args:
        path: A file, a package:// URI, or the name of a shipped world.
        allow: Folders that it may refer to, in addition to its own.
        fetch: Whether models that it or its schematic names by URLs may be fetched, once.

    Returns:
        The rows; none for formats whose readers refuse what they do not use, as world files are.

    Raises:
        WorldError: It cannot be read.
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
    # A model that is included again is read again.
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
