"""Every failsafe of the built-in autopilot in every mode, at every task: a generated table.

What is expected comes from the sources that are imitated:
- PX4 (src/modules/commander/failsafe): failsafe.cpp has the actions of NAV_DLL_ACT, GF_ACTION and COM_LOW_BAT_ACT, and
  that a landing ignores the loss of the ground station; framework.cpp (getSelectedAction) that the worst action wins,
  and that neither a return nor a landing becomes a return.
- Rover: fence.cpp and failsafe.cpp (failsafe_trigger), by which neither RTL nor HOLD is interrupted by the loss of the
  ground station.
- ArduCopter: fence.cpp (fence_check) and events.cpp (handle_battery_failsafe, failsafe_gcs_on_event), which change the
  mode, whatever it is; but LOITER goes on without a ground station (FS_OPTIONS, bit 4, is set by default).
That a hold stops a vehicle where it is, on its way to a place too, is PX4's documentation of Hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from rovers import world
from step_by_step import item

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT, ARDUPILOT_ROVER
from sim_node.autopilots.builtin.dialect import Cause, Dialect, Mode
from sim_node.autopilots.builtin.fence import Fence
from sim_node.autopilots.builtin.flight import Flight
from sim_node.autopilots.builtin.px4 import PX4, PX4_ROVER
from sim_node.autopilots.builtin.rover import Course, DriveTo
from sim_node.autopilots.builtin.tasks import Accelerate, Drift, Go, Hold, Land, Tilt, Track, Turn
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.world import load
from sim_node.world.bases import Base

HOLD, RETURN, LAND, STAY = Mode.HOLD, Mode.RETURN, Mode.LAND, None
LEVEL, STILL = np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3)
# Where the vehicle is, and where it is on its way to.
HERE, GOAL = np.array([20.0, 0.0, 3.0]), np.array([50.0, 0.0, 10.0])


class Tried(NamedTuple):
    """A failsafe: its cause, its parameter and the value of that, and the mode that the value stands for."""

    cause: Cause
    parameter: str
    value: int
    mode: Mode | None


# The values that are supported, as the parameter references of PX4 and ArduPilot have them.
FAILSAFES = {
    "px4": [
        *[Tried(Cause.FENCE, "GF_ACTION", v, m) for v, m in ((0, STAY), (1, STAY), (2, HOLD), (3, RETURN), (5, LAND))],
        *[Tried(Cause.LINK, "NAV_DLL_ACT", v, m) for v, m in ((0, STAY), (1, HOLD), (2, RETURN), (3, LAND))],
        *[Tried(Cause.BATTERY, "COM_LOW_BAT_ACT", v, m) for v, m in ((0, STAY), (2, LAND), (3, RETURN))],
    ],
    "ardupilot": [
        *[Tried(Cause.FENCE, "FENCE_ACTION", v, m) for v, m in ((0, STAY), (1, RETURN), (2, LAND), (4, HOLD))],
        *[Tried(Cause.LINK, "FS_GCS_ENABLE", v, m) for v, m in ((0, STAY), (1, RETURN), (5, LAND))],
        *[Tried(Cause.BATTERY, "BATT_FS_CRT_ACT", v, m) for v, m in ((0, STAY), (1, LAND), (2, RETURN))],
    ],
}
ROVERS = {
    "px4": [
        *[Tried(Cause.FENCE, "GF_ACTION", v, m) for v, m in ((0, STAY), (1, STAY), (2, HOLD), (3, RETURN))],
        *[Tried(Cause.LINK, "NAV_DLL_ACT", v, m) for v, m in ((0, STAY), (1, HOLD), (2, RETURN))],
        *[Tried(Cause.BATTERY, "COM_LOW_BAT_ACT", v, m) for v, m in ((0, STAY), (2, HOLD), (3, RETURN))],
    ],
    "ardupilot": [
        *[Tried(Cause.FENCE, "FENCE_ACTION", v, m) for v, m in ((0, STAY), (1, RETURN), (2, HOLD))],
        *[Tried(Cause.LINK, "FS_ACTION", v, m) for v, m in ((0, STAY), (1, RETURN), (2, HOLD))],
        *[Tried(Cause.BATTERY, "BATT_FS_CRT_ACT", v, m) for v, m in ((0, STAY), (1, RETURN), (2, HOLD))],
    ],
}
WAYPOINT = item(16, east=50.0, up=10.0)


def mission(*items: dict[str, Any]) -> Callable[[Flight], object]:
    """Flies items, the first of which is reached at once."""

    def begin(flight: Flight) -> None:
        flight.replace_mission([item(16)] * int(flight.dialect.home_first) + list(items))
        flight.set_mode(Mode.MISSION)

    return begin


def guided(make: Callable[[], Any]) -> Callable[[Flight], object]:
    def begin(flight: Flight) -> None:
        flight.set_mode(Mode.GUIDED)
        flight.guide(make())

    return begin


def turning(mode: Mode) -> Callable[[Flight], object]:
    def begin(flight: Flight) -> None:
        flight.set_mode(mode)
        flight.turn(Turn(1.0), 1.0)

    return begin


# What a vehicle may be doing: its mode, and how it comes to do that.
DOING: dict[str, tuple[Mode | None, Callable[[Flight], object]]] = {
    "hold": (Mode.HOLD, lambda flight: flight.set_mode(Mode.HOLD)),
    "turn in hold": (Mode.HOLD, turning(Mode.HOLD)),
    "goto": (None, lambda flight: flight.go_to(GOAL)),  # in the mode that the dialect has for it
    "waypoint": (Mode.MISSION, mission(WAYPOINT, WAYPOINT)),
    "circle": (Mode.MISSION, mission(item(18, 2.0, 0.0, 15.0, east=50.0, up=10.0), WAYPOINT)),
    "delay": (Mode.MISSION, mission(item(93, 100.0), WAYPOINT)),
    "landing item": (Mode.MISSION, mission(item(21, east=50.0))),
    "position": (Mode.GUIDED, guided(lambda: Go(GOAL))),
    "velocity": (Mode.GUIDED, guided(lambda: Drift((1.0, 0.0, 0.0)))),
    "position and velocity": (Mode.GUIDED, guided(lambda: Track(GOAL, (1.0, 0.0, 0.0)))),
    "acceleration": (Mode.GUIDED, guided(lambda: Accelerate((0.1, 0.0, 0.0)))),
    "attitude": (Mode.GUIDED, guided(lambda: Tilt(LEVEL, (0.0, 0.0, 0.0), 0.5))),
    "turn in guided": (Mode.GUIDED, turning(Mode.GUIDED)),
    "return": (Mode.RETURN, lambda flight: flight.set_mode(Mode.RETURN)),
    "landing": (Mode.LAND, lambda flight: flight.set_mode(Mode.LAND)),
    "landing there": (Mode.LAND, lambda flight: flight.land(GOAL)),
}


def px4(mode: Mode, cause: Cause, wanted: Mode | None) -> Mode | None:
    """The mode that PX4's failsafe changes to; None where it leaves everything as it is."""
    if mode is LAND and (cause is Cause.LINK or wanted in (RETURN, LAND)):
        return None
    return None if mode is RETURN and wanted is RETURN else wanted


