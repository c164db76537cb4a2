"""The shipped scenarios, flown by PX4 and ArduCopter themselves; SCENARIO_RUNS is how often each (1 by default)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from real_kinds import ARDUPILOT, PX4, Kind, built

from sim_node.autopilots.started import StartedAutopilot
from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.extensions.scenario.autopilots import flown_by
from sim_node.extensions.scenario.scenarios import find_scenarios
from sim_node.extensions.scenario.testing import RunPlan, judge_scenario
from sim_node.simulation import Simulation
from sim_node.world import load
from sim_node.world.problems import RunFailed

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
# Not among them are motor_out (PX4 does not notice that a motor is dead without its telemetry, and falls) and
# ferry_landing (it comes down so slowly that the deck has sailed on).
SCENARIOS = (
    "geofence", "gps_loss", "hover_in_gusts", "link_loss", "low_battery", "magnetometer_disturbed",
)  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("kind", [built(PX4), built(ARDUPILOT)])
def test_a_shipped_scenario_passes_with(kind: Kind, name: str, tmp_path: Path) -> None:
    [scenario] = find_scenarios([name])
    plan = RunPlan(runs=int(os.environ.get("SCENARIO_RUNS", "1")), workers=1, keep=0, autopilot=kind.name)
    tested = judge_scenario(scenario, plan, tmp_path)
    for each in tested.certificates:
        print(name, each.case, each.verdict, each.robustness, each.digest[:12], each.reason)
    assert [each.verdict for each in tested.certificates] == ["pass"] * plan.runs


@pytest.mark.parametrize("kind", [built(PX4), built(ARDUPILOT)])
def test_an_autopilot_that_dies_ends_the_run_without_a_verdict(kind: Kind) -> None:
    """That it fell would be no fault of what is tested."""
    run = Simulation(flown_by(load("config/scenarios/hover_in_gusts.yaml"), kind.name))
    (flown,) = attach_autopilots(run)
    try:
        run.run(0.5)
        assert flown.wait.lockstep
        autopilot = flown.autopilot
        assert isinstance(autopilot, StartedAutopilot)
        [running] = autopilot._supervisor.running.values()
        assert running.pid is not None
        os.killpg(running.pid, signal.SIGKILL)
        autopilot.wait.patience = 1.0
        with pytest.raises(RunFailed, match="has ended, or has been silent"):
            run.run(10.0)
    finally:
        run.close()
