"""The link of the ground station in the simulation: what becomes of each packet."""

import numpy as np
import pytest

from sim_node import Simulation
from sim_node.extensions.scenario.effects import Lasting
from sim_node.extensions.scenario.ground_station import send
from sim_node.world import loads

WORLD = "world: w\ntime: {step: 0.01}\nscenario:\n  - {at: 1, do: {pause: }}\n"
PERFECT = {"loss": 0.0, "delay": 0.0, "duplicate": 0.0, "reorder": 0.0}


def sent(count: int, seed: int = 0, **link: float) -> list[tuple[int, int]]:
    """Return the step at which each packet is due, and its number, in the order of sending; duplicates are twice."""
    run = Simulation(loads(WORLD), seed)
    station = Lasting("station", "drone", 0, None, {"link": PERFECT | link, "queue": [], "sent": 0, "delivered": 0})
    for _ in range(count):
        send(run, station, "HEARTBEAT", {})
    return [(due, number // 2) for due, number, *_ in station.arguments["queue"]]


def test_a_perfect_link_delivers_all_at_once() -> None:
    assert sent(50) == [(0, number) for number in range(50)]


def test_a_share_is_lost_and_the_same_one_again_with_the_same_seed() -> None:
    found = sent(2000, loss=0.3)
    assert len(found) == pytest.approx(1400, abs=5 * np.sqrt(2000 * 0.21))
    assert found == sent(2000, loss=0.3)
    assert found != sent(2000, seed=1, loss=0.3)
    # A worse link loses these, too.
    assert {number for _, number in sent(2000, loss=0.5)} < {number for _, number in found}
    assert sent(100, loss=1.0) == []


def test_a_delay_is_in_steps_and_a_share_comes_twice_or_later() -> None:
    assert {due for due, _ in sent(20, delay=0.25)} == {25}
    doubled = [number for _, number in sent(1000, duplicate=0.2)]
    assert len(doubled) - 1000 == pytest.approx(200, abs=5 * np.sqrt(160))
    assert sorted(set(doubled)) == list(range(1000))
    overtaken = [due > 100 for due, _ in sent(1000, reorder=0.1)]
    assert sum(overtaken) == pytest.approx(100, abs=5 * np.sqrt(90))
