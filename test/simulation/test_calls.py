"""Calls into a loop from other threads: their results, their order among ticks, and what interrupts them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import PATIENCE, until

from sim_node.simulation import Loop, Refused, Simulation, Snapshot
from sim_node.world import FrameTable, TimeGrid, World, load

STEP_NS, SECOND = 5_000_000, 1_000_000_000


class Times:
    """A sink that keeps the times of its ticks."""

    def __init__(self) -> None:
        self.ns: list[int] = []
        self.ticking = False

    def open(self, world: World, frames: FrameTable) -> None:
        pass

    def write(self, snapshot: Snapshot) -> None:
        self.ticking = True
        self.ns.append(snapshot.time_ns)
        self.ticking = False

    def close(self) -> None:
        pass


def still() -> Simulation:
    return Simulation(World("still", time=TimeGrid(0, STEP_NS)))


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def loop(times: Times) -> Iterator[Loop]:
    """A loop that runs as fast as possible."""
    made = Loop(still(), (times,), real_time_factor=0.0)
    made.start()
    yield made
    made.stop()


def test_a_call_gives_its_result_and_runs_between_two_ticks(loop: Loop, times: Times) -> None:
    """In the loop's thread, and at the time of the newest tick."""

    def read() -> tuple[str, bool, int, int]:
        return threading.current_thread().name, times.ticking, loop.simulation.time_ns, times.ns[-1]

    for _ in range(50):
        thread, ticking, now_ns, newest_ns = loop.call(read)
        assert (thread, ticking) == ("simulation", False)
        assert now_ns == newest_ns


