"""The examples of a page of the docs, and how its shell commands are run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple, TextIO

import pytest
from in_process import exit_code
from waiting import PATIENCE

from sim_node.cli.commands import COMMANDS

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


# Of a line that needs a shell: pipes, redirections, variables.
SHELL = re.compile(r"[|<>&;*$]|^\w+=")
PROGRESS = re.compile(r"^\d+\.\d s simulated\n", re.MULTILINE)


class Printed(NamedTuple):
    """What a command wrote to both streams, and its exit code."""

    text: str
    code: object


def run(command: str, folder: Path) -> Printed:
    """Run a command line in a folder. One of sim_node is called in this process: another would take longer to start.

    Those that need a shell, or ROS, which would stay in this process, have a process of their own.
    """
    line = command.removesuffix(" || true")
    words = shlex.split(line)
    if words[0] != "sim_node" or SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", line)) or _starts_ros(words[1:]):
        return _run_apart(command, folder)
    with pytest.MonkeyPatch.context() as patch, _both_streams() as file:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "120")
        code = exit_code(words[1:])
        file.seek(0)
        return Printed(file.read(), code)


def _starts_ros(words: Sequence[str]) -> bool:
    command = COMMANDS.find(words[0])
    return command is not None and command.starts_node and "--no-ros" not in words


@contextmanager
def _both_streams() -> Iterator[TextIO]:
    """A file that has what was written to the standard streams meanwhile."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file, redirect_stdout(file), redirect_stderr(file):
        yield file


def _run_apart(command: str, folder: Path) -> Printed:
    """With the commands of this Python on PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "ROS_LOG_DIR": str(folder / "log"), "COLUMNS": "120"}
    ran = subprocess.run(
        command, shell=True, cwd=folder, env=environment, timeout=PATIENCE, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return Printed(ran.stdout, ran.returncode)


def shows(expected: str, printed: str) -> bool:
    """Whether a page shows what was printed; `...` on the page stands for any text, and nothing for anything.

    A line of `...` alone stands for any lines, or none. Lines of progress, each 10 s on a slow machine, are left out.
    """
    printed = PROGRESS.sub("", printed)
    pattern = re.escape(expected.rstrip()).replace("\\\n", "\n")
    pattern = pattern.replace("\n\\.\\.\\.\n", "\n(?:.*\n)?").replace(r"\.\.\.", ".*")
    return not expected or re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None
