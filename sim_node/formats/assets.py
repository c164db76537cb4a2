"""Files that a model refers to. Each is found within the roots, read once, and passed to MuJoCo by a unique name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from sim_node.formats.xml_roots import XmlFile
from sim_node.world.locate import LocateError
from sim_node.world.readers.files import MAX_BYTES
from sim_node.world.readers.xml_elements import Element

MAX_TOTAL_BYTES = 4 * MAX_BYTES


@dataclass
class Assets:
    """The contents of files, by the names that MuJoCo uses for them."""

    file: XmlFile
    contents: dict[str, bytes] = field(default_factory=dict)
    names: dict[tuple[Path, str], str] = field(default_factory=dict)

    def find(self, element: Element, attribute: str, folder: str = "") -> Path | None:
        """Return the file of an attribute, below `folder` beside the model; None, with the error reported."""
        try:
            return self.file.find(element.get(attribute), folder)
        except LocateError as error:
            self.error(element, attribute, str(error))
            return None

    def read(self, element: Element, attribute: str, folder: str = "", key: str = "") -> Path | None:
        """Read the file of an attribute and replace the attribute by a unique name.

        Files with a different `key` get different names. Return the path, or None with the error reported.
        """
        path = self.find(element, attribute, folder)
        if path is None:
            return None
        name = self.names.get((path, key))
        if name is None:
            data = self.bytes_of(element, attribute, path)
            if data is None:
                return None
            name = self.add(path, key, path.suffix.lower(), data)
        element.attributes[attribute].text = name
        return path

    def add(self, path: Path, key: str, suffix: str, data: bytes) -> str:
        """Add content that was read or created from a file, and return its name."""
        name = self.names[path, key] = f"{len(self.names)}_{path.stem}{suffix}"
        self.contents[name] = data
        return name

    def bytes_of(self, element: Element, attribute: str, path: Path) -> bytes | None:
        """Return the content of a file. If it fails, report the error and return None."""
        try:
            if path.stat().st_size + sum(map(len, self.contents.values())) > MAX_TOTAL_BYTES:
                self.error(element, attribute, f"more than {MAX_TOTAL_BYTES // 1024**2} MB of files in a model")
                return None
            self.file.report.read.append(path)
            return path.read_bytes()
        except OSError as error:
            self.error(element, attribute, f"{path.name} cannot be read: {error.strerror}")
            return None

    def error(self, element: Element, attribute: str, message: str) -> None:
        """Report an error of an attribute."""
        report = self.file.report.about(element.file)
        report.error(message, element.attributes[attribute].at, f"{element.tag}.{attribute}")


def stem(reference: str) -> str:
    """Return MuJoCo's default name of an asset: the name of its file without folder and suffix."""
    return PurePosixPath(reference.replace("\\", "/")).stem
