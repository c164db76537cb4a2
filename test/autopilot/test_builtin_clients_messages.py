"""What older clients send: partial writes, home as the current item, RC, items to fly to at once, classic fences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymavlink import mavutil, mavwp
from pymavlink.dialects.v20 import all as mavlink
from step_by_step import ORIGIN, PER_LATITUDE, PER_LONGITUDE, Commanded, item

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT
from sim_node.autopilots.builtin.dialect import Dialect, Mode
from sim_node.autopilots.builtin.px4 import PX4
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.mavlink.codec import MavlinkMessage
from sim_node.world import load

ACCEPTED, REJECTED = 0, 1
# MAV_MISSION_RESULT
STORED, ERROR, UNSUPPORTED = 0, 1, 3


@pytest.fixture(scope="module")
def parameters() -> VehicleParameters:
    world = load("guided")
    return replace(parameters_in(world, world.vehicles[0]), mission=None)


@pytest.fixture(params=[PX4, ARDUPILOT], ids=["px4", "ardupilot"])
def either(parameters: VehicleParameters, request: pytest.FixtureRequest) -> Iterator[Commanded]:
    made = Commanded(parameters, request.param)
    yield made
    made.close()


@pytest.fixture
def px4(parameters: VehicleParameters) -> Iterator[Commanded]:
    made = Commanded(parameters, PX4)
    yield made
    made.close()


@pytest.fixture
def copter(parameters: VehicleParameters) -> Iterator[Commanded]:
    made = Commanded(parameters, ARDUPILOT)
    yield made
    made.close()


def fields(answers: list[MavlinkMessage], name: str) -> list[Any]:
    return [answer.fields for answer in answers if answer.name == name]


def give(
    flown: Commanded, answers: list[MavlinkMessage], items: dict[int, dict[str, Any]], kind: int = 0
) -> tuple[list[int], int]:
    """Send the items that are requested; returns which these were, and the result."""
    asked = []
    while requests := [answer for answer in answers if answer.name in ("MISSION_REQUEST", "MISSION_REQUEST_INT")]:
        asked.append(requests[-1].fields.seq)
        answers = flown.say("MISSION_ITEM_INT", seq=asked[-1], mission_type=kind, **items[asked[-1]])
    [ack] = fields(answers, "MISSION_ACK")
    return asked, ack.type


def waypoints(flown: Commanded, count: int) -> None:
    items = [item(16, north=float(n), up=5.0) for n in range(count)]
    assert give(flown, flown.say("MISSION_COUNT", count=count), dict(enumerate(items)))[1] == STORED


def heights(flown: Commanded) -> list[float]:
    return [entry["z"] for entry in flown.flight.mission.items]


def test_a_part_of_a_mission_is_replaced_and_it_is_flown_on(copter: Commanded) -> None:
    """MAVProxy's `wp param`, `wp move` (one item), and `wp changealt`, whose range ends one item behind."""
    waypoints(copter, 4)
    copter.flight.fly_item(2)
    new = {n: item(16, 3.0, north=float(n), up=9.0) for n in range(4)}
    answers = copter.say("MISSION_WRITE_PARTIAL_LIST", start_index=2, end_index=2)
    assert give(copter, answers, new) == ([2], STORED)
    assert heights(copter)[1:] == [5.0, 9.0, 5.0]
    assert copter.flight.mission.current == 2
    answers = copter.say("MISSION_WRITE_PARTIAL_LIST", start_index=2, end_index=4)
    assert give(copter, answers, new) == ([2, 3], STORED)
    assert heights(copter)[1:] == [5.0, 9.0, 9.0]
    answers = copter.say("MISSION_WRITE_PARTIAL_LIST", start_index=4, end_index=4)
    assert give(copter, answers, {4: item(21)}) == ([4], STORED)
    assert copter.flight.mission.items[4]["command"] == 21


@pytest.mark.parametrize(("first", "last"), [(3, 2), (-1, 1), (1, 9), (5, 5)])
def test_a_part_that_is_none_is_rejected(copter: Commanded, first: int, last: int) -> None:
    waypoints(copter, 4)
    answers = copter.say("MISSION_WRITE_PARTIAL_LIST", start_index=first, end_index=last)
    assert [ack.type for ack in fields(answers, "MISSION_ACK")] == [ERROR]
    assert "mission update rejected" in copter.said[-1]


def test_a_part_with_a_fault_changes_nothing(copter: Commanded) -> None:
    waypoints(copter, 4)
    answers = copter.say("MISSION_WRITE_PARTIAL_LIST", start_index=1, end_index=2)
    wrong = {1: item(16, north=1.0, up=7.0), 2: item(18, -1.0)}
    assert give(copter, answers, wrong)[1] != STORED
    assert heights(copter)[1:] == [5.0] * 3


def test_px4_has_no_partial_writes(px4: Commanded) -> None:
    waypoints(px4, 3)
    answers = px4.say("MISSION_WRITE_PARTIAL_LIST", start_index=1, end_index=1)
    assert [ack.type for ack in fields(answers, "MISSION_ACK")] == [UNSUPPORTED]


def test_a_part_of_a_fence(copter: Commanded) -> None:
    """MAVProxy's `fence setcircleradius`."""
    answers = copter.say("MISSION_COUNT", count=1, mission_type=1)
    assert give(copter, answers, {0: item(5003, 20.0)}, 1)[1] == STORED
    answers = copter.say("MISSION_WRITE_PARTIAL_LIST", start_index=0, end_index=0, mission_type=1)
    assert give(copter, answers, {0: item(5003, 30.0)}, 1) == ([0], STORED)
    assert copter.flight.fence.items[0]["param1"] == 30.0


