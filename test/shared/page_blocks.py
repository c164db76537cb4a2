"""The examples of a page of the docs, and how its shell commands are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from waiting import PATIENCE

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with the commands of this Python on PATH; what it prints on both streams is its `stdout`."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "ROS_LOG_DIR": str(folder / "log"), "COLUMNS": "120"}
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment, timeout=PATIENCE, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


def shows(expected: str, printed: str) -> bool:
    """Whether a page shows what was printed; `...` on the page stands for any text, and nothing for anything.

    A line of `...` alone stands for any lines, or none.
    """
    pattern = re.escape(expected.rstrip()).replace("\\\n", "\n")
    pattern = pattern.replace("\n\\.\\.\\.\n", "\n(?:.*\n)?").replace(r"\.\.\.", ".*")
    return not expected or re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None
