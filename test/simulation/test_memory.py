"""A long run keeps its memory."""

from __future__ import annotations

import gc
import tracemalloc

from sim_node.simulation import Simulation
from sim_node.world import load


def test_a_second_more_leaves_nothing_behind() -> None:
    """All sensors of a quadrotor, looked at in each step: what is allocated stays within what the first second took.

    24 hours of 1 kB a second would be 86 MB.
    """
    simulation = Simulation(load("quadrotor"))
    second = round(1e9 / simulation.world.time.step_ns)

    def run(seconds: int) -> None:
        for _ in range(seconds * second):
            simulation.step()
            simulation.snapshot()
        gc.collect()

    run(2)
    tracemalloc.start()
    try:
        run(1)
        before, _ = tracemalloc.get_traced_memory()
        run(4)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2000, "500 bytes a second, for what an array or two differ by"
