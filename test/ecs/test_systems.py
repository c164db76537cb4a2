"""Systems: map, system and map_seq, queries, folded edges, pipes. Expected values are computed by hand in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node.extensions.elodin.algebra import SpatialForce
from sim_node.extensions.elodin.archetypes import Archetype, C
from sim_node.extensions.elodin.components import Component, Edge, RevEdge
from sim_node.extensions.elodin.dynamics import NewtonEuler
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.graphs import GraphQuery, TotalEdge
from sim_node.extensions.elodin.layouts import ComponentType, PrimitiveType
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.program import compiled
from sim_node.extensions.elodin.queries import Query
from sim_node.extensions.elodin.standard import Body, Force, Inertia, Seed, SimulationTick, SimulationTimeStep
from sim_node.extensions.elodin.systems import Pipe, System, map, map_seq, system, system_of

X = Annotated[jax.Array, Component("x", ComponentType.F64)]
Y = Annotated[jax.Array, Component("y", ComponentType.F64)]
V = Annotated[jax.Array, Component("v", ComponentType(PrimitiveType.F64, (2,)))]
N = Annotated[jax.Array, Component("n", ComponentType.U64)]
E = Annotated[Edge, Component("edge")]
Reversed = Annotated[E, RevEdge]


@dataclass
class XY(Archetype):
    x: X
    y: Y


def live(entities: Entities, given: Any, step: float = 0.5) -> Live:
    return Live(compiled(entities, given, step, NewtonEuler()))


def after(entities: Entities, given: Any, ticks: int = 1) -> dict[str, list[Any]]:
    """The components after ticks, by name."""
    running = live(entities, given)
    for _ in range(ticks):
        running.tick()
    return {name: running.get(name).tolist() for name in running.program.start}


def five() -> Entities:
    """x of 1 to 5; y of the second and fourth: 20, 40."""
    entities = Entities()
    for n in range(1, 6):
        entities.spawn([C(X, float(n)), *([C(Y, 10.0 * n)] if n % 2 == 0 else [])])
    return entities


def edges(entities: Entities, *pairs: tuple[int, int]) -> Entities:
    for left, right in pairs:
        entities.spawn(C(E, Edge(left, right)))
    return entities


def test_map_system_and_map_seq_are_the_same() -> None:
    """Bit by bit, for one entity and for several."""

    def wave(x: X, y: Y) -> tuple[Y, X]:
        return jnp.sin(x) * y, jnp.where(x > 2, x / 3, x * y)

    @system
    def by_hand(q: Query[X, Y]) -> Query[Y, X]:
        return q.map((Y, X), wave)

    for count in (1, 7):
        entities = Entities()
        for n in range(count):
            entities.spawn(XY(0.3 + n, 1.7 - n))
        found = [after(entities, each, 3) for each in (map(wave), by_hand, map_seq(wave))]
        assert found[0] == found[1] == found[2]
        x, y = 0.3, 1.7
        for _ in range(3):
            x, y = (x / 3 if x > 2 else x * y), math.sin(x) * y
        assert found[0]["x"][0] == pytest.approx(x, rel=1e-14)
        assert found[0]["y"][0] == pytest.approx(y, rel=1e-14)


def test_a_query_has_the_entities_that_have_all_of_its_components() -> None:
    """Only their rows are written."""

    @map
    def add(x: X, y: Y) -> X:
        return x + y

    assert after(five(), add)["x"] == [1, 22, 3, 44, 5]


def test_components_of_the_world_fit_every_entity() -> None:
    """SimulationTick is 1 in the first tick; SimulationTimeStep is the step."""

    @map
    def count(x: X, tick: SimulationTick, step: SimulationTimeStep) -> X:
        return x + 100 * tick + step

    assert after(five(), count, 2)["x"] == [n + 100 + 200 + 1.0 for n in range(1, 6)]


def test_a_component_of_one_entity_is_read_by_its_index() -> None:
    @system
    def scale(seed: Query[Seed], q: Query[X], y: Query[Y]) -> Query[X]:
        return q.map(X, lambda x: x * seed[0] + y[-1] + sum(y))

    entities = five()
    entities.spawn(C(Seed, jnp.int64(3)))
    assert after(entities, scale)["x"] == [3 * n + 40 + 60 for n in range(1, 6)]


@pytest.mark.parametrize("index", [2, -3])
def test_an_index_beyond_the_query(index: int) -> None:
    @system
    def beyond(q: Query[X], y: Query[Y]) -> Query[X]:
        return q.map(X, lambda x: x + y[index])

    with pytest.raises(EcsError, match=r"of a query of 2 entities"):
        compiled(five(), beyond, 0.5, NewtonEuler())


def test_queries_are_joined_where_both_have_an_entity() -> None:
    @system
    def join(x: Query[X], y: Query[Y]) -> Query[X]:
        return y.join(x).map(X, lambda y, x: 1000 * y + x)

    assert after(five(), join)["x"] == [1, 20002, 3, 40004, 5]


def test_a_result_in_another_order_is_written_to_its_entities() -> None:
    """The query is in the order of y's, the table in that of spawning, whatever was inserted when."""

    @map
    def copy(y: Y, x: X) -> X:
        return y

    entities = Entities()
    ids = [entities.spawn(C(X, float(n))) for n in range(4)]
    for n in (2, 0, 3, 1):
        entities.insert(ids[n], C(Y, 10.0 * n))
    assert after(entities, copy)["x"] == [0, 10, 20, 30]


