"""The Python API of a Simulation, kept from here on, and its determinism."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import rows

from sim_node.simulation import Simulation, Snapshot, State
from sim_node.simulation.sensors import groups_of
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Motion, StaticFrame, TimeGrid, World, WorldError, load
from sim_node.world.locate import shipped_worlds

SECOND = 1_000_000_000
MS = 1_000_000
WORLDS = shipped_worlds()
# Every engine, kind of sensor and force is in these; the nightly tests run all worlds.
USUAL = ("arm_on_cart", "buoys", "formation", "four_bar", "lidar_room", "orbit", "quadrotor")


def pose(x: float) -> FloatArray:
    return np.array([x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def train(start_ns: int = 0, step_ns: int = 10 * MS) -> World:
    """x of `engine` is the simulation time in seconds, for the first thousand of them; `bell` is fixed to it."""
    return World(
        "train",
        time=TimeGrid(start_ns, step_ns),
        frames=(StaticFrame("bell", "engine", pose(0.5)),),
        motions=(Motion("engine", "map", np.array([0, 1000 * SECOND]), np.array([pose(0.0), pose(1000.0)])),),
    )


def engine_x(simulation: Simulation, snapshot: Snapshot) -> float:
    return float(snapshot.poses[simulation.frames.names.index("engine"), 0])


def test_frames_are_a_table_parents_first() -> None:
    frames = Simulation(train()).frames
    assert frames.names == ("map", "engine", "bell")
    assert frames.parents.tolist() == [-1, 0, 1]
    assert frames.static.tolist() == [True, False, True]
    assert frames.parents.dtype == np.int32
    assert frames.static.dtype == np.bool_


def test_a_snapshot_is_time_and_poses() -> None:
    simulation = Simulation(train(start_ns=2 * SECOND), seed=7)
    assert simulation.seed == 7
    first = simulation.snapshot()
    assert first.time_ns == 2 * SECOND
    assert first.poses.shape == (3, 7)
    assert first.poses.dtype == np.float64
    np.testing.assert_allclose(first.poses, [pose(0.0), pose(2.0), pose(0.5)], rtol=0, atol=1e-15)


def test_step_and_run_advance_along_the_grid() -> None:
    simulation = Simulation(train())
    simulation.step()
    assert simulation.snapshot().time_ns == 10 * MS
    simulation.step(9)
    simulation.run(0.9)
    assert (simulation.steps, simulation.time_ns) == (100, SECOND)
    assert engine_x(simulation, simulation.snapshot()) == pytest.approx(1.0, abs=1e-15)


@given(st.integers(0, 10**6), st.integers(1, 10**9), st.integers(0, 10**15))
def test_time_is_start_plus_steps_times_step_exactly(steps: int, step_ns: int, start_ns: int) -> None:
    simulation = Simulation(train(start_ns, step_ns * 1000))
    simulation.step(steps)
    assert simulation.time_ns == start_ns + steps * step_ns * 1000


@pytest.mark.parametrize(
    ("duration", "steps"), [(0.0, 0), (0.3, 30), (0.1 + 0.2, 30), (0.0149, 1), (0.0151, 2), (36_000.0, 3_600_000)]
)
def test_run_takes_the_nearest_whole_steps(duration: float, steps: int) -> None:
    simulation = Simulation(train())
    simulation.run(duration)
    assert simulation.steps == steps


@given(
    st.lists(st.floats(0.0, 0.5), max_size=30),
    st.integers(1000, 10**8),
)
def test_runs_add_up(durations: list[float], step_ns: int) -> None:
    """However a time is cut into calls, the run is at the step nearest to the sum of them so far."""
    simulation = Simulation(train(step_ns=step_ns))
    asked_ns = 0
    for duration in durations:
        simulation.run(duration)
        asked_ns += round(Fraction(duration) * 10**9)
        assert abs(2 * (simulation.time_ns - asked_ns)) <= step_ns + 2 * len(durations)
    assert simulation.time_ns + simulation.remainder_ns == pytest.approx(asked_ns, abs=len(durations))


def test_what_is_left_of_a_step_is_carried_over() -> None:
    """40 times 10 ms on a grid of 4 ms, also over a state; a reset begins anew."""
    simulation = Simulation(train(step_ns=4 * MS))
    for _ in range(25):
        simulation.run(0.01)
    state = pickle.loads(pickle.dumps(simulation.state))
    other = Simulation(train(step_ns=4 * MS))
    other.run(0.001)
    other.restore(state)
    for run in (simulation, other):
        for _ in range(15):
            run.run(0.01)
        assert run.time_ns == 400 * MS
    simulation.run(0.001)
    simulation.reset()
    simulation.run(0.001)
    assert (simulation.steps, simulation.remainder_ns) == (0, MS)


def test_snapshots_do_not_change_later() -> None:
    simulation = Simulation(train())
    kept = [simulation.snapshot()]
    for _ in range(3):
        simulation.run(1.0)
        kept.append(simulation.snapshot())
    kept[1].poses[:] = 9.0
    assert [engine_x(simulation, kept[i]) for i in (0, 2, 3)] == pytest.approx([0.0, 2.0, 3.0], abs=1e-15)
    assert engine_x(simulation, simulation.snapshot()) == pytest.approx(3.0, abs=1e-15)


def test_two_simulations_of_one_world_do_not_meet() -> None:
    world = train()
    one, other = Simulation(world), Simulation(world)
    one.run(5.0)
    one.snapshot()
    assert engine_x(other, other.snapshot()) == 0.0


def test_reset_goes_back_and_may_take_another_seed() -> None:
    simulation = Simulation(train(SECOND), seed=3)
    first = simulation.snapshot()
    simulation.run(4.0)
    simulation.reset()
    assert (simulation.time_ns, simulation.seed) == (SECOND, 3)
    np.testing.assert_array_equal(simulation.snapshot().poses, first.poses)
    simulation.reset(11)
    assert simulation.seed == 11


@given(st.lists(st.integers(0, 20 * SECOND), min_size=1, max_size=8))
def test_seek_finds_any_time_forwards_and_backwards(times_ns: Sequence[int]) -> None:
    """Between steps too, at x = t; the run then stands at the step before."""
    simulation = Simulation(train())
    for time_ns in times_ns:
        found = simulation.seek(time_ns)
        assert found.time_ns == time_ns
        assert engine_x(simulation, found) == pytest.approx(time_ns / SECOND, rel=1e-15, abs=1e-15)
        assert simulation.time_ns == time_ns - time_ns % (10 * MS)
        assert engine_x(simulation, simulation.snapshot()) == pytest.approx(simulation.time_ns / SECOND, abs=1e-14)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda run: run.step(-1), ValueError, r"steps: -1; time goes forward"),
        (lambda run: run.run(-1.0), ValueError, r"duration: -1 s; time goes forward"),
        (lambda run: run.run(float("nan")), ValueError, "nan is not a finite number of seconds"),
        (lambda run: run.run(float("inf")), ValueError, "inf is not a finite number of seconds"),
        (lambda run: run.run(1e30), ValueError, r"1e\+30 s is out of range; .* 9223372036 s \(int64 nanoseconds"),
        (lambda run: run.run(9.2233720365e9), ValueError, "int64 nanoseconds, about 292 years"),
        (lambda run: run.step(10**18), ValueError, "int64 nanoseconds"),
        (lambda run: run.seek(2**63), ValueError, "int64 nanoseconds"),
        (lambda run: run.step(1.5), TypeError, "float"),
        (lambda run: run.seek(2 * SECOND - 1), ValueError, "before the world's start at 2 s"),
    ],
)
def test_wrong_calls_are_refused_and_change_nothing(
    wrong: Callable[..., Any], error: type[Exception], message: str
) -> None:
    simulation = Simulation(train(2 * SECOND))
    simulation.step(3)
    with pytest.raises(error, match=message):
        wrong(simulation)
    assert simulation.steps == 3
    assert engine_x(simulation, simulation.snapshot()) == pytest.approx(2.03, abs=1e-14)


def test_a_world_that_cannot_be_laid_out_is_refused() -> None:
    with pytest.raises(WorldError, match="nowhere"):
        Simulation(World("broken", frames=(StaticFrame("a", "nowhere", pose(0.0)),)))


def test_a_world_of_one_frame_runs() -> None:
    simulation = Simulation(World("empty"))
    simulation.run(1.0)
    np.testing.assert_array_equal(simulation.snapshot().poses, [pose(0.0)])


# Determinism


def shipped(name: str) -> World:
    """A shipped world, whose cameras have few pixels: to render thousands takes most of the time."""
    world = load(WORLDS[name])
    small = {"width": 64, "height": 48}
    sensors = [
        replace(sensor, parameters={**sensor.parameters, **small}) if sensor.type.endswith("camera") else sensor
        for sensor in world.sensors
    ]
    return replace(world, sensors=tuple(sensors))


STEPS = (*[1] * 50, 147)


def digests(simulation: Simulation, strides: Sequence[int] = STEPS) -> list[str]:
    """Of the names, parents, times, poses and readings of a run, up to the end of each stride."""
    content = hashlib.sha256(repr((simulation.frames.names, simulation.frames.parents.tolist())).encode())
    found = []
    for steps in strides:
        simulation.step(steps)
        snapshot = simulation.snapshot()
        content.update(snapshot.time_ns.to_bytes(8, "little") + snapshot.poses.tobytes())
        for batch in snapshot.measurements.batches:
            content.update(batch.stamps_ns.tobytes() + batch.values.tobytes())
        found.append(content.hexdigest())
    return found


@pytest.mark.parametrize("name", rows(WORLDS, {*USUAL} - {"lidar_room"}))
def test_a_reset_run_is_the_first_run_and_another_seed_another(name: str) -> None:
    """The poses are of this world, so a longer run is another one. Seeds matter where there are sensors."""
    simulation = Simulation(shipped(name), 5)
    first = digests(simulation)
    assert len(set(first)) == len(STEPS)
    simulation.reset()
    assert digests(simulation) == first
    if groups_of(simulation.world):
        simulation.reset(6)
        assert digests(simulation, STEPS[:20])[-1] != first[19]
    simulation.close()


def beginnings(*names: str) -> list[str]:
    """The digest of a short run of each of some worlds."""
    found = []
    for name in names:
        simulation = Simulation(shipped(name), 5)
        found += digests(simulation, [1, 29])
        simulation.close()
    return found


@pytest.mark.parametrize(
    "names",
    [pytest.param(("buoys", "quadrotor"), id="usual"), pytest.param([*WORLDS], marks=pytest.mark.nightly, id="all")],
)
def test_same_world_and_seed_same_bytes_in_every_process(names: Sequence[str]) -> None:
    """Whatever the seed of Python's string hashes."""
    program = f"from test_simulation import *; print(*beginnings{(*names,)})"
    # Not the seed of this process, which is random, or 0 under xdist.
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        mine = beginnings(*names)
        theirs, _ = other.communicate()
    assert theirs.split() == mine


