"""The tables of the built-in autopilot's page say what the code registers."""

from __future__ import annotations

import re
from pathlib import Path

from sim_node.autopilot.builtin.commands import COMMANDS
from sim_node.autopilot.builtin.mission import DO_JUMP, ITEMS
from sim_node.autopilot.builtin.streams import MESSAGES
from sim_node.autopilot.codec import enum_name
from sim_node.autopilot.modes import GENERIC_MODES

PAGE = (Path(__file__).parents[2] / "docs" / "autopilot.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def test_modes() -> None:
    assert dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", section("Modes"), re.MULTILINE)) == {
        name: str(number) for name, number in GENERIC_MODES.items()
    }


def test_commands() -> None:
    reported = {int(number): name for number, name in re.findall(r"(\d+) `([A-Z_]+)`", section("Commands"))}
    assert reported == {number: enum_name("MAV_CMD", number).removeprefix("MAV_CMD_") for number in COMMANDS}


def test_items() -> None:
    listed = re.search(r"1,000 items: (.*?),\nin the", section("Commands"), re.DOTALL)
    assert listed
    assert {int(number) for number in re.findall(r"\b\d+\b", listed[1])} == {*ITEMS, DO_JUMP}


def test_messages() -> None:
    reported = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|$", section("Telemetry"), re.MULTILINE))
    assert reported.pop("HEARTBEAT").startswith("1,")
    assert reported == {
        name: f"{message.rate:g}" if message.rate else "when asked for"
        for name, message in MESSAGES.items()
        if name != "HEARTBEAT"
    }
