"""A program that runs beside a simulation: its command, its folder and its log."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path


def state_folder() -> Path:
    """Return $XDG_STATE_HOME/sim_node, by default ~/.local/state/sim_node (XDG Base Directory Specification 0.8)."""
    home = os.environ.get("XDG_STATE_HOME", "")
    # "If an implementation encounters a relative path in any of these variables it should ... ignore it."
    return (Path(home) if home.startswith("/") else Path.home() / ".local" / "state") / "sim_node"


# Maximum number of bytes read from the end of a log, and of lines and characters of these that are shown.
_READ, LINES_SHOWN, MAX_SHOWN = 4096, 2, 300


def opened(path: Path) -> int:
    """Open a new log for appending. An existing one is renamed to `NAME.1`. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.replace(path.with_name(path.name + ".1"))
    # The program and its children share the file: each write goes to the end.
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def end_of(path: Path) -> str:
    """Return `: LINE | LINE (all of it in PATH)`: the last lines of a log that are not empty."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - _READ))
            text = log.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line for raw in text.splitlines() if (line := "".join(filter(str.isprintable, raw)).strip())]
    shown = " | ".join(lines[-LINES_SHOWN:])
    return f": {shown[-MAX_SHOWN:]} (all of it in {path})" if shown else f" (its output is in {path})"


class ProgramFault(Exception):
    """A program cannot be started. The message gives the reason."""


@dataclass(frozen=True)
class Program:
    """A program and how to run it.

    Attributes:
        name: Unique in a supervisor; messages and the default log file use it.
        command: The program and its arguments. A name without a slash is looked up on PATH, a relative path in `cwd`.
        cwd: The working folder; None for the current one.
        env: Environment variables to add to those of this process.
        restart: When to restart the program: `never`, `on-failure` (any exit code but 0) or `always`.
        log: The file for its output; None for `NAME.log` in the log folder.
        delay_s: Time between `Supervisor.start` and the start of the program (s).
    """

    name: str
    command: tuple[str, ...]
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    restart: str = "never"
    log: Path | None = None
    delay_s: float = 0.0

    @property
    def environment(self) -> dict[str, str]:
        """All environment variables of the program."""
        return {**os.environ, **self.env}

    def executable(self) -> str:
        """Find the file to execute.

        Returns:
            Its absolute path.

        Raises:
            ProgramFault: There is no such program, it is not executable, or the working folder does not exist.
        """
        if self.cwd is not None and not self.cwd.is_dir():
            raise ProgramFault(f"cannot run in {self.cwd}: no such folder")
        name = self.command[0]
        if "/" not in name:
            found = shutil.which(name, path=self.environment.get("PATH", os.defpath))
            if found is None:
                raise ProgramFault(f"no program {name!r} on PATH")
            return str(Path(found).absolute())
        path = (self.cwd or Path.cwd()) / name
        if not path.is_file():
            raise ProgramFault(f"no program {path}")
        if not os.access(path, os.X_OK):
            raise ProgramFault(f"{path} is not executable")
        return str(path.absolute())

    def log_file(self) -> Path:
        """Return the file for its output.

        Returns:
            `log`, or `NAME.log` in the log folder.
        """
        return self.log or log_folder() / f"{self.name}.log"


def log_folder() -> Path:
    """Return the folder for logs: $ROS_LOG_DIR, $ROS_HOME/log, or `log` in the state folder."""
    for variable, below in (("ROS_LOG_DIR", ""), ("ROS_HOME", "log")):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser() / below
    return state_folder() / "log"