# States


def reported(snapshot: Snapshot) -> tuple[int, bytes, list[bytes]]:
    """The bytes of a snapshot."""
    measurements = [
        part.tobytes() for batch in snapshot.measurements.batches for part in (batch.stamps_ns, batch.values)
    ]
    return snapshot.time_ns, snapshot.poses.tobytes(), measurements


def later(simulation: Simulation, strides: Sequence[int]) -> tuple[list[tuple[Any, Any, Any]], State]:
    """The bytes of the snapshots after each of some strides, and of the state at the end."""
    snapshots = []
    for steps in strides:
        simulation.step(steps)
        snapshots.append(reported(simulation.snapshot()))
    return snapshots, simulation.state


STRIDES = st.lists(st.integers(0, 40), max_size=3)


@pytest.mark.parametrize("name", rows(WORLDS, USUAL))
def test_a_restored_run_gives_the_same_bytes(name: str) -> None:
    """Poses, noise, late readings and schedules: through pickle, in the same run and in one that was elsewhere."""
    # Reset for each example: to open cameras takes seconds.
    simulation, other = Simulation(shipped(name)), Simulation(shipped(name))

    @settings(max_examples=3, deadline=None)
    @given(st.integers(0, 2**63 - 1), STRIDES, STRIDES, STRIDES)
    def is_restored(seed: int, before: Sequence[int], after: Sequence[int], elsewhere: Sequence[int]) -> None:
        simulation.reset(seed)
        later(simulation, before)
        state, present = simulation.state, reported(simulation.snapshot())
        expected = later(simulation, after)
        other.reset(0)
        later(other, elsewhere)
        for run in (simulation, other):
            run.restore(pickle.loads(pickle.dumps(state)))
            assert reported(run.snapshot()) == present
            assert later(run, after) == expected

    is_restored()
    simulation.close()
    other.close()


def test_a_state_of_other_sensors_is_refused() -> None:
    with pytest.raises(ValueError, match="column 'sensor/imu/count' is not of this world"):
        Simulation(load("survey"), sensors=False).restore(Simulation(load("survey")).state)
