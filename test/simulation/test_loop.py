"""The loop with a sink that records: what is delivered, when, and what becomes of requests and failures."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import Event
from typing import Any

import numpy as np
import pytest
from nightly import only
from waiting import PATIENCE, until

from sim_node.simulation import Loop, Refused, Simulation, Snapshot
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import FrameTable, Motion, TimeGrid, World

SECOND = 1_000_000_000
MS = 1_000_000


class Recorder:
    """A sink that keeps what it is given, with its time on the wall clock, and can be waited for."""

    def __init__(self) -> None:
        self.opened: list[tuple[World, FrameTable]] = []
        self.times_ns: list[int] = []
        self.walls: list[float] = []
        self.xs: list[float] = []
        self.closed = 0
        self.grew = threading.Condition()

    def open(self, world: World, frames: FrameTable) -> None:
        self.opened.append((world, frames))

    def write(self, snapshot: Snapshot) -> None:
        with self.grew:
            assert self.opened
            assert not self.closed
            self.times_ns.append(snapshot.time_ns)
            self.walls.append(time.monotonic())
            self.xs.append(float(snapshot.poses[-1, 0]))
            self.grew.notify_all()

    def close(self) -> None:
        self.closed += 1

    def wait_for(self, done: Callable[..., Any]) -> None:
        with self.grew:
            assert self.grew.wait_for(lambda: done(self.times_ns), PATIENCE), f"not within {PATIENCE:g} s"

    def wait_for_more(self, count: int) -> None:
        now = len(self.times_ns)
        self.wait_for(lambda times_ns: len(times_ns) >= now + count)


class Failing(Recorder):
    """A sink that breaks at its `at`, after some writes."""

    def __init__(self, at: str, after: int = 0, failure: type[Exception] = RuntimeError) -> None:
        super().__init__()
        self.at, self.after, self.failure = at, after, failure

    def open(self, world: World, frames: FrameTable) -> None:
        super().open(world, frames)
        self._break("open")

    def write(self, snapshot: Snapshot) -> None:
        super().write(snapshot)
        if len(self.times_ns) > self.after:
            self._break("write")

    def close(self) -> None:
        super().close()
        self._break("close")

    def _break(self, at: str) -> None:
        if at == self.at:
            raise self.failure(f"broken in {at}")


def clockwork(step_ns: int = 5 * MS, start_ns: int = 0) -> World:
    """A world of one frame whose x is the simulation time in seconds."""
    poses = np.zeros((2, 7))
    poses[:, 6], poses[1, 0] = 1.0, 100_000.0
    motion = Motion("hand", "map", np.array([0, 100_000 * SECOND]), poses)
    return World("clockwork", time=TimeGrid(start_ns, step_ns), motions=(motion,))


def still(step_ns: int = 5 * MS) -> World:
    return World("still", time=TimeGrid(0, step_ns))


@contextmanager
def running(world: World, *sinks: Recorder, **options: Any) -> Iterator[tuple[Loop, Event]]:
    """A started loop and the event of its end; stopped at the end of the test, in time."""
    over = threading.Event()
    loop = Loop(Simulation(world), sinks, **options)
    loop.start(over.set)
    try:
        yield loop, over
    finally:
        stop(loop)
        assert over.is_set()


def stop(loop: Loop) -> None:
    """Loop.stop, which must not hang; raises what it raises."""
    outcome = []

    def call() -> None:
        try:
            loop.stop()
        except BaseException as failure:
            outcome.append(failure)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "stop() hangs"
    if outcome:
        raise outcome[0]


def ticks(rate: float, step_ns: int, count: int, first: int = 0) -> list[int]:
    return [step_ns * (first + math.ceil(Fraction(SECOND) / Fraction(str(rate)) * i / step_ns)) for i in range(count)]


# What is delivered


@pytest.mark.parametrize(
    ("rate", "step_ns"), only([(60.0, 5 * MS), (60.0, 10 * MS), (59.94, MS), (1000.0, 10 * MS)], 2)
)
def test_a_run_at_full_speed_delivers_exactly_its_ticks(rate: float, step_ns: int) -> None:
    """Each the first step at or after a multiple of the period, from the start to the end of the duration."""
    recorder = Recorder()
    with running(clockwork(step_ns), recorder, publish_rate=rate, real_time_factor=0.0, duration_ns=20 * SECOND) as (
        loop,
        over,
    ):
        assert over.wait(PATIENCE)
    expected = ticks(min(rate, SECOND / step_ns), step_ns, math.floor(20 * min(rate, SECOND / step_ns)) + 1)
    assert recorder.times_ns == expected
    np.testing.assert_allclose(recorder.xs, np.array(expected) / SECOND, rtol=1e-15)
    assert (len(recorder.opened), recorder.closed) == (1, 1)
    assert recorder.opened[0] == (loop.simulation.world, loop.simulation.frames)


# make test counts the ticks of shorter runs, above.
@pytest.mark.nightly
def test_ten_minutes_at_60_hz_are_36001_ticks() -> None:
    recorder = Recorder()
    with running(still(), recorder, real_time_factor=0.0, duration_ns=600 * SECOND) as (loop, over):
        assert over.wait(PATIENCE)
        assert loop.pace().ticks == 36_001
    assert recorder.times_ns == ticks(60.0, 5 * MS, 36_001)


@pytest.mark.parametrize("duration_ns", [0, 1, 5 * MS, 7 * MS, SECOND // 3, SECOND])
def test_a_duration_ends_on_the_step_at_or_after_it(duration_ns: int) -> None:
    """Also where no tick is due there; the ticks within it are delivered, no more."""
    recorder = Recorder()
    with running(still(), recorder, publish_rate=7.0, real_time_factor=0.0, duration_ns=duration_ns) as (loop, over):
        assert over.wait(PATIENCE)
    end_ns = math.ceil(duration_ns / (5 * MS)) * 5 * MS
    assert loop.simulation.time_ns == end_ns
    assert recorder.times_ns == [time_ns for time_ns in ticks(7.0, 5 * MS, 10) if time_ns <= end_ns]


def test_all_sinks_get_every_snapshot_in_their_order() -> None:
    order, recorders = [], [Recorder() for _ in range(3)]

    class Ordered(Recorder):
        def write(self, snapshot: Snapshot) -> None:
            super().write(snapshot)
            order.append(recorders.index(self))

    recorders = [Ordered() for _ in range(3)]
    with running(still(), *recorders, real_time_factor=0.0, duration_ns=SECOND) as (_, over):
        assert over.wait(PATIENCE)
    assert recorders[0].times_ns == recorders[1].times_ns == recorders[2].times_ns
    assert order == [0, 1, 2] * 61


def test_a_world_that_starts_later_ticks_from_its_start() -> None:
    recorder = Recorder()
    with running(clockwork(5 * MS, 7 * SECOND), recorder, real_time_factor=0.0, duration_ns=SECOND) as (_, over):
        assert over.wait(PATIENCE)
    assert recorder.times_ns == [7 * SECOND + time_ns for time_ns in ticks(60.0, 5 * MS, 61)]


# When


@pytest.mark.parametrize(("factor", "simulated"), [(1.0, 1.0), (4.0, 6.0), (0.5, 0.5)])
def test_real_time_has_absolute_deadlines(factor: float, simulated: float) -> None:
    """No tick before its deadline, counted from the first one: that none is much later is the benchmarks' to say."""
    recorder = Recorder()
    duration_ns = int(simulated * SECOND)
    with running(clockwork(), recorder, real_time_factor=factor, duration_ns=duration_ns) as (loop, over):
        assert over.wait(PATIENCE)
        pace = loop.pace()
    late = np.array(recorder.walls) - recorder.walls[0] - np.array(recorder.times_ns) / SECOND / factor
    assert len(late) == round(simulated * 60) + 1
    assert late.min() >= 0.0
    assert pace.ticks == len(late)


