"""Systems that run in lockstep with a world from a file: they read its bodies, joints and sensors, and actuate it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sim_node.extensions.elodin.component_columns import declare_components
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.part import PythonWorld
from sim_node.extensions.elodin.script import running
from sim_node.extensions.elodin.sensor_cameras import CameraFrames
from sim_node.extensions.elodin.step_context import Stepper
from sim_node.extensions.elodin.world_file import Bound, spawn_all
from sim_node.simulation import Simulation
from sim_node.simulation.columns import Array, Columns
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.model import TimeGrid, World


def steps_per_tick(seconds: float, time: TimeGrid) -> int:
    """Return the time between two ticks, s, in steps of a world from a file: rounded, and at least 1."""
    return max(1, time.nearest_steps(round(seconds * 1e9))[0])


class FileSystems:
    """The engine of systems beside a world from a file. It moves no frames; it exchanges data at each tick of the run.

    Args:
        of: The world in Python.
        world: The world, assembled.
        columns: The columns of the run, in which the components are declared.

    Attributes:
        live: The state of the program.
        stop_recipes: Asks the processes of recipes to end; does nothing unless the run has started them.
    """

    def __init__(self, of: PythonWorld, world: World, columns: Columns) -> None:
        self.live = Live(of.captured.program)
        self.stop_recipes: Callable[[], None] = lambda: None
        self._of, self._world = of, world
        self._frames = CameraFrames(of.captured.cameras, self.live, lambda: world)
        declare_components(self.live, columns)
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset to the start. The seed of the run is not used: a script has its own seeds."""
        captured = self._of.captured
        self.live.reset()
        start_us = self._world.time.start_ns // 1000
        stop = lambda: self.stop_recipes()  # noqa: E731  set later, by what starts them
        self._frames.clear()
        self.stepper = Stepper(self.live, captured.pre_step, captured.post_step, start_us, stop, frames=self._frames)

    def step(self, steps: int) -> None:
        """Do nothing: the other engines move the world."""

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Do nothing: no frame is moved."""

    def couple(self, run: Simulation) -> Coupling:
        """Return the coupling that exchanges data with a run."""
        return Coupling(run, self, self._of)


class Coupling:
    """A co-simulator that runs one tick of the systems at its rate, after the sensors of the run have measured.

    Before a tick, components that follow the run are read from it. After the tick, components written by systems or
    callbacks are passed to the run, and act from this step on.

    Args:
        run: The run.
        systems: The engine of the systems.
        of: The world in Python.

    Attributes:
        rate: Ticks per simulated second (Hz).
    """

    def __init__(self, run: Simulation, systems: FileSystems, of: PythonWorld) -> None:
        program, time = of.captured.program, run.world.time
        self.rate = Fraction(10**9, steps_per_tick(program.structure.step, time) * time.step_ns)
        self._systems, self._of = systems, of
        self._bound: Bound = spawn_all(run, Entities())
        self._written = [order for order in self._bound.orders if order.name in program.changing]
        self._others = [order for order in self._bound.orders if order.name not in program.changing]

    def send(self, step: int, time_ns: int) -> None:
        """Run a tick on the state of the current step.

        Raises:
            RunFailed: The script's own code failed; the message has its line.
        """
        live = self._systems.live
        for reading in self._bound.readings:
            live.put(reading.name, reading.read(step))
        for name in self._bound.cleared:
            live.put(name, np.zeros_like(live.get(name)))
        before: list[Array] = [live.get(order.name).copy() for order in self._others]
        with running(self._of.script):
            self._systems.stepper.step()
        for order in self._written:
            order.write(live.get(order.name))
        for order, known in zip(self._others, before, strict=True):
            # Only a callback can have written it. If none did, leave it to whatever else sets it.
            if not np.array_equal(live.get(order.name), known, equal_nan=True):
                order.write(live.get(order.name))

    def receive(self) -> None:
        """Do nothing: the tick has run."""

    def interrupt(self) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Do nothing: nothing is open."""
