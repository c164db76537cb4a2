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
    """The world that a system of an OpenPLX file is, or None with the faults in `report`.

    model: the name of the system; without one it is the last in the file. Every model of the file is checked.
    """
    # Here and not above: other worlds start without a language of their own.
    from sim_node.formats.openplx.reader import read_world

    return read_world(path, shown, roots, report, model)
