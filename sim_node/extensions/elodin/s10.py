"""Recipes: processes that run beside a world in Python, such as the firmware of a flight controller."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from os import PathLike
from pathlib import Path

from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.simulation.programs import Program


class RestartPolicy(Enum):
    """When a process is restarted.

    Attributes:
        Never: Not at all.
        Instant: Whenever it ends.
    """

    Never = "never"
    Instant = "always"


class PyRecipe:
    """A process that World.run starts, and ends with the run. Add it to a world by World.recipe.

    The constructor makes a recipe that runs another world in Python. See also `process` and `cargo`.

    Args:
        name: Unique in the world; messages and the log file use it.
        path: The Python file.
        addr: An address that is passed to the file, or None.
        optimize: No effect.

    Attributes:
        program: The program and how to run it.
        where: The line of the user's file that made the recipe.
    """

    def __init__(
        self, name: str, path: str | PathLike[str] = "", addr: str | None = None, optimize: bool | None = None
    ) -> None:
        self._set(name, [sys.executable, str(path), "run", *([] if addr is None else [addr])], None)

    @classmethod
    def process(
        cls, name: str, cmd: str | PathLike[str], args: Sequence[str] | None = None, cwd: str | None = None
    ) -> PyRecipe:
        """Make a recipe of any program.

        Args:
            name: Unique in the world; messages and the log file use it.
            cmd: The program: a name on PATH, or a path, relative to `cwd`.
            args: Its arguments.
            cwd: Its working folder; by default the current one.

        Returns:
            The recipe.

        Raises:
            EcsError: The name is empty.
        """
        return cls.__new__(cls)._set(name, [str(cmd), *(args or ())], cwd)

    @classmethod
    def cargo(
        cls,
        name: str,
        path: str | PathLike[str],
        package: str | None = None,
        bin: str | None = None,
        args: Sequence[str] | None = None,
        cwd: str | None = None,
    ) -> PyRecipe:
        """Make a recipe that builds and runs a Rust program by `cargo run`.

        Args:
            name: Unique in the world; messages and the log file use it.
            path: Its Cargo.toml, or the folder of it.
            package: The package of a workspace.
            bin: The binary of a package of several.
            args: Its arguments.
            cwd: Its working folder; by default the current one.

        Returns:
            The recipe.

        Raises:
            EcsError: The name is empty.
        """
        manifest = Path(path) if Path(path).name == "Cargo.toml" else Path(path) / "Cargo.toml"
        chosen = [
            word for option, value in (("--package", package), ("--bin", bin)) if value for word in (option, value)
        ]
        command = [
            "cargo",
            "run",
            "--release",
            "--manifest-path",
            str(manifest.absolute()),
            *chosen,
            "--",
            *(args or ()),
        ]
        return cls.__new__(cls)._set(name, command, cwd)

    def name(self) -> str:
        """Return the name."""
        return self.program.name

    def _set(self, name: str, command: Sequence[str], cwd: str | None) -> PyRecipe:
        self.where = caller()
        if not isinstance(name, str) or not name or "/" in name:
            raise EcsError(f"the name of a recipe is a text without slashes; found {name!r}", self.where, "recipe")
        self.program = Program(name, tuple(command), None if cwd is None else Path(cwd))
        return self