def test_home_as_the_current_item_begins_the_mission_anew(copter: Commanded) -> None:
    """DroneKit's `vehicle.commands.next = 0`; ArduPilot's MISSION_CURRENT repeats the number (GCS_Common.cpp)."""
    waypoints(copter, 4)
    copter.flight.fly_item(3)
    current = fields(copter.say("MISSION_SET_CURRENT", seq=0), "MISSION_CURRENT")
    assert {each.seq for each in current} == {0, 1}
    assert copter.flight.mission.current == 1
    copter.flight.fly_item(3)
    assert copter.command(224, 0) == ACCEPTED
    assert copter.flight.mission.current == 1
    copter.say("MISSION_CLEAR_ALL")
    copter.say("MISSION_SET_CURRENT", seq=0)
    assert copter.said[-1].startswith("no mission item 0")


def test_the_first_item_of_px4(px4: Commanded) -> None:
    waypoints(px4, 3)
    px4.flight.fly_item(2)
    assert {each.seq for each in fields(px4.say("MISSION_SET_CURRENT", seq=0), "MISSION_CURRENT")} == {0}


# Around the origin of the world, laid out as ArduPilot's Tools/autotest CMAC-fence.txt: a return point, and a polygon
# whose first corner is repeated at its end.
CLASSIC = ((0.0, 0.0), (40.0, -30.0), (40.0, 50.0), (-60.0, 50.0), (-50.0, -30.0), (40.0, -30.0))


def test_a_classic_fence_file_is_loaded(either: Commanded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As MAVProxy's `fence load` does, by pymavlink's reader: the return point is an item of its own."""
    monkeypatch.setenv("MAVLINK20", "1")
    lines = [f"{ORIGIN[0] + n / PER_LATITUDE:.7f}\t{ORIGIN[1] + e / PER_LONGITUDE:.7f}\n" for n, e in CLASSIC]
    (tmp_path / "fence.txt").write_text("".join(lines))
    monkeypatch.setattr(mavutil, "mavlink", mavlink)
    loader = mavwp.MissionItemProtocol_Fence()
    loader.load(str(tmp_path / "fence.txt"))
    kept = ("frame", "command", "autocontinue", "param1", "param2", "param3", "param4", "x", "y", "z")
    items = {n: {key: getattr(loader.item(n), key) for key in kept} for n in range(loader.count())}
    assert [entry["command"] for entry in items.values()] == [5000, 5001, 5001, 5001, 5001]
    assert give(either, either.say("MISSION_COUNT", count=len(items), mission_type=1), items, 1)[1] == STORED
    flight = either.flight
    if flight.dialect is ARDUPILOT:
        flight.set_parameter(ARDUPILOT.parameters["FENCE_ENABLE"], 1)
    for north, east, inside in ((39.0, 0.0, True), (41.0, 0.0, False), (0.0, 49.0, True), (0.0, 51.0, False)):
        assert (flight.breaches(np.array([east, north, 5.0])) == {}) is inside


def test_rc_and_sticks_are_refused_once(either: Commanded) -> None:
    for _ in range(3):
        either.say("RC_CHANNELS_OVERRIDE", chan3_raw=1700)
        either.say("MANUAL_CONTROL", z=500)
    texts = [text for text in either.said if "is ignored" in text]
    assert [text.split(" ")[0] for text in texts] == ["RC_CHANNELS_OVERRIDE", "MANUAL_CONTROL"]


def test_modes_that_are_not_flown_are_refused_by_set_mode(either: Commanded) -> None:
    """As by DO_SET_MODE: STABILIZE of both, and a number that nobody has."""
    dialect: Dialect = either.flight.dialect
    stabilize, nobody = (7 << 16, 77 << 16) if dialect is PX4 else (0, 77)
    for custom, text in ((stabilize, "STABILIZE"), (nobody, "no ")):
        [ack] = fields(either.say("SET_MODE", base_mode=1, custom_mode=custom), "COMMAND_ACK")
        assert ack.command == 176
        assert ack.result != ACCEPTED
        assert text in either.said[-1]
    loiter = dialect.modes[Mode.HOLD].custom
    [ack] = fields(either.say("SET_MODE", base_mode=1, custom_mode=loiter), "COMMAND_ACK")
    assert ack.result == ACCEPTED


def test_an_item_to_fly_to_at_once_is_refused_by_px4(px4: Commanded) -> None:
    """DroneKit's simple_goto: PX4's mission manager drops it in silence."""
    answers = px4.say("MISSION_ITEM", command=16, current=2, frame=3, x=47.4, y=8.5, z=5.0)
    assert [ack.type for ack in fields(answers, "MISSION_ACK")] == [UNSUPPORTED]
    assert "MAV_CMD_DO_REPOSITION" in px4.said[-1]


def test_time_and_altitude_are_streamed(either: Commanded) -> None:
    rates = either.autopilot.streams.rates
    assert rates["SYSTEM_TIME"] == 1.0
    assert rates.get("ALTITUDE") == (10.0 if either.flight.dialect is PX4 else None)
    if either.flight.dialect is PX4:
        [told] = fields(either.say_command(512, 141), "ALTITUDE")
        assert told.altitude_local == pytest.approx(either.pose[2], abs=0.01)
        assert told.altitude_amsl - told.altitude_local == pytest.approx(
            ORIGIN[2] - either.flight.places.undulation, abs=0.01
        )