def test_edges_are_folded_in_the_order_of_spawning() -> None:
    """Digits appended: 1 -> 3, 2, 5; 2 -> 1; 4 -> 5, 3, 1. Without edges 3 and 5 keep their values."""

    @system
    def fold(graph: GraphQuery[E], q: Query[X]) -> Query[X]:
        return graph.edge_fold(q, q, X, 0.0, lambda so_far, left, right: 10 * so_far + right)

    world = edges(five(), (1, 3), (4, 5), (1, 2), (2, 1), (4, 3), (1, 5), (4, 1))
    assert after(world, fold)["x"] == [325, 1, 3, 531, 5]


def test_reversed_edges_are_folded_from_their_right() -> None:
    @system
    def fold(graph: GraphQuery[Reversed], q: Query[X]) -> Query[X]:
        return graph.edge_fold(q, q, X, 0.0, lambda so_far, left, right: 10 * so_far + right)

    assert after(edges(five(), (1, 3), (4, 3), (2, 3), (3, 1)), fold)["x"] == [3, 2, 142, 4, 5]


def test_total_edges_go_from_each_entity_to_every_other() -> None:
    """As Elodin 0.16.2 has them, by number: 1, 3, 5 give 35, 15, 13."""

    @system
    def fold(graph: GraphQuery[TotalEdge], q: Query[X]) -> Query[X]:
        return graph.edge_fold(q, q, X, 0.0, lambda so_far, left, right: 10 * so_far + right)

    entities = Entities()
    for value in (C(X, 1.0), C(Y, 2.0), C(X, 3.0), C(X, 5.0)):
        entities.spawn(value)
    assert after(entities, fold)["x"] == [35, 15, 13]


def test_edges_to_entities_of_another_query_and_to_none() -> None:
    """Left 1 sees y of 2 and 4; left 3 has an edge to 5 only, which has no y, and keeps its value."""

    @system
    def fold(graph: GraphQuery[E], q: Query[X], right: Query[Y]) -> Query[X]:
        return graph.edge_fold(q, right, X, 0.5, lambda so_far, left, right: so_far + left * right)

    assert after(edges(five(), (1, 2), (1, 5), (3, 5), (1, 4)), fold)["x"] == [60.5, 2, 3, 4, 5]


def test_several_components_are_folded_at_once() -> None:
    @system
    def fold(graph: GraphQuery[E], q: Query[X, V]) -> Query[X, V]:
        def one(so_far: Any, x: X, v: V, right_x: X, right_v: V) -> Any:
            total, moved = so_far
            return total + right_x, moved + right_x * right_v

        return graph.edge_fold(q, q, (X, V), (0.0, np.zeros(2)), one)

    entities = Entities()
    for n in (1.0, 2.0, 3.0):
        entities.spawn([C(X, n), C(V, np.array([n, -n]))])
    found = after(edges(entities, (1, 2), (1, 3)), fold)
    assert found["x"] == [5, 2, 3]
    assert found["v"] == [[13, -13], [2, -2], [3, -3]]


def test_folds_that_are_sums_and_folds_that_only_end_in_one() -> None:
    """Terms of a sum are computed at once; one that depends on a value so far is not. Up to eight edges, and nine."""

    def summed(so_far: tuple[Any, Any], left: Any, right: Any) -> tuple[Any, Any]:
        return so_far[0] + left * right, right + so_far[1]

    def depends(so_far: tuple[Any, Any], left: Any, right: Any) -> tuple[Any, Any]:
        total = so_far[0] + right
        return total, so_far[1] + total

    def twice(so_far: tuple[Any, Any], left: Any, right: Any) -> tuple[Any, Any]:
        return so_far[0] + so_far[0], so_far[1] + so_far[1] * right

    def swapped(so_far: tuple[Any, Any], left: Any, right: Any) -> tuple[Any, Any]:
        return so_far[1] + right, so_far[0] + left

    folds, start = (summed, depends, twice, swapped), (0.5, 1.0)
    pairs = [(1, 4), (1, 2), (2, 3), *((3, 1 + at % 5) for at in range(9))]
    outputs = [
        tuple(Annotated[jax.Array, Component(f"{fold.__name__}_{at}", ComponentType.F64)] for at in range(2))
        for fold in folds
    ]

    def folding(fold: Any, wanted: Any) -> System:
        @system
        def of(graph: GraphQuery[E], q: Query[X]) -> Query[wanted]:
            return graph.edge_fold(q, q, wanted, start, fold)

        return of

    entities = Entities()
    for n in range(1, 6):
        entities.spawn([C(X, float(n)), *(C(each, 0.0) for both in outputs for each in both)])
    found = after(edges(entities, *pairs), [folding(*each) for each in zip(folds, outputs, strict=True)])
    for fold in folds:
        for left in (1, 2, 3):
            expected: Any = start
            for right in (right for own, right in pairs if own == left):
                expected = fold(expected, float(left), float(right))
            assert tuple(found[f"{fold.__name__}_{at}"][left - 1] for at in range(2)) == expected