def test_a_sink_that_is_slow_once_is_caught_up_with() -> None:
    """Its 0.2 s are no delay of those after it: they come at once until time is where the wall clock has it."""

    class SlowOnce(Recorder):
        def write(self, snapshot: Snapshot) -> None:
            super().write(snapshot)
            if len(self.times_ns) == 10:
                time.sleep(0.2)

    recorder = SlowOnce()
    with running(clockwork(), recorder) as (loop, _):

        def late() -> FloatArray:
            walls = np.array(recorder.walls)
            return np.asarray(walls - walls[0] - np.array(recorder.times_ns[: len(walls)]) / SECOND)

        # What a machine that stood still for a second has given up is not made up for.
        until(lambda: len(recorder.walls) > 20 and late()[20:].min() < 0.1 + loop.pace().behind, "ticks on time again")
    assert late().min() >= 0.0
    assert recorder.walls[10] - recorder.walls[9] >= 0.2
    assert late()[10] >= 0.175, "it was due 20 ms after the slow one"


def test_a_pause_is_no_delay() -> None:
    """The watch stands still: after it ticks go on, not in a burst."""
    recorder = Recorder()
    with running(clockwork(), recorder) as (loop, _):
        recorder.wait_for_more(5)
        loop.pause()
        count = len(recorder.times_ns)
        ran = time.monotonic() - recorder.walls[0]
        threading.Event().wait(0.3)
        assert len(recorder.times_ns) == count
        resumed = time.monotonic()
        loop.resume()
        recorder.wait_for_more(12)
    # Simulated seconds are at most those that it has run.
    after = np.array(recorder.walls[count:]) - resumed
    assert (np.array(recorder.times_ns[count:]) / SECOND <= ran + after).all()


