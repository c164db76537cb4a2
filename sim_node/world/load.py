"""Loading a world from a file or a text, with all checks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sim_node.start_up import collection_paused
from sim_node.world.bodies import Body
from sim_node.world.checks import entries_of, tree_problems
from sim_node.world.locate import PROGRAMS, LocateError, locate
from sim_node.world.model import World
from sim_node.world.models import Model, overridden_options
from sim_node.world.part import PARTS
from sim_node.world.problems import NOWHERE, Place, Problem, WorldError, WorldWarning, refuse, shown_lines
from sim_node.world.readers.files import Roots
from sim_node.world.readers.registry import read_file
from sim_node.world.readers.report import Report, Setting

# Identifies a stream of random numbers other than that of positions.
AXES = 1
# The temporary folders of models that were read from texts, by text and suffix. They are deleted at process exit.
_KEPT: dict[tuple[str, str], TemporaryDirectory[str]] = {}


def randomised(world: World, seed: int) -> World:
    """Return a world with each position_range replaced by a position drawn from it, and with random axes drawn again.

    The distribution is uniform; the same world and seed give the same positions and axes.
    """
    random, random_axes = np.random.default_rng(seed), np.random.default_rng([seed, AXES])

    def drawn(body: Body) -> Body:
        if body.draws_axes and body.type.draw is not None:
            body = replace(body, axes=body.type.draw(random_axes))
        if body.position_range is None:
            return body
        least, most = body.position_range
        pose = np.array(body.pose)
        pose[:3] = random.uniform(least, most)
        return replace(body, pose=pose)

    return replace(world, bodies=tuple(map(drawn, world.bodies)))


def load(path: str | Path, allow: Iterable[str | Path] = (), model: str | None = None, *, fetch: bool = False) -> World:
    """Load a world from a file. A Python file is run, as `python PATH` does.

    Args:
        path: A file, a package:// URI, or the name of a shipped world.
        allow: Folders that the world may refer to, in addition to its own.
        model: Which model to load from a file with several.
        fetch: Whether models that it or its schematic refers to by URLs may be fetched, once.

    Returns:
        The world.

    Raises:
        WorldError: Lists every problem with file, line and column.

    Warns:
        WorldWarning: For what was corrected or ignored, at most fifty times.
    """
    if not isinstance(path, str | Path):
        refuse("", f"a world is loaded from a path or a name, not from {_kind_of(path)}")
    try:
        found = locate(path)
    except LocateError as error:
        raise WorldError([Problem(NOWHERE, "", str(error))]) from None
    return _checked(found, found, allow, model, fetch=fetch)


def loads(
    text: str,
    suffix: str = ".yaml",
    allow: Iterable[str | Path] = (),
    model: str | None = None,
    *,
    fetch: bool = False,
) -> World:
    """Load a world from a text. Messages call its file `<text>`.

    A text is in no folder: it can refer only to package:// URIs, and to absolute paths below a folder in `allow`. The
    text of an MJCF or URDF model stays in a temporary file until the process ends, for recordings of its world.

    Args:
        text: The world.
        suffix: The format, as the suffix of a file: ".yaml", ".xml", ".openplx", ...
        allow: Folders that the world may refer to.
        model: Which model to load from a text with several.
        fetch: Whether models that it or its schematic names by URLs may be fetched, once.

    Returns:
        The world.

    Raises:
        WorldError: Lists every problem with line and column.

    Warns:
        WorldWarning: For what was corrected or ignored, at most fifty times.
    """
    if not isinstance(text, str):
        refuse("", f"a world is read from a text, not from {_kind_of(text)}")
    if suffix.lower() in PROGRAMS:
        refuse("", "a text is not run as a program; write it to a file and load its path")
    kept = _KEPT.get((text, suffix))
    folder = kept or TemporaryDirectory(prefix="sim_node_text_")
    try:
        file = Path(folder.name, f"text{suffix}")
        if kept is None:  # otherwise, another thread may be reading it
            file.write_text(text, encoding="utf-8")
        # Without files and source, a recording writes the world instead of copying a file with another name.
        world = replace(_checked(file, Path("<text>"), allow, model, fetch=fetch), files=(), source="")
        if any(file.resolve() in map(Path.resolve, each.files) for each in world.of(Model)):
            _KEPT[text, suffix] = folder
        return world
    finally:
        if (text, suffix) not in _KEPT:
            folder.cleanup()


def _checked(file: Path, shown: Path, allow: Iterable[str | Path], model: str | None, *, fetch: bool = False) -> World:
    """Return the world in a file that messages call `shown`."""
    report = Report(str(shown))
    with collection_paused():
        world = read_file(file, shown, Roots.of(file, map(Path, allow), fetch=fetch), report, model=model)
        # If a part could not be read, do not report its frames as missing.
        if world is not None and not report.missing:
            report.errors.extend(tree_problems(entries_of(world)))
            report.warnings.extend(overridden_options(world))
            report.warnings.extend(each for kind in PARTS.values() for each in kind.remarks(world))
            report.warnings.extend(unused(report.settings, world))
    if world is None or report.errors:
        raise WorldError(_in_file_order([*report.errors, *(each for late in report.late for each in late())]))
    for line in shown_lines(_in_file_order(report.warnings)):
        warnings.warn(WorldWarning(line), stacklevel=3)
    return replace(world, files=tuple(report.read))


def _kind_of(value: object) -> str:
    return f"{type(value).__name__} {value!r:.60}"


def _in_file_order(problems: list[Problem]) -> list[Problem]:
    """Sort problems by their location in each file, and files by their first problem."""
    files = {problem.where.file: rank for rank, problem in reversed(list(enumerate(problems)))}
    return sorted(problems, key=lambda problem: (files[problem.where.file], problem.where[1:]))


def unused(settings: list[Setting], world: World) -> Iterator[Problem]:
    """Yield settings of included files that differ from those of the including world, once for each location."""
    seen: set[Place] = set()
    for place, fields, value in settings:
        if place.where.file == world.source or place in seen:
            continue
        seen.add(place)
        used: Any = world
        for name in fields:
            used = getattr(used, name)
        if not _same(value, used):
            message = f"is not used in an included file; {world.source} has {_shown(used, fields[-1])}"
            yield Problem(place.where, place.key, message)


def _same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)


def _shown(value: Any, name: str) -> str:
    """Format a value as in a world file."""
    if value is None or (isinstance(value, tuple) and not value):
        return "none"
    if name.endswith("_ns"):
        return f"{value / 1e9:.9g} s"
    if isinstance(value, np.ndarray):
        return f"[{', '.join(f'{part:g}' for part in value)}]"
    if isinstance(value, (bool, str)):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, (int, float)) else "another"