def test_a_fold_of_a_spatial_class() -> None:
    @system
    def pull(graph: GraphQuery[E], q: Query[Inertia]) -> Query[Force]:
        def one(force: Force, mine: Inertia, other: Inertia) -> Force:
            return force + SpatialForce(linear=jnp.array([1.0, 0, 0]) * mine.mass() * other.mass())

        return graph.edge_fold(left_query=q, right_query=q, return_type=Force, init_value=Force(), fold_fn=one)

    entities = Entities()
    for mass in (2.0, 3.0, 5.0):
        body = Body()
        body.inertia = Inertia(mass)
        entities.spawn(body)
    assert [row[3] for row in after(edges(entities, (1, 2), (1, 3), (3, 2)), pull)["force"]] == [16, 0, 15]


# Takes seconds: make test has pipes, maps and folds.
@pytest.mark.nightly
def test_a_branch_that_is_not_taken_is_not_evaluated_by_map_seq() -> None:
    """It is by map. Its callback counts, outside of the world."""
    calls: list[float] = []

    def noted(x: Any) -> Any:
        calls.append(float(x))
        return x

    def costly(x: Any) -> Any:
        return jax.pure_callback(noted, jax.ShapeDtypeStruct((), np.float64), x, vmap_method="sequential")

    def branch(x: X) -> X:
        return jax.lax.cond(x > 4.5, costly, lambda x: x, x)

    for decorator, expected in ((map_seq, [5.0]), (map, [1.0, 2.0, 3.0, 4.0, 5.0])):
        calls.clear()
        assert after(five(), decorator(branch))["x"] == [1, 2, 3, 4, 5]
        assert sorted(calls) == expected


def test_whole_numbers_stay_whole() -> None:
    @map
    def count(n: N) -> N:
        return n + 1

    entities = Entities()
    entities.spawn(C(N, 2**60))
    running = live(entities, count)
    running.advance(3)
    assert running.get("n").dtype == np.uint64
    assert running.get("n").tolist() == [2**60 + 3]


def test_a_map_is_still_the_users_function() -> None:
    @map
    def double(x: X) -> X:
        return 2 * x

    assert double(3.0) == 6.0


@map
def twice(x: X) -> X:
    return 2 * x


@map
def plus_y(x: X, y: Y) -> X:
    return x + y


@map
def square(x: X) -> X:
    return x * x / 50


ALL: list[System] = [twice, plus_y, square]


def test_none_and_lists_are_systems() -> None:
    assert after(five(), None)["x"] == after(five(), [])["x"] == [1, 2, 3, 4, 5]
    assert after(five(), [twice, [plus_y]])["x"] == after(five(), twice | plus_y)["x"] == [2, 24, 6, 48, 10]
    assert after(five(), None | plus_y | twice.pipe(None))["x"] == [2, 44, 6, 88, 10]


@given(st.lists(st.sampled_from(range(3)), min_size=1, max_size=6), st.data())
def test_pipes_are_associative(order: list[int], data: st.DataObject) -> None:
    """However systems are grouped, they run in their order; evaluated without compiling."""

    def grouped(systems: Sequence[System]) -> System:
        if len(systems) == 1:
            return systems[0]
        cut = data.draw(st.integers(1, len(systems) - 1))
        return grouped(systems[:cut]) | grouped(systems[cut:])

    structure = compiled(five(), None, 0.5, NewtonEuler()).structure
    state = {"x": np.arange(1.0, 6.0), "y": np.array([20.0, 40.0])}
    found = grouped([ALL[n] for n in order]).compiled(structure)(state)["x"]
    x, y = np.arange(1.0, 6.0), np.array([0.0, 20.0, 0.0, 40.0, 0.0])
    for n in order:
        x = [2 * x, x + y, x * x / 50][n]
    np.testing.assert_allclose(found, x, rtol=1e-14)
    assert isinstance(system_of([]), Pipe)


# Takes seconds: make test has pipes, maps and folds.
@pytest.mark.nightly
@settings(max_examples=8, deadline=None)
@given(st.permutations(range(5)))
def test_the_order_of_spawning_does_not_matter(order: list[int]) -> None:
    """Except for folds: named entities have the same values, to the bit."""
    values = {}
    for each in (range(5), order):
        entities = Entities()
        for n in each:
            more = [C(Y, 1.0 / n)] if n % 2 else []
            entities.spawn([C(X, n / 7), *more], f"e{n}")
        structure = compiled(entities, None, 0.5, NewtonEuler())
        state = structure.start
        for part in (plus_y | square | twice | plus_y,) * 2:
            state = part.compiled(structure.structure)(state)
        rows = {structure.structure.names[entity]: row for row, entity in enumerate(structure.structure.entities["x"])}
        values[tuple(each)] = {name: float(state["x"][row]) for name, row in rows.items()}
    assert len({tuple(sorted(each.items())) for each in values.values()}) == 1
