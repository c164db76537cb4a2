"""What a model refers to: each file found within the roots, read once, and handed to MuJoCo under a name of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from sim_node.formats.xml_roots import XmlFile
from sim_node.world.locate import LocateError
from sim_node.world.readers.files import MAX_BYTES
from sim_node.world.readers.xml_elements import Element

MAX_BYTES = 4 * MAX_BYTES


@dataclass
class Assets:
    """The contents of files by the names that MuJoCo finds them under."""

    file: XmlFile
    contents: dict[str, bytes] = field(default_factory=dict)
    names: dict[tuple[Path, str], str] = field(default_factory=dict)

    def find(self, element: Element, attribute: str, folder: str = "") -> Path | None:
        """The file that an attribute means, below `folder` beside the model; None with the fault in the report."""
        reference = element.get(attribute)
        is_plain = reference.startswith("package://") or not folder
        try:
            return self.file.roots.resolve(reference if is_plain else f"{folder}/{reference}", self.file.path)
        except LocateError as error:
            self._error(element, attribute, str(error))
            return None

    def take(self, element: Element, attribute: str, folder: str = "", key: str = "") -> Path | None:
        """Reads the file and rewrites the attribute to its name here; files of another `key` have names of their own.

        Returns its path, or None with the fault in the report.
        """
        path = self.find(element, attribute, folder)
        if path is None:
            return None
        name = self.names.get((path, key))
        if name is None:
            data = self._read(element, attribute, path)
            if data is None:
                return None
            name = self.names[path, key] = f"{len(self.names)}_{path.stem}{path.suffix.lower()}"
            self.contents[name] = data
        element.attributes[attribute].text = name
        return path

    def _read(self, element: Element, attribute: str, path: Path) -> bytes | None:
        try:
            if path.stat().st_size + sum(map(len, self.contents.values())) > MAX_BYTES:
                self._error(element, attribute, f"more than {MAX_BYTES // 1024**2} MB of files in a model")
                return None
            self.file.report.read.append(path)
            return path.read_bytes()
        except OSError as error:
            self._error(element, attribute, f"{path.name} cannot be read: {error.strerror}")
            return None

    def _error(self, element: Element, attribute: str, message: str) -> None:
        report = self.file.report.about(element.file)
        report.error(message, element.attributes[attribute].at, f"{element.tag}.{attribute}")


def stem(reference: str) -> str:
    """What MuJoCo calls an asset without a name: its file's name without folder and suffix."""
    return PurePosixPath(reference.replace("\\", "/")).stem
