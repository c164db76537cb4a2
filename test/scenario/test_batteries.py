"""The action `battery`: it lasts as long as is said, whichever autopilot the built-in one is like."""

import pytest
from claims import free_instance
from nightly import only

from sim_node import Simulation
from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.extensions.scenario.actions.vehicles import _hover_command
from sim_node.extensions.scenario.ground_station import Ordered
from sim_node.extensions.scenario.timetable import happened
from sim_node.world import load, loads

WORLD = """
world: hover
origin: {{latitude: 47.4, longitude: 8.5, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.002}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: drone
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, like: {like}, instance: {instance}}}
scenario:
  - {{at: 0.5, do: {{battery: {{of: drone, endurance: 7}}}}}}
  - {{at: 1, do: [{{order: {{order: take_off, height: 2}}}}, {{order: arm}}]}}
"""


# Takes seconds: make test has a critical and an empty battery in test/autopilot/test_builtin_missions.py.
@pytest.mark.nightly
@pytest.mark.parametrize(("like", "empty"), only([("px4", "Battery empty"), ("ardupilot", "Battery 1 is empty")], 0))
def test_a_battery_lasts_as_long_in_hover_as_is_said(like: str, empty: str) -> None:
    run = Simulation(loads(WORLD.format(like=like, instance=free_instance())))
    [flown] = attach_autopilots(run)
    autopilot = flown.autopilot
    assert isinstance(autopilot, Ordered)
    try:
        run.run(1.5)
        begin = run.time_ns
        while not any(each.name == "STATUSTEXT" and empty in each.fields.text for each in autopilot.replies):
            assert run.time_ns < 30_000_000_000, autopilot.replies
            run.run(0.1)
        # The climb takes a little more than hover.
        assert (run.time_ns - begin) * 1e-9 == pytest.approx(7.0, abs=1.0)
        assert [str(each) for each in happened(run) if each.error] == []
    finally:
        run.close()


def test_arducopters_own_battery_is_drained_by_the_command_of_hover() -> None:
    """The real one hovered with this iris at 0.7213 and 0.7216."""
    run = Simulation(load("config/scenarios/low_battery.yaml"))
    assert _hover_command(run, "drone") == pytest.approx(0.7214, abs=3e-4)
