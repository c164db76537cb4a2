"""Worlds in XML, by their root element. To add a format, add a file with one `@xml_reader` entry."""

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
from sim_node.world.readers.unread import report_unread, unread
from sim_node.world.readers.xml_elements import Element, compose_xml


@dataclass(frozen=True)
class XmlFile:
    """A valid XML file.

    Attributes:
        root: The root element.
        path: The file.
        shown: The path to show in messages.
        roots: The folders that it may refer to.
        report: Receives the errors.
        text: The text of the file.
        balance_inertia: Whether to replace impossible inertias; None replaces them with a warning.
    """

    root: Element
    path: Path
    shown: Path
    roots: Roots
    report: Report
    text: str = ""
    balance_inertia: bool | None = None

    def find(self, reference: str, folder: str = "", beside: Path | None = None) -> Path:
        """Resolve a reference to a file.

        Args:
            reference: A path, or a package:// URI.
            folder: The folder of a relative path, relative to the referring file; empty for that file's folder.
            beside: The referring file; None for this one.

        Returns:
            The file.

        Raises:
            LocateError: The file does not exist or may not be read.
        """
        roots, file = (self.roots, self.path) if beside is None else (self.roots.around(beside), beside)
        is_plain = reference.startswith("package://") or not folder
        return roots.resolve(reference if is_plain else f"{folder}/{reference}", file)

    def included(self, reference: str, path: Path) -> XmlFile | None:
        """Return another file that this one includes.

        Args:
            reference: The reference in this file.
            path: The file.

        Returns:
            The file. If it is invalid, None, and the error is reported.
        """
        shown = path if reference.startswith("package://") else self.shown.parent / reference
        report = self.report.about(str(shown))
        text = read_text(path, report)
        root = None if text is None else compose_xml(text, report)
        return None if root is None else replace(self, root=root, path=path, shown=shown)


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
    """Read the world of an XML file with the reader of its root element. Return None, with the errors in `report`."""
    before = len(report.read)
    text = read_text(path, report)
    if text is None:
        return None
    return world_of_text(text, path, shown, roots, report, before)


def world_of_text(
    text: str,
    path: Path,
    shown: Path,
    roots: Roots,
    report: Report,
    before: int,
    *,
    balance_inertia: bool | None = None,
) -> World | None:
    """Return the world of an XML text, like `read_xml`.

    Args:
        before: Number of files that the report had read before this one.
    """
    root = compose_xml(text, report)
    if root is None:
        return None
    read = XML_READERS.get(root.tag)
    if read is None:
        known = ", ".join(f"<{tag}>" for tag in XML_READERS)
        hint = did_you_mean(root.tag, XML_READERS)
        report.error(f"the root element is <{root.tag}>; XML worlds need one of {known}{hint}", root.at)
        return None
    errors = len(report.errors)
    report.roots.append(root)
    world = read(XmlFile(root, path, shown, roots, report, text, balance_inertia))
    if len(report.errors) == errors:
        report_unread(unread(root), report)
    if world is None or not world.models:
        return world
    files = tuple(report.read[before:])
    return replace(world, models=tuple(replace(model, files=files) for model in world.of(Model)))
