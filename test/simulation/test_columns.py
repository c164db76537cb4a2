"""Columns of a run: declared by engines, kept in states, read from snapshots, recorded over time."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node.simulation import Simulation
from sim_node.simulation.columns import Array, AtInstants, Column, Columns
from sim_node.simulation.physics import ENGINES
from sim_node.simulation.sensors import Noise, NoiseBank
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world import Body, Drag, Geometry, Motion, Sensor, TimeGrid, World, load
from sim_node.world.layout import Layout

MS, SECOND = 1_000_000, 1_000_000_000
IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def at(x: float) -> FloatArray:
    return np.array([x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def train(step_ns: int = 10 * MS, start_ns: int = 0) -> World:
    """x of `engine` is the simulation time in seconds, for the first thousand of them."""
    motion = Motion("engine", "map", np.array([0, 1000 * SECOND]), np.array([at(0.0), at(1000.0)]))
    return World("train", time=TimeGrid(start_ns, step_ns), motions=(motion,))


def stone(**parts: Any) -> World:
    body = Body("stone", "map", "free", geometry=(Geometry("sphere", np.array([0.1]), 1.0),))
    return World("stone", time=TimeGrid(step_ns=MS), bodies=(body,), **parts)


# The table


def test_an_owners_own_memory_is_the_column() -> None:
    columns, memory = Columns(), np.zeros((2, 3))
    assert columns.add(Column("spin", ("a", "b"), (3,)), memory) is memory
    memory[1, 2] = 5.0
    assert columns["spin"][1, 2] == 5.0
    assert columns.rows("spin", ["b"]).tolist() == [1]


def test_what_is_claimed_twice_is_refused_and_both_are_named() -> None:
    columns = Columns("the simulation")
    columns.add(Column("pose", ("a", "b", "c"), (7,), shared=True))
    columns.owned_by("engine 'one'").claim("pose", ["c", "a"])
    columns.owned_by("engine 'two'").claim("pose", ["b"])
    with pytest.raises(ValueError, match=r"^column 'pose', rows 'a', 'c': both engine 'one' and engine 'three'$"):
        columns.owned_by("engine 'three'").claim("pose", ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"^column 'pose': both the simulation and engine 'two'$"):
        columns.owned_by("engine 'two'").add(Column("pose", ("a",), (7,)))
    columns.add(Column("qpos", ("a",)))
    with pytest.raises(ValueError, match="both the simulation and engine 'two'; its rows are not shared"):
        columns.owned_by("engine 'two'").claim("qpos", ["a"])


def test_wrong_declarations_are_refused() -> None:
    columns = Columns()
    columns.add(Column("rotor_speed", ("v/rotor0",)))
    with pytest.raises(KeyError, match="no column 'rotor_sped'; did you mean rotor_speed"):
        columns["rotor_sped"]
    with pytest.raises(KeyError, match="column 'rotor_speed' has no row 'v/rotor1'; did you mean v/rotor0"):
        columns.rows("rotor_speed", ["v/rotor1"])
    with pytest.raises(ValueError, match=r"column 'x': found float32 of shape \(2,\), needs float64 of shape \(1, 3\)"):
        columns.add(Column("x", ("a",), (3,)), np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="column 'y': a column of state needs `put`"):
        columns.compute(Column("y", ("a",)), lambda: (np.zeros(1),))
    columns.owned_by("engine 'late'").need("rotor_sped")
    with pytest.raises(ValueError, match="engine 'late' reads column 'rotor_sped', which this run lacks; did you mean"):
        columns.check_needs()


# Engines of others


class Belt:
    """An engine as a plug-in has it: a frame that is dragged along at a speed that was drawn at random."""

    def __init__(self, world: World, layout: Layout, columns: Columns) -> None:
        self._rows = columns.claim("pose", ["belt"])
        self._way = columns.add(Column("belt/way", ("belt",), unit="m", meaning="how far it went"))
        self._speed = columns.add(Column("belt/speed", ("belt",), unit="m/s", meaning="how fast it is"))

    def reset(self, seed: int) -> None:
        self._way[0], self._speed[0] = 0.0, np.random.default_rng(seed).uniform(1.0, 2.0)

    def step(self, steps: int) -> None:
        for _ in range(steps):
            self._way += 0.001 * self._speed

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        poses[self._rows] = at(self._way[0] + ahead_ns * 1e-9 * self._speed[0])


@pytest.fixture
def belts() -> Iterator[None]:
    # Keyframes say that the frame is there; this engine moves it instead.
    with pytest.MonkeyPatch.context() as patched, ENGINES.extended({"belts": Belt}):
        patched.setitem(ENGINES.table(), "keyframes", lambda world, layout, columns: None)
        yield


BELT = World("belt", time=TimeGrid(step_ns=MS), motions=(Motion("belt", "map", np.array([0]), np.array([IDENTITY])),))


def test_an_engine_that_declares_columns_is_saved_restored_and_recorded(belts: None) -> None:
    simulation = Simulation(BELT, seed=4)
    speed = np.random.default_rng(4).uniform(1.0, 2.0)
    history = simulation.history("belt/way", "pose", every=0.1)
    simulation.run(0.5)
    state = pickle.loads(pickle.dumps(simulation.state))
    assert set(state.columns) == {"belt/way", "belt/speed"}
    np.testing.assert_allclose(simulation.snapshot().poses[1, 0], 0.5 * speed, rtol=1e-12)
    np.testing.assert_allclose(history["belt/way"][:, 0], history.times * speed, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(history["pose"][:, 1, 0], history.times * speed, rtol=1e-12, atol=1e-15)
    simulation.run(0.5)
    expected = simulation.snapshot().poses.tobytes()
    other = Simulation(BELT)
    other.restore(state)
    other.run(0.5)
    assert other.snapshot().poses.tobytes() == expected


def test_a_sensor_on_a_frame_of_unknown_motion_is_refused_and_the_engine_named(belts: None) -> None:
    imu = Sensor("IMU", "belt", IDENTITY, type="imu")
    with pytest.raises(ValueError, match="'IMU' needs to know how 'belt' moves, but engine 'belts' moves it"):
        Simulation(replace(BELT, sensors=(imu,)))
    assert np.isnan(Simulation(BELT).columns["twist"][1]).all()


def test_sensors_read_frames_whose_rows_are_functions_of_time() -> None:
    class Swing(Belt):
        """x = t^2 as a function of time."""

        def __init__(self, world: World, layout: Layout, columns: Columns) -> None:
            def instants(places: IntArray) -> AtInstants:
                return lambda times_ns: np.array([[at((t * 1e-9) ** 2)] for t in times_ns])

            columns.claim("pose", ["belt"], instants)

        def reset(self, seed: int) -> None: ...
        def step(self, steps: int) -> None: ...
        def write(self, poses: FloatArray, ahead_ns: int) -> None: ...

    truth = Sensor("TRUTH", "belt", IDENTITY, type="ground_truth", parameters={"rate": 100.0})
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(ENGINES.table(), "keyframes", Swing)
        simulation = Simulation(replace(BELT, sensors=(truth,)))
        simulation.run(2.0)
        reported = simulation.snapshot().measurements["TRUTH"].values[-1]
    np.testing.assert_allclose(reported[[0, 7]], [4.0, 4.0], atol=1e-9)


def test_an_engine_that_claims_what_keyframes_move_is_refused() -> None:
    message = "column 'pose', rows 'belt': both engine 'keyframes' and engine 'belts'"
    with ENGINES.extended({"belts": Belt}), pytest.raises(ValueError, match=message):
        Simulation(BELT)


# Snapshots


def test_a_snapshot_keeps_the_columns_that_are_named() -> None:
    simulation = Simulation(load("quadrotor"), sensors=False)
    simulation.run(1.0)
    kept = simulation.snapshot("rotor_speed", "qpos")
    speeds = simulation.vehicles["drone"].speeds.copy()
    simulation.run(1.0)
    np.testing.assert_array_equal(kept["rotor_speed"], speeds)
    assert kept["pose"] is kept.poses
    with pytest.raises(KeyError, match="this snapshot has no column 'rotor_sped'; did you mean rotor_speed"):
        kept["rotor_sped"]
    assert simulation.present()["rotor_speed"] is simulation.columns["rotor_speed"]


def test_the_twist_column_is_along_the_fixed_axes() -> None:
    """Of what falls and turns freely, and of what follows keyframes at 1 m/s."""
    body = replace(stone().bodies[0], q=np.array([0, 0, 0, 0, 0, 1, 0.0]), qd=np.array([1.0, 2, 3, 0, 0, 0.5]))
    world = replace(stone(), bodies=(body,), motions=train().motions)
    simulation = Simulation(world)
    simulation.run(0.1)
    twist = dict(zip(simulation.frames.names, simulation.columns["twist"], strict=True))
    np.testing.assert_allclose(twist["stone"], [1, 2, 3 - 0.1 * 9.81, 0, 0, 0.5], atol=1e-9)
    np.testing.assert_allclose(twist["engine"], [1, 0, 0, 0, 0, 0], atol=1e-6)
    assert not twist["map"].any()


# Histories


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=5), st.integers(1, 70))
def test_a_history_has_the_first_step_at_or_after_each_period(strides: Sequence[int], every_ms: int) -> None:
    simulation = Simulation(train(start_ns=3 * SECOND))
    history = simulation.history("pose", every=max(every_ms, 10) * 1e-3)
    for steps in strides:
        simulation.step(steps)
    step, every = 10, max(every_ms, 10)
    expected = sorted({-(-k * every // step) * step for k in range(sum(strides) * step // every + 1)})
    expected = [ms for ms in expected if ms <= sum(strides) * step]
    assert history.times_ns.tolist() == [3 * SECOND + ms * MS for ms in expected]
    assert history["pose"].shape == (len(expected), 2, 7)
    np.testing.assert_allclose(history["pose"][:, 1, 0], history.times, rtol=1e-12)


def test_a_history_follows_resets_and_restores_and_stops() -> None:
    simulation = Simulation(train())
    history = simulation.history("pose")
    simulation.step(4)
    state = simulation.state
    simulation.step(3)
    simulation.restore(state)
    simulation.step(1)
    assert (history.times_ns // (10 * MS)).tolist() == [0, 1, 2, 3, 4, 5]
    simulation.reset()
    assert (history.times_ns // (10 * MS)).tolist() == [0]
    simulation.step(2)
    history.stop()
    simulation.step(5)
    assert len(history) == 3


# Takes seconds: make test has histories of other periods.
@pytest.mark.nightly
def test_a_history_does_not_disturb_readings() -> None:
    simulation, alone = Simulation(load("survey"), 5), Simulation(load("survey"), 5)
    for run in (simulation, alone):
        run.step(20)
    simulation.history("pose", "twist")
    for _ in range(2):
        for one, other in zip(
            simulation.snapshot().measurements.batches, alone.snapshot().measurements.batches, strict=True
        ):
            assert one.values.tobytes() == other.values.tobytes()
        for run in (simulation, alone):
            run.step(200)


def test_wrong_histories_are_refused() -> None:
    simulation = Simulation(load("survey"))
    with pytest.raises(KeyError, match="no column 'poses'; did you mean pose"):
        simulation.history("poses")
    with pytest.raises(ValueError, match="every: 1e-06 s; at least the world's step"):
        simulation.history("pose", every=1e-6)
    with pytest.raises(ValueError, match="cannot be recorded: its number of rows changes"):
        simulation.history("sensor/imu/last/values")


# States


def test_a_state_names_every_part_that_the_future_depends_on() -> None:
    world = stone(forces=(Drag("stone", quadratic=np.full(3, 0.1)),))
    kept = Simulation(world).state.columns
    assert set(kept) == {
        *("time", "qpos", "qvel", "qacc_warmstart", "qfrc_applied", "xfrc_applied", "wrench", "drag/velocity"),
    }
    assert kept["qpos"].shape == (7,)


@pytest.mark.parametrize("measurements", [0, 1, 255, 256, 257, 512])
def test_noise_goes_on_after_a_restore_at_the_end_of_a_block(measurements: int) -> None:
    def bank() -> NoiseBank:
        noise = Noise(density=1.0, random_walk=0.1, bias_instability=0.2)
        return NoiseBank([((noise, 3),)], [np.random.Generator(np.random.Philox(3))], 100.0)

    one, other = bank(), bank()
    one.record(np.zeros((1, 3)), measurements)
    state: dict[str, Array] = {name: np.array(array) for name, array in one.state().items()}
    expected = one.record(np.zeros((1, 3)), 300)
    other.restore(state)
    np.testing.assert_array_equal(other.record(np.zeros((1, 3)), 300), expected)


# Mappings


def test_snapshots_and_measurements_are_mappings() -> None:
    simulation = Simulation(load("quadrotor"))
    simulation.run(0.1)
    snapshot = simulation.snapshot("rotor_speed", "pose")
    assert isinstance(snapshot, Mapping)
    assert isinstance(snapshot.measurements, Mapping)
    assert list(snapshot) == ["pose", "rotor_speed"]
    assert len(snapshot) == 2
    assert {name: array.shape for name, array in snapshot.items()} == {
        "pose": snapshot.poses.shape,
        "rotor_speed": (4,),
    }
    assert snapshot.get("rotor_sped") is None
    with pytest.raises(KeyError, match="did you mean rotor_speed"):
        snapshot["rotor_sped"]
    # 250 Hz for a tenth of a second, and a fix at 10 Hz: what the shipped world asks of its sensors.
    shapes = {name: values.shape for name, (_, values) in snapshot.measurements.items()}
    assert shapes["drone/IMU"] == (25, 6)
    assert shapes["drone/GPS"][0] == 1
    assert len(snapshot.measurements) == len(shapes) == len(simulation.world.sensors)
    assert "drone/IMU" in snapshot.measurements


def test_snapshots_and_measurements_equal_themselves_alone() -> None:
    """Comparing arrays number by number would raise, or say nothing."""
    simulation = Simulation(load("quadrotor"))
    one, other = simulation.snapshot(), simulation.snapshot()
    assert one == one
    assert one != other
    assert len({one, other, one.measurements}) == 3


@pytest.mark.parametrize("rows", [1, 3, 700])
def test_a_checkpoint_puts_back_its_columns_and_no_others(rows: int) -> None:
    """Small arrays share memory, large ones do not, and some are an engine's own; all begin at whole words."""
    columns, draw = Columns(), np.random.default_rng(rows)
    entities, kinds = tuple(f"e{k}" for k in range(rows)), (np.float64, np.bool_, np.int64, np.uint8, np.float64)
    arrays = {f"c{k}": columns.add(Column(f"c{k}", entities, (k,), kind)) for k, kind in enumerate(kinds)}
    arrays["own"] = columns.add(Column("own", entities, (2,)), np.zeros((rows, 2)))
    kept = [name for name in arrays if name != "c3"]
    assert all(array.flags.aligned and not array.any() for array in arrays.values())

    def fill() -> dict[str, Array]:
        for array in arrays.values():
            array[...] = draw.integers(0, 2, array.shape)
        return {name: array.copy() for name, array in arrays.items()}

    checkpoint = columns.checkpoint(kept)
    before = fill()
    saved = checkpoint.save()
    after = fill()
    checkpoint.restore(saved)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, (before if name in kept else after)[name])
