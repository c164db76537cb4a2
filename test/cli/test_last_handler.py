"""Commands whose output cannot be written, that have no memory, or that fail by a fault of ours: one line, exit 1."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from nightly import only
from waiting import PATIENCE

from sim_node.cli.commands import COMMANDS
from sim_node.cli.last_handler import REPORT
from sim_node.cli.main import main


def run(words: str, redirection: str = "", unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m sim_node.cli.main {words} {redirection}"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    return subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, text=True, env=environment, timeout=PATIENCE)


@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.nightly)])
# All commands print through the same handler.
@pytest.mark.parametrize("words", only(["check orbit", "tree orbit", "run orbit --no-ros --speed max --duration 1"], 1))
def test_a_full_disk_behind_standard_output(words: str, unbuffered: str) -> None:
    ran = run(words, "> /dev/full", unbuffered)
    assert ran.stderr == "sim_node: standard output cannot be written: No space left on device\n"
    assert ran.returncode == 1


def test_help_to_a_full_disk() -> None:
    ran = run("--help", "> /dev/full")
    assert ran.stderr == "sim_node: standard output cannot be written: No space left on device\n"
    assert ran.returncode == 1


# Takes seconds: make test has a full disk behind standard output.
@pytest.mark.nightly
def test_closed_standard_output() -> None:
    """What is for nothing but its output fails; a run has other things to do."""
    ran = run("tree orbit", ">&-")
    assert (ran.returncode, ran.stderr) == (1, "sim_node: standard output is closed\n")
    ran = run("run orbit --no-ros --speed max --duration 1", ">&-")
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = run("tree orbit", ">&- 2>&- <&-")
    assert ran.returncode == 1


def fault() -> int:
    raise ZeroDivisionError("in the middle of it")


def no_memory() -> int:
    raise MemoryError


@pytest.mark.parametrize(
    ("fails", "line"),
    [
        (fault, "internal error in sim_node: ZeroDivisionError at test_last_handler.py"),
        (no_memory, "not enough memory"),
    ],
)
def test_a_fault_of_ours_is_one_line(
    fails: Callable[[], int], line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = replace(COMMANDS["check"], run=lambda arguments: fails())
    monkeypatch.setattr(COMMANDS, "find", lambda word: failing)
    assert main(["check", "orbit"]) == 1
    output = capsys.readouterr().err
    assert output.startswith(f"sim_node: {line}")
    assert output.count("\n") == 1
    assert (REPORT in output) == (fails is fault)
    assert main(["check", "--debug", "orbit"]) == 1
    output = capsys.readouterr().err
    assert output.startswith("Traceback (most recent call last):")
    assert f"sim_node: {line}" in output