def arducopter(mode: Mode, cause: Cause, wanted: Mode | None) -> Mode | None:
    """The same of ArduCopter. set_mode to the mode that it is in does nothing (mode.cpp)."""
    if cause is Cause.LINK and mode is HOLD:
        return None
    return None if wanted is mode and mode in (RETURN, LAND) else wanted


FOLLOWS = {"px4": px4, "ardupilot": arducopter}


class Watched:
    """A flight in the air, where the test says that it is."""

    def __init__(self, parameters: VehicleParameters, dialect: Dialect) -> None:
        self.said: list[str] = []
        self.flight = Flight(parameters, dialect, report=lambda severity, text: self.said.append(text))
        self.time_us = 0
        self.step(np.zeros(3))
        if dialect is ARDUPILOT:
            self.flight.set_mode(Mode.GUIDED)
        self.flight.arm()
        if self.flight.craft.flies:
            self.flight.take_off(10.0)
        self.step(np.zeros(3))
        assert self.flight.airborne
        self.step()
        self.flight.reference[:3] = HERE

    def step(self, place: np.ndarray = HERE, seconds: float = 0.1) -> None:
        self.time_us += round(seconds * 1e6)
        self.flight.step(self.time_us, place, LEVEL, STILL, STILL)

    def set(self, name: str, value: float) -> None:
        parameter = self.flight.dialect.parameters[name]
        assert parameter.fault(value) == ""
        self.flight.set_parameter(parameter, value)

    def happens(self, cause: Cause) -> None:
        """The vehicle is outside of a circle of 10 m about home; nobody is heard; or the battery is at 6 %."""
        flight = self.flight
        if cause is Cause.FENCE:
            if "FENCE_ENABLE" in flight.dialect.parameters:
                self.set("FENCE_ENABLE", 1)
            flight.fence = Fence([item(5003, 10.0)], flight.places)
            self.step()
        elif cause is Cause.BATTERY:
            flight.battery.remaining = 0.06
            self.step()
        else:
            flight.failsafe.ground_station(flight, 0)
            self.step(seconds=11.0)
            flight.failsafe.watch_link(flight, 11 * 10**9)


