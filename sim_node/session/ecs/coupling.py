"""Systems of a world in Python that run in step with a simulation: they read its bodies and sensors, and push them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from sim_node.columns import Array, Column
from sim_node.ecs.live import Live
from sim_node.session.ecs.world_file import Bound
from sim_node.simulation import Simulation


class Coupling:
    """A co-simulator that runs one tick of systems after each step of a simulation.

    Before a tick, components that follow the run are read from it. After the tick, components that systems write, or
    callbacks have written, are given to it, and act from the next step on.

    Args:
        simulation: The run.
        live: The state of the systems.
        bound: How components and the run are connected.
        tick: Runs one tick of `live`, with callbacks.
        rate: Ticks per simulated second (Hz).
    """

    def __init__(
        self, simulation: Simulation, live: Live, bound: Bound, tick: Callable[[], None], rate: Fraction
    ) -> None:
        self.rate = rate
        self._live, self._bound, self._tick = live, bound, tick
        self._time_ns = -1
        self._commanded = {order.name: live.get(order.name) for order in bound.orders}
        names = live.program.structure.names
        for name, component in live.program.structure.components.items():
            entities = tuple(names[entity] for entity in live.program.structure.entities[name])
            assert component.type is not None
            column = Column(
                f"component/{name}", entities, component.type.shape, component.type.dtype, meaning="component"
            )
            simulation.columns.compute(column, partial(_kept, live, name), partial(_restore, live, name))

    def send(self, step: int, time_ns: int) -> None:
        """Run a tick on the state of the present step."""
        live, bound = self._live, self._bound
        if time_ns <= self._time_ns and step == 0:
            live.reset()
        self._time_ns = time_ns
        for reading in bound.readings:
            live.put(reading.name, np.ascontiguousarray(reading.read(), dtype=live.get(reading.name).dtype))
        for name in bound.cleared:
            live.put(name, np.zeros_like(live.get(name)))
        self._tick()
        for order in bound.orders:
            wanted = live.get(order.name)
            if not np.array_equal(wanted, self._commanded[order.name], equal_nan=True):
                order.write(wanted)
                self._commanded[order.name] = wanted.copy()

    def receive(self) -> None:
        """Do nothing: the tick has run."""

    def interrupt(self) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _kept(live: Live, name: str) -> Sequence[Array]:
    return (live.get(name),)


def _restore(live: Live, name: str, kept: Sequence[Array]) -> None:
    live.put(name, np.array(kept[0]))
