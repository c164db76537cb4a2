"""Loading a world from a file, checked whole."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sim_node.world.checks import entries_of, tree_problems
from sim_node.world.locate import LocateError, locate
from sim_node.world.model import World
from sim_node.world.model_checks import overridden_options
from sim_node.world.problems import NOWHERE, Problem, WorldError, WorldWarning, shown_lines
from sim_node.world.readers.files import Roots
from sim_node.world.readers.registry import read_file
from sim_node.world.readers.report import Report
from sim_node.world.readers.settings import unused


def load(path: str | Path, allow: Iterable[str | Path] = (), model: str | None = None) -> World:
    """The world in a file.

    path: a file, a package:// URI, or the name of a shipped example. allow: folders, beside the world's own, that its
    references may lead to. model: which model of a file that holds several. Raises WorldError with every fault found,
    each with its file, line and column; warns WorldWarning of what was mended or left out, the first fifty times.
    """
    try:
        found = locate(path)
    except LocateError as error:
        raise WorldError([Problem(NOWHERE, "", str(error))]) from None
    report = Report(str(found))
    with _collection_paused():
        world = read_file(found, found, Roots.of(found, map(Path, allow)), report, model=model)
        # Without a part that could not be read, frames that are only in it would be told missing.
        if world is not None and not report.missing:
            report.errors.extend(tree_problems(entries_of(world)))
            report.warnings.extend(overridden_options(world))
            report.warnings.extend(unused(report.settings, world))
    if world is None or report.errors:
        raise WorldError(_in_file_order(report.errors))
    for line in shown_lines(_in_file_order(report.warnings)):
        warnings.warn(WorldWarning(line), stacklevel=2)
    return replace(world, files=tuple(report.read))


@contextmanager
def _collection_paused() -> Iterator[None]:
    """No cyclic garbage collection while a world is read: it would walk the half-built nodes over and over."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _in_file_order(problems: list[Problem]) -> list[Problem]:
    """Each file's problems from its top down, the files as they were come upon."""
    files = {problem.where.file: rank for rank, problem in reversed(list(enumerate(problems)))}
    return sorted(problems, key=lambda problem: (files[problem.where.file], problem.where[1:]))
