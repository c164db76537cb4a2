"""Which files a world may read: those below its own folder, in packages, and in folders that the user allowed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sim_node.text import did_you_mean
from sim_node.world.locate import LocateError, package_path
from sim_node.world.problems import quoted_path
from sim_node.world.readers.report import Report

MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Roots:
    """The folders (resolved) that references from world files may not leave."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, world: Path, allowed: Iterable[Path] = ()) -> Roots:
        """The world's folder and what else is allowed."""
        return cls((world.resolve().parent, *(folder.resolve() for folder in allowed)))

    def around(self, file: Path) -> Roots:
        """These folders, and that of a file in a package: a world from there reads what lies beside it there."""
        folder = file.resolve().parent
        return self if self._hold(folder) else Roots((*self.folders, folder))

    def resolve(self, reference: str, beside: Path) -> Path:
        """The file that `reference` in file `beside` means. Raises LocateError, which says why not."""
        try:
            return self._resolve(reference, beside)
        except (OSError, ValueError) as error:  # names that no file system takes, folders that may not be read
            reason = error.strerror if isinstance(error, OSError) else error
            raise LocateError(f"{quoted_path(reference)} cannot be read: {reason}") from None

    def _resolve(self, reference: str, beside: Path) -> Path:
        if reference.startswith("package://"):
            path = package_path(reference)
        else:
            path = beside.resolve().parent / reference
            if not self._hold(path.resolve()):
                raise LocateError(
                    f"{quoted_path(reference)} is outside the world's folder {self.folders[0]}; move it there, "
                    "or allow its folder (--allow DIR)"
                )
        if not path.is_file():
            raise LocateError(f"no file {quoted_path(reference)} beside {beside.name}{_nearest_file(path)}")
        return path

    def _hold(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.folders)


def read_text(path: Path, report: Report) -> str | None:
    """A file's UTF-8 text without its byte order mark; None, with the fault in `report`, where it has none."""
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
    """Whether there is such a file; there is none of a name that no file system takes."""
    with suppress(OSError, ValueError):
        return path.is_file()
    return False


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; there is none of a name that no file system takes."""
    with suppress(OSError, ValueError):
        return path.is_dir()
    return False
