"""Where no world is named, every way to run one takes the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from sim_node.cli.main import main
from sim_node.ros.parameters import SPECS
from sim_node.world.locate import DEFAULT_WORLD, shipped_worlds

ROOT = Path(__file__).parents[1]


def test_it_is_shipped() -> None:
    assert DEFAULT_WORLD in shipped_worlds()


def test_the_node_runs_it() -> None:
    assert SPECS["world"].default == DEFAULT_WORLD


def test_the_launch_file_runs_it() -> None:
    tree = ast.parse((ROOT / "launch" / "simulation.launch.py").read_text())
    defaults = {
        ast.literal_eval(call.args[0]): ast.literal_eval(keyword.value)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "DeclareLaunchArgument"
        for keyword in call.keywords
        if keyword.arg == "default_value" and isinstance(keyword.value, ast.Constant)
    }
    assert defaults["world"] == DEFAULT_WORLD


@pytest.mark.parametrize("command", ["run", "view"])
def test_the_command_says_so(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert DEFAULT_WORLD in capsys.readouterr().out


def test_make_run_leaves_it_to_the_command() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert 'sim_node run $(if $(WORLD),"$(WORLD)") ' in makefile
    assert "\nWORLD ?=\n" in makefile
