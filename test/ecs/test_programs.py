"""Compiled worlds: the same bits however ticks are grouped, gradients, many worlds at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node.extensions.elodin.algebra import SpatialForce, SpatialInertia, SpatialMotion, SpatialTransform
from sim_node.extensions.elodin.archetypes import C
from sim_node.extensions.elodin.components import Component, Edge
from sim_node.extensions.elodin.dynamics import NewtonEuler, six_dof
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.graphs import GraphQuery
from sim_node.extensions.elodin.layouts import ComponentType, PrimitiveType
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.program import CHUNK, MAX_SHARED_BYTES, RECORD_BYTES, Blocks, CompiledProgram, compiled
from sim_node.extensions.elodin.queries import Query
from sim_node.extensions.elodin.standard import Body, Force, Inertia, SimulationTick, WorldPos, WorldVel
from sim_node.extensions.elodin.systems import map, map_seq, system

Wind = Annotated[jax.Array, Component("wind", ComponentType(PrimitiveType.F64, (3,)))]
Gain = Annotated[jax.Array, Component("gain", ComponentType.F64)]
Pull = Annotated[Edge, Component("pull")]


@map
def gusts(w: Wind, tick: SimulationTick) -> Wind:
    key = jax.random.fold_in(jax.random.key(7), tick.astype(int))
    return 0.9 * w + 0.1 * jax.random.normal(key, (3,))


@map_seq
def limit(w: Wind) -> Wind:
    return jax.lax.cond(jnp.linalg.norm(w) > 0.3, lambda w: 0.3 * w / jnp.linalg.norm(w), lambda w: w, w)


@map
def drag(f: Force, v: WorldVel, w: Wind, p: WorldPos, gain: Gain) -> Force:
    relative = w - v.linear()
    push = gain * jnp.sqrt(relative @ relative + 1e-12) * relative
    return f + SpatialForce(torque=p.angular() @ jnp.array([0.01, 0.0, 0.02]), linear=push)


@system
def springs(graph: GraphQuery[Pull], q: Query[WorldPos], f: Query[Force]) -> Query[Force]:
    def one(force: Force, a: WorldPos, b: WorldPos) -> Force:
        return force + SpatialForce(linear=2.0 * (b.linear() - a.linear()))

    pulls = graph.edge_fold(q, q, Force, SpatialForce(), one)
    return f.join(pulls).map(Force, lambda own, more: own + more)


@map
def gravity(f: Force, i: Inertia) -> Force:
    return f + SpatialForce(linear=i.mass() * jnp.array([0.0, 0.0, -9.81]))


def world() -> Entities:
    entities = Entities()
    rng = np.random.default_rng(3)
    for _ in range(4):
        body = Body(
            SpatialTransform(linear=rng.normal(size=3)),
            SpatialMotion(rng.normal(size=3), rng.normal(size=3)),
            SpatialInertia(rng.uniform(1, 2), rng.uniform(1, 2, size=3)),
        )
        entities.spawn([body, C((Wind, Gain), (np.zeros(3), rng.uniform(0, 0.2)))])
    for left, right in ((1, 2), (2, 1), (2, 3), (4, 1)):
        entities.spawn(C(Pull, Edge(left, right)))
    return entities


@pytest.fixture(scope="module")
def program() -> CompiledProgram:
    """Everything at once: a random wind, a branch, edges, drag, spins, by Rk4."""
    return compiled(world(), gusts | limit | six_dof(sys=gravity | drag | springs), 0.01, NewtonEuler())


@pytest.fixture(scope="module")
def history(program: CompiledProgram) -> dict[str, Any]:
    """60 ticks, one at a time."""
    live = Live(program)
    rows: dict[str, list[Any]] = {name: [] for name in program.changing}
    for _ in range(60):
        live.tick()
        for name, row in rows.items():
            row.append(np.array(live.get(name)))
    return {name: np.array(row) for name, row in rows.items()}


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["tick", "advance", "record"]), st.integers(1, 30)), min_size=1, max_size=6))
def test_the_same_bits_however_ticks_are_grouped(
    program: CompiledProgram, history: dict[str, Any], parts: list[tuple[str, int]]
) -> None:
    """One at a time, many in a call, recorded, in any mixture; and again."""
    live = Live(program)
    done = 0
    for how, ticks in parts:
        ticks = min(ticks, 60 - done)
        if ticks == 0:
            break
        if how == "tick":
            for _ in range(ticks):
                live.tick()
        elif how == "advance":
            live.advance(ticks)
        else:
            for name, rows in live.record(ticks).items():
                assert rows.tobytes() == history[name][done : done + ticks].tobytes(), name
        done += ticks
        for name in program.changing:
            assert live.get(name).tobytes() == history[name][done - 1].tobytes(), (name, how)
    assert live.ticks == done


def test_what_a_program_says_of_itself(program: CompiledProgram) -> None:
    assert set(program.changing) == {"world_pos", "world_vel", "world_accel", "force", "wind", "tick"}
    assert program.structure.step == 0.01
    assert set(program.changing_blocks.places) == set(program.changing)
    assert set(program.constant_blocks.places) == {"inertia", "gain", "pull", "simulation_time_step"}


@given(st.lists(st.tuples(st.sampled_from("?Bfd"), st.lists(st.integers(0, 40), max_size=3)), max_size=6))
def test_blocks_of_components_have_their_numbers(drawn: list[tuple[str, list[int]]]) -> None:
    """Also of empty components, and of large ones, which stand alone."""
    state = {f"c{at}": np.arange(np.prod(shape)).reshape(shape).astype(kind) for at, (kind, shape) in enumerate(drawn)}
    blocks = Blocks(state, state)
    host = blocks.on_host(state)
    for name, array in state.items():
        place, found = blocks.places[name], blocks.split(host)[name]
        assert (found.shape, found.dtype) == (array.shape, array.dtype)
        np.testing.assert_array_equal(found, array)
        np.testing.assert_array_equal(host[place.block][place.start : place.stop], array.ravel())
        if array.nbytes > MAX_SHARED_BYTES:
            assert host[place.block].size == array.size
    assert blocks.count <= 4 + sum(array.nbytes > MAX_SHARED_BYTES for array in state.values())


def test_blocks_are_joined_in_jax_as_in_numpy() -> None:
    state = {"a": np.ones((2, 3)), "n": np.array([7], np.uint64), "b": np.zeros((2, 0)), "big": np.ones((3000, 1))}
    state |= {"c": np.arange(4.0), "m": np.array([[1, 2]], np.uint64)}
    blocks = Blocks(state, state)
    for joined, host in zip(blocks.joined(state), blocks.on_host(state), strict=True):
        assert joined.dtype == host.dtype
        np.testing.assert_array_equal(joined, host)


@pytest.fixture(scope="module")
def flight() -> CompiledProgram:
    """One body in the wind."""
    entities = Entities()
    entities.spawn([Body(), C((Wind, Gain), (np.array([0.5, 0.0, 0.1]), 0.1))])
    return compiled(entities, six_dof(sys=gravity | drag), 0.01, NewtonEuler())


def test_the_step_is_pure(flight: CompiledProgram) -> None:
    """Compiled alone, it gives the same numbers; the state that it is given stays as it is."""
    state = {name: array.copy() for name, array in flight.start.items()}
    step = jax.jit(flight.step)
    after = step(step(state))
    live = Live(flight)
    live.advance(2)
    for name in flight.changing:
        np.testing.assert_allclose(after[name], live.get(name), rtol=1e-13, atol=1e-14, err_msg=name)
        assert (state[name] == flight.start[name]).all()


@pytest.mark.nightly
def test_gradients_through_a_hundred_ticks(flight: CompiledProgram) -> None:
    """Of a distance with respect to speed and gain, beside central differences; of a fall at rest, which are exact.

    Without wind dz/dm is zero and dx/dv the time; at rest the norms and the exponential have their zeros.
    """
    start = {name: jnp.asarray(array) for name, array in flight.start.items()}

    def missed(given: dict[str, Any]) -> Any:
        after = jax.lax.scan(lambda s, _: (flight.step(s), None), {**start, **given}, length=100)[0]
        return jnp.sum((after["world_pos"][0, 4:] - jnp.array([1.0, 2.0, 3.0])) ** 2) / 2

    miss = jax.jit(jax.value_and_grad(missed))
    at = {name: start[name] for name in ("world_vel", "gain", "inertia")}
    found = miss(at)[1]
    for name, place in (("world_vel", (0, 3)), ("world_vel", (0, 1)), ("gain", (0,)), ("inertia", (0, 6))):
        high, low = (miss({**at, name: at[name].at[place].add(sign * 1e-5)})[0] for sign in (1, -1))
        assert float(found[name][place]) == pytest.approx(float(high - low) / 2e-5, rel=1e-6, abs=1e-8), name
    found = miss({**at, "gain": jnp.zeros(1)})[1]
    np.testing.assert_allclose(found["world_vel"][0, 3:], [-1.0, -2.0, -9.81 / 2 - 3.0], rtol=1e-12)
    np.testing.assert_allclose(found["inertia"][0], np.zeros(7), atol=1e-12)


@pytest.mark.nightly
def test_a_thousand_worlds_at_once(flight: CompiledProgram) -> None:
    """As one by one."""
    rng = np.random.default_rng(0)
    start = {name: np.repeat(array[None], 1000, axis=0) for name, array in flight.start.items()}
    start["world_vel"] = rng.normal(size=start["world_vel"].shape)

    many = jax.jit(jax.vmap(lambda state: jax.lax.fori_loop(0, 20, lambda _, s: flight.step(s), state)))(start)
    live = Live(flight)
    for world_number in (0, 17, 999):
        live.reset()
        live.put("world_vel", start["world_vel"][world_number])
        live.advance(20)
        for name in flight.changing:
            np.testing.assert_allclose(many[name][world_number], live.get(name), rtol=1e-12, atol=1e-12, err_msg=name)


def test_what_is_kept_of_a_record_is_limited(program: CompiledProgram) -> None:
    """8 MB, however many bodies there are; a call of at least one tick."""
    assert program.chunk == CHUNK
    for bodies in (1000, 200_000):
        start = {name: np.broadcast_to(array[:1], (bodies, *array.shape[1:])) for name, array in program.start.items()}
        size = sum(start[name].nbytes for name in program.changing)
        assert replace(program, start=start).chunk == max(1, RECORD_BYTES // size)


def test_systems_are_run_by_python_once(capsys: pytest.CaptureFixture[str]) -> None:
    """When the world is built, and not again for each way of running it."""

    @map
    def shout(w: Wind) -> Wind:
        print("traced")
        return w + 1

    entities = Entities()
    entities.spawn(C(Wind, np.zeros(3)))
    live = Live(compiled(entities, shout, 0.1, NewtonEuler()))
    live.tick()
    live.advance(2)
    live.record(2)
    assert capsys.readouterr().out == "traced\n"
    assert live.get("wind").tolist() == [[5.0] * 3]
