"""Varied numbers of worlds in Python: initial components of entities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sim_node.extensions.sweep.functions import measure_of
from sim_node.extensions.sweep.job import Keep
from sim_node.extensions.sweep.signals import MeasureFault
from sim_node.extensions.sweep.variations import SEED, Variation
from sim_node.world import World, WorldError
from sim_node.world.problems import NOWHERE, Problem, refuse, refuse_any

if TYPE_CHECKING:
    from sim_node.extensions.elodin.pairs import ComponentPair

# The number of cases of a batch. It is fixed, even if fewer cases are left, because a program of another size may
# differ in the last bits of its results.
BLOCK = 32
COMPONENT = "component/"
_PATH = re.compile(r"(?P<pair>.+?)(?:\[(?P<index>\d+)\])?")


def is_component_world(world: World) -> bool:
    """Return whether the numbers of a world are components of entities: a world in Python that is not beside a file."""
    return world.python is not None and world.python.captured.source is None


def check_components(world: World, vary: Iterable[Variation]) -> None:
    """Check that each path leads to a number of a component. Raises WorldError with the nearest name."""
    problems = []
    for each in vary:
        if each.path != SEED:
            try:
                component_at(world, each.path)
            except WorldError as error:
                message = error.problems[0].message
                problems.append(Problem(each.place.where, each.place.key or each.path, message))
    refuse_any(problems)


def component_at(world: World, path: str) -> tuple[ComponentPair, int]:
    """Return the component of an entity to which a path leads, and the index of the number in it.

    Args:
        world: The world.
        path: `entity.component`, with an index if it has several numbers, as in ball.world_pos[6].

    Returns:
        The pair, and the flat index.

    Raises:
        WorldError: There is none.
    """
    from sim_node.extensions.elodin.pairs import Pairs

    found = _PATH.fullmatch(path)
    assert found is not None
    try:
        pair = Pairs(world.python.captured.program.structure)[found["pair"]]
    except KeyError as error:
        raise WorldError([Problem(NOWHERE, path, error.args[0])]) from None
    if found["index"] is None and pair.size != 1:
        refuse(path, f"has {pair.size} numbers; give an index, [0] to [{pair.size - 1}]")
    index = int(found["index"] or 0)
    if index >= pair.size:
        refuse(path, f"index {index} is out of range; allowed: 0 to {pair.size - 1}")
    return pair, index


def with_components(world: World, values: Mapping[str, float]) -> World:
    """Return a world in Python with different initial values. Raises WorldError."""
    if not values:
        return world
    python = world.python
    start = {name: np.array(array) for name, array in python.captured.program.start.items()}
    for path, value in values.items():
        pair, index = component_at(world, path)
        start[pair.component][pair.row].reshape(-1)[index] = value
    program = replace(python.captured.program, start=start)
    return replace(world, python=replace(python, captured=replace(python.captured, program=program)))


def cases_at_once(world: World, texts: Iterable[str], keep: Keep) -> int:
    """Return the number of cases of a world in Python that run in one batch: 1 if cases need separate runs."""
    captured = world.python.captured
    if captured.source is not None or captured.pre_step is not None or captured.post_step is not None or keep:
        return 1
    try:
        measures = [measure_of(text) for text in texts]
    except MeasureFault:  # reported later, with its location
        return 1
    columns = {name for each in measures for name in each.columns}
    own = all(name.startswith(COMPONENT) for name in columns)
    return BLOCK if own and not any(each.sensors for each in measures) else 1


def varied(world: World, values: Mapping[str, float]) -> World:
    """Return a world with the numbers of a case.

    Args:
        world: The world.
        values: The numbers by path.

    Returns:
        The changed world.

    Raises:
        WorldError: A number is not allowed.
    """
    if is_component_world(world):
        return with_components(world, values)
    return world.with_values({path: _plain(value) for path, value in values.items()}) if values else world


def _plain(value: float) -> float | int:
    """Return a number, as an int if it is whole, because some keys of world files need integers."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
