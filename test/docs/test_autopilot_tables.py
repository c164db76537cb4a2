"""The tables of the built-in autopilot's page say what the code registers."""

from __future__ import annotations

import re
from pathlib import Path

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT, ARDUPILOT_ROVER
from sim_node.autopilots.builtin.commands import COMMANDS
from sim_node.autopilots.builtin.mission import DO_JUMP, ITEMS, SKIPPED
from sim_node.autopilots.builtin.px4 import PX4, PX4_ROVER
from sim_node.autopilots.builtin.streams import MESSAGES
from sim_node.mavlink.codec import enum_name

PAGE = (Path(__file__).parents[2] / "docs" / "autopilot.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def test_modes() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (\d+) \| (?:`(\w+)`)? ?\| ?(\d*) ?\|", section("Modes"), re.MULTILINE)
    shown = {(name, int(number), other, int(custom or -1)) for name, number, other, custom in rows}
    wanted = set()
    for mode, ours in PX4.modes.items():
        theirs = ARDUPILOT.modes.get(mode)
        wanted.add((ours.name, ours.custom, theirs.name if theirs else "", theirs.custom if theirs else -1))
    assert shown == wanted


def test_modes_of_rovers() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (\d+) \| `(\w+)` \| (\d+) \|", section("Rovers"), re.MULTILINE)
    assert {(name, int(number)) for name, number, _, _ in rows} == {each[1::-1] for each in PX4_ROVER.modes.values()}
    assert {(name, int(number)) for _, _, name, number in rows} == {
        each[1::-1] for each in ARDUPILOT_ROVER.modes.values()
    }


def test_parameters_of_rovers() -> None:
    """All that multirotors do not have, and none that rovers do not have either."""
    rows = re.findall(r"^\| (`[A-Z]\w+`[^|\d]*) \| (`[A-Z]\w+`[^|\d]*) \| [^`\d]", section("Rovers"), re.MULTILINE)
    for column, (dialect, flown) in enumerate(((PX4_ROVER, PX4), (ARDUPILOT_ROVER, ARDUPILOT))):
        told = {name for row in rows for name in re.findall(r"`(\w+)`", row[column])}
        settable = {name for name, parameter in dialect.parameters.items() if not parameter.read_only}
        assert settable - set(flown.parameters) <= told <= settable


def test_commands() -> None:
    reported = {int(number): name for number, name in re.findall(r"(\d+) `([A-Z_]+)`", section("Commands"))}
    assert reported == {number: enum_name("MAV_CMD", number).removeprefix("MAV_CMD_") for number in COMMANDS}


def test_items() -> None:
    flown, skipped = re.findall(r"^\| ([\d, ]+) \|", section("Missions"), re.MULTILINE)
    assert {int(number) for number in flown.split(", ")} == {*ITEMS, DO_JUMP}
    assert {int(number) for number in skipped.split(", ")} == SKIPPED


def test_parameters() -> None:
    """All that change something, and no others."""
    rows = re.findall(r"^\| (?:`(\w+)`)? ?\| (?:`(\w+)`)? ?\|", section("Parameters"), re.MULTILINE)
    for column, dialect in enumerate((PX4, ARDUPILOT)):
        settable = {name for name, parameter in dialect.parameters.items() if not parameter.read_only}
        assert {row[column] for row in rows} - {""} == settable


def test_messages() -> None:
    reported = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|$", section("Telemetry"), re.MULTILINE))
    assert reported.pop("HEARTBEAT").startswith("1,")
    assert reported == {
        name: f"{message.rate:g}" if message.rate else "when requested"
        for name, message in MESSAGES.items()
        if name != "HEARTBEAT"
    }