@pytest.fixture(scope="module")
def parameters() -> VehicleParameters:
    world = load("guided")
    return replace(parameters_in(world, world.vehicles[0]), mission=None)


@pytest.mark.parametrize("dialect", [PX4, ARDUPILOT], ids=["px4", "ardupilot"])
@pytest.mark.parametrize("doing", DOING)
def test_every_failsafe_at_every_task(parameters: VehicleParameters, dialect: Dialect, doing: str) -> None:
    for tried in FAILSAFES[dialect.name]:
        watched = Watched(parameters, dialect)
        flight = watched.flight
        watched.set(tried.parameter, tried.value)
        mode, begin = DOING[doing]
        begin(flight)
        watched.step()
        before = flight.task
        mode = dialect.goto_mode if mode is None else mode
        assert flight.mode is mode
        watched.happens(tried.cause)
        follows = FOLLOWS[dialect.name](mode, tried.cause, tried.mode)
        about = f"{doing}: {tried}: {flight.mode.name} {flight.task}"
        assert flight.mode is (mode if follows is None else follows), about
        assert (flight.task is before) is (follows is None), about
        if follows is HOLD:
            assert isinstance(flight.task, Hold), about
            assert not isinstance(flight.task, Turn), about
        elif follows is RETURN:
            assert isinstance(flight.task, Go), about
            np.testing.assert_allclose(flight.task.goal[:2], HERE[:2], atol=0.1, err_msg=about)
        elif follows is LAND:
            assert isinstance(flight.task, Land), about


DRIVING: dict[str, tuple[Mode | None, Callable[[Flight], object]]] = {
    **{doing: DOING[doing] for doing in ("hold", "goto", "waypoint", "delay", "return")},
    "position": (Mode.GUIDED, guided(lambda: DriveTo(GOAL))),
    "velocity": (Mode.GUIDED, guided(lambda: Course((1.0, 0.0)))),
    "by hand": (Mode.MANUAL, lambda flight: flight.set_mode(Mode.MANUAL)),
}


@pytest.mark.parametrize("dialect", [PX4_ROVER, ARDUPILOT_ROVER], ids=["px4", "ardupilot"])
def test_every_failsafe_of_rovers(dialect: Dialect) -> None:
    rover = world()
    (base,) = rover.of(Base)
    parameters = parameters_in(rover, base)
    for (doing, (started, begin)), tried in itertools.product(DRIVING.items(), ROVERS[dialect.name]):
        watched = Watched(parameters, dialect)
        flight = watched.flight
        watched.set(tried.parameter, tried.value)
        begin(flight)
        watched.step()
        mode, before = dialect.goto_mode if started is None else started, flight.task
        assert flight.mode is mode
        watched.happens(tried.cause)
        kept = mode is tried.mode is RETURN
        if dialect is ARDUPILOT_ROVER:
            kept = kept or (tried.cause is Cause.LINK and mode in (RETURN, HOLD))
        follows = None if kept else tried.mode
        about = f"{doing}: {tried}: {flight.mode.name} {flight.task}"
        assert flight.mode is (mode if follows is None else follows), about
        assert (flight.task is before) is (follows is None), about