def test_pauses_shorter_than_a_period_do_not_stop_time() -> None:
    """At one tick a second, twenty times as fast: the watch goes on from where it stood, not from the last tick."""
    recorder = Recorder()
    with running(clockwork(), recorder, publish_rate=1.0, real_time_factor=20.0) as (loop, _):
        end = time.monotonic() + PATIENCE
        while len(recorder.times_ns) < 5 and time.monotonic() < end:
            loop.pause()
            loop.resume()
    assert recorder.times_ns[:5] == [0, SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND]


def test_changes_of_speed_more_often_than_ticks_do_not_stop_time() -> None:
    """As when a slider is dragged."""
    recorder = Recorder()
    with running(clockwork(), recorder, publish_rate=1.0, real_time_factor=20.0) as (loop, _):
        end, speeds = time.monotonic() + PATIENCE, 0
        while len(recorder.times_ns) < 5 and time.monotonic() < end:
            loop.set_real_time_factor(20.0 + speeds % 5)
            speeds += 1
    assert recorder.times_ns[:5] == [0, SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND]
    assert speeds > 5


# Requests


def test_a_paused_loop_steps_as_asked() -> None:
    """Nothing comes between the asked steps; time runs on from there when it is resumed."""
    recorder = Recorder()
    with running(clockwork(), recorder, paused=True) as (loop, _):
        assert loop.paused
        for steps in (1, 1, 10, 1000):
            loop.step(steps)
        loop.pause()
        expected = [0, 5 * MS, 10 * MS, 60 * MS, 5060 * MS]
        assert recorder.times_ns == expected
        np.testing.assert_allclose(recorder.xs, np.array(expected) / SECOND, rtol=1e-15)
        loop.resume()
        assert not loop.paused
        recorder.wait_for_more(3)
    after = recorder.times_ns[5:]
    assert after[:3] == [time_ns for time_ns in ticks(60.0, 5 * MS, 400) if time_ns > 5060 * MS][:3]


def test_a_huge_step_takes_no_longer_than_a_small_one() -> None:
    """A century and a half ahead: the next tick is computed, not counted up to, which would take hours."""
    recorder = Recorder()
    with running(still(), recorder, paused=True) as (loop, _):
        loop.step(10**12)
        loop.step()
    assert recorder.times_ns == [0, 5 * MS * 10**12, 5 * MS * (10**12 + 1)]


def test_a_step_of_a_running_simulation_is_refused() -> None:
    recorder = Recorder()
    with running(clockwork(), recorder) as (loop, _):
        with pytest.raises(Refused, match="pause it to step"):
            loop.step()
        recorder.wait_for_more(2)


@pytest.mark.parametrize("paused", [False, True])
def test_reset_delivers_the_first_tick_again(paused: bool) -> None:
    """Running or paused as before, and with another seed where one is given."""
    recorder = Recorder()
    with running(clockwork(5 * MS, 3 * SECOND), recorder, real_time_factor=5.0, paused=paused) as (loop, _):
        if paused:
            loop.step(100)
        else:
            recorder.wait_for_more(10)
        loop.reset(77)
        assert loop.simulation.seed == 77
        assert loop.paused == paused
        again = recorder.times_ns.index(3 * SECOND, 1)
        if not paused:
            recorder.wait_for_more(10)
            assert recorder.times_ns[again : again + 10] == recorder.times_ns[:10]
        assert recorder.xs[again] == pytest.approx(3.0, abs=1e-12)
        loop.reset()
        assert loop.simulation.seed == 77


