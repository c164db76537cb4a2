"""Co-simulators of a run: when they exchange, what has been measured by then, and how waiting for them ends."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from waiting import PATIENCE

from sim_node.simulation import Loop, Simulation
from sim_node.simulation.sensors.measurements import SensorSubscription
from sim_node.world import load

MS = 1_000_000


class Diary:
    """A peer that writes down when it was asked, and what a sensor had told by then."""

    def __init__(self, rate: float, log: list[Any] | None = None, subscribe: SensorSubscription | None = None) -> None:
        self.rate, self.subscribe = rate, subscribe
        self.log: list[Any] = [] if log is None else log
        self.interrupted = self.closed = False

    def send(self, step: int, time_ns: int) -> None:
        reported = None if self.subscribe is None else self.subscribe.latest(step)
        self.log.append((self.rate, step, time_ns // MS, None if reported is None else reported.tolist()))

    def receive(self) -> None:
        pass

    def interrupt(self) -> None:
        self.interrupted = True

    def close(self) -> None:
        self.closed = True


class Stuck(Diary):
    """A peer that waits for what never comes."""

    def __init__(self) -> None:
        super().__init__(10.0)
        self.waits, self._stop = threading.Event(), threading.Event()

    def receive(self) -> None:
        self.waits.set()
        self._stop.wait()

    def interrupt(self) -> None:
        self._stop.set()


def simulation() -> Simulation:
    return Simulation(load("quadrotor"), seed=3)  # steps of 4 ms, its imu reads at every one


def test_exchanges_are_at_multiples_of_the_period_in_the_order_of_joining() -> None:
    run = simulation()
    log: list[Any] = []
    run.connect(Diary(100.0, log))
    run.connect(Diary(125.0, log))
    run.step(3)
    run.step(7)
    # 100 Hz is every 2.5 steps, rounded up; 125 Hz every second one.
    slow, fast = [3, 5, 8, 10], [2, 4, 6, 8, 10]
    assert [(rate, step) for rate, step, *_ in log] == sorted(
        [(100.0, s) for s in slow] + [(125.0, s) for s in fast], key=lambda each: (each[1], each[0])
    )
    assert all(ms == 4 * step for _, step, ms, _ in log)


def test_all_are_reported_before_any_is_waited_for() -> None:
    """Two that answer only once both were told: one after the other, the first would be waited for in vain."""
    run, both = simulation(), threading.Barrier(2)
    waited = []

    class Thinker(Diary):
        def send(self, step: int, time_ns: int) -> None:
            super().send(step, time_ns)
            self.thread = threading.Thread(target=lambda: waited.append(both.wait(PATIENCE)))
            self.thread.start()

        def receive(self) -> None:
            self.thread.join(PATIENCE)
            assert not self.thread.is_alive()
            assert not both.broken

    run.connect(Thinker(250.0))
    run.connect(Thinker(250.0))
    run.step(3)
    assert sorted(waited) == [0, 0, 0, 1, 1, 1]


def test_what_is_due_at_a_step_has_been_read_before_the_exchange() -> None:
    run = simulation()
    diary = Diary(250.0, subscribe=run.subscribe("drone/IMU"))
    run.connect(diary)
    for _ in range(5):
        run.step()
        assert diary.log[-1][3] == run.snapshot().measurements["drone/IMU"].values[-1].tolist()


def test_a_reset_is_an_exchange_at_the_start_and_a_restore_goes_on_after_its_step() -> None:
    run = simulation()
    diary = Diary(125.0)
    run.connect(diary)
    run.step(4)
    state = run.state
    run.reset()
    run.step(2)
    run.restore(state)
    run.step(2)
    assert [step for _, step, *_ in diary.log] == [2, 4, 0, 2, 6]


def test_a_peer_that_only_listens_changes_nothing() -> None:
    alone, received = simulation(), simulation()
    received.connect(Diary(50.0, subscribe=received.subscribe("drone/GPS")))
    received.observer(["drone/base_link"])()
    for run in (alone, received):
        run.run(3.0)
    np.testing.assert_array_equal(alone.snapshot().poses, received.snapshot().poses)
    assert alone.state == received.state


def test_an_unknown_sensor_is_named() -> None:
    with pytest.raises(KeyError, match="did you mean drone/IMU"):
        simulation().subscribe("drone/IMV")


def test_stopping_a_loop_ends_waiting_for_a_peer() -> None:
    run, peer = simulation(), Stuck()
    run.connect(peer)
    loop = Loop(run, (), real_time_factor=0.0)
    loop.start()
    assert peer.waits.wait(PATIENCE)
    loop.stop()
    assert peer.closed


def test_a_loop_that_ends_by_itself_closes_peers() -> None:
    run, peer = simulation(), Diary(250.0)
    run.connect(peer)
    ended = threading.Event()
    loop = Loop(run, (), real_time_factor=0.0, duration_ns=40 * MS)
    loop.start(ended=ended.set)
    assert ended.wait(PATIENCE)
    loop.stop()
    assert peer.closed
    assert len([step for _, step, *_ in peer.log]) == 10
