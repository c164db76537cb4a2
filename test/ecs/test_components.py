"""Components, archetypes and entities: annotations of all kinds, values of all kinds, and what does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import jax
import numpy as np
import pytest

from sim_node.extensions.elodin.algebra import SpatialForce, SpatialMotion, SpatialTransform
from sim_node.extensions.elodin.archetypes import Archetype, C
from sim_node.extensions.elodin.components import Component, Edge, EntityId, carrier_of
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.layouts import ComponentType, PrimitiveType
from sim_node.extensions.elodin.standard import Body, Force, Inertia, SimulationTick, WorldAccel, WorldPos, WorldVel

F64, U64 = PrimitiveType.F64, PrimitiveType.U64
Wind = Annotated[
    jax.Array, Component("wind", ComponentType(F64, (3,)), metadata={"element_names": "x, y,z", "priority": 4})
]
Mass = Annotated[jax.Array, Component("mass", ComponentType.F64)]
P = Annotated[jax.Array, Component("P", ComponentType(F64, (2, 2)))]
Count = Annotated[jax.Array, Component("count", ComponentType.U64)]
Small = Annotated[jax.Array, Component("small", ComponentType(PrimitiveType.U8))]
Flag = Annotated[jax.Array, Component("flag", ComponentType(PrimitiveType.Bool))]
Link = Annotated[Edge, Component("link")]


@dataclass
class HasWind(Archetype):
    wind: Wind


def stored(annotation: Any, value: Any) -> Any:
    """What a world keeps of a value."""
    entities = Entities()
    entities.spawn(C(annotation, value))
    return entities.tables()[Component.name(annotation)].values[0]


def test_names_and_layouts_of_the_standard_components() -> None:
    found = {Component.name(each): str(carrier_of(each).component.type) for each in (WorldPos, WorldVel, Inertia)}
    assert found == {
        "world_pos": "float64 of shape (7,)",
        "world_vel": "float64 of shape (6,)",
        "inertia": "float64 of shape (7,)",
    }
    assert [Component.name(each) for each in (Force, WorldAccel)] == ["force", "world_accel"]
    assert list(Body.carriers()) == ["world_pos", "world_vel", "inertia", "force", "world_accel"]


def test_the_defaults_of_a_body() -> None:
    """At the origin, at rest, 1 kg, 1 kg m^2."""
    entities = Entities()
    entities.spawn(Body())
    values = {name: table.values[0].tolist() for name, table in entities.tables().items()}
    assert values == {
        "world_pos": [0, 0, 0, 1, 0, 0, 0],
        "world_vel": [0] * 6,
        "inertia": [1, 1, 1, 0, 0, 0, 1],
        "force": [0] * 6,
        "world_accel": [0] * 6,
    }


def test_what_a_component_says_of_itself() -> None:
    component = Component.of(Wind)
    assert component.name == Component.name(Wind) == Component.id(Wind) == "wind"
    assert component.type == ComponentType(F64, (3,))
    assert component.metadata["priority"] == 4
    assert component.labels() == ("x", "y", "z")
    assert Component.of(P).labels() == ("0_0", "0_1", "1_0", "1_1")
    assert Component.of(Mass).labels() == ("",)
    assert not component.asset
    assert Component("mesh", ComponentType.U64, asset=True).asset


def test_an_index_of_a_component_is_sliced_and_nested() -> None:
    assert Component.index(WorldPos)[:4].positions.tolist() == [0, 1, 2, 3]
    assert Component.index(WorldPos)[4:][1:].positions.tolist() == [5, 6]
    assert Component.index(P)[1][0].positions.tolist() == 2
    assert Component.index(P)[:, 1].component is Component.of(P)


def test_edges_and_classes_bring_their_layout() -> None:
    assert Component.of(Link).type == ComponentType.Edge
    assert stored(Link, Edge(EntityId(3), EntityId(4))).tolist() == [3, 4]
    assert stored(WorldVel, SpatialMotion(linear=np.ones(3))).tolist() == [0, 0, 0, 1, 1, 1]


def test_an_annotated_class_makes_its_values() -> None:
    """As upstream's three-body example writes: `Force(linear=...)`, `GravityEdge(a, b)`."""
    assert isinstance(Force(linear=np.ones(3)), SpatialForce)
    assert isinstance(Link(EntityId(1), EntityId(2)), Edge)


@pytest.mark.parametrize("value", [2, 2.0, np.array([2.0]), np.float32(2), [2.0], jax.numpy.array(2.0), np.uint8(2)])
def test_a_number_is_given_in_many_ways(value: Any) -> None:
    found = stored(Mass, value)
    assert found == 2.0
    assert found.shape == ()
    assert found.dtype == np.float64


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (Wind, np.zeros(4), r"wind: has the shape \(4,\); it needs float64 of shape \(3,\)"),
        (Wind, "x", "has numbers of type <U1"),
        (Wind, [[1.0], [1.0, 2.0]], "is not an array"),
        (Wind, None, "has no value"),
        (Count, 1.5, r"count: has numbers of type float64; it needs uint64 of shape \(\)"),
        (Count, -1, "out of the range"),
        (Small, 256, "out of the range"),
        (Flag, 1, "has numbers of type int64; it needs bool"),
        (WorldPos, SpatialMotion(), "is a SpatialMotion; it needs a SpatialTransform"),
        (Inertia, SpatialTransform(), "is a SpatialTransform; it needs a SpatialInertia"),
        ((Wind, Mass), np.zeros(3), "2 components need as many values in a tuple; found ndarray"),
        ((Wind, Mass), (1.0,), "2 components need as many values in a tuple; found 1"),
    ],
)
def test_a_value_that_does_not_fit(annotation: Any, value: Any, message: str) -> None:
    with pytest.raises(EcsError, match=message) as caught:
        stored(annotation, value)
    assert str(caught.value).startswith("test/ecs/test_components.py:")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ComponentType(F64, (2.5,)), "a tuple of whole numbers"),  # type: ignore[arg-type]
        (lambda: ComponentType(F64, (-1,)), "a tuple of whole numbers"),
        (lambda: ComponentType(F64, 3), "a tuple of whole numbers"),  # type: ignore[arg-type]
        (lambda: ComponentType(float), "not a PrimitiveType"),  # type: ignore[arg-type]
        (lambda: Component(3), "the name is a text"),  # type: ignore[arg-type]
        (lambda: Component("x", F64), "the type is a ComponentType"),  # type: ignore[arg-type]
    ],
)
def test_types_of_components_that_are_none(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (float, "float is not a component"),
        (Annotated[jax.Array, "x"], "is not a component"),
        (Annotated[jax.Array, Component("bare")], "bare: has no type"),
        (Annotated[SpatialTransform, Component("pose", ComponentType.F64)], "pose: has the type float64"),
        (Annotated[float, Component("plain", ComponentType.F64)], "plain: .*annotate jax.Array"),
    ],
)
def test_annotations_that_are_no_components(annotation: Any, message: str) -> None:
    with pytest.raises(EcsError, match=message):
        Component.of(annotation)


