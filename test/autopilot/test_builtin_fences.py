"""Geofences of the built-in autopilot, flown on the simulation: what stops where, and which targets are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from step_by_step import ORIGIN, Commanded, item

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT
from sim_node.autopilots.builtin.dialect import Dialect, Mode
from sim_node.autopilots.builtin.fence import AREAS, Fence
from sim_node.autopilots.builtin.geo_reference import GeoReference
from sim_node.autopilots.builtin.px4 import PX4
from sim_node.autopilots.builtin.settings import Settings
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.world import load

# MAV_RESULT
ACCEPTED, REJECTED, UNSUPPORTED, FAILED = 0, 1, 3, 4
POLYGON_IN, CIRCLE_OUT = 5001, 5004
NAN = float("nan")
# The braking distance from 5 m/s at 2.5 m/s², and 0.3 s until it is seen and the tilt has changed.
BRAKES = 5.0**2 / (2 * 2.5) + 0.3 * 5.0


def in_the_air(parameters: VehicleParameters, dialect: Dialect) -> Commanded:
    made = Commanded(parameters, dialect)
    if dialect is ARDUPILOT:
        made.flight.set_mode(Mode.GUIDED)
    made.flight.arm()
    made.flight.take_off(5.0)
    made.run(7.0)
    return made


@pytest.fixture(scope="module")
def parameters() -> VehicleParameters:
    world = load("guided")
    return replace(parameters_in(world, world.vehicles[0]), mission=None)


@pytest.fixture
def px4(parameters: VehicleParameters) -> Iterator[Commanded]:
    made = in_the_air(parameters, PX4)
    yield made
    made.close()


@pytest.fixture
def copter(parameters: VehicleParameters) -> Iterator[Commanded]:
    made = in_the_air(parameters, ARDUPILOT)
    yield made
    made.close()


def box(west: float, east: float, south: float, north: float) -> list[dict[str, Any]]:
    """An inclusion, as a ground station uploads it."""
    return [
        item(POLYGON_IN, 4.0, east=x, north=y) for x, y in ((west, south), (west, north), (east, north), (east, south))
    ]


def upload(flown: Commanded, *areas: list[dict[str, Any]]) -> None:
    items = [entry for area in areas for entry in area]
    answers = flown.say("MISSION_COUNT", count=len(items), mission_type=1)
    for sequence, entry in enumerate(items):
        assert answers[-1].fields.seq == sequence
        answers = flown.say("MISSION_ITEM_INT", seq=sequence, mission_type=1, **entry)
    assert [answer.fields.type for answer in answers if answer.name == "MISSION_ACK"] == [0]


def test_a_goto_that_was_under_way_is_stopped_at_the_fence(px4: Commanded) -> None:
    """GF_ACTION 2, the default: it holds, although the mode of a goto is that of holding."""
    assert px4.command_int(192, -1, 1, 0, NAN, north=60.0, east=0.0, up=5.0) == ACCEPTED
    px4.run(0.5)
    upload(px4, box(-50, 50, -50, 15))
    px4.run(12.0)
    assert 15.0 < px4.pose[1] < 15.0 + BRAKES
    assert px4.flight.mode is Mode.HOLD
    assert any("Geofence violation: approaching or outside geofence" in text for text in px4.said)


def test_a_goto_is_stopped_when_the_ground_station_is_lost(px4: Commanded) -> None:
    """NAV_DLL_ACT 1."""
    px4.flight.set_parameter(PX4.parameters["NAV_DLL_ACT"], 1)
    px4.flight.set_parameter(PX4.parameters["COM_DL_LOSS_T"], 2)
    px4.say("HEARTBEAT", type=6, autopilot=8)
    assert px4.command_int(192, -1, 1, 0, NAN, north=60.0, east=0.0, up=5.0) == ACCEPTED
    px4.run(8.0)
    assert px4.pose[1] < 5.0 * 2.2 + BRAKES


def test_px4_acknowledges_a_target_outside_and_drops_it(px4: Commanded) -> None:
    """navigator_main.cpp says so, while the commander acknowledges the command and changes the mode."""
    upload(px4, box(-10, 10, -10, 10), [item(CIRCLE_OUT, 3.0, east=0.0, north=6.0)])
    for north, up in ((60.0, 5.0), (6.0, 5.0)):
        assert px4.command_int(192, -1, 1, 0, NAN, north=north, east=0.0, up=up) == ACCEPTED
        assert px4.said[-1] == "Reposition is outside geofence"
        assert px4.flight.mode is Mode.HOLD
    px4.run(3.0)
    np.testing.assert_allclose(px4.pose[:3], [0.0, 0.0, 5.0], atol=0.3)
    assert px4.command_int(192, -1, 1, 0, NAN, north=-5.0, east=0.0, up=5.0) == ACCEPTED
    px4.run(1.0)
    assert px4.command_int(192, -1, 1, 0, NAN, north=-60.0, east=0.0, up=5.0) == ACCEPTED
    px4.run(5.0)
    np.testing.assert_allclose(px4.pose[:3], [0.0, -5.0, 5.0], atol=0.3)  # the target before stays


def test_px4_drops_altitudes_above_its_limit(px4: Commanded) -> None:
    px4.flight.set_parameter(PX4.parameters["GF_MAX_VER_DIST"], 10.0)
    sea_level = px4.flight.places.sea_level(ORIGIN[2])
    assert px4.command(186, sea_level + 20.0, 0) == ACCEPTED
    assert px4.said[-1] == "Altitude change is outside geofence"
    assert px4.command_int(192, -1, 1, 0, NAN, north=0.0, east=0.0, up=20.0) == ACCEPTED
    assert px4.said[-1] == "Reposition is outside geofence"
    px4.run(2.0)
    assert px4.pose[2] == pytest.approx(5.0, abs=0.3)
    assert px4.command(186, sea_level + 8.0, 0) == ACCEPTED
    px4.run(5.0)
    assert px4.pose[2] == pytest.approx(8.0, abs=0.4)


def test_px4_is_held_at_its_limits_of_height_and_distance(px4: Commanded) -> None:
    px4.flight.set_parameter(PX4.parameters["GF_MAX_VER_DIST"], 8.0)
    px4.flight.set_parameter(PX4.parameters["GF_MAX_HOR_DIST"], 6.0)
    for velocity, text in (
        ((0, 0, -2), "exceeding maximum altitude above Home"),
        ((2, 0, 0), "maximum distance to Home"),
    ):
        for _ in range(2):
            px4.velocity_setpoint(*velocity)
            px4.flight.set_mode(Mode.GUIDED)
        for _ in range(12):
            px4.velocity_setpoint(*velocity)
            px4.run(0.5)
        assert px4.flight.mode is Mode.HOLD
        assert any(text in said for said in px4.said)
        px4.flight.go_to(np.array([0.0, 0.0, 5.0]))
        px4.run(5.0)
    assert max(place[2] for place in px4.path) < 8.0 + 2.0**2 / 5.0 + 0.6
    assert max(place[1] for place in px4.path) < 6.0 + 2.0**2 / 5.0 + 0.6


def test_px4_flies_no_mission_that_leaves_the_fence(px4: Commanded) -> None:
    upload(px4, box(-10, 10, -10, 10))
    px4.flight.replace_mission([item(16, north=5.0, up=5.0), item(16, north=15.0, up=5.0)])
    assert px4.command(300, 0, 0) == REJECTED
    assert "Geofence violation for waypoint 2" in px4.said[-1]
    px4.flight.disarm(force=True)
    assert px4.command(300, 0, 0) == REJECTED
    assert not px4.flight.armed
    px4.flight.set_parameter(PX4.parameters["GF_MAX_VER_DIST"], 4.0)
    px4.flight.replace_mission([item(16, north=5.0, up=5.0)])
    assert px4.command(300, 0, 0) == REJECTED
    assert "Geofence violation for waypoint 1" in px4.said[-1]


def test_arducopters_fence_has_to_be_enabled(copter: Commanded) -> None:
    """FENCE_ENABLE is 0 by default; DO_FENCE_ENABLE until the next start. As GCS_Fence.cpp."""
    assert copter.command(207, 1, 4) == FAILED  # no polygon
    upload(copter, box(-50, 50, -50, 15))
    assert copter.command_int(192, -1, 1, 0, 0, north=20.0, east=0.0, up=5.0) == ACCEPTED
    assert copter.command(207, 1) == ACCEPTED
    assert copter.command_int(192, -1, 1, 0, 0, north=20.0, east=0.0, up=5.0) == FAILED
    assert copter.command(207, 0, 4) == ACCEPTED  # the polygon alone
    assert copter.command_int(192, -1, 1, 0, 0, north=20.0, east=0.0, up=5.0) == ACCEPTED
    assert copter.command_int(192, -1, 1, 0, 0, north=20.0, east=0.0, up=120.0) == FAILED  # FENCE_ALT_MAX 100
    assert copter.command_int(192, -1, 1, 0, 0, north=320.0, east=0.0, up=5.0) == FAILED  # FENCE_RADIUS 300
    assert copter.command(207, 2) == FAILED  # a floor
    copter.flight.set_parameter(ARDUPILOT.parameters["FENCE_ENABLE"], 1)
    assert copter.command_int(192, -1, 1, 0, 0, north=20.0, east=0.0, up=5.0) == FAILED


def test_arducopter_breaks_its_fence_and_returns(copter: Commanded) -> None:
    """FENCE_ACTION 1, the default. FENCE_STATUS and SYS_STATUS say so."""
    assert copter.command_int(192, -1, 1, 0, 0, north=40.0, east=0.0, up=5.0) == ACCEPTED
    copter.run(1.0)
    upload(copter, box(-50, 50, -50, 15))
    copter.flight.set_parameter(ARDUPILOT.parameters["FENCE_ENABLE"], 1)
    copter.run(4.5)
    assert copter.flight.mode is Mode.RETURN
    assert "Polygon fence breached: RTL" in copter.said
    [status] = [answer for answer in copter.say_command(512, 162) if answer.name == "FENCE_STATUS"]
    assert (status.fields.breach_status, status.fields.breach_count, status.fields.breach_type) == (1, 1, 3)
    [status] = [answer for answer in copter.say_command(512, 1) if answer.name == "SYS_STATUS"]
    assert not status.fields.onboard_control_sensors_health & 0x100000
    copter.run(8.0)
    assert copter.pose[1] < 15.0


def test_arducopter_refuses_positions_outside_of_any_inclusion(copter: Commanded) -> None:
    """AC_PolyFence_loader takes the intersection, unless FENCE_OPTIONS has bit 1."""
    upload(copter, box(-50, 50, -50, 30), box(-50, 50, -20, 90))
    copter.flight.set_parameter(ARDUPILOT.parameters["FENCE_ENABLE"], 1)
    place = {"x": 60.0, "y": 0.0, "z": -5.0}
    copter.say("SET_POSITION_TARGET_LOCAL_NED", coordinate_frame=1, type_mask=0x0DF8, **place)
    assert copter.said[-1] == "setpoint ignored: outside of the geofence: Polygon fence breached"
    copter.run(2.0)
    assert copter.pose[1] == pytest.approx(0.0, abs=0.2)
    copter.flight.set_parameter(ARDUPILOT.parameters["FENCE_OPTIONS"], 2)
    copter.say("SET_POSITION_TARGET_LOCAL_NED", coordinate_frame=1, type_mask=0x0DF8, **place)
    copter.run(18.0)
    assert copter.pose[1] == pytest.approx(60.0, abs=0.6)
    assert copter.flight.mode is Mode.GUIDED


# Takes seconds: make test has the velocities of rovers at a fence in test_builtin_rover.py, and fences of copters
# below.
@pytest.mark.nightly
def test_arducopters_velocities_end_before_the_fence(copter: Commanded) -> None:
    """AC_Avoid stops FENCE_MARGIN (2 m) before the edge and slides along it; the real one stopped at 27.6 of 30 m."""
    upload(copter, box(-50, 50, -50, 30), box(-50, 50, -20, 90))
    copter.flight.set_parameter(ARDUPILOT.parameters["FENCE_ENABLE"], 1)
    for _ in range(16):
        copter.velocity_setpoint(4.0, 0.5, -0.2)
        copter.run(1.0)
    assert copter.pose[1] == pytest.approx(28.0, abs=0.5)
    assert max(place[1] for place in copter.path) < 28.5
    assert copter.pose[0] == pytest.approx(8.0, abs=1.0)  # 0.5 m/s
    assert copter.flight.mode is Mode.GUIDED
    copter.flight.set_parameter(ARDUPILOT.parameters["FENCE_ALT_MAX"], 20.0)
    for _ in range(10):
        copter.velocity_setpoint(0.0, 0.0, -3.0)
        copter.run(1.0)
    assert copter.pose[2] == pytest.approx(18.0, abs=0.4)
    copter.flight.set_parameter(ARDUPILOT.parameters["FENCE_ACTION"], 0)
    copter.flight.set_parameter(ARDUPILOT.parameters["FENCE_ALT_MAX"], 16.0)
    for up in (1.0, -2.0, -2.0):  # above it: no further up, and freely down
        copter.velocity_setpoint(0.0, 0.0, -up)
        copter.run(2.0)
    assert max(place[2] for place in copter.path) < 18.6
    assert copter.pose[2] < 13.0


def test_nobody_arms_outside(parameters: VehicleParameters) -> None:
    """Geofence checks of both before arming."""
    for dialect in (PX4, ARDUPILOT):
        flown = Commanded(parameters, dialect)
        upload(flown, [item(CIRCLE_OUT, 3.0)])
        if dialect is ARDUPILOT:
            flown.flight.set_parameter(ARDUPILOT.parameters["FENCE_ENABLE"], 1)
        assert flown.command(400, 1) == REJECTED
        flown.flight.set_parameter(dialect.parameters["GF_ACTION" if dialect is PX4 else "FENCE_ENABLE"], 0)
        assert flown.command(400, 1) == ACCEPTED
        flown.close()


COORDINATES = st.floats(-40.0, 40.0).map(lambda value: round(value, 2))


@given(st.lists(st.tuples(COORDINATES, COORDINATES), min_size=3, max_size=8), COORDINATES, COORDINATES)
def test_inside_is_where_the_corners_wind_round_an_odd_number_of_times(
    parameters: VehicleParameters, corners: list[tuple[float, float]], east: float, north: float
) -> None:
    """Even-odd, as Polygon_outside of ArduPilot and insidePolygon of PX4; here by the sum of the angles."""
    places = GeoReference(parameters)
    fence = Fence([item(POLYGON_IN, float(len(corners)), east=x, north=y) for x, y in corners], places)
    place = np.array([east, north, 0.0])
    outside = fence.breaches(place, AREAS, Settings(1.0, 1.0, 1.0))
    rays = np.array([complex(x - east, y - north) for x, y in corners])
    edges = np.linspace(rays, np.roll(rays, -1), 2001)
    away = float(np.abs(edges).min())
    if away > 0.1:
        turns = round(float(np.angle(np.roll(rays, -1) / rays).sum()) / (2.0 * np.pi))
        assert bool(outside) is (turns % 2 == 0)
        distance = outside.get(
            AREAS, fence.barriers(place, AREAS, Settings(1.0, 1.0, 1.0)).distances.min(initial=np.inf)
        )
        assert distance == pytest.approx(away, abs=0.05)
