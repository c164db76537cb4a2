"""Worlds from OpenPLX, the modelling language of openplx.org."""

from __future__ import annotations

from pathlib import Path

from sim_node.world.model import World
from sim_node.world.readers.files import Roots
from sim_node.world.readers.registry import model_reader, reader
from sim_node.world.readers.report import Report

__all__ = ["read_openplx"]


@reader(".openplx")
@model_reader(".openplx")
def read_openplx(
    path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = (), model: str | None = None
) -> World | None:
    """Return the world of a system in an OpenPLX file.

    Every model of the file is checked.

    Args:
        path: The file.
        shown: The path in messages.
        roots: The folders that it may refer to.
        report: Where faults are recorded.
        including: The files that include this one.
        model: The name of the system; None for the last one in the file.

    Returns:
        The world, or None with the faults in `report`.
    """
    # Imported here, so that other worlds are read without loading the language.
    from sim_node.extensions.openplx.reader import read_world

    return read_world(path, shown, roots, report, model)