def test_an_exception_of_a_call_is_the_callers_alone(loop: Loop, times: Times) -> None:
    with pytest.raises(ZeroDivisionError):
        loop.call(lambda: 1 // 0)
    assert loop.call(lambda: 42) == 42
    before = len(times.ns)
    until(lambda: len(times.ns) > before, "the loop goes on")


def test_calls_while_paused_are_answered(loop: Loop) -> None:
    loop.pause()
    here = loop.call(lambda: loop.simulation.steps)
    assert loop.call(lambda: loop.simulation.steps) == here
    loop.step(3)
    assert loop.call(lambda: loop.simulation.steps) == here + 3


def test_a_call_within_a_call_runs_at_once(loop: Loop) -> None:
    def pause_and_step() -> int:
        loop.pause()
        loop.reset()
        loop.step(7)
        return loop.call(lambda: loop.simulation.steps)

    assert loop.call(pause_and_step) == 7


def test_a_call_before_the_start_runs_in_the_callers_thread() -> None:
    assert Loop(still(), ()).call(threading.current_thread) is threading.current_thread()


def test_a_call_after_the_end_is_refused() -> None:
    loop = Loop(still(), (), real_time_factor=0.0, duration_ns=SECOND)
    loop.start()
    loop.wait()
    with pytest.raises(Refused, match="the simulation has ended"):
        loop.call(lambda: 1)
    with pytest.raises(Refused, match="the simulation has ended"):
        loop.run(1.0)


def test_a_call_may_change_the_simulation() -> None:
    """A state that one call takes and another restores: what came after it comes again."""
    loop = Loop(Simulation(load("double_pendulum")), (), paused=True)
    loop.start()
    loop.step(50)
    state = loop.call(lambda: loop.simulation.state)
    loop.step(50)
    first = loop.call(loop.simulation.snapshot)
    loop.call(lambda: loop.simulation.restore(state))
    loop.step(50)
    again = loop.call(loop.simulation.snapshot)
    loop.stop()
    assert first.time_ns == again.time_ns
    np.testing.assert_array_equal(first.poses, again.poses)
    assert not np.array_equal(first.poses, Simulation(load("double_pendulum")).snapshot().poses)


def test_calls_that_never_cease_do_not_hold_up_time(loop: Loop, times: Times) -> None:
    """One call is always waiting when another is carried out, so the loop is never without one."""
    steps: list[int] = []
    over = threading.Event()

    def chain() -> None:
        steps.append(loop.simulation.steps)
        if len(steps) > 100:
            over.set()
            return
        threading.Thread(target=loop.call, args=(chain,)).start()
        until(lambda: loop._worker.requests, "the next call waits")

    threading.Thread(target=loop.call, args=(chain,)).start()
    assert over.wait(PATIENCE)
    assert all(later > earlier for earlier, later in pairwise(steps))


def test_an_interrupted_caller_withdraws_its_call(loop: Loop) -> None:
    """Ctrl-C in the main thread, which waits for a loop that is held up by somebody else's call."""
    held, release, carried_out = threading.Event(), threading.Event(), []

    def hold() -> None:
        held.set()
        assert release.wait(PATIENCE)

    holder = threading.Thread(target=loop.call, args=(hold,))
    holder.start()
    assert held.wait(PATIENCE)

    def interrupt() -> None:
        until(lambda: loop._worker.requests, "the main thread waits")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        loop.call(lambda: carried_out.append(1))
    release.set()
    holder.join(PATIENCE)
    interrupter.join(PATIENCE)
    assert loop.call(lambda: carried_out) == []


def test_a_call_that_the_end_overtakes_is_refused(loop: Loop) -> None:
    held, release = threading.Event(), threading.Event()
    raised: list[BaseException] = []

    def hold() -> None:
        held.set()
        assert release.wait(PATIENCE)

    def ask() -> None:
        try:
            loop.call(lambda: None)
        except Refused as refusal:
            raised.append(refusal)

    threads = [threading.Thread(target=loop.call, args=(hold,))]
    threads[0].start()
    assert held.wait(PATIENCE)
    threads += [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(loop._worker.requests) == 3, "all three wait")
    loop._worker.end()
    release.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert [str(each) for each in raised] == ["the simulation has ended"] * 3


# Running for a duration


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=6))
def test_runs_add_up(milliseconds: list[int]) -> None:
    """Steps of 5 ms: after each run, the steps nearest to the sum so far. Ticks of 60 Hz come all the same."""
    times = Times()
    loop = Loop(still(), (times,), real_time_factor=0.0, paused=True)
    loop.start()
    total, ends = 0, set()
    for each in milliseconds:
        loop.run(each / 1000.0)
        total += each
        steps = (2 * total + 5) // 10
        assert (loop.simulation.steps, loop.paused) == (steps, True)
        ends.add(steps * STEP_NS)
    loop.stop()
    due = {-(-i * SECOND // 60 // STEP_NS) * STEP_NS for i in range(total * 60 // 1000 + 2)}
    last = max(ends)
    assert set(times.ns) == {0} | {each for each in due if each <= last} | ends
    assert times.ns == sorted(set(times.ns))


def test_a_run_that_is_interrupted_pauses_on_the_way(times: Times) -> None:
    loop = Loop(still(), (times,), real_time_factor=1.0, paused=True)
    loop.start()

    def interrupt() -> None:
        until(lambda: len(times.ns) > 3, "it runs")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        loop.run(1e6)
    assert loop.call(lambda: loop.paused)
    loop.set_real_time_factor(0.0)
    before = loop.simulation.time_ns
    loop.run(1.0)
    assert loop.simulation.time_ns == before + SECOND
    loop.stop()


def test_a_run_raises_what_makes_the_loop_fail() -> None:
    class Breaking(Times):
        def write(self, snapshot: Snapshot) -> None:
            super().write(snapshot)
            if len(self.ns) == 5:
                raise OSError("the disk is gone")

    loop = Loop(still(), (Breaking(),), real_time_factor=0.0, paused=True)
    loop.start()
    with pytest.raises(OSError, match="the disk is gone"):
        loop.run(1.0)
    loop.stop()


def test_a_run_beyond_the_end_is_refused() -> None:
    loop = Loop(still(), (), real_time_factor=0.0, paused=True, duration_ns=SECOND)
    loop.start()
    loop.run(0.5)
    with pytest.raises(Refused, match="the simulation has ended"):
        loop.run(1.0)
    loop.stop()


def test_a_run_needs_a_thread_and_a_duration() -> None:
    loop = Loop(still(), (), paused=True)
    with pytest.raises(Refused, match="has not been started"):
        loop.run(1.0)
    for wrong in (-1.0, float("nan"), float("inf"), 1e30):
        with pytest.raises(ValueError, match=r"zero or more|not a finite|out of range"):
            loop.run(wrong)