def test_the_rate_changes_at_run_time() -> None:
    """The old period exactly, one tick for the change, then the new period exactly."""
    recorder = Recorder()
    with running(clockwork(MS), recorder, publish_rate=250.0, real_time_factor=0.0) as (loop, _):
        recorder.wait_for_more(100)
        loop.set_publish_rate(10.0)
        recorder.wait_for_more(20)
    periods = np.diff(recorder.times_ns)
    change = int(np.argmax(periods != 4 * MS))
    assert change >= 99
    assert periods[change] <= 4 * MS
    assert len(periods) > change + 15
    assert set(periods[change + 1 :].tolist()) == {100 * MS}


@pytest.mark.parametrize("paused", [False, True])
def test_a_slow_rate_does_not_hold_back_a_faster_one(paused: bool) -> None:
    """At a tick in a quarter of an hour, 60 Hz begins now, not with the tick that would have been next."""
    recorder = Recorder()
    with running(clockwork(), recorder, publish_rate=0.001, paused=paused) as (loop, _):
        recorder.wait_for(lambda times_ns: len(times_ns) == 1)
        loop.set_publish_rate(60.0)
        if paused:
            loop.resume()
        recorder.wait_for_more(5)


@pytest.mark.parametrize("paused", [False, True])
def test_wrong_values_are_refused_and_the_loop_goes_on(paused: bool) -> None:
    recorder = Recorder()
    with running(clockwork(), recorder, paused=paused) as (loop, _):
        for wrong in (0.0, -1.0, math.nan, math.inf):
            with pytest.raises(ValueError, match="publish rate"):
                loop.set_publish_rate(wrong)
        for wrong in (-1.0, math.nan, math.inf):
            with pytest.raises(ValueError, match="real-time factor"):
                loop.set_real_time_factor(wrong)
        if paused:
            with pytest.raises(ValueError, match="steps: -1"):
                loop.step(-1)
            loop.resume()
        recorder.wait_for_more(3)
    with pytest.raises(ValueError, match="publish rate"):
        Loop(Simulation(still()), (), publish_rate=0.0)
    with pytest.raises(ValueError, match="real-time factor"):
        Loop(Simulation(still()), (), real_time_factor=-1.0)
    for wrong in (-1, 2**63, 10**39):
        with pytest.raises(ValueError, match=r"zero or more|int64 nanoseconds"):
            Loop(Simulation(still()), (), duration_ns=wrong)


def test_full_speed_does_not_starve_requests() -> None:
    """Hundreds of them are served while ticks come as fast as they can."""
    recorder = Recorder()
    with running(still(), recorder, real_time_factor=0.0) as (loop, _):
        for _ in range(100):
            loop.pause()
            loop.step(3)
            loop.resume()


def test_a_loop_that_is_behind_does_not_take_a_tick_for_each_request() -> None:
    """A burst of forty kept the last one for forty ticks, a second on a busy machine."""
    began, go = Event(), Event()

    class Held(Recorder):
        def write(self, snapshot: Snapshot) -> None:
            super().write(snapshot)
            began.set()
            assert go.wait(PATIENCE)

    loop = Loop(Simulation(World("w", time=TimeGrid(10 * MS))), [Held()], real_time_factor=0.0)
    loop.start()
    assert began.wait(PATIENCE)
    asked = [loop.submit(lambda: loop.simulation.steps) for _ in range(40)]
    go.set()
    assert len({each.result(PATIENCE) for each in asked}) == 1
    loop.stop()
    with pytest.raises(Refused):
        loop.submit(lambda: None)


def test_the_slowest_speed_is_a_wait_like_any_other() -> None:
    """Centuries to the next tick are more than a thread can wait for at once."""
    recorder = Recorder()
    with running(clockwork(), recorder, real_time_factor=1e-300) as (loop, over):
        recorder.wait_for(lambda times_ns: len(times_ns) == 1)
        assert not over.is_set()
        loop.set_real_time_factor(1.0)
        recorder.wait_for_more(2)


def test_what_is_asked_before_the_start_shows_in_the_first_tick() -> None:
    """Nothing is written to sinks that are not open yet."""
    recorder, over = Recorder(), threading.Event()
    loop = Loop(Simulation(clockwork()), (recorder,), paused=True)
    loop.step(40)
    loop.set_publish_rate(100.0)
    loop.reset()
    loop.step(4)
    assert recorder.times_ns == []
    loop.start(over.set)
    loop.step()
    stop(loop)
    assert recorder.times_ns == [20 * MS, 25 * MS]


