"""The tables of the bridge's page say what the code registers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim_node.mavlink import translation
from sim_node.mavlink.ardupilot.inputs import INPUTS as AP_INPUTS
from sim_node.mavlink.ardupilot.inputs import joy_input
from sim_node.mavlink.ardupilot.telemetry import ROWS as AP_ROWS
from sim_node.mavlink.ardupilot.telemetry import topics as ap_topics
from sim_node.mavlink.codec import kind_named
from sim_node.mavlink.mavros.commands import COMMANDS
from sim_node.mavlink.mavros.setpoints import SETPOINTS, TURNS
from sim_node.mavlink.mavros.telemetry import ROWS
from sim_node.mavlink.mavros.telemetry import topics as mavros_topics
from sim_node.mavlink.mission import read_plan
from sim_node.mavlink.mission.items import KINDS
from sim_node.mavlink.px4.agent import OUTPUTS as PX4_OUTPUTS
from sim_node.mavlink.px4.inputs import INPUTS, OFFBOARD_MODE, OFFBOARD_TYPE
from sim_node.mavlink.px4.state import FUNCTIONS as PX4_FUNCTIONS
from sim_node.mavlink.px4.telemetry import ROWS as PX4_ROWS
from sim_node.mavlink.topics import TOPICS, Profile
from sim_node.ros.bridge_parameters import SPECS

PAGE = (Path(__file__).parents[2] / "docs" / "bridge.md").read_text(encoding="utf-8")
SHORT = {Profile.SENSOR: "sensor", Profile.RELIABLE: "reliable", Profile.LATCHED: "latched"}


def rows(heading: str) -> dict[str, list[str]]:
    """The rows of a section's tables by what stands first in them."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section[1].splitlines() if "| " in line]
    return {row[0].strip("`"): row[1:] for row in cells if row[0].startswith("`")}


def test_topics() -> None:
    assert translation.TRANSLATIONS
    told = rows("Out: telemetry")
    assert told.keys() == set(TOPICS)
    for name, topic in TOPICS.items():
        type, profile, frame, content = told[name]
        assert (type, profile) == (topic.type, SHORT[topic.profile])
        # The page describes frames that each message names, and what all messages hold.
        assert frame == (", child ".join(topic.frames.split()) or (frame if topic.layout else "none"))
        assert content


