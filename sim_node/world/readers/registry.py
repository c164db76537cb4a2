"""Readers of world files by suffix. A new format is a new file here with one `@reader` entry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sim_node.registry import registering
from sim_node.world.model import World
from sim_node.world.problems import did_you_mean, quoted
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report

# path, the path as shown to the user, what may be referenced, where faults go, the files being read above this one
Reader = Callable[[Path, Path, Roots, Report, tuple[Path, ...]], World | None]
READERS: dict[str, Reader] = {}


def reader(*suffixes: str) -> Callable[[Reader], Reader]:
    """Registers a reader for file suffixes such as ".yaml"."""

    return registering(READERS, "reader", *suffixes)


def read_file(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """The world in a file by the reader of its suffix; None, with the faults in `report`, where there is none."""
    report = report.about(str(shown))
    suffix = path.suffix.lower()
    read = READERS.get(suffix)
    if read is None:
        found = quoted(suffix) if suffix else "a name without a suffix"
        report.error(f"worlds are read from {', '.join(READERS)}, not from {found}{did_you_mean(suffix, READERS)}")
        return None
    report.files.append(path)
    return read(path, shown, roots, report, including)
