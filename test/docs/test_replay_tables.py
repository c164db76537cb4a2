"""The tables of the replay's page say what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim_node.cli import replay
from sim_node.cli.parser import StrictParser
from sim_node.ros.replay import SPECS

PAGE = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")
ROWS = {
    cells[0].strip("`"): cells[1:]
    for line in PAGE.splitlines()
    if line.startswith("| `")
    for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
}


@pytest.mark.parametrize("name", list(SPECS))
def test_a_parameter(name: str) -> None:
    kind, default, changes, meaning = ROWS[name]
    spec = SPECS[name]
    types = {str: "string", float: "double", bool: "bool", list: "string[]"}
    shown = ", ".join(spec.default) if isinstance(spec.default, list) else str(spec.default)
    assert kind == types[type(spec.default)]
    assert default.strip("`") == (shown.lower() if isinstance(spec.default, bool) else shown or "empty")
    assert changes == ("no" if spec.fixed else "yes")
    assert meaning == spec.description


def test_every_option_is_reported() -> None:
    parser = StrictParser(add_help=False)
    replay.add_arguments(parser)
    options = {option for action in parser._actions for option in action.option_strings}
    reported = set(re.findall(r"--[a-z-]+", " ".join(line for line in PAGE.splitlines() if line.startswith("| `--"))))
    assert reported == options
