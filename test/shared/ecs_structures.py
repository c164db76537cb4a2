"""Structures of worlds in Python without systems, drawn by hypothesis or written by hand; nothing is compiled."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from sim_node.extensions.elodin.components import Component, EntityId
from sim_node.extensions.elodin.dynamics import NewtonEuler
from sim_node.extensions.elodin.layouts import ComponentType, PrimitiveType
from sim_node.extensions.elodin.structure import ComponentStructure

Array = npt.NDArray[Any]
SPATIAL = {
    "world_pos": ComponentType.SpatialPosF64,
    "world_vel": ComponentType.SpatialMotionF64,
    "world_accel": ComponentType.SpatialMotionF64,
    "force": ComponentType.SpatialMotionF64,
    "inertia": ComponentType.SpatialPosF64,
}
# Names that are topics and frames as they stand; map is the frame of the world.
PLAIN = st.text(string.ascii_lowercase, min_size=1, max_size=6).filter(lambda name: name != "map")


@dataclass(frozen=True, repr=False)
class Ticks:
    """A structure, and its components (T, n, *shape) over time."""

    structure: ComponentStructure
    stamps: npt.NDArray[np.int64]
    arrays: Mapping[str, Array]

    def __repr__(self) -> str:
        return f"{len(self.stamps)} ticks of { ({name: (a.dtype, a.shape) for name, a in self.arrays.items()}) }"


def component(name: str, dtype: str = "float64", shape: tuple[int, ...] = (), **metadata: Any) -> Component:
    """Return a component with a layout."""
    return Component(name, ComponentType(PrimitiveType(dtype), shape), metadata=metadata)


def spatial(name: str) -> Component:
    """Return a component of `six_dof`."""
    return Component(name, SPATIAL[name])


def structure_of(
    *components: Component, entities: tuple[str, ...] = ("ball",), step: float = 0.01
) -> ComponentStructure:
    """Return a structure whose entities have all components."""
    numbers = tuple(EntityId(number) for number in range(1, len(entities) + 1))
    return ComponentStructure(
        {each.name: each for each in components},
        {each.name: numbers for each in components},
        {},
        dict(zip(numbers, entities, strict=True)),
        step,
        NewtonEuler(),
    )


def random_bits(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return numbers of any bits: all NaNs, infinities and negative zeros of floats occur."""
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.frombuffer(rng.bytes(size), dtype).reshape(shape)


@st.composite
def ticks(draw: st.DrawFn, most: int = 12) -> Ticks:
    """Draw components of all types and shapes, each of some entities, with values at some instants."""
    entities = draw(st.lists(PLAIN, min_size=1, max_size=4, unique=True))
    numbers = {EntityId(at): name for at, name in enumerate(entities, 1)}
    layouts = {name: ComponentType(PrimitiveType.F64, layout.shape) for name, layout in SPATIAL.items()}
    shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
    others = st.dictionaries(PLAIN.map("x{}".format), st.tuples(st.sampled_from(PrimitiveType), shapes), max_size=4)
    chosen = {name: ComponentType(type, shape) for name, (type, shape) in draw(others).items()}
    for name in draw(st.sets(st.sampled_from(sorted(SPATIAL)))):
        chosen[name] = layouts[name]
    owners = {
        name: tuple(draw(st.lists(st.sampled_from(sorted(numbers)), min_size=1, max_size=len(numbers), unique=True)))
        for name in chosen
    }
    components = {name: Component(name, layout) for name, layout in chosen.items()}
    structure = ComponentStructure(components, owners, {}, numbers, 0.01, NewtonEuler())
    count = draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    stamps = draw(st.integers(0, 2**60)) + np.cumsum(rng.integers(1000, 10**9, count))
    arrays = {
        name: random_bits(rng, layout.dtype, (count, len(owners[name]), *layout.shape))
        for name, layout in chosen.items()
    }
    return Ticks(structure, stamps.astype(np.int64), arrays)


def same_bits(first: Array, second: Array) -> bool:
    """Return whether two arrays have the same type, shape and bits."""
    return (first.dtype, first.shape) == (second.dtype, second.shape) and first.tobytes() == second.tobytes()
