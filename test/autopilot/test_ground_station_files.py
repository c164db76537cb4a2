"""Missions as ground stations write them: QGC WPL 110 by pymavlink, and a .plan as QGroundControl has it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from claims import free_port
from peer import HOME, PX4, peer
from pymavlink import mavwp
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from running import running

from sim_node.mavlink.mission import Upload, read_plan
from sim_node.mavlink.mission.plan import as_messages, fence_messages, rally_messages
from sim_node.mavlink.telemetry import Home
from sim_node.spatial.frames import Ned
from sim_node.world import WorldError

AT = Home(*HOME, Ned((0.0, 0.0, 0.0)))
ARDUPILOT = 3


def simple(command: int, *params: float | None, frame: int = 3) -> dict[str, Any]:
    return {"type": "SimpleItem", "command": command, "frame": frame, "params": list(params), "autoContinue": True}


def plan_of(*items: dict[str, Any]) -> str:
    return json.dumps({"fileType": "Plan", "mission": {"items": items}})


PLAN: dict[str, Any] = {
    "fileType": "Plan",
    "groundStation": "QGroundControl",
    "version": 1,
    "mission": {
        "version": 2,
        "plannedHomePosition": [47.3977, 8.5456, 488],
        "items": [
            simple(22, 0, 0, 0, None, 47.3977, 8.5456, 12) | {"doJumpId": 1},
            {
                "type": "ComplexItem",
                "complexItemType": "survey",
                "polygon": [[47.398, 8.545]],
                "TransectStyleComplexItem": {
                    "Items": [
                        simple(16, 0, 0, 0, None, 47.3978, 8.5457, 20),
                        simple(206, 5, 0, 1, 0, 0, 0, 0, frame=2),
                        simple(16, 0, 0, 0, None, 47.3979, 8.5457, 20),
                    ]
                },
            },
            simple(177, 2, 3, 0, 0, 0, 0, 0, frame=2),
        ],
    },
    "geoFence": {
        "version": 2,
        "polygons": [{"inclusion": True, "polygon": [[47.39, 8.54], [47.39, 8.55], [47.40, 8.55]], "version": 1}],
        "circles": [{"inclusion": False, "circle": {"center": [47.398, 8.546], "radius": 15}, "version": 1}],
    },
    "rallyPoints": {"version": 2, "points": [[47.3981, 8.5461, 30]]},
}


def test_pymavlinks_files_are_read_as_pymavlink_reads_them(tmp_path: Path) -> None:
    loader = mavwp.MAVWPLoader()
    for command, latitude, longitude, height in ((16, *HOME), (22, 0, 0, 5), (16, 47.3978, 8.5457, 20), (177, 0, 0, 0)):
        params = (1.5, 2.0, 0.0, 90.0) if command == 16 else (2.0, 3.0, 0.0, 0.0)
        loader.add(
            mavlink.MAVLink_mission_item_message(0, 0, 0, 3, command, 0, 1, *params, latitude, longitude, height)
        )
    path = tmp_path / "mission.txt"
    loader.save(str(path))
    plan = read_plan(path.read_text(), "mission.txt")
    messages = as_messages(plan, AT, ARDUPILOT)
    assert len(messages) == 4
    for message, theirs in list(zip(messages, loader.wpoints, strict=True))[1:]:
        assert (message["seq"], message["command"], message["frame"]) == (theirs.seq, theirs.command, 6)
        assert (message["x"] * 1e-7, message["y"] * 1e-7, message["z"]) == pytest.approx((theirs.x, theirs.y, theirs.z))
        ours = [message[f"param{number}"] for number in (1, 2, 3, 4)]
        assert ours == pytest.approx([theirs.param1, theirs.param2, theirs.param3, theirs.param4])
    assert (messages[0]["x"], messages[0]["y"], messages[0]["z"]) == (473977420, 85455940, 488.0)
    behind = as_messages(plan, AT, PX4)
    assert [message["command"] for message in behind] == [22, 16, 177]
    assert behind[2]["param1"] == 1.0, "home is no item there, so jumps count from one less"


def test_a_plan_with_a_survey_a_geofence_and_rally_points() -> None:
    plan = read_plan(json.dumps(PLAN, indent=4), "survey.plan")
    messages = as_messages(plan, AT, PX4)
    assert [message["command"] for message in messages] == [22, 16, 206, 16, 177]
    assert [message["frame"] for message in messages] == [6, 6, 2, 6, 2]
    assert (messages[1]["x"], messages[1]["y"], messages[1]["z"]) == (473978000, 85457000, 20.0)
    assert math.isnan(messages[0]["param4"])
    assert messages[4]["param1"] == 1.0
    assert [message["command"] for message in as_messages(plan, AT, ARDUPILOT)] == [16, 22, 16, 206, 16, 177]
    fence = fence_messages(plan)
    assert [(message["command"], message["param1"]) for message in fence] == [(5001, 3.0)] * 3 + [(5004, 15.0)]
    (rally,) = rally_messages(plan)
    assert (rally["command"], rally["x"], rally["y"], rally["z"]) == (5100, 473981000, 85461000, 30.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("QGC WPL 120\n", "m:1:1: found 'QGC WPL 120'; allowed: QGC WPL 110"),
        ("QGC WPL 110\n", "m: is empty"),
        ("QGC WPL 110\n0 1 0 16\n", "m:2:1: 12 columns are needed, found 4"),
        ("QGC WPL 110\n0 1 0 16 0 0 0 0 47,4 8 9 1\n", "m:2:18: a number is needed, found '47,4'"),
        ("QGC WPL 110\n1 1 0 16 0 0 0 0 47 8 9 1\n", "m:2:1: item 1; 0 is next"),
        ("QGC WPL 110\n0 1 0 1e9 0 0 0 0 47 8 9 1\n", "m:2:1: frame 0 and command 1e+09 are not numbers of MAVLink"),
        ('{"fileType": "Plan"}', "m:1:1: mission is missing"),
        ('{"fileType": "Plan", "mission": {"items": [{"type": "Loop"}]}}', "mission.items[0].type: found 'Loop'"),
        (
            plan_of({"type": "ComplexItem", "complexItemType": "fwLandingPattern"}),
            "mission.items[0]: fwLandingPattern has no items of its own",
        ),
        (
            plan_of(simple(16, 1)),
            "mission.items[0].params: a list of 7 numbers is needed, found 1",
        ),
    ],
)
def test_a_fault_has_its_place(text: str, words: str) -> None:
    with pytest.raises(WorldError) as fault:
        read_plan(text, "m")
    assert words in str(fault.value)


def test_geofence_and_rally_points_are_sent_after_the_mission() -> None:
    port = free_port()
    plan = read_plan(json.dumps(PLAN), "survey.plan")
    with running(f"udpin:127.0.0.1:{port}") as bridge, peer(port, autopilot=PX4) as vehicle:
        others = {1: fence_messages(plan), 2: rally_messages(plan)}
        result = bridge.ask(lambda _: Upload(as_messages(plan, AT, PX4), others))
        assert result.ok, result
        assert result.text == "10 items"
        sent = vehicle.of("MISSION_ITEM_INT")
        assert [message.mission_type for message in sent] == [0] * 5 + [1] * 4 + [2]


# As QGroundControl writes it, with what it writes beside what is flown.
WRITTEN: dict[str, Any] = {
    **PLAN,
    "mission": {
        **PLAN["mission"],
        **{"cruiseSpeed": 15, "hoverSpeed": 5, "firmwareType": 12, "vehicleType": 2, "globalPlanAltitudeMode": 1},
        "items": [
            simple(22, 1, 2, 3, 4, 47.3977, 8.5456, 12)
            | {"doJumpId": 1, "Altitude": 12, "AltitudeMode": 1, "AMSLAltAboveTerrain": None, "MISSION_ITEM_ID": "1"},
            PLAN["mission"]["items"][1],
            simple(177, 1, 3, 0, 0, 0, 0, 0, frame=2) | {"doJumpId": 5},
        ],
    },
}
# Its name, numbers and heights for its own display.
OF_THE_EDITOR = {"groundStation", "globalPlanAltitudeMode", "AMSLAltAboveTerrain", "MISSION_ITEM_ID"}
# In which the note is about the whole item, or the place of an item that nothing jumps to has no other number.
INSIDE = {("mission", "items", 1, key) for key in ("complexItemType", "polygon")}


def leaves(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    if isinstance(data, dict):
        return [each for key, value in data.items() for each in leaves(value, (*path, key))]
    if isinstance(data, list):
        return [each for index, value in enumerate(data) for each in leaves(value, (*path, index))]
    return [(path, data)]


def changed(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Return data with another value at a path."""
    key, *inner = path
    copy: Any = list(data) if isinstance(data, list) else dict(data)
    copy[key] = changed(copy[key], tuple(inner), value) if inner else value
    return copy


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, (int, float)) else 7 if value is None else f"{value}q"


