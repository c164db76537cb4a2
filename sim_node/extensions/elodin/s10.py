"""Recipes: processes that run beside a world in Python, such as the firmware of a flight controller."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import Any

from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.simulation.programs import Program, ProgramFault

# The default time limit for a recipe to become ready, s, and the syntax of such limits.
READY_S = 30.0
_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "m": 60.0, "h": 3600.0}
_TIME = re.compile(r"(\d+)\s*(ms|s|m|h|)")
# Timeout of a connection to a port of this machine, s: it succeeds at once or not at all.
_CONNECT_S = 1.0
_VARIABLE = re.compile(r"\$\$|\$\{([^}]*)\}")


class RestartPolicy(Enum):
    """When a process is restarted.

    Attributes:
        Never: Never.
        Instant: Whenever it exits.
    """

    Never = "never"
    Instant = "always"


@dataclass(frozen=True)
class Ready:
    """The condition on which a process is ready. Made by `tcp`, `unix`, `file`, `log` or `delay`.

    Attributes:
        kind: The name of the function that made it.
        value: Its argument.
    """

    kind: str
    value: str | float

    @classmethod
    def tcp(cls, addr: str) -> Ready:
        """Return the condition that something accepts TCP connections.

        Args:
            addr: HOST:PORT.

        Returns:
            The condition.
        """
        return cls("tcp", str(addr))

    @classmethod
    def unix(cls, path: str | PathLike[str]) -> Ready:
        """Return the condition that something accepts connections at a Unix domain socket.

        Args:
            path: The path of the socket.

        Returns:
            The condition.
        """
        return cls("unix", str(path))

    @classmethod
    def file(cls, path: str | PathLike[str]) -> Ready:
        """Return the condition that a file exists.

        Args:
            path: The file.

        Returns:
            The condition.
        """
        return cls("file", str(path))

    @classmethod
    def log(cls, pattern: str) -> Ready:
        """Return the condition that the process has printed a text.

        Args:
            pattern: The text.

        Returns:
            The condition.
        """
        return cls("log", str(pattern))

    @classmethod
    def delay(cls, ms: float) -> Ready:
        """Return the condition that some time has passed since the start of the process.

        Args:
            ms: The time, ms.

        Returns:
            The condition.
        """
        return cls("delay", float(ms))

    def holds(self, program: Program, since_s: float) -> bool:
        """Check the condition once.

        Args:
            program: The process.
            since_s: Time since its start, s.

        Returns:
            Whether the condition holds.

        Raises:
            ValueError: An address is not HOST:PORT.
        """
        if isinstance(self.value, float):
            return since_s >= 1e-3 * self.value
        return _PROBES[self.kind](_expanded(self.value, program.environment), program)

    def __str__(self) -> str:
        return f"{self.kind}({self.value!r})"


def _listens(address: str, program: Program) -> bool:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise ValueError(f"tcp({address!r}) is not HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except OSError:
        return False
    return True


def _listens_at(path: str, program: Program) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        return asked.connect_ex(path) == 0


def _has_printed(text: str, program: Program) -> bool:
    try:
        return text in program.log_file().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


_PROBES: Mapping[str, Callable[[str, Program], bool]] = {
    "tcp": _listens,
    "unix": _listens_at,
    "file": lambda path, program: Path(path).exists(),
    "log": _has_printed,
}


def _expanded(text: str, environment: Mapping[str, str]) -> str:
    """Replace ${NAME} and ${NAME:-DEFAULT} by variables of the environment, and $$ by $. Unset ones are empty."""

    def value(found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        name, _, default = found[1].partition(":-")
        return environment.get(name, default)

    return _VARIABLE.sub(value, text)


class PyRecipe:
    """A process that World.run starts, and that ends with the run. Add it to a world with World.recipe.

    The constructor makes a recipe that runs another world in Python. See also `process` and `cargo`. Arguments, folders
    and `ready` may contain environment variables, ${NAME} or ${NAME:-DEFAULT}.

    Args:
        name: Unique in the world; messages and the log file use it.
        path: The Python file.
        addr: An address that is passed to the file, or None.
        optimize: No effect.
        env: Its environment variables.
        depends_on: The names of recipes that must be ready before it is started.
        ready: When it is ready, such as Ready.tcp("127.0.0.1:9000"). The run begins when all recipes that
            have this are ready; without it, a recipe is ready at once.
        ready_timeout: The time limit for this, such as "500ms", "10s" or "2m"; 30 s by default.

    Attributes:
        program: The program and how to run it.
        where: The line of the user's file that made the recipe.
        depends_on: As given.
        ready: As given.
        timeout_s: The limit of `ready`, s.
    """

    def __init__(
        self,
        name: str,
        path: str | PathLike[str] = "",
        addr: str | None = None,
        optimize: bool | None = None,
        env: Mapping[str, str] | None = None,
        depends_on: Sequence[str] | None = None,
        ready: Ready | None = None,
        ready_timeout: str | None = None,
    ) -> None:
        command = [sys.executable, str(path), "run", *([] if addr is None else [addr])]
        self._set(name, command, None, env, None, depends_on, ready, ready_timeout)

    @classmethod
    def process(
        cls,
        name: str,
        cmd: str | PathLike[str],
        args: Sequence[str] | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        restart_policy: RestartPolicy | None = None,
        depends_on: Sequence[str] | None = None,
        ready: Ready | None = None,
        ready_timeout: str | None = None,
        silence: bool | None = None,
    ) -> PyRecipe:
        """Make a recipe that runs any program.

        Args:
            name: Unique in the world; messages and the log file use it.
            cmd: The program: a name on PATH, or a path, relative to `cwd`.
            args: Its arguments.
            cwd: Its working folder; by default the current one.
            env: Environment variables of it.
            restart_policy: Whether it is started again when it ends.
            depends_on: As above.
            ready: As above.
            ready_timeout: As above.
            silence: No effect: its output goes to a log file.

        Returns:
            The recipe.

        Raises:
            EcsError: The name is empty, or another argument is not as described.
        """
        command = [str(cmd), *(args or ())]
        return cls.__new__(cls)._set(name, command, cwd, env, restart_policy, depends_on, ready, ready_timeout)

    @classmethod
    def cargo(
        cls,
        name: str,
        path: str | PathLike[str],
        package: str | None = None,
        bin: str | None = None,
        args: Sequence[str] | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        restart_policy: RestartPolicy | None = None,
        depends_on: Sequence[str] | None = None,
        ready: Ready | None = None,
        ready_timeout: str | None = None,
        silence: bool | None = None,
    ) -> PyRecipe:
        """Make a recipe that builds a Rust program with `cargo build --release`, and runs it.

        Args:
            name: Unique in the world; messages and the log file use it.
            path: Its Cargo.toml, or the folder that contains it.
            package: The package, in a workspace.
            bin: The binary, in a package with several.
            args: Its arguments.
            cwd: Its working folder; by default the current one.
            env: Environment variables of it.
            restart_policy: Whether it is started again when it ends.
            depends_on: As above.
            ready: As above. Time counts from the end of building.
            ready_timeout: As above.
            silence: No effect: its output goes to a log file.

        Returns:
            The recipe.

        Raises:
            EcsError: The name is empty, or another argument is not as described.
        """
        manifest = Path(path) if Path(path).name == "Cargo.toml" else Path(path) / "Cargo.toml"
        chosen = [
            word for option, value in (("--package", package), ("--bin", bin)) if value for word in (option, value)
        ]
        options = ["--release", "--manifest-path", str(manifest.absolute()), *chosen]
        command = ["cargo", "run", *options, "--", *(args or ())]
        made = cls.__new__(cls)._set(name, command, cwd, env, restart_policy, depends_on, ready, ready_timeout)
        made._built = tuple(options)
        return made

    def name(self) -> str:
        """Return the name."""
        return self.program.name

    def startable(self) -> Program:
        """Build the program if it is written in Rust, and expand variables.

        Returns:
            The program to start.

        Raises:
            ProgramFault: It cannot be built.
        """
        program = self.program
        if self._built:
            arguments = program.command[program.command.index("--") + 1 :]
            program = replace(program, command=(_build(self._built), *arguments))
        environment = program.environment
        return replace(
            program,
            command=tuple(_expanded(word, environment) for word in program.command),
            cwd=None if program.cwd is None else Path(_expanded(str(program.cwd), environment)),
        )

    def _set(
        self,
        name: str,
        command: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        restart: RestartPolicy | None,
        depends_on: Sequence[str] | None,
        ready: Ready | None,
        ready_timeout: str | None,
    ) -> PyRecipe:
        self.where = caller()
        if not isinstance(name, str) or not name or "/" in name:
            raise EcsError(f"the name of a recipe is a text without slashes; found {name!r}", self.where, "recipe")
        within = f"recipe {name!r}"
        if restart is not None and not isinstance(restart, RestartPolicy):
            raise EcsError(f"restart_policy: {restart!r} is not a s10.RestartPolicy", self.where, within)
        if ready is not None and not isinstance(ready, Ready):
            message = f"ready: {ready!r} is not a s10.Ready, such as s10.Ready.delay(100)"
            raise EcsError(message, self.where, within)
        if isinstance(depends_on, str):
            raise EcsError(f"depends_on: {depends_on!r} is not a list of names", self.where, within)
        self.depends_on, self.ready = tuple(depends_on or ()), ready
        self.timeout_s = _seconds(ready_timeout, self.where, within)
        self.program = Program(
            name,
            tuple(command),
            None if cwd is None else Path(cwd),
            {key: str(value) for key, value in (env or {}).items()},
            (restart or RestartPolicy.Never).value,
        )
        self._built: tuple[str, ...] = ()
        return self


def _seconds(given: str | None, where: Any, within: str) -> float:
    """Return a time such as "500ms" or "10s", s."""
    if given is None or not str(given).strip():
        return READY_S
    found = _TIME.fullmatch(str(given).strip())
    if found is None:
        raise EcsError(f"ready_timeout: {given!r} is not a time such as 500ms, 10s, 2m or 1h", where, within)
    return int(found[1]) * _UNITS[found[2]]


def _build(options: Sequence[str]) -> str:
    """Build a Rust program. Return its executable."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise ProgramFault("no program 'cargo' on PATH")
    command = [cargo, "build", "--message-format=json-render-diagnostics", *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise ProgramFault(f"{' '.join(['cargo build', *options])}: exit code {done.returncode}")
    made = [found for line in done.stdout.splitlines() if (found := json.loads(line).get("executable"))]
    if len(made) != 1:
        names = ", ".join(os.path.basename(each) for each in made) or "none"
        raise ProgramFault(f"a package with one program is needed, or bin=; it has {names}")
    return str(made[0])
