"""What a supervised program is, and whether it can be started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sim_node.programs.state import state_folder


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
