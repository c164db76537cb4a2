"""What each command says of itself, letter by letter: help/COMMAND.txt.

After a change that is meant, write the files anew: UPDATE_HELP=1 .venv/bin/python -m pytest test/cli/test_help.py
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import pytest

from sim_node.cli.commands import GROUPS, SHIPPED
from sim_node.cli.main import main

HELP = Path(__file__).parent / "help"
PLUGINS = re.compile(r"\nof plug-ins:\n(?: +.*\n)+")


def help_of(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["", *SHIPPED])
def test_help_is_what_it_was(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown = PLUGINS.sub("", help_of([command] if command else [], monkeypatch, capsys))
    path = HELP / f"{command or 'sim_node'}.txt"
    if os.environ.get("UPDATE_HELP"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["--help"], ["worlds"]], ids=" ".join)
def test_a_narrow_terminal_breaks_no_line(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with suppress(SystemExit):
        main(words)
    shown = PLUGINS.sub("", capsys.readouterr().out).splitlines()
    assert len(shown) > 40
    assert [line for line in shown if len(line) > 40] == []


def test_nothing_else_has_help() -> None:
    assert {path.stem for path in HELP.glob("*.txt")} == {"sim_node", *SHIPPED}


def test_every_command_is_in_one_group() -> None:
    assert len(SHIPPED) == len(set(SHIPPED))
    overview = (HELP / "sim_node.txt").read_text(encoding="utf-8")
    titles = re.findall(r"^(\w[\w ]*):$", overview, re.MULTILINE)
    assert titles == [*GROUPS, "options"]
    assert [*re.findall(r"^    (\w+) ", overview, re.MULTILINE)] == [*SHIPPED]


# The one name of each thing that several commands have, and names that stand for the same elsewhere.
SYNONYMS = {
    "--output": ("--out", "--outfile", "--file", "--dest"),
    "--speed": ("--factor", "--real-time-factor"),
    "--paused": ("--pause", "--start-paused"),
    "--port": ("--http", "--viewer-port"),
    "--exclude": ("--ignore", "--record-exclude", "--without"),
    "--topics": ("--record-topics", "--topic-list"),
    "--min-free": ("--spare", "--keep-free"),
}


@pytest.mark.parametrize("command", SHIPPED)
def test_one_thing_has_one_name(command: str) -> None:
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", (HELP / f"{command}.txt").read_text(encoding="utf-8")))
    others = {other for names in SYNONYMS.values() for other in names}
    assert not options & others
    if "-o" in options:
        assert "--output" in options
