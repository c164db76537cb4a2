"""Lookup of scenarios: worlds with a section `expect`, as files, folders of files, or shipped worlds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim_node.text import did_you_mean
from sim_node.world import World, load
from sim_node.world.locate import PACKAGE, LocateError, first_comment, locate, share, shipped_worlds

_SUFFIXES = (".yaml", ".yml")
_EXPECT = re.compile(r"^expect\s*:", re.MULTILINE)


@dataclass(frozen=True)
class Scenario:
    """A world with expectations.

    Attributes:
        name: Its name: the path of the file without suffix, relative to the given folder.
        reference: The path of its world, or a package:// URI.
    """

    name: str
    reference: str

    @property
    def about(self) -> str:
        """The first comment of its file."""
        return first_comment(locate(self.reference))

    def load(self, allow: Sequence[Path] = ()) -> World:
        """Return its world. Raises WorldError."""
        return load(self.reference, allow=allow)


def is_scenario(path: Path) -> bool:
    """Return whether a file is a world with a section `expect`."""
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return False
    try:
        return _EXPECT.search(path.read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def shipped_scenarios() -> list[Scenario]:
    """Return the shipped worlds with expectations."""
    folder = share(PACKAGE)
    own = [] if folder is None else sorted((folder / "config" / "scenarios").glob("*.yaml"))
    found = {path.stem: path for path in own} | shipped_worlds()
    return [Scenario(name, str(path)) for name, path in found.items() if is_scenario(path)]


def find_scenarios(references: Iterable[str]) -> list[Scenario]:
    """Return the scenarios to which names, files and folders refer, in order.

    Args:
        references: Names of shipped worlds, paths of worlds, and folders, which are searched for scenarios.

    Returns:
        The scenarios.

    Raises:
        LocateError: There is none; the message names the nearest.
    """
    found: dict[str, Scenario] = {}
    shipped = {each.name: each for each in shipped_scenarios()}
    for reference in references:
        path = Path(reference)
        if reference in shipped and not path.exists():
            some = [shipped[reference]]
        elif path.is_dir():
            below = sorted(each for suffix in _SUFFIXES for each in path.rglob(f"*{suffix}") if is_scenario(each))
            if not below:
                raise LocateError(f"{reference}: no world in this folder has a section `expect`")
            some = [Scenario(str(each.relative_to(path).with_suffix("")), str(each)) for each in below]
        else:
            try:
                file = locate(reference)
            except LocateError as error:
                near = did_you_mean(reference, shipped)
                raise LocateError(f"no scenario {reference!r}{near}" if near else str(error)) from None
            if file.suffix.lower() in _SUFFIXES and not is_scenario(file):
                raise LocateError(f"{reference}: has no section `expect`, which says what must hold")
            some = [Scenario(file.stem, reference)]
        for each in some:
            found.setdefault(each.reference, each)
    return list(found.values())