def test_messages_without_a_standard_type_are_not_translated() -> None:
    section = re.search(r"^## What needs MAVROS' own messages\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    names = {name for row in re.findall(r"^\| ([A-Z0-9_, ]+) \|", section[1], re.MULTILINE) for name in row.split(", ")}
    assert len(names) > 30
    for name in names:
        kind_named(name)  # it exists
        assert name not in translation.TRANSLATIONS


@pytest.mark.parametrize("name", list(SPECS))
def test_a_parameter(name: str) -> None:
    kind, default, meaning = rows("Parameters")[name]
    spec = SPECS[name]
    assert meaning == spec.description
    types = {str: "string", float: "double", int: "int", bool: "bool", list: "string[]"}
    assert kind == types[type(spec.default)]
    shown = ", ".join(spec.default) if isinstance(spec.default, list) else str(spec.default)
    assert default.strip("`") == (shown.lower() if isinstance(spec.default, bool) else shown or "empty")


def test_every_parameter_is_reported() -> None:
    assert list(rows("Parameters")) == list(SPECS)


def test_the_mission_on_the_page_is_one() -> None:
    section = re.search(r"^## Missions\n.*?```yaml\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    plan = read_plan(section[1], "bridge.md")
    kinds = ("takeoff", "speed", "waypoint", "loiter", "return")
    assert [item.command for item in plan.items] == [KINDS[kind].command for kind in kinds]


MAVROS_PAGE = (Path(__file__).parents[2] / "docs" / "mavros.md").read_text(encoding="utf-8")


def mavros_rows(heading: str) -> dict[str, list[str]]:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", MAVROS_PAGE, re.MULTILINE | re.DOTALL)
    assert section
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section[1].splitlines() if "| " in line]
    return {row[0].strip("`"): row[1:] for row in cells if row[0].startswith("`")}


def test_mavros_topics() -> None:
    short = {**SHORT, Profile.STATE: "state", Profile.PARAMETERS: "parameters"}
    told = mavros_rows("Topics")
    messages: dict[str, list[str]] = {}
    for row in ROWS:
        messages.setdefault(row.name, []).append(row.message)
    assert told.keys() == {topic.name for topic in mavros_topics()}
    for topic in mavros_topics():
        type, qos, frame, source = told[topic.name]
        assert (type, qos) == (topic.type, short[topic.profile])
        assert frame == (", child ".join(topic.frames.split()) or "none")
        assert source.split(", ") == messages.get(topic.name, source.split(", "))
        assert all(kind_named(name) for name in source.split(", "))


def test_mavros_setpoints_and_services() -> None:
    told = mavros_rows("Setpoints and other topics that are read")
    assert told == {row.name: [row.type, row.message] for row in (*SETPOINTS, *TURNS)}
    services = mavros_rows("Services")
    for row in COMMANDS:
        assert services[row.name][0] == f"mavros_msgs/{row.type}"


PX4_PAGE = (Path(__file__).parents[2] / "docs" / "px4-names.md").read_text(encoding="utf-8")


def test_px4_names() -> None:
    names, agents = PX4_PAGE.split("## A PX4 with an agent")
    read = re.findall(r"^\| `(\w+)` \|", agents, re.MULTILINE)
    assert sorted(read) == sorted(PX4_OUTPUTS)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in names.splitlines() if "| `" in line]
    told = {row[0].strip("`"): row[1:] for row in rows}
    expected: dict[str, list[str]] = {OFFBOARD_MODE: [OFFBOARD_TYPE]} | {row.name: [row.type] for row in INPUTS}
    sources: dict[str, list[str]] = {}
    for name, type, messages in (
        *((row.name, row.type, (row.message,)) for row in PX4_ROWS),
        *((topic.name, topic.type, each.messages) for each in PX4_FUNCTIONS for topic in each.topics),
    ):
        short = name.removeprefix("fmu/out/")
        sources.setdefault(short, []).extend(messages)
        expected[short] = [type.removeprefix("px4_msgs/"), ", ".join(sources[short])]
    assert told.keys() == expected.keys()
    assert all(told[name][: len(row)] == row for name, row in expected.items())
    assert {name: told[name][2] for name in told if len(told[name]) > 2} == {
        OFFBOARD_MODE: "",
        **{row.name: ", ".join(row.needs) for row in INPUTS},
    }


AP_PAGE = (Path(__file__).parents[2] / "docs" / "ardupilot-names.md").read_text(encoding="utf-8")


def test_ardupilot_names() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in AP_PAGE.splitlines() if "| `" in line]
    told = {row[0].strip("`"): row[1:] for row in rows}
    short = {**SHORT, Profile.CLOCK: "clock", Profile.NEWEST: "newest"}
    messages: dict[str, list[str]] = {}
    for row in AP_ROWS:
        messages.setdefault(row.name, []).append(row.message)
    for topic in ap_topics():
        type, qos, frame, _, source = told.pop(topic.name)
        assert (type, qos, frame) == (topic.type, short[topic.profile], topic.frames or "none")
        assert source.split(", ") == messages.get(topic.name, source.split(", "))
        assert source == "any frequent message" or all(kind_named(name) for name in source.split(", "))
    for each in (*AP_INPUTS, joy_input({})):
        assert told.pop(each.name)[0] == each.type
    services = {"arm_motors", "mode_switch", "prearm_check", "experimental/takeoff", "get_parameters", "set_parameters"}
    assert told.keys() == services
