"""Going to an instant on the command line: how long it takes is estimated without the first step, which compiles."""

from __future__ import annotations

import pytest

from sim_node.cli.world_arguments import seek
from sim_node.simulation import Simulation


class SlowStart(Simulation):
    """A simulation whose clock shows two seconds for its first step, and no time for the others."""

    now = 0.0

    def step(self, steps: int = 1, *, wait: bool = True) -> None:
        if steps and not self.steps:
            self.now += 2.0
        super().step(steps, wait=wait)


def test_a_slow_first_step_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = SlowStart("orbit", sensors=False)
    monkeypatch.setattr("sim_node.cli.world_arguments.time.monotonic", lambda: simulation.now)
    step_ns = simulation.world.time.step_ns
    target = 10_000
    assert seek(simulation, target * step_ns).time_ns == target * step_ns
