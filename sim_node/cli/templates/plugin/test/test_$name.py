"""The thermometer of $name reads what the standard atmosphere has."""

from pathlib import Path

import pytest

from sim_node import Simulation

WORLD = Path(__file__).parents[1] / "weather.yaml"


def test_it_gets_colder_with_height():
    simulation = Simulation(WORLD)
    simulation.run(duration=5.0)
    stamps_ns, values = simulation.snapshot().measurements["kite/thermometer"]
    heights = 100.0 * stamps_ns / 1e9
    assert values[:, 0] == pytest.approx(20.0 - 6.5e-3 * heights)