def test_a_reset_before_the_start_is_no_tick() -> None:
    recorder, over = Recorder(), threading.Event()
    loop = Loop(Simulation(still()), (recorder,), real_time_factor=0.0, duration_ns=SECOND)
    loop.reset(5)
    loop.start(over.set)
    assert over.wait(PATIENCE)
    stop(loop)
    assert loop.pace().ticks == len(recorder.times_ns) == 61


def test_a_sink_may_pause_its_own_loop() -> None:
    """The call runs at once, in the middle of the tick; waiting for its end would never end."""

    class Pausing(Recorder):
        def write(self, snapshot: Snapshot) -> None:
            super().write(snapshot)
            if snapshot.time_ns == 500 * MS:
                loop.pause()
                assert loop.call(lambda: loop.call(lambda: loop.simulation.time_ns)) == 500 * MS

    pausing, behind = Pausing(), Recorder()
    loop = Loop(Simulation(still()), (pausing, behind), real_time_factor=0.0)
    loop.start()
    behind.wait_for(lambda times_ns: times_ns[-1:] == [500 * MS])
    assert loop.paused
    stop(loop)
    assert pausing.times_ns == behind.times_ns == ticks(60.0, 5 * MS, 31)


@pytest.mark.parametrize("asked", [Loop.reset, Loop.step, lambda loop: loop.run(1.0)])
def test_a_sink_cannot_move_the_tick_that_others_are_yet_to_get(asked: Callable[..., Any]) -> None:
    class Asking(Recorder):
        def write(self, snapshot: Snapshot) -> None:
            super().write(snapshot)
            loop.pause()
            asked(loop)

    asking, over = Asking(), threading.Event()
    loop = Loop(Simulation(still()), (asking,))
    loop.start(over.set)
    assert over.wait(PATIENCE)
    with pytest.raises(Refused, match="a sink cannot"):
        stop(loop)
    assert asking.closed == 1


def test_a_sink_may_stop_its_own_loop() -> None:
    """The tick still goes to the sinks behind it."""

    class Stopping(Recorder):
        def write(self, snapshot: Snapshot) -> None:
            super().write(snapshot)
            if len(self.times_ns) == 10:
                loop.stop()

    stopping, behind, over = Stopping(), Recorder(), threading.Event()
    loop = Loop(Simulation(still()), (stopping, behind), real_time_factor=0.0)
    loop.start(over.set)
    assert over.wait(PATIENCE)
    stop(loop)
    assert stopping.times_ns == behind.times_ns == ticks(60.0, 5 * MS, 10)
    assert (stopping.closed, behind.closed) == (1, 1)


# Ends and failures


@pytest.mark.parametrize("paused", [False, True])
def test_stop_ends_a_loop_running_or_paused_once(paused: bool) -> None:
    recorder = Recorder()
    with running(clockwork(), recorder, paused=paused) as (loop, over):
        recorder.wait_for(lambda times_ns: len(times_ns) >= 1)
        stop(loop)
        assert over.is_set()
    assert recorder.closed == 1


@pytest.mark.parametrize(
    "request_of", [Loop.pause, Loop.resume, Loop.reset, Loop.step, lambda loop: loop.set_publish_rate(30.0)]
)
def test_requests_after_the_end_are_refused(request_of: Callable[..., Any]) -> None:
    with running(still(), Recorder(), real_time_factor=0.0, duration_ns=SECOND, paused=False) as (loop, over):
        assert over.wait(PATIENCE)
        with pytest.raises(Refused, match="has ended"):
            request_of(loop)


def test_a_loop_that_never_started_can_be_stopped() -> None:
    recorder = Recorder()
    loop = Loop(Simulation(still()), (recorder,))
    stop(loop)
    assert not recorder.opened


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize(("at", "after"), [("open", 0), ("write", 0), ("write", 25), ("close", 0)])
def test_a_sinks_failure_is_raised_by_stop(at: str, after: int, failure: type[Exception]) -> None:
    """Once. The loop is over, the other sinks that were opened are closed."""
    before, failing, behind, over = Recorder(), Failing(at, after, failure), Recorder(), threading.Event()
    loop = Loop(Simulation(clockwork()), (before, failing, behind), real_time_factor=0.0, duration_ns=10 * SECOND)
    loop.start(over.set)
    assert over.wait(PATIENCE)
    with pytest.raises(failure, match=f"broken in {at}"):
        stop(loop)
    stop(loop)
    assert before.closed == 1
    assert behind.closed == (0 if at == "open" else 1)
    assert failing.closed == (0 if at == "open" else 1)
    with pytest.raises(Refused):
        loop.pause()


