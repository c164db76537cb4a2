"""A short share of `make stress`: kept seeds and some inputs for each door, always the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from nightly import rows

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

from waiting import PATIENCE

from stress import doors
from stress.doors import node
from stress.doors.builtin import Running
from stress.feeding import feed, made
from stress.keeping import SEEDS, kept

# So few that hardly one takes half a second; the full numbers are in stress/doors.
SHARE = {
    "worlds": 15,
    "csv": 40,
    "x_xy": 15,
    "mjcf": 15,
    "urdf": 15,
    "openplx": 15,
    "sdf": 15,
    "missions": 100,
    "tlogs": 50,
    "mcap": 25,
    "sqlite": 30,
    "tf": 800,
    "sensors": 200,
    "bridge": 1500,
    "builtin_ground": 400,
    "builtin_ground_px4": 400,
    "builtin_simulator": 400,
    "px4": 2500,
    "ardupilot": 4000,
    "viewer": 400,
    "node": 100,
}
# Doors whose inputs are only sent: whether they were of use shows in `settle`.
SENT = {"bridge", "builtin_ground", "builtin_ground_px4", "builtin_simulator", "px4", "ardupilot"}


def test_each_door_has_a_share() -> None:
    assert SHARE.keys() == doors.DOORS.keys()
    assert {path.name for path in SEEDS.iterdir()} <= SHARE.keys()


# One of what each kind of door takes: text, records, messages, packets, models.
@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("name", rows(SHARE, {"csv", "mcap", "tf", "bridge", "openplx"}))
def test_a_door_survives(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # How soon a node answers and ends is for `make stress`: here it has to do so at all.
    monkeypatch.setattr(node, "ANSWER_S", PATIENCE)
    monkeypatch.setattr(node, "END_S", PATIENCE)
    door = doors.opened(name, tmp_path)
    try:
        outcome = feed(door, name, range(SHARE[name]), 7, kept(name))
    finally:
        door.close()
    assert not outcome.finds, "\n".join(f"{find.what}\n{find.trace}" for find in outcome.finds)
    assert outcome.fed >= SHARE[name]
    # Or the inputs would show nothing: some are as good as sound, some are not.
    assert name in SENT or len([what for what in outcome.results if not what.startswith("seed ")]) > 1


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("name", ["worlds", "mcap", "sqlite", "sensors", "bridge", "viewer"])
def test_inputs_are_the_same_again(name: str, tmp_path: Path) -> None:
    """Or a find could not be repeated."""
    found = []
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        door = doors.opened(name, tmp_path / folder)
        try:
            seeds = list(door.seeds())
            if name != "viewer":  # whose seeds have a port in them
                found.append([made(door, name, seeds, 3, number) for number in range(30)])
            else:
                found.append([made(door, name, seeds[2:], 3, number) for number in range(30)])
        finally:
            door.close()
    assert found[0] == found[1]


def test_a_question_to_the_built_in_autopilot_that_is_lost_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a datagram may be on a busy machine: nothing was wrong with the autopilot."""
    running, lost = Running(), list[bytes]()
    sends = running.say
    monkeypatch.setattr(running, "say", lambda data: sends(data) if lost else lost.append(data))
    try:
        running.asked(1)
    finally:
        running.stop()
    assert lost
