"""The shipped scenarios, flown by PX4 and ArduCopter themselves; SCENARIO_RUNS is how often each (1 by default)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from real_kinds import ARDUPILOT, PX4, Kind, built

from sim_node.extensions.scenario.scenarios import find_scenarios
from sim_node.extensions.scenario.testing import RunPlan, judge_scenario

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
# motor_out is not among them: PX4 does not notice that a motor is dead without its telemetry, and falls.
SCENARIOS = (
    "ferry_landing", "geofence", "gps_loss", "hover_in_gusts", "link_loss", "low_battery", "magnetometer_disturbed",
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
