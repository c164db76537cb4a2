"""The built-in autopilot flown by clients that others wrote, checked against the simulation's ground truth.

Each client runs in an environment of its own, .venv/peers/NAME, which `make test-peers` sets up; pymavlink, which is
needed anyway, in this one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from claims import free_port
from flying_clients import ALTITUDE, EAST, GEOID, LATITUDE, LONGITUDE, NORTH, STANDS, Flown
from strangers import ROOT, Client, environment_of

from sim_node.autopilots.builtin.px4 import PX4

PAGE = (ROOT / "docs" / "autopilot.md").read_text(encoding="utf-8")
Check = Callable[[Flown, dict[str, Any]], None]
GROUND_PORT = 14540


def at(north: float, east: float, up: float, within: float = 0.3) -> Check:
    """Above home, m."""
    return lambda flown, found: flown.until_at(east, north, STANDS + up, within)


def moving(north: float, east: float, up: float = 0.0) -> Check:
    return lambda flown, found: flown.until_moving(east, north, up)


def nothing(flown: Flown, found: dict[str, Any]) -> None:
    """What the client itself has waited for."""


def landed(flown: Flown, found: dict[str, Any]) -> None:
    flown.until_at(0.0, 0.0, STANDS, 0.3)


def parameters(flown: Flown, found: dict[str, Any]) -> None:
    assert found["floats"] == [4.0, 4.0]
    assert found["ints"] == [10016, 17]
    assert "NO_SUCH" in found["unknown"]
    assert found["count"] == len(PX4.parameters)


def sent_there(flown: Flown, found: dict[str, Any]) -> None:
    north, east = (found["latitude"] - LATITUDE) * NORTH, (found["longitude"] - LONGITUDE) * EAST
    flown.until_at(east, north, found["height"] + STANDS)
    flown.until(lambda: abs(flown.yaw - 90.0) < 3.0, "looking east")


def refused(flown: Flown, found: dict[str, Any]) -> None:
    assert "COMMAND_DENIED" in found["text"]
    assert flown.place[2] == pytest.approx(STANDS, abs=0.02)


def home(flown: Flown, found: dict[str, Any]) -> None:
    """MAVLink's home is above mean sea level, the world's origin above the ellipsoid."""
    assert found["home"][:2] == pytest.approx([LATITUDE, LONGITUDE], abs=1e-6)
    assert found["home"][2] == pytest.approx(ALTITUDE - GEOID + STANDS, abs=0.3)


def transferred(flown: Flown, found: dict[str, Any]) -> None:
    """DroneKit's are floats of 32 bits, half a metre apart."""
    items = np.array(found["items"])[-2:]
    sent = [[LATITUDE + 9e-5, LONGITUDE, 5.0], [LATITUDE + 9e-5, LONGITUDE + 1.3e-4, 6.0]]
    np.testing.assert_allclose(items, sent, rtol=0.0, atol=4e-6)


def finished(flown: Flown, found: dict[str, Any]) -> None:
    assert found["finished"]
    at(10.0, 9.8, 6.0, 0.5)(flown, found)


def returning(flown: Flown, found: dict[str, Any]) -> None:
    flown.until(lambda: flown.place[2] > STANDS + 6.5, "at the height of the return, 7 m")


def backwards(flown: Flown, found: dict[str, Any]) -> None:
    """Nose down at half thrust; 5 degrees accelerate by g tan 5 degrees."""
    before = flown.velocity(0.1)[0]
    flown.until(lambda: flown.velocity(0.1)[0] > before + 0.3, "flying east, where it is tilted to")


def turning(flown: Flown, found: dict[str, Any]) -> None:
    flown.until(lambda: 0.7 < np.linalg.norm(flown.velocity()[:2]) < 1.3, "1 m/s ahead")
    yaw = flown.yaw
    flown.until(lambda: 20.0 < (flown.yaw - yaw) % 360.0 < 60.0, "turning clockwise")


def near(north: float, east: float, up: float) -> Check:
    return at(north, east, up, 1.2)


def looking(degrees: float) -> Check:
    return lambda flown, found: flown.until(lambda: abs(flown.yaw - degrees) < 3.0, f"looking to {degrees:g}")


def set_to(value: float) -> Check:
    def check(flown: Flown, found: dict[str, Any]) -> None:
        assert found["value"] == value

    return check


def four_north_one_up(flown: Flown, found: dict[str, Any]) -> None:
    """`position 4 0 -1` is ahead, and it looks east."""
    begin = flown.place.copy()
    flown.until(lambda: abs(flown.place[2] - begin[2] - 1.0) < 0.3, "a metre up")