def test_a_take_off_is_interrupted(parameters: VehicleParameters) -> None:
    """PX4 has a mode of its own for it; ArduCopter takes off in GUIDED."""
    for dialect in (PX4, ARDUPILOT):
        for tried in FAILSAFES[dialect.name]:
            watched = Watched(parameters, dialect)
            watched.set(tried.parameter, tried.value)
            mode = watched.flight.mode
            assert mode is dialect.takeoff_mode
            watched.happens(tried.cause)
            assert watched.flight.mode is (mode if tried.mode is None else tried.mode), tried


@pytest.mark.parametrize("dialect", [PX4, ARDUPILOT], ids=["px4", "ardupilot"])
def test_a_second_failsafe(parameters: VehicleParameters, dialect: Dialect) -> None:
    """PX4 does the worst of all; ArduCopter what was commanded last. Whoever takes over is interrupted anew."""
    worse = [HOLD, RETURN, LAND]
    every = [tried for tried in FAILSAFES[dialect.name] if tried.mode is not None]
    for first, second in itertools.permutations(every, 2):
        if first.cause is second.cause:
            continue
        for takes_over in (False, True):
            watched = Watched(parameters, dialect)
            flight = watched.flight
            flight.set_mode(Mode.GUIDED)
            for tried in (first, second):
                watched.set(tried.parameter, tried.value)
            watched.happens(first.cause)
            assert flight.mode is first.mode
            if takes_over:
                flight.set_mode(Mode.GUIDED)
            watched.happens(second.cause)
            assert first.mode is not None
            assert second.mode is not None
            if takes_over:
                expected = second.mode
            elif dialect is PX4:
                expected = max(first.mode, second.mode, key=worse.index)
            else:
                # "GCS + Battery: Continuing Landing", and LOITER goes on without a ground station.
                landing = first.cause is Cause.BATTERY and first.mode is LAND
                stays = second.cause is Cause.LINK and (landing or first.mode is HOLD)
                expected = first.mode if stays else second.mode
            assert flight.mode is expected, (first, second, takes_over)


@pytest.mark.parametrize("cause", [Cause.FENCE, Cause.LINK, Cause.BATTERY])  # those with a parameter
def test_on_the_ground_arducopter_disarms(parameters: VehicleParameters, cause: Cause) -> None:
    """should_disarm_on_failsafe of events.cpp; a fence is enabled here only after it was left."""
    tried = next(each for each in FAILSAFES["ardupilot"] if each.cause is cause and each.mode is RETURN)
    watched = Watched(parameters, ARDUPILOT)
    flight = watched.flight
    flight.disarm(force=True)
    flight.arm()
    watched.set(tried.parameter, tried.value)
    watched.set("DISARM_DELAY", 0)
    watched.happens(cause)
    assert flight.armed is (cause is Cause.FENCE)
    assert flight.mode is Mode.GUIDED


def test_far_outside_of_its_fence_arducopter_lands(parameters: VehicleParameters) -> None:
    """AC_FENCE_GIVE_UP_DISTANCE, 100 m."""
    for away, mode in ((90.0, RETURN), (120.0, LAND)):
        watched = Watched(parameters, ARDUPILOT)
        place = np.array([10.0 + away, 0.0, 10.0])
        watched.step(place)
        watched.set("FENCE_ENABLE", 1)
        watched.flight.fence = Fence([item(5003, 10.0)], watched.flight.places)
        watched.step(place)
        assert watched.flight.mode is mode
