"""Formats of worlds other than YAML, read and written: x_xy, MJCF, URDF, OpenPLX. YAML is in `world/readers/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.formats.x_xy_writer import to_x_xy
    from sim_node.formats.xml_roots import XmlFile, xml_reader

__all__ = [
    "XmlFile",
    "to_x_xy",
    "xml_reader",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "XmlFile": "xml_roots",
        "to_x_xy": "x_xy_writer",
        "xml_reader": "xml_roots",
    },
)