MAVSDK: dict[str, Check] = {
    "connect": nothing,
    "health": home,
    "parameters": parameters,
    "refusal": refused,
    "arm": at(0, 0, 0),
    "takeoff": at(0, 0, 4),
    "goto": sent_there,
    "hold": lambda flown, found: flown.until(lambda: np.linalg.norm(flown.velocity()) < 0.1, "at rest"),
    "offboard position": at(0, 5, 5),
    "offboard velocity": moving(1.5, -1.0),
    "offboard body velocity": turning,
    "offboard attitude": backwards,
    "offboard stop": at(0, 0, 5),
    "mission transfer": transferred,
    "mission": finished,
    "geofence": nothing,
    "return": returning,
    "landed": landed,
    "land": landed,
}
DRONEKIT: dict[str, Check] = {
    "connect": nothing,
    "health": nothing,
    "parameters": set_to(700.0),
    "arm": at(0, 0, 0),
    "takeoff": at(0, 0, 4),
    "goto": near(10.0, 0.0, 5.0),
    "goto slowly": near(0.0, 9.8, 6.0),
    "velocity": moving(1.5, -1.0),
    "yaw": looking(210.0),
    "mission transfer": transferred,
    "mission": near(10.0, 9.8, 6.0),
    "return": returning,
    "landed": landed,
    "land": landed,
}
MAVPROXY: dict[str, Check] = {
    "connect": nothing,
    "parameters": set_to(700.0),
    "geofence": nothing,
    "arm": at(0, 0, 0),
    "takeoff": at(0, 0, 4),
    "goto": at(10, 0, 5),
    "velocity": moving(1.0, 1.5),  # along the body, which looks east
    "position": four_north_one_up,
    "yaw": looking(210.0),
    "mission transfer": nothing,
    "mission change": nothing,
    "mission": near(10.0, 9.8, 6.0),
    "return": returning,
    "landed": landed,
    "takeoff again": at(0, 0, 3),
    "land": landed,
}
PYMAVLINK: dict[str, Check] = {
    "connect": nothing,
    "parameters": set_to(4.0),
    "arm": nothing,
    "takeoff": at(0, 0, 4),
    "goto": at(10.0, 0.0, 5.0),
    "mission transfer": transferred,
    "mission": at(10.0, 9.8, 6.0, 0.6),
    "return": returning,
    "landed": landed,
}
# By client: the dialect that it flies, its program, and what it does.
CLIENTS: dict[str, tuple[str, str, dict[str, Check]]] = {
    "mavsdk": ("px4", "mavsdk_client.py", MAVSDK),
    "mavsdk-grpc": ("px4", "mavsdk_client.py", MAVSDK),
    "mavproxy": ("ardupilot", "mavproxy_client.py", MAVPROXY),
    "dronekit": ("ardupilot", "dronekit_client.py", DRONEKIT),
    "pymavlink": ("px4", "pymavlink_client.py", PYMAVLINK),
}
# Those that are installed with the tests.
HERE = ("pymavlink",)


@contextmanager
def flown_by(name: str, folder: Path) -> Iterator[tuple[Flown, Client]]:
    python = Path(sys.executable) if name in HERE else environment_of(name)
    like, script, _ = CLIENTS[name]
    flown = Flown(folder, like)
    port = GROUND_PORT + flown.instance
    address = f"udpin://127.0.0.1:{port}" if like == "px4" else f"127.0.0.1:{port}"
    client = Client(python, script, address, str(free_port()))
    try:
        yield flown, client
    finally:
        client.close()
        flown.stop()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in HERE else [pytest.mark.peers]) for name in CLIENTS]
)
def test_a_client_flies_it(name: str, tmp_path: Path) -> None:
    with flown_by(name, tmp_path) as (flown, client):
        for what, check in CLIENTS[name][2].items():
            found = client.next(what)
            check(flown, found)
            client.go_on()
        assert client.end() == 0


def listed(title: str) -> dict[str, set[str]]:
    """What each client does by a table of docs/autopilot.md: functions by clients."""
    table = re.search(rf"^\| {title} \|(.*)\|\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert table
    names = [cell.strip() for cell in table[1].split("|")]
    found: dict[str, set[str]] = {name: set() for name in names}
    for line in table[2].splitlines():
        function, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for name, cell in zip(names, cells, strict=True):
            assert cell in ("yes", "")
            if cell:
                found[name].add(function)
    return found


def test_the_page_lists_what_each_client_is_tested_with() -> None:
    assert listed("Function") == {name: set(does) for name, (_, _, does) in CLIENTS.items()}
