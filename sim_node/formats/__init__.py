"""Formats of worlds other than YAML, read and written: x_xy, MJCF, URDF, OpenPLX. YAML is in `world/readers/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.formats.x_xy_writer import to_x_xy
    from sim_node.formats.xml_roots import XmlFile, xml_reader
    from sim_node.world.readers.files import read_text
    from sim_node.world.readers.registry import reader

__all__ = [
    "XmlFile",
    "read_text",
    "reader",
    "to_x_xy",
    "xml_reader",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "XmlFile": "xml_roots",
        "read_text": ".world.readers.files",
        "reader": ".world.readers.registry",
        "to_x_xy": "x_xy_writer",
        "xml_reader": "xml_roots",
    },
)