def test_the_first_failure_is_the_one_reported() -> None:
    """A sink that fails to close because it failed to write says why it failed to write."""

    class FailingTwice(Failing):
        def close(self) -> None:
            raise OSError("and in close")

    over = threading.Event()
    loop = Loop(Simulation(still()), (FailingTwice("write", 3),), real_time_factor=0.0)
    loop.start(over.set)
    assert over.wait(PATIENCE)
    with pytest.raises(RuntimeError, match="broken in write"):
        stop(loop)


@pytest.mark.parametrize("asked", [Loop.step, Loop.reset])
def test_a_sink_that_fails_at_a_request_fails_the_loop_too(asked: Callable[..., Any]) -> None:
    """Whoever asked is told, and so is whoever stops: a broken sink is not written to again."""
    failing, over = Failing("write", 1), threading.Event()
    loop = Loop(Simulation(clockwork()), (failing,), paused=True)
    loop.start(over.set)
    with pytest.raises(RuntimeError, match="broken in write"):
        asked(loop)
    assert over.wait(PATIENCE)
    with pytest.raises(RuntimeError, match="broken in write"):
        stop(loop)
    assert (len(failing.times_ns), failing.closed) == (2, 1)


def hammered(loop: Loop, seed: int, meanwhile: Callable[..., Any] = lambda: None) -> set[str]:
    """Random requests from four threads, the last ones after `meanwhile`; what those not carried out raised.

    None may hang.
    """
    raised: set[str] = set()
    over = threading.Event()

    def one(seed: int) -> None:
        choose = random.Random(seed)
        number, is_last = 0, False
        while number < 200 or not is_last:
            number, is_last = number + 1, over.is_set()
            call = choose.choice(
                [
                    loop.pause,
                    loop.resume,
                    loop.reset,
                    lambda: loop.step(choose.randrange(5)),
                    lambda: loop.set_real_time_factor(choose.choice([0.0, 0.5, 1.0, 50.0])),
                    lambda: loop.set_publish_rate(choose.choice([1.0, 60.0, 500.0])),
                    loop.pace,
                ]
            )
            try:
                call()
            except BaseException as failure:
                raised.add(str(failure))

    threads = [threading.Thread(target=one, args=(seed * 10 + i,), daemon=True) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        meanwhile()
    finally:
        over.set()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a request hangs"
    return raised


RUNS, ENDED, BROKEN = "the simulation is running; pause it to step", "the simulation has ended", "broken in write"


@pytest.mark.parametrize("seed", range(3))
def test_random_requests_from_many_threads(seed: int) -> None:
    """Eight hundred of them; every one returns, and the loop still obeys afterwards."""
    recorder = Recorder()
    with running(clockwork(), recorder) as (loop, _):
        assert hammered(loop, seed) <= {RUNS}
        loop.pause()
        loop.reset()
        count = len(recorder.times_ns)
        loop.step(7)
        assert recorder.times_ns[count - 1 :] == [0, 35 * MS]
        np.testing.assert_allclose(recorder.xs, np.array(recorder.times_ns) / SECOND, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_requests_that_a_failure_overtakes_are_refused(seed: int) -> None:
    """A sink breaks among hundreds of requests: one may be told so, those after it are refused, none waits for ever."""
    failing, over = Failing("write", 50), threading.Event()
    loop = Loop(Simulation(clockwork()), (failing,), real_time_factor=0.0)
    loop.start(over.set)
    assert hammered(loop, seed, lambda: over.wait(PATIENCE)) - {RUNS, BROKEN} == {ENDED}
    assert over.is_set()
    with pytest.raises(RuntimeError, match=BROKEN):
        stop(loop)
    assert (len(failing.times_ns), failing.closed) == (51, 1)


@pytest.mark.parametrize("seed", range(5))
def test_requests_that_stop_overtakes_are_refused(seed: int) -> None:
    """As in a node that is shut down while its services are called."""
    recorder = Recorder()
    with running(clockwork(), recorder) as (loop, _):

        def end() -> None:
            recorder.wait_for_more(20)
            stop(loop)

        assert hammered(loop, seed, end) - {RUNS} == {ENDED}
    assert recorder.closed == 1