def flown(text: str, name: str) -> tuple[Any, ...]:
    """Return the messages to both autopilots, as text, and what is reported."""
    plan = read_plan(text, name)
    missions = [as_messages(plan, AT, autopilot) for autopilot in (PX4, ARDUPILOT)]
    return repr((missions, fence_messages(plan), rally_messages(plan))), [str(each) for each in plan.unread]


def test_whatever_a_plan_says_counts_or_is_reported() -> None:
    """Every value of a file of QGroundControl, and every key that it has."""
    before, told = flown(json.dumps(WRITTEN), "p")
    silent = []
    for path, value in leaves(WRITTEN):
        if path[-1] in OF_THE_EDITOR:
            continue
        try:
            after, report = flown(json.dumps(changed(WRITTEN, path, other(value))), "p")
        except WorldError:
            continue
        keys = re.sub(r"\.(\d+)", r"[\1]", ".".join(map(str, path)))
        reported = any(f": {key}:" in line for line in report for key in (keys, keys.rpartition("[")[0]))
        if after == before and report == told and not reported and path[:4] not in INSIDE:
            silent.append(keys)
    assert silent == ["mission.items[2].doJumpId"], "to which nothing jumps"


def test_what_of_a_plan_has_no_effect_is_reported_once() -> None:
    _, told = flown(json.dumps(WRITTEN), "p")
    notes = [line.partition(": ")[2] for line in told]
    assert sorted(notes) == [
        *(f"mission.{key}: has no effect here" for key in ("cruiseSpeed", "firmwareType", "hoverSpeed")),
        "mission.items[1]: is flown by its stored items; what they were made from has no effect here",
        "mission.plannedHomePosition: has no effect here: the home of the vehicle is used",
        "mission.vehicleType: has no effect here",
    ]


