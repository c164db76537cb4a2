"""Exec: ticks, their history as data frames, archives, batches, and the pure step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sim_node.extensions.elodin as el
from sim_node.session import MissingExtra

X = Annotated[jax.Array, el.Component("x", el.ComponentType.F64)]
Grid = Annotated[jax.Array, el.Component("grid", el.ComponentType(el.PrimitiveType.F32, (2, 3)))]
Mode = Annotated[jax.Array, el.Component("mode", el.ComponentType(el.PrimitiveType.U8))]


@dataclass
class Thing(el.Archetype):
    x: X
    grid: Grid
    mode: Mode


@el.map
def add(x: X) -> X:
    return x + 1.0


def thing(x: float = 1.0) -> Thing:
    return Thing(x, np.arange(6.0).reshape(2, 3), np.uint8(7))


@pytest.fixture(scope="module")
def world() -> el.World:
    world = el.World()
    world.spawn(thing(), "first")
    world.spawn(thing(10.0), "second")
    world.spawn(el.Body(world_vel=el.SpatialMotion(linear=jnp.array([3.0, 0.0, 0.0]))), "ball")
    return world


@pytest.fixture(scope="module")
def build(world: el.World) -> Callable[[], el.Exec]:
    program = world.program(add | el.six_dof(), 1 / 120)
    return lambda: el.Exec(program)


def test_the_history_has_a_row_of_the_start_and_one_after_each_tick(build: Callable[[], el.Exec]) -> None:
    run = build()
    run.run(3)
    run.run()
    frame = run.history(["first.x", "second.x", "first.grid", "first.mode", "ball.world_pos", "globals.tick"])
    assert frame["first.x"].to_list() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert frame["second.x"].to_list() == [10.0, 11.0, 12.0, 13.0, 14.0]
    assert frame["first.grid"].to_list() == [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]] * 5
    assert frame["globals.tick"].to_list() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert np.abs(frame["ball.world_pos"].to_numpy()[:, 4] - 3.0 * np.arange(5) / 120).max() < 1e-15
    # k / 120 s in microseconds.
    assert frame["time"].cast(pl.Int64).to_list() == [0, 8333, 16667, 25000, 33333]
    assert frame.schema == {
        "time": pl.Datetime("us"),
        "first.x": pl.Float64,
        "second.x": pl.Float64,
        "first.grid": pl.Array(pl.Float32, 6),
        "first.mode": pl.UInt8,
        "ball.world_pos": pl.Array(pl.Float64, 7),
        "globals.tick": pl.Float64,
    }
    assert run.history("first.x").columns == ["time", "first.x"]


@given(st.lists(st.integers(0, 5), max_size=6))
@settings(deadline=None)
def test_the_history_is_the_same_in_one_run_and_in_several(build: Callable[[], el.Exec], parts: list[int]) -> None:
    several, one = build(), build()
    for ticks in parts:
        several.run(ticks)
    one.run(sum(parts))
    names = ["first.x", "ball.world_pos", "ball.world_vel"]
    assert several.history(names).equals(one.history(names))


def test_more_ticks_than_a_call_computes_are_all_there(build: Callable[[], el.Exec]) -> None:
    run = build()
    run.run(5000)
    assert run.history("first.x")["first.x"].to_list() == list(range(1, 5002))


def test_names_that_do_not_exist_are_reported_with_the_nearest(build: Callable[[], el.Exec]) -> None:
    for name, near in (("ball.world_poss", "ball.world_pos"), ("frist.x", "first.x")):
        with pytest.raises(el.EcsError, match=rf"test_exec.py:\d+:1: history: .*{name}.* did you mean {near}"):
            build().history(["first.x", name])
    with pytest.raises(TypeError, match="a name or a list of names"):
        build().history([3])  # type: ignore[list-item]


@pytest.mark.parametrize("ticks", [-1, 0.5, True])
def test_ticks_are_whole_numbers(build: Callable[[], el.Exec], ticks: Any) -> None:
    with pytest.raises(el.EcsError, match="is not a whole number of at least 0"):
        build().run(ticks)


def test_a_run_is_canceled_after_a_tick(build: Callable[[], el.Exec], capfd: pytest.CaptureFixture[str]) -> None:
    run, answers = build(), iter([False, False, True])
    run.run(10, is_canceled=lambda: next(answers))
    assert run.ticks == 3
    assert "run canceled" in capfd.readouterr().err


def test_the_profile_adds_up(build: Callable[[], el.Exec]) -> None:
    run = build()
    run.run(10)
    profile = run.profile()
    assert profile["tick"] == profile["execute_buffers"] + profile["add_to_history"] > 0
    assert abs(profile["time_step"] - 1000 / 120) < 1e-12
    assert abs(profile["real_time_factor"] * profile["tick"] / profile["time_step"] - 1.0) < 1e-12
    assert profile["compile"] > 0


COMPILED: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: COMPILED.append(event) if event.endswith("backend_compile_duration") else None
)


@pytest.mark.parametrize("ticks", [[1, 10, 1], [10, 1, 10]], ids=["tick", "ticks"])
def test_one_tick_or_many_are_compiled_not_both(world: el.World, ticks: list[int]) -> None:
    """As JAX counts them."""
    run = el.Exec(world.program(add | el.six_dof(), 1 / 240))
    COMPILED.clear()
    for each in ticks:
        run.run(each)
    assert len(COMPILED) == 1


@pytest.mark.parametrize("format", ["arrow", "arrow_ipc", "parquet", "pq", "csv"])
def test_archives_are_read_back(build: Callable[[], el.Exec], format: str, tmp_path: Path) -> None:
    run = build()
    run.run(2)
    run.save_archive(tmp_path / "new", format)
    suffix = {"arrow_ipc": "arrow", "pq": "parquet"}.get(format, format)
    read = {"arrow": pl.read_ipc, "parquet": pl.read_parquet, "csv": pl.read_csv}[suffix]
    assert read(tmp_path / "new" / f"first.x.{suffix}")["first.x"].to_list() == [1.0, 2.0, 3.0]
    grid = read(tmp_path / "new" / f"first.grid.{suffix}")
    if suffix == "csv":
        assert grid["first.grid[5]"].to_list() == [5.0] * 3
    else:
        assert grid.drop("time").equals(run.history("first.grid").drop("time"))
    assert len(list((tmp_path / "new").iterdir())) == 13


def test_an_unknown_format_is_reported(build: Callable[[], el.Exec], tmp_path: Path) -> None:
    with pytest.raises(el.EcsError, match="unknown format 'hdf5'; known: arrow"):
        build().save_archive(tmp_path, "hdf5")


def test_without_polars_the_history_names_what_to_install(
    build: Callable[[], el.Exec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match=r"the history of a world: .*sim_node\[learn\]"):
        build().history("first.x")


@pytest.mark.nightly
def test_a_batch_is_as_many_runs(world: el.World) -> None:
    """Each world of a batch has the history of a world that starts alike."""
    speeds = np.zeros((3, 6))
    speeds[:, 3] = [1.0, -2.0, 0.5]
    batch = world.build(add | el.six_dof(), batch={"ball.world_vel": speeds, "first.x": [0, 1, 2]})
    batch.run(4)
    frame = batch.history(["ball.world_pos", "first.x", "first.mode"])
    assert frame["batch"].to_list() == [0] * 5 + [1] * 5 + [2] * 5
    assert frame["first.x"].to_list() == [*range(5), *range(1, 6), *range(2, 7)]
    assert frame["first.mode"].to_list() == [7] * 15
    expected = np.array([1.0, -2.0, 0.5])[:, None] * np.arange(5) / 120
    assert np.abs(frame["ball.world_pos"].to_numpy()[:, 4].reshape(3, 5) - expected).max() < 1e-15
    assert frame["time"].cast(pl.Int64).to_list() == [0, 8333, 16667, 25000, 33333] * 3


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({}, "as many values of each name; found none"),
        ({"first.x": 1.0}, "first.x: 0"),
        ({"first.x": [1.0], "second.x": [1.0, 2.0]}, "first.x: 1, second.x: 2"),
        ({"first.grid": np.zeros((2, 3))}, r"first.grid is float64 of shape \(2, 3\); it needs float32 of shape"),
        ({"first.mode": [0.5]}, "first.mode is float64"),
        ({"frist.x": [1.0]}, "did you mean first.x"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(world: el.World, batch: dict[str, Any], message: str) -> None:
    with pytest.raises(el.EcsError, match=rf"test_exec.py:\d+:1: batch: .*{message}"):
        world.build(add, batch=batch)


def test_the_pure_step_has_gradients_and_runs_many_worlds() -> None:
    """x halves in each tick: its derivative by its start is 2 ^ -n."""

    @el.map
    def halve(x: X) -> X:
        return x / 2.0

    world = el.World()
    world.spawn(thing(), "only")
    step, start = world.step_function(halve)

    def end(first: Any) -> Any:
        state = {**start, "x": start["x"].at[0].set(first)}
        return jax.lax.fori_loop(0, 100, lambda _, now: step(now), state)["x"][0]

    assert jax.grad(end)(3.0) == 2.0**-100
    firsts = jnp.linspace(-1.0, 1.0, 1000)
    assert (jax.vmap(end)(firsts) == firsts * 2.0**-100).all()


def test_a_jax_sim_is_a_pytree_of_components(world: el.World, capsys: pytest.CaptureFixture[str]) -> None:
    sim = world.to_jax(add, 1 / 120)
    sim.step(2)
    assert sim.get_tick_count() == 2
    assert sim.get_state("x").tolist() == [3.0, 12.0]
    assert sim.get_state("x", "second") == 12.0
    sim.set_state("x", "second", 0.0)
    sim.step()
    assert sim.get_state("x").tolist() == [4.0, 1.0]
    doubled = jax.tree_util.tree_map(lambda array: 2 * array, sim)
    assert doubled.get_state("x").tolist() == [8.0, 2.0]
    with pytest.raises(KeyError, match="did you mean grid"):
        sim.get_state("gird")
    with pytest.raises(KeyError, match=r"did you mean second\.x"):
        sim.get_state("x", "secnd")
    with pytest.raises(ValueError, match=r"first.grid has the shape \(2, 3\); found \(3,\)"):
        sim.set_state("grid", "first", [1.0, 2.0, 3.0])
    sim.print_dictionary()
    assert "grid: first (shape: (2, 3)), second (shape: (2, 3))" in capsys.readouterr().out
