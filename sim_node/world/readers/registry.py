"""Readers of world files by suffix. A new format is a new file with one `@reader` entry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim_node.registry import Registry
from sim_node.text import did_you_mean
from sim_node.world.locate import PROGRAMS
from sim_node.world.model import World
from sim_node.world.problems import WorldError, quoted
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report

# Arguments: path, path as shown to the user, folders that may be read, report for faults, files that include this one.
Reader = Callable[[Path, Path, Roots, Report, tuple[Path, ...]], World | None]
_SHIPPED = (
    "sim_node.world.readers.yaml_world",
    "sim_node.formats.xml_roots",
    "sim_node.formats.urdf_files",
)
READERS: Registry[str, Reader] = Registry("reader", shipped=_SHIPPED, group="sim_node.readers")
# Registers a reader for file suffixes such as ".yaml".
reader = READERS.add
# The same, and the name of the model in the file; None lets the reader choose.
ModelReader = Callable[[Path, Path, Roots, Report, tuple[Path, ...], "str | None"], World | None]
MODEL_READERS: Registry[str, ModelReader] = Registry("reader of models", shipped=_SHIPPED, group="sim_node.readers")
# Registers a reader of files that may contain several models, in addition to `reader`.
model_reader = MODEL_READERS.add


def read_file(
    path: Path,
    shown: Path,
    roots: Roots,
    report: Report,
    including: tuple[Path, ...] = (),
    model: str | None = None,
) -> World | None:
    """Read a world with the reader of the file's suffix. Return None, with the faults in `report`, if it is invalid.

    model: which of the models in the file to read, if the format allows several.
    """
    report = report.about(str(shown))
    suffix = path.suffix.lower()
    read = READERS.get(suffix)
    if read is None:
        found = quoted(suffix) if suffix else "a name without a suffix"
        known = [each for each in READERS if not (including and each in PROGRAMS)]
        report.error(f"worlds have the suffix {', '.join(known)}; found {found}{did_you_mean(suffix, known)}")
        return None
    report.files.append(path)
    if model is None:
        with READERS.blaming(suffix, WorldError):
            world = read(path, shown, roots, report, including)
        return _checked(READERS, suffix, world, report)
    choose = MODEL_READERS.get(suffix)
    if choose is None:
        report.error(f"contains one world; a model can be chosen only from {', '.join(MODEL_READERS)} files")
        return None
    with MODEL_READERS.blaming(suffix, WorldError):
        world = choose(path, shown, roots, report, including, model)
    return _checked(MODEL_READERS, suffix, world, report)


def _checked(readers: Registry[str, Any], suffix: str, world: object, report: Report) -> World | None:
    """Return what a reader returned. Raises PluginFault unless it is a World, or None with a recorded fault."""
    readers.expect(suffix, world, (World, type(None)), "a World or None")
    if world is None and not report.errors:
        readers.refuse(suffix, "returned None and recorded no error in its report")
    return world if isinstance(world, World) else None