def test_jumps_go_to_the_item_with_the_number() -> None:
    """QGroundControl finds the target of DO_JUMP by doJumpId; its place in the mission is what vehicles jump to."""
    items = [simple(22, 0, 0, 0, 0, 47, 8, 9) | {"doJumpId": 10}, simple(177, 10, 3, 0, 0, 0, 0, 0) | {"doJumpId": 20}]
    for autopilot, place in ((PX4, 0.0), (ARDUPILOT, 1.0)):
        assert as_messages(read_plan(plan_of(*items), "p"), AT, autopilot)[-1]["param1"] == place
    with pytest.raises(WorldError, match=r"items\[1\].params: jumps to 1, which is the doJumpId of no item"):
        read_plan(plan_of(items[0], simple(177, 1, 3, 0, 0, 0, 0, 0) | {"doJumpId": 20}), "p")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("fileType",), "Parameters", "fileType: found 'Parameters'; allowed: Plan"),
        (("geoFence", "polygons", 0, "polygon", 0, 0), 91, "latitude 91, longitude 8.54: needs"),
        (("mission", "items", 0, "params", 4), 215, "215 8.5456 is no place in MAVLink"),
    ],
)
def test_what_no_vehicle_could_fly_is_refused(path: tuple[str | int, ...], value: Any, words: str) -> None:
    with pytest.raises(WorldError) as error:
        read_plan(json.dumps(changed(WRITTEN, path, value)), "p")
    assert words in str(error.value)


def test_other_versions_and_heights_than_stated_are_reported() -> None:
    for path, value, words in (
        (("version",), 2, "version: version 2 is read as version 1"),
        (("mission", "version"), 3, "mission.version: version 3 is read as version 2"),
        (("mission", "items", 0, "Altitude"), 99, "mission.items[0].Altitude: has no effect here"),
        (("mission", "items", 0, "AltitudeMode"), 2, "mission.items[0].AltitudeMode: has no effect here"),
    ):
        _, told = flown(json.dumps(changed(WRITTEN, path, value)), "p")
        assert words in "\n".join(told)


LINES = """QGC WPL 110
0\t1\t0\t16\t0\t0\t0\t0\t47.3977\t8.5456\t488\t1
1\t0\t3\t22\t1\t2\t3\t4\t47.3977\t8.5456\t12\t1
2\t0\t3\t16\t1\t2\t3\t4\t47.3979\t8.5457\t20\t1
"""


def test_whatever_lines_of_waypoints_say_counts_or_is_reported() -> None:
    before, told = flown(LINES, "m")
    silent = []
    for found in re.finditer(r"\S+", LINES):
        number = float(found[0]) if found[0][0].isdigit() else None
        text = f"{found[0]}q" if number is None else f"{1.0 - number if number in (0.0, 1.0) else number + 1.0:g}"
        line = LINES[: found.start()].count("\n") + 1
        try:
            after, report = flown(LINES[: found.start()] + text + LINES[found.end() :], "m")
        except WorldError:
            continue
        if after == before and report == told and not any(each.startswith(f"m:{line}:") for each in report):
            silent.append((line, found[0]))
    assert silent == []
