"""Worlds and models from SDFormat, Gazebo's format (sdformat.org)."""

from __future__ import annotations

from pathlib import Path

from sim_node.world.model import World
from sim_node.world.readers.files import Roots
from sim_node.world.readers.registry import reader
from sim_node.world.readers.report import Report

__all__ = ["read_sdf"]


@reader(".sdf", ".world")
def read_sdf(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """Return the world of an SDF file: its first world, or a world around its model.

    Args:
        path: The file.
        shown: The path in messages.
        roots: The folders that it may refer to.
        report: Where faults are recorded.
        including: The files that include this one.

    Returns:
        The world, or None with the faults in `report`.
    """
    # Imported here, so that other worlds are read without it.
    from sim_node.extensions.sdf.reader import read_world

    return read_world(path, shown, roots, report)
