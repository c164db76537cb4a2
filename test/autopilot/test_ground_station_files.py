"""Missions as ground stations write them: QGC WPL 110 by pymavlink, and a .plan as QGroundControl has it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from claims import free_port
from peer import HOME, PX4, peer
from pymavlink import mavwp
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from running import running

from sim_node.autopilot.mission import Upload, read_plan
from sim_node.autopilot.mission.plan import as_messages, fence_messages, rally_messages
from sim_node.autopilot.telemetry import Home
from sim_node.frames import Ned
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
