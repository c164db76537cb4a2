"""Missions: files, their faults, and the protocol with an autopilot that loses messages."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pymap3d
import pytest
from claims import free_port
from mission_links import ArduPilotUpload, DelayedLink, Holder, Px4Upload, ack
from peer import HOME, PX4, peer
from running import running

from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.mission import Clear, Download, Upload, as_json, read_plan
from sim_node.mavlink.mission.items import KINDS
from sim_node.mavlink.mission.plan import as_messages, from_messages
from sim_node.mavlink.telemetry import Home
from sim_node.mavlink.transaction import Outgoing, Transaction
from sim_node.spatial.frames import Ned
from sim_node.world import WorldError

AT = Home(*HOME, Ned((0.0, 0.0, 0.0)))
SURVEY = """
frame: enu
items:
  - {type: takeoff, height: 10}
  - {type: speed, speed: 4}
  - {type: waypoint, position: [100, 0, 10], hold: 2, radius: 1.5, yaw_deg: 90}
  - {type: waypoint, position: [100, 50, 12]}
  - {type: loiter, position: [0, 50, 12], hold: 5}
  - {type: land, position: [0, 0, 0]}
"""


def test_places_east_north_up_of_home_become_degrees() -> None:
    """pymap3d is the oracle; a degree of latitude is 111 km, so 1e-7 of it a centimetre."""
    messages = as_messages(read_plan(SURVEY, "survey.yaml"), AT, PX4)
    assert [message["command"] for message in messages] == [22, 178, 16, 16, 19, 21]
    assert [message["seq"] for message in messages] == list(range(6))
    for index, enu in ((2, (100, 0, 10)), (3, (100, 50, 12)), (4, (0, 50, 12)), (5, (0, 0, 0))):
        latitude, longitude, altitude = pymap3d.enu2geodetic(*enu, *HOME)
        message = messages[index]
        assert message["x"] == pytest.approx(latitude * 1e7, abs=1)
        assert message["y"] == pytest.approx(longitude * 1e7, abs=1)
        assert message["z"] == pytest.approx(altitude - HOME[2], abs=1e-6)
        assert message["frame"] == 6
    waypoint = messages[2]
    assert (waypoint["param1"], waypoint["param2"]) == (2.0, 1.5)
    assert math.cos(math.radians(waypoint["param4"])) == pytest.approx(1.0), "north: 90 degrees off east"
    assert math.isnan(messages[3]["param4"]), "left to the autopilot"


@pytest.mark.parametrize("autopilot", [PX4, 3])
def test_what_has_no_place_has_no_frame_of_one(autopilot: int) -> None:
    """PX4 refuses DO_CHANGE_SPEED and RETURN_TO_LAUNCH in any other frame (mavlink_mission.cpp): unsupported."""
    plan = read_plan("frame: enu\nitems: [{type: takeoff, height: 5}, {type: speed, speed: 4}, {type: return}]", "m")
    frames = {message["command"]: message["frame"] for message in as_messages(plan, AT, autopilot)}
    assert (frames[22], frames[178], frames[20]) == (6, 2, 2)


def test_px4_lands_where_the_last_item_was() -> None:
    """To PX4 a latitude and longitude of 0 are a place in the Gulf of Guinea; ArduPilot lands where it is."""
    text = "frame: enu\nitems: [{type: waypoint, position: [100, 50, 12]}, {type: land}]"
    waypoint, land = as_messages(read_plan(text, "m"), AT, PX4)
    assert (land["x"], land["y"]) == pytest.approx((waypoint["x"], waypoint["y"]), abs=1)
    _, _, land = as_messages(read_plan(text, "m"), AT, 3)
    assert (land["x"], land["y"]) == (0, 0)
    (land,) = as_messages(read_plan("frame: lla\nitems: [{type: land}]", "m"), AT, PX4)
    assert (land["x"], land["y"]) == (473977420, 85455940)


def test_ardupilots_first_item_is_home() -> None:
    messages = as_messages(read_plan(SURVEY, "survey.yaml"), AT, 3)
    assert len(messages) == 7
    assert (messages[0]["x"], messages[0]["y"], messages[0]["z"]) == (473977420, 85455940, 0.0)
    assert messages[1]["command"] == 22


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "m.yaml: is empty"),
        ("frame: ned\nitems: [{type: return}]", "m.yaml:1:8: frame: found 'ned'; allowed: enu, lla"),
        ("frame: enu\nitems: []", "m.yaml:2:8: items: is empty"),
        ("frame: enu\nitems: [{type: waypont, position: [0, 0, 1]}]", "did you mean waypoint?"),
        ("frame: enu\nitems: [{type: waypoint, position: [0, 0]}]", "items[0].position: a list of 3 numbers"),
        ("frame: enu\nitems: [{type: waypoint}]", "items[0]: position is missing"),
        ("frame: enu\nitems: [{type: return, hold: 2}]", "items[0].hold: unknown key"),
        ("frame: enu\nitems: [{type: takeoff, height: .nan}]", "items[0].height: .nan is not a finite number"),
        ("frame: lla\nitems: [{type: waypoint, position: [8.5, 447.3, 10]}]", "needs [-90, 90] and [-180, 180]"),
        ("frame: enu\nitems: [{type: waypoint, position: [0, 0, 1e9]}]", "items[0].position[2]"),
        ("{", "not YAML"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, words: str) -> None:
    with pytest.raises(WorldError) as fault:
        read_plan(text, "m.yaml")
    assert words in str(fault.value)


def test_json_is_read_too() -> None:
    plan = read_plan(json.dumps({"frame": "lla", "items": [{"type": "waypoint", "position": [47.4, 8.5, 10]}]}), "m")
    assert plan.items[0].place == (47.4, 8.5, 10.0)


@pytest.mark.parametrize("autopilot", [3, PX4])
def test_what_goes_up_comes_down_though_messages_are_lost(autopilot: int) -> None:
    port = free_port()
    plan = read_plan(SURVEY, "survey.yaml")
    with running(f"udpin:127.0.0.1:{port}") as bridge, peer(port, autopilot=autopilot) as vehicle:
        vehicle.drop_requests = 1
        up = bridge.ask(lambda _: Upload(as_messages(plan, AT, autopilot)))
        assert up.ok, up
        assert len(vehicle.mission) == 7 - (autopilot == PX4)
        vehicle.drop_requests = 1
        down = bridge.ask(lambda _: Download())
        assert down.ok, down
        text = as_json(from_messages(down.value, autopilot))
        again = as_messages(read_plan(text, "down.json"), AT, autopilot)
        for ours, theirs in zip(as_messages(plan, AT, autopilot), again, strict=True):
            assert ours.keys() == theirs.keys()
            for key in ours:
                assert ours[key] == pytest.approx(theirs[key], abs=1e-5, nan_ok=True), key
        assert bridge.ask(lambda _: Clear()).ok
        assert bridge.ask(lambda _: Download()).value == []


# Round trip (s), part of the messages that is lost, part that arrives twice.
LINKS = {
    "everything twice": (0.02, 0.0, 1.0),
    "2 s": (2.0, 0.0, 0.0),
    "a fifth lost": (0.05, 0.2, 0.0),
    "2 s, a fifth lost, a tenth twice": (2.0, 0.2, 0.1),
    "5 s": (5.0, 0.0, 0.0),
    "5 s, a fifth lost, a tenth twice": (5.0, 0.2, 0.1),
}


def items(count: int) -> list[dict[str, int]]:
    return [{"seq": seq, "x": 1000 + seq} for seq in range(count)]


@pytest.mark.parametrize(
    ("autopilot", "round_trip", "loss", "copies"),
    [
        pytest.param(autopilot, *link, id=f"{name}, {words}")
        for name, autopilot in (("ArduPilot", ArduPilotUpload), ("PX4", Px4Upload))
        for words, link in LINKS.items()
        # PX4 itself gives up after five seconds without an item.
        if not (name == "PX4" and link[0] == 5.0)
    ],
)
@pytest.mark.parametrize("seed", range(8))
def test_an_upload_survives_the_link(autopilot: type, round_trip: float, loss: float, copies: float, seed: int) -> None:
    """In simulated time, with the rules by which both autopilots receive."""
    receiver, upload = autopilot(), Upload(items(1 + 2 * seed))
    DelayedLink(round_trip, loss, copies, seed).run(upload, receiver, limit=1800.0)
    assert upload.result == (True, f"{1 + 2 * seed} items", None)
    assert receiver.mission == [1000 + seq for seq in range(1 + 2 * seed)]


class Resumed(Transaction):
    """An upload that goes on in another object, of what was written of it, after each call."""

    def __init__(self, upload: Upload) -> None:
        self._written = json.dumps(upload.state())

    def _step(self, call: Callable[[Upload], list[Outgoing]]) -> list[Outgoing]:
        upload = Upload(())
        upload.put_state(json.loads(self._written))
        found = call(upload)
        self._written, self.result = json.dumps(upload.state()), upload.result
        return found

    def start(self, now_ns: int) -> list[Outgoing]:
        return self._step(lambda upload: upload.start(now_ns))

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        return self._step(lambda upload: upload.receive(message, now_ns))

    def tick(self, now_ns: int) -> list[Outgoing]:
        return self._step(lambda upload: upload.tick(now_ns))


@pytest.mark.parametrize(("round_trip", "loss", "copies"), LINKS.values(), ids=LINKS)
def test_an_upload_goes_on_from_its_state(round_trip: float, loss: float, copies: float) -> None:
    """To the tick as if it had stayed what it was."""
    receivers = ArduPilotUpload(), ArduPilotUpload()
    uploads = Upload(items(7)), Resumed(Upload(items(7)))
    took = [
        DelayedLink(round_trip, loss, copies, 3).run(upload, receiver, limit=1800.0)
        for upload, receiver in zip(uploads, receivers, strict=True)
    ]
    assert took[0] == took[1]
    assert uploads[0].result == uploads[1].result == (True, "7 items", None)
    assert receivers[1].mission == [1000 + seq for seq in range(7)]


@pytest.mark.parametrize("round_trip", [0.02, 2.0, 5.0])
@pytest.mark.parametrize("loss", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_a_download_survives_the_link(round_trip: float, loss: float, seed: int) -> None:
    download = Download()
    DelayedLink(round_trip, loss, 0.1, seed).run(download, Holder(list(range(50, 70))), limit=1800.0)
    assert download.result is not None
    assert download.result.ok
    assert [item.x for item in download.result.value] == list(range(50, 70))


def test_a_slow_link_is_not_flooded() -> None:
    """A request is repeated while its answer is under way, until the delay is known."""
    holder = Holder(list(range(20)))
    DelayedLink(2.0).run(Download(), holder, limit=300.0)
    assert holder.requests == ["MISSION_REQUEST_LIST", "MISSION_REQUEST_LIST", *["MISSION_REQUEST_INT"] * 20]


@pytest.mark.parametrize(("result", "words"), [(4, "no space"), (2, "unsupported frame"), (14, "denied")])
def test_a_refusal_ends_an_upload_at_once(result: int, words: str) -> None:
    upload = Upload(items(3))
    upload.start(0)
    message = MavlinkMessage(1, 1, 0, "MISSION_ACK", SimpleNamespace(type=result, mission_type=0), b"")
    assert upload.receive(message, 1) == []
    assert upload.result == (False, words, None)


def test_an_error_that_stays_is_the_result() -> None:
    """MAV_MISSION_ERROR may be about a copy, so that the list is sent again before it is believed."""

    class Broken(Px4Upload):
        def receive(self, name: str, fields: Any, now_ns: int) -> list[Outgoing]:
            return [ack(1)]

    upload = Upload(items(3))
    assert DelayedLink(0.02).run(upload, Broken(), limit=60.0) < 15.0
    assert upload.result == (False, "error", None)


def test_an_autopilot_that_does_not_answer_is_given_up_on() -> None:
    """In simulated time: nothing waits."""
    upload = Upload([{"seq": 0}, {"seq": 1}])
    assert upload.start(0)[0][0] == "MISSION_COUNT"
    assert upload.tick(1_400_000_000) == []
    assert upload.tick(1_600_000_000)[0][0] == "MISSION_COUNT"
    upload = Upload(items(2))
    assert DelayedLink(0.02, loss=1.0).run(upload, Px4Upload(), limit=60.0) > 20.0
    assert upload.result is not None
    assert upload.result.text.startswith("no answer after ")


def test_every_token_of_a_mission_counts_or_is_refused() -> None:
    """Names, words and numbers of the project's own format: another one is another mission, or a fault."""
    survey = f"{SURVEY}  - {{type: return}}\n"
    tokens = list(re.finditer(r"[A-Za-z_]+|-?[\d.]+", survey))
    known = {*KINDS, *(key for each in KINDS.values() for key in each.keys)}
    assert known <= {found[0] for found in tokens}, "every kind of item, with all of its keys"
    before = as_messages(read_plan(survey, "m"), AT, PX4)
    silent = []
    for found in tokens:
        other = f"{float(found[0]) + 1.5:g}" if found[0][0] in "-.0123456789" else f"{found[0]}q"
        try:
            plan = read_plan(survey[: found.start()] + other + survey[found.end() :], "m")
        except WorldError:
            continue
        # Heights of takeoff are in z, which is compared with NaN beside it.
        if repr(as_messages(plan, AT, PX4)) == repr(before) and not plan.unread:
            silent.append(found[0])
    assert silent == []
