"""The files that a world may read: those in its own folder, in packages, and in folders that the user allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from sim_node.text import did_you_mean
from sim_node.world.fetched import fetched, is_url
from sim_node.world.locate import LocateError, NoSuchFile, is_in_a_package, package_path, world_in
from sim_node.world.problems import quoted_path
from sim_node.world.readers.report import Report

MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Roots:
    """The folders (resolved) that references in world files must not leave.

    packages: folders of packages by name, which take precedence over installed packages.
    fetch: whether models at URLs may be fetched.
    """

    folders: tuple[Path, ...]
    packages: Mapping[str, Path] = field(default_factory=dict)
    fetch: bool = False

    @classmethod
    def of(cls, world: Path, allowed: Iterable[Path] = (), *, fetch: bool = False) -> Roots:
        """Return the world's folder and the allowed ones."""
        return cls((world.resolve().parent, *(folder.resolve() for folder in allowed)), fetch=fetch)

    def around(self, file: Path) -> Roots:
        """Return these folders and that of a file in a package, so that a world may read files beside it."""
        folder = file.resolve().parent
        return self if self._contain(folder) else replace(self, folders=(*self.folders, folder))

    def allows(self, file: Path) -> bool:
        """Return whether a file may be read: it is in one of the folders, or in a package."""
        path = file.resolve()
        return self._contain(path) or is_in_a_package(path) or any(map(path.is_relative_to, self.packages.values()))

    def resolve(self, reference: str, beside: Path) -> Path:
        """Return the file that `reference` in file `beside` refers to.

        Raises LocateError with the reason if there is none.
        """
        with _located(reference):
            path = self._path_of(reference, beside)
            if path.is_dir():
                path = world_in(path) or path
            if not path.is_file():
                raise NoSuchFile(f"no file {quoted_path(reference)} beside {beside.name}{_nearest_file(path)}")
            return path

    def model(self, reference: str, beside: Path) -> Path:
        """Return the file of a visual model: like `resolve`, but also for URLs. Raises LocateError."""
        if is_url(reference):
            return fetched(reference, self.folders, allowed=self.fetch)
        return self.resolve(reference, beside)

    def path_of(self, reference: str, beside: Path) -> Path:
        """Return the path that `reference` in file `beside` refers to, whether there is a file or not.

        Raises LocateError if it leaves the folders.
        """
        with _located(reference):
            return self._path_of(reference, beside)

    def _path_of(self, reference: str, beside: Path) -> Path:
        if reference.startswith("package://"):
            path = package_path(reference, self.packages, self.folders)
        else:
            path = beside.resolve().parent / reference
            if not self._contain(path.resolve()):
                raise LocateError(
                    f"{quoted_path(reference)} is outside the world's folder {self.folders[0]}; move it there, "
                    "or allow its folder (--allow DIR)"
                )
        return path

    def _contain(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.folders)


@contextmanager
def _located(reference: str) -> Iterator[None]:
    """Convert exceptions for invalid file names and unreadable folders to LocateError."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LocateError(f"{quoted_path(reference)} cannot be read: {reason}") from None


def read_text(path: Path, report: Report) -> str | None:
    """Read a text file.

    Args:
        path: The file.
        report: The report that receives a fault.

    Returns:
        The UTF-8 text without byte order mark, or None if there is a fault.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            report.error(f"has {size // 1024**2} MB; allowed: up to {MAX_BYTES // 1024**2} MB")
            return None
        data = path.read_bytes()
        report.read.append(path)
    except OSError as error:
        report.error(f"cannot be read: {error.strerror}")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[line_start : error.start].decode("utf-8", errors="replace")) + 1
        line = data.count(b"\n", 0, error.start) + 1
        report.error(f"not UTF-8: byte 0x{data[error.start]:02x}", (line, column))
        return None


def _nearest_file(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    return did_you_mean(path.name, (entry.name for entry in path.parent.iterdir() if entry.is_file()))


def is_file(path: Path) -> bool:
    """Return whether a file exists; False for invalid file names."""
    with suppress(OSError, ValueError):
        return path.is_file()
    return False


def is_folder(path: Path) -> bool:
    """Return whether a folder exists; False for invalid file names."""
    with suppress(OSError, ValueError):
        return path.is_dir()
    return False
