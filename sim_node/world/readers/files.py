"""Which files a world may read: those below its own folder, and roots that the user allowed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sim_node.world.locate import LocateError, package_path
from sim_node.world.problems import did_you_mean


@dataclass(frozen=True)
class Roots:
    """The folders (resolved) that references from world files may not leave."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, world: Path, allowed: Iterable[Path] = ()) -> Roots:
        """The world's folder and what else is allowed."""
        return cls((world.resolve().parent, *(folder.resolve() for folder in allowed)))

    def resolve(self, reference: str, beside: Path) -> Path:
        """The file that `reference` in file `beside` means. Raises LocateError, which says why not."""
        if reference.startswith("package://"):
            path = package_path(reference)
        else:
            path = (beside.resolve().parent / reference).resolve()
            if not any(path.is_relative_to(folder) for folder in self.folders):
                raise LocateError(
                    f"{reference!r} is outside the world's folder {self.folders[0]}; move it there, "
                    "or allow its folder (--allow DIR)"
                )
        if not path.is_file():
            near = _nearest_file(path)
            raise LocateError(f"no file {reference!r} beside {beside.name}{near}")
        return path


def _nearest_file(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    return did_you_mean(path.name, (entry.name for entry in path.parent.iterdir() if entry.is_file()))
