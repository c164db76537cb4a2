"""The shipped scenarios do what they say, and the same again."""

import pytest
from nightly import rows

from sim_node.extensions.scenario import run_alone
from sim_node.extensions.scenario.scenarios import shipped_scenarios
from sim_node.world import load
from sim_node.world.autopilots import autopiloted

SHIPPED = {each.name: each for each in shipped_scenarios()}


@pytest.mark.parametrize("name", rows(sorted(SHIPPED), ["slipping_part"]))
def test_a_shipped_scenario_passes_twice_with_the_same_bytes(name: str) -> None:
    world = load(SHIPPED[name].reference)
    (expect,) = world.parts["expect"]
    duration_ns = round(expect.duration * 1e9)
    first, second = (run_alone(world, 0, duration_ns, sensors=bool(autopiloted(world))) for _ in range(2))
    assert first.verdict.verdict == "pass", first.verdict
    assert first.digest == second.digest
