"""The tables of the page about simulation_interfaces say what the code has."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from sim_node.cli.commands import COMMANDS
from sim_node.cli.main import main
from sim_node.simulation.requests import REQUESTS

PAGE = (Path(__file__).parents[2] / "docs" / "simulation-interfaces.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([^`]+)`(?: \(action\))? \| (.+) \|$", PAGE, re.MULTILINE))


def test_every_service_and_no_other_is_on_the_page() -> None:
    pytest.importorskip("rclpy", reason="needs rclpy")
    from sim_node.ros.simulation_interfaces.services import SERVICES, name_of
    from sim_node.ros.simulation_interfaces.serving import REGISTERING

    assert REGISTERING  # the table is filled by these modules
    names = {name_of(type_name) for type_name in SERVICES} | {"simulate_steps"}
    assert {name for name in ROWS if not name.startswith("sim_node ")} == names


def test_the_commands_on_the_page_are_understood() -> None:
    commands = [name.split()[1:] for name in ROWS if name.startswith("sim_node ")]
    assert {words[0] for words in commands} == {*REQUESTS.shipped()}
    for word, *rest in commands:
        command = COMMANDS.find(word)
        assert command is not None
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        parser.parse_args(rest)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["spawn", "box.yaml", "--pose", "1,2"], "X,Y,Z in m"),
        (["spawn", "box.yaml", "--pose", "0,0,0,0,0,0,0.5"], "norm is 0.5"),
        (["set", "box1"], "KEY=VALUE, or NAME with pose"),
        (["set", "a", "b", "--pose", "0,0,0"], "one entity goes with pose"),
        (["set", "joint=much"], "'much' is not a number"),
        (["set", "box1", "--twist", "nan,0,0,0,0,0"], "VX,VY,VZ"),
    ],
)
def test_what_the_commands_refuse(words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    code: object = None
    try:
        code = main(words)
    except SystemExit as end:  # of the parser
        code = end.code
    assert code == 2
    assert reason in capsys.readouterr().err