def test_a_name_with_a_dot_is_refused() -> None:
    with pytest.raises(EcsError, match=r"imu\.gyro: the name of a component has no dots"):
        Component("imu.gyro", ComponentType.F64)
    with pytest.raises(EcsError, match=r"a text without dots; found 'a\.b'"):
        Entities().spawn(Body(), "a.b")


def test_archetypes_of_all_kinds() -> None:
    """Annotations as texts, of names in functions two deep; an own __init__; derived; matrices."""

    def outer() -> Any:
        inner_ = Annotated[jax.Array, Component("inner", ComponentType.F64)]

        def make() -> Any:
            @dataclass
            class Derived(HasWind):
                inner: inner_
                p: P

            return Derived

        return make()

    class Own(Archetype):
        mass: Mass

        def __init__(self) -> None:
            self.mass = np.array([4.0])

    entities = Entities()
    entities.spawn([outer()(np.ones(3), 2.0, np.eye(2)), Own()])
    found = {name: table.values[0].tolist() for name, table in entities.tables().items()}
    assert found == {"wind": [1, 1, 1], "inner": 2.0, "P": [[1, 0], [0, 1]], "mass": 4.0}
    assert outer().archetype_name() == "derived"
    assert HasWind.archetype_name() == "has_wind"


def test_an_archetype_without_dataclass_says_so() -> None:
    class Bare(Archetype):
        mass: Mass

    with pytest.raises(EcsError, match=r"Bare: mass is not set; use @dataclass"):
        Entities().spawn(Bare())


def test_spawning() -> None:
    """Numbers from 1, names, given numbers; components replaced by insert stay in the order of spawning."""
    entities = Entities()
    first = entities.spawn(C(Mass, 1.0), "first")
    second = entities.spawn(C(Wind, np.zeros(3)))
    ninth = entities.spawn(C(Mass, 9.0), id=9)
    tenth = entities.spawn([C(Mass, 10.0)])
    assert [first, second, ninth, tenth] == [1, 2, 9, 10]
    assert entities.names == {1: "first", 2: "entity_2", 9: "entity_9", 10: "entity_10"}
    entities.insert(second, C(Mass, 2.0))
    entities.insert(EntityId(1), C(Mass, 1.5))
    table = entities.tables()["mass"]
    assert table.entities == (1, 2, 9, 10)
    assert table.values.tolist() == [1.5, 2.0, 9.0, 10.0]
    assert entities.number("first") == 1
    with pytest.raises(KeyError, match="did you mean first"):
        entities.number("frist")
    assert {EntityId(3): "hashable"}[EntityId(3)] == "hashable"


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda world: world.spawn(Body(), "one"), "an entity named 'one' already"),
        (lambda world: world.spawn(Body(), "globals"), "an entity named 'globals' already"),
        (lambda world: world.spawn(Body(), id=1), "entity 1 exists already"),
        (lambda world: world.spawn(Body(), id=1.5), "an entity is an EntityId; found 1.5"),
        (lambda world: world.spawn(Body(), ""), "a text without dots"),
        (lambda world: world.insert(7, Body()), "there is no entity 7; known: 1 to 1"),
        (lambda world: world.spawn(Body), "Body is not an Archetype with values; call it"),
        (lambda world: world.spawn([Body(), 3]), "int is not an Archetype"),
        (lambda world: world.spawn(None), "NoneType is not an Archetype"),
        (lambda world: world.spawn([Body(), Body()]), "has the component 'world_pos' twice"),
        (lambda world: world.spawn(C(SimulationTick, 0.0)), "'tick' belongs to the world"),
        (
            lambda world: world.spawn(C(Annotated[jax.Array, Component("force", ComponentType.F64)], 0.0)),
            r"force: is float64 of shape \(\) here, and float64 of shape \(6,\)",
        ),
    ],
)
def test_entities_that_cannot_be(act: Any, message: str) -> None:
    world = Entities()
    world.spawn(Body(), "one")
    with pytest.raises(EcsError, match=message) as caught:
        act(world)
    assert "test_components.py:" in str(caught.value)
    assert list(world.names) == [1]


def test_two_layouts_of_one_name_in_one_entity() -> None:
    other = Annotated[jax.Array, Component("mass", ComponentType(F64, (3,)))]
    with pytest.raises(EcsError, match="'mass' twice"):
        Entities().spawn([C(Mass, 1.0), C(other, np.zeros(3))])
