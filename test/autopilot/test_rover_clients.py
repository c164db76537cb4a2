"""The built-in autopilot's rover driven by clients that others wrote, checked against the simulation's ground truth."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from claims import free_port
from flying_clients import EAST, LATITUDE, LONGITUDE, NORTH, ROVER, Flown
from strangers import Client, environment_of
from test_clients import GROUND_PORT, Check, listed, nothing

from sim_node.autopilots.builtin.px4 import PX4_ROVER

# What the clients ask for: degrees from home, here in m.
AHEAD, ASIDE = 4.5e-5 * NORTH, 6.5e-5 * EAST
NEAR = 0.3


def at(north: float, east: float, within: float = NEAR) -> Check:
    def check(driven: Flown, found: dict[str, Any]) -> None:
        driven.until(
            lambda: (
                math.dist(driven.place[:2], (east, north)) < within and float(np.abs(driven.velocity()).max()) < 0.05
            ),
            f"at rest {north:g} m north, {east:g} m east",
        )

    return check


def moving(north: float, east: float) -> Check:
    return lambda driven, found: driven.until_moving(east, north, 0.0, 0.05)


def at_rest(driven: Flown, found: dict[str, Any]) -> None:
    driven.until(lambda: np.abs(driven.velocity()).max() < 0.02, "at rest")


def on_an_arc(rate: float) -> Check:
    """1 m/s and a yaw rate in degrees per second, clockwise: v / R, by the yaw a second apart."""

    def check(driven: Flown, found: dict[str, Any]) -> None:
        def turns() -> bool:
            now = len(driven.path)
            before = next((row for row in driven.path[now - 70 : now] if row[0] >= driven.path[-1][0] - 1.0), None)
            if before is None or now < 70:
                return False
            turned = math.remainder(driven.yaw - yaw_of(before), 360.0) / (driven.path[-1][0] - before[0])
            return abs(turned - rate) < 1.0 and abs(float(np.hypot(*driven.velocity()[:2])) - 1.0) < 0.05

        driven.until(turns, f"{rate:g} degrees per second at 1 m/s")

    return check


def yaw_of(row: np.ndarray) -> float:
    x, y, z, w = row[4:]
    return (90.0 - math.degrees(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))) % 360.0


def parameters(driven: Flown, found: dict[str, Any]) -> None:
    assert found["value"] == 1.5
    if "count" in found:
        assert (found["type"], found["count"]) == (10, len(PX4_ROVER.parameters))


def refused(driven: Flown, found: dict[str, Any]) -> None:
    assert "UNSUPPORTED" in found["text"]


def transferred(driven: Flown, found: dict[str, Any]) -> None:
    items = np.array([item[:2] for item in found["items"]])[-2:]
    assert items[-1] == pytest.approx([LATITUDE + 4.5e-5, LONGITUDE + 6.5e-5], abs=4e-6)


def driven_in_order(driven: Flown, found: dict[str, Any]) -> None:
    at(AHEAD, ASIDE)(driven, found)
    path = np.array([row[1:3] for row in driven.path])
    last = int(np.flatnonzero(np.hypot(path[:, 0], path[:, 1] - AHEAD) < NEAR)[-1])
    assert last < int(np.flatnonzero(np.hypot(path[:, 0] - ASIDE, path[:, 1] - AHEAD) < NEAR)[-1])


MAVSDK: dict[str, Check] = {
    "connect": nothing,
    "health": nothing,
    "parameters": parameters,
    "refusal": refused,
    "arm": nothing,
    "goto": at(AHEAD, 0),
    "hold": at_rest,
    "offboard position": at(5, 3),
    "offboard velocity": moving(0.0, -1.0),
    "offboard body velocity": on_an_arc(30.0),
    "offboard stop": at_rest,
    "mission transfer": transferred,
    "mission": driven_in_order,
    "return": at(0, 0),
    "disarm": at_rest,
}
DRONEKIT: dict[str, Check] = {
    "connect": nothing,
    "health": nothing,
    "parameters": parameters,
    "arm": nothing,
    "goto": at(AHEAD, 0),
    "goto slowly": at(0, 0),
    "velocity": on_an_arc(math.degrees(0.5)),
    "hold": at_rest,
    "mission transfer": transferred,
    "mission": driven_in_order,
    "return": at(0, 0),
    "disarm": at_rest,
}
CLIENTS = {
    "mavsdk": ("px4", "mavsdk_rover_client.py", MAVSDK),
    "dronekit": ("ardupilot", "dronekit_rover_client.py", DRONEKIT),
}


@pytest.mark.peers
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_drives_it(name: str, tmp_path: Path) -> None:
    python = environment_of(name)
    like, script, checks = CLIENTS[name]
    driven = Flown(tmp_path, like, text=ROVER)
    port = GROUND_PORT + driven.instance
    address = f"udpin://127.0.0.1:{port}" if like == "px4" else f"127.0.0.1:{port}"
    client = Client(python, script, address, str(free_port()))
    try:
        for what, check in checks.items():
            found = client.next(what)
            check(driven, found)
            client.go_on()
        assert client.end() == 0
    finally:
        client.close()
        driven.stop()


def test_the_page_lists_what_each_client_is_tested_with() -> None:
    assert listed("Function of a rover") == {name: set(checks) for name, (_, _, checks) in CLIENTS.items()}
