"""Worlds in XML, by their root element. A new format is a new file here with one `@xml_reader` entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sim_node.registry import Registry
from sim_node.text import did_you_mean
from sim_node.world.model import World
from sim_node.world.models import Model
from sim_node.world.readers.files import Roots, read_text
from sim_node.world.readers.registry import reader
from sim_node.world.readers.report import Report
from sim_node.world.readers.xml_elements import Element, compose_xml


@dataclass(frozen=True)
class XmlFile:
    """A file whose XML is sound: its root element, its path and how to show it, and what it may refer to."""

    root: Element
    path: Path
    shown: Path
    roots: Roots
    report: Report


XmlReader = Callable[[XmlFile], "World | None"]
XML_READERS: Registry[str, XmlReader] = Registry(
    "reader of XML",
    shipped=("sim_node.formats.x_xy", "sim_node.formats.mjcf", "sim_node.formats.urdf"),
    group="sim_node.readers",
)
# Registers a reader for a root element.
xml_reader = XML_READERS.add


@reader(".xml", ".urdf", ".mjcf")
def read_xml(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """The world of one XML file by the reader of its root element, or None with the faults in `report`."""
    before = len(report.read)
    text = read_text(path, report)
    root = None if text is None else compose_xml(text, report)
    if root is None:
        return None
    read = XML_READERS.get(root.tag)
    if read is None:
        known = ", ".join(f"<{tag}>" for tag in XML_READERS)
        hint = did_you_mean(root.tag, XML_READERS)
        report.error(f"the root element is <{root.tag}>; XML worlds begin with one of {known}{hint}", root.at)
        return None
    world = read(XmlFile(root, path, shown, roots, report))
    if world is None or not world.models:
        return world
    files = tuple(report.read[before:])
    return replace(world, models=tuple(replace(model, files=files) for model in world.of(Model)))
