"""The shipped scenarios, flown by PX4 and ArduCopter themselves; SCENARIO_RUNS is how often each (1 by default)."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from real_kinds import ARDUPILOT, PX4, Kind, built

from sim_node.autopilots.started import StartedAutopilot
from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.extensions.scenario.certificate import Certificate
from sim_node.extensions.scenario.scenarios import find_scenarios
from sim_node.extensions.scenario.testing import RunPlan, flown_by, judge_scenario
from sim_node.extensions.sweep import variation
from sim_node.simulation import Simulation
from sim_node.world import load
from sim_node.world.problems import RunFailed

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
SCENARIOS = (
    "ferry_landing", "geofence", "gps_loss", "hover_in_gusts", "link_loss", "low_battery", "magnetometer_disturbed",
)  # fmt: skip
# PX4 does not notice that a motor is dead without its telemetry, and falls.
OF_ARDUPILOT = ("motor_out",)


def judged(name: str, kind: Kind, folder: Path, **plan: Any) -> tuple[Certificate, ...]:
    [scenario] = find_scenarios([name])
    tested = judge_scenario(scenario, RunPlan(workers=1, keep=0, autopilot=kind.name, **plan), folder)
    for each in tested.certificates:
        print(name, each.case, each.verdict, each.robustness, each.digest[:12], each.reason)
    return tested.certificates


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(*each.values, name, id=f"{each.id}-{name}", marks=each.marks)
        for each, names in ((built(PX4), SCENARIOS), (built(ARDUPILOT), SCENARIOS + OF_ARDUPILOT))
        for name in names
    ],
)
def test_a_shipped_scenario_passes_with(kind: Kind, name: str, tmp_path: Path) -> None:
    runs = int(os.environ.get("SCENARIO_RUNS", "1"))
    assert [each.verdict for each in judged(name, kind, tmp_path, runs=runs)] == ["pass"] * runs


@pytest.mark.parametrize("kind", [built(ARDUPILOT)])
def test_flights_of_arducopter_repeat_to_the_byte(kind: Kind, tmp_path: Path) -> None:
    """It waits for each answer, and reads its ground station between two of them; PX4 does so in other threads.

    Of the two runs of one process, the second begins by a reset.
    """
    asked = {"vary": (variation("seed", "4"),), "duration": 15.0}
    found = [
        *judged("geofence", kind, tmp_path / "2", runs=2, **asked),
        *judged("geofence", kind, tmp_path / "1", **asked),
    ]
    assert len({each.digest for each in found}) == 1
    assert found[0].digest != ""


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


@pytest.mark.parametrize("kind", [built(ARDUPILOT)])
def test_a_failed_cell_takes_a_third_of_the_voltage_that_arducopter_measures(kind: Kind, tmp_path: Path) -> None:
    """Of the three cells of its simulated battery, 12.6 V by SITL.cpp; on the ground."""
    text = Path("config/scenarios/hover_in_gusts.yaml").read_text(encoding="utf-8")
    head = text[: text.index("scenario:")]
    (tmp_path / "failed_cell.yaml").write_text(
        head
        + """\
scenario:
  - {at: 4, do: {battery: {of: drone, failed_cells: 1}}}
expect:
  duration: 9
  must:
    - always events_succeed()
    - always[2 s, 3.9 s] battery_voltage(drone) > 12 V
    - always[6 s, end] (8.2 V < battery_voltage(drone) and battery_voltage(drone) < 8.6 V)
""",
        encoding="utf-8",
    )
    [found] = judged(str(tmp_path / "failed_cell.yaml"), kind, tmp_path / "results")
    assert found.verdict == "pass", found.reason
