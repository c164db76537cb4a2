"""A program beside a run: its folder, its log, its command."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path


def state_folder() -> Path:
    """$XDG_STATE_HOME/sim_node, ~/.local/state/sim_node by default (XDG Base Directory Specification 0.8)."""
    home = os.environ.get("XDG_STATE_HOME", "")
    # "If an implementation encounters a relative path in any of these variables it should ... ignore it."
    return (Path(home) if home.startswith("/") else Path.home() / ".local" / "state") / "sim_node"


# Of a log's end: how much is read, and how much of it a person is shown.
_READ, LINES_SHOWN, MAX_SHOWN = 4096, 2, 300


def opened(path: Path) -> int:
    """A new log to append to; the one that was there gets `.1` behind its name. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.replace(path.with_name(path.name + ".1"))
    # Shared by the program and all that it starts: each write goes to the end.
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def end_of(path: Path) -> str:
    """`: LINE | LINE (all of it in PATH)`: the last lines that say something."""
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
    """A program that cannot be started; the message says why."""


@dataclass(frozen=True)
class Program:
    """A program and how it is kept.

    command: the program and its arguments; a program without a slash is looked up on PATH, a relative one in cwd.
    cwd: where it runs, the present folder where None. env: what its environment has beside ours. restart: never,
    on-failure (any exit code but 0) or always. log: the file that takes its output, None for log_file(name).
    delay_s: how long after `Supervisor.start` it is started.
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
        """The whole environment of the program."""
        return {**os.environ, **self.env}

    def executable(self) -> str:
        """The file that is run. Raises ProgramFault where there is none, or the program's folder is not there."""
        if self.cwd is not None and not self.cwd.is_dir():
            raise ProgramFault(f"cannot be run in {self.cwd}: there is no such folder")
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
            raise ProgramFault(f"{path} may not be executed")
        return str(path.absolute())

    def log_file(self) -> Path:
        """Where its output goes."""
        return self.log or log_folder() / f"{self.name}.log"


def log_folder() -> Path:
    """Where logs go: $ROS_LOG_DIR, $ROS_HOME/log, or `log` in our state folder."""
    for variable, below in (("ROS_LOG_DIR", ""), ("ROS_HOME", "log")):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser() / below
    return state_folder() / "log"
