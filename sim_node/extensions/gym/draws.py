"""Numbers of a world that are drawn for each episode or run, and the simulation with these numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_node.extensions.sweep.in_place import Writer, find_in_place
from sim_node.extensions.sweep.variations import KINDS, Variation, variation
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World
from sim_node.world.problems import NO_PLACE, Place, Problem, WorldError, refuse_any

DIRECTION = "direction"
_START = re.compile(r"bodies\[(?P<body>[^\]]+)\]\.joint\.(?P<kind>qd?)(?:\[(?P<index>\d+)\])?")

# The number of draws used to test whether numbers can be written into a compiled model.
_SAMPLES = 64


@dataclass(frozen=True)
class RandomDirection:
    """A vector (3,) of unit length, uniform on the sphere, such as the axis of a joint.

    Attributes:
        path: The key path of the list of its three numbers.
        place: Where it was given.
    """

    path: str
    place: Place = NO_PLACE


Draw = Variation | RandomDirection


def draw_of(path: str, text: str | float, place: Place = NO_PLACE) -> Draw:
    """Parse a draw such as `uniform(1, 2)`, `normal(0, 0.1)`, `1, 2, 5` or `direction` for a key path.

    Args:
        path: The key path of a number in the world; for `direction`, of a list of three.
        text: The distribution, or a constant number.
        place: Where it is given, for messages.

    Returns:
        The draw.

    Raises:
        WorldError: The text does not describe values.
    """
    if str(text).strip() == DIRECTION:
        return RandomDirection(path, place)
    return variation(path, str(text), place)


def draws_of(given: Mapping[str, str | float | Draw]) -> tuple[Draw, ...]:
    """Return the draws of a mapping from key paths to distributions. Raises WorldError."""
    return tuple(
        each if isinstance(each, Variation | RandomDirection) else draw_of(path, each) for path, each in given.items()
    )


def drawn(draws: Iterable[Draw], random: np.random.Generator) -> dict[str, float]:
    """Draw a value for each key path. The values of a list or grid are equally likely.

    Args:
        draws: What to draw.
        random: The random generator, used by each draw in order.

    Returns:
        The values by key path.
    """
    values: dict[str, float] = {}
    for each in draws:
        if isinstance(each, RandomDirection):
            vector = random.normal(size=3)
            vector /= np.linalg.norm(vector)
            values.update({f"{each.path}[{k}]": float(part) for k, part in enumerate(vector)})
            continue
        kind = KINDS[each.kind]
        if kind.values is not None:
            values[each.path] = float(kind.values(each.numbers, random.random(1))[0])
        elif kind.points is not None:
            values[each.path] = float(random.choice(kind.points(each.numbers)))
    return values


def check_paths(world: World, draws: Iterable[Draw]) -> None:
    """Check the key paths of draws, and that the world accepts a value of each.

    Raises:
        WorldError: A path does not exist (the message names the nearest key), or a value is out of range.
    """
    problems: list[Problem] = []
    for each in draws:
        found: list[Problem] = []
        with collecting(found):
            world.with_values(drawn([each], np.random.default_rng(0)))
        place = each.place
        problems += [Problem(place.where, place.key or problem.key, problem.message) for problem in found]
    refuse_any(problems)


@contextmanager
def collecting(problems: list[Problem]) -> Iterator[None]:
    """Add the problems of a WorldError that is raised in the block to a list."""
    try:
        yield
    except WorldError as error:
        problems.extend(error.problems)


class Restarts:
    """Restarts the simulation of a world repeatedly, each time with different numbers.

    Numbers are written into the simulation if this gives the same bytes as a simulation of the changed world: initial
    positions and velocities and, in worlds without sensors, vehicles and forces, also those that `find_in_place` finds,
    such as masses and damping. Otherwise a new simulation of the changed world is made.

    Args:
        world: The world.
        draws: The numbers to draw.
        sensors: Whether sensors measure.

    Attributes:
        simulation: The current simulation.
        world: The world with its own values.
        in_place: Whether numbers are written into one simulation.

    Raises:
        WorldError: The world is invalid, or a draw does not fit it.
    """

    def __init__(self, world: World, draws: Iterable[Draw] = (), *, sensors: bool = True) -> None:
        self.world, self.draws, self._sensors = world, tuple(draws), sensors
        check_paths(world, self.draws)
        self.simulation = Simulation(world, sensors=sensors)
        self._write = self._writer()
        self.in_place = self._write is not None

    def start(self, values: Mapping[str, float], seed: int) -> Simulation:
        """Reset to the start with given numbers.

        Args:
            values: The numbers by key path, as `drawn` returns them.
            seed: The seed of the run.

        Returns:
            The simulation at its start. It is a new one if the numbers cannot be written into the previous one.
        """
        if self._write is None:
            self.simulation = Simulation(self.world.with_values(values), seed, sensors=self._sensors)
        else:
            self._write(values)
            self.simulation.reset(seed)
        return self.simulation

    def _writer(self) -> Callable[[Mapping[str, float]], None] | None:
        """Return a function that writes numbers into the simulation, or None if they cannot be written."""
        random = np.random.default_rng(0)
        some = [drawn(self.draws, random) for _ in range(_SAMPLES if self.draws else 1)]
        starts = [_Start.of(self.simulation, path) for path in some[0]]

        def write(values: Mapping[str, float]) -> None:
            for start in starts:
                assert start is not None
                start.array[start.index] = values[start.path] + start.offset

        if all(starts):
            return write if not starts or self._is_equal(write, some[:2]) else None
        if self._sensors:
            return None
        where = find_in_place(self.world, {path: [values[path] for values in some] for path in some[0]})
        return Writer(self.simulation, where).write if where is not None else None

    def _is_equal(self, write: Callable[[Mapping[str, float]], None], some: Sequence[Mapping[str, float]]) -> bool:
        """Return whether written numbers give the same state as numbers changed in the world, bit for bit."""
        for seed, values in enumerate(some):
            write(values)
            self.simulation.reset(seed)
            other = Simulation(self.world.with_values(values), seed, sensors=self._sensors)
            for each in (self.simulation, other):
                each.step(2)
            states = [each.state.columns for each in (self.simulation, other)]
            if any(states[0][name].tobytes() != states[1][name].tobytes() for name in states[0]):
                return False
        return True


@dataclass(frozen=True)
class _Start:
    """A number of the initial state: an element of an array of the engine, and its offset."""

    path: str
    array: FloatArray
    index: int
    offset: float

    @classmethod
    def of(cls, simulation: Simulation, path: str) -> _Start | None:
        """Return the location of a path such as bodies[pole].joint.q; None if it is not part of the initial state."""
        match = _START.fullmatch(path)
        engine: Any = simulation.engines.get("rigid_bodies")
        if match is None or engine is None:
            return None
        bodies = simulation.world.bodies
        name = bodies[int(match["body"])].name if match["body"].isdecimal() else match["body"]
        record = engine.joints.get(name)
        is_q, at = match["kind"] == "q", int(match["index"] or 0)
        if record is None or at >= (record.q_size if is_q else record.qd_size):
            return None
        if not is_q:
            return cls(path, engine.compiled.qvel, int(record.velocity_places[at]), 0.0)
        return cls(path, engine.compiled.qpos, int(record.position_places[at]), float(record.origin[at]))
