"""FileWorld: systems beside a world from a file, whose bodies, joints and sensors are entities."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.elodin import capture
from sim_node.extensions.elodin.coupling import FileSystems, steps_per_tick
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.part import beside_file, processes_of
from sim_node.extensions.elodin.program import Array, CompiledProgram
from sim_node.extensions.elodin.session.exec import Exec
from sim_node.extensions.elodin.session.settings import RunSettings
from sim_node.extensions.elodin.session.world import World
from sim_node.extensions.elodin.world_file import spawn_all
from sim_node.session.session import Session
from sim_node.simulation import Simulation
from sim_node.world import World as ParsedWorld
from sim_node.world.load import load
from sim_node.world.problems import RunFailed, Where


class FileWorld(World):
    """A world from a file, with entities for its frames, bodies, joints and sensors; see World.from_file.

    Runs include its sensors and autopilots, with the systems in lockstep. Some arguments of `run` differ: sim_time_step
    must be a multiple of the file's step, which is the default; start_timestamp is not allowed, because the file gives
    it; db_path records everything that a run of the file publishes; interactive has no effect: the run ends after
    `max_ticks`. `build` has no batches; a row of its history has the components after the tick at that time.

    Args:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        compat: As for World, for bodies that systems move.

    Attributes:
        source: The world.

    Raises:
        WorldError: The world is invalid.
    """

    def __init__(self, world: ParsedWorld | str | Path, compat: str | None = None) -> None:
        super().__init__(compat=compat)
        self.source: ParsedWorld = world if isinstance(world, ParsedWorld) else load(world)
        bound = spawn_all(Simulation(self.source), self)
        self._mirrored = frozenset({"inertia", *(reading.name for reading in bound.readings)})
        self._own = frozenset(self.names)

    def program(self, system: Any, sim_time_step: float | None = None) -> CompiledProgram:
        """Compile the systems. Raises EcsError if one does not fit the world."""
        poses = self.tables().get("world_pos")
        for entity in () if poses is None else poses.entities:
            if entity not in self._own:
                message = f"{self.names[entity]!r} has a WorldPos: beside a world from a file, only its own frames can"
                raise EcsError(message, self.places[entity], "spawn")
        return super().program(system, sim_time_step)

    @property
    def _step_s(self) -> float:
        return self.source.time.step_ns * 1e-9

    def _settings(self, given: Mapping[str, Any], later: Mapping[str, Any], where: Where, method: str) -> RunSettings:
        settings, step_s = super()._settings(given, later, where, method), self._step_s
        steps = settings.sim_time_step / step_s
        if abs(steps - round(steps)) > 1e-6 * steps or round(steps) < 1:
            step = f"{settings.sim_time_step:g} s is not a multiple of the file's step of {step_s:g} s"
            raise EcsError(f"sim_time_step: {step}", where, method)
        if settings.start_timestamp is not None:
            raise EcsError("start_timestamp: the file gives the time of the start", where, method)
        return settings

    def _exec(self, program: CompiledProgram, batch: Mapping[str, Any] | None, where: Where, began: float) -> Exec:
        if batch is not None:
            raise EcsError("batch: a world from a file is run one at a time", where, "build")
        captured = capture.Captured(self, program, source=self.source)
        return Exec(program, live=FileLive(captured, Path(where.file or "script.py")))

    def _run(self, captured: capture.Captured, settings: RunSettings, where: Where) -> None:
        step, period, script = (
            settings.sim_time_step,
            settings.run_time_step,
            Path(where.file or sys.argv[0] or "script.py"),
        )
        # The session uses these; the other arguments are used below.
        own = {"max_ticks": settings.max_ticks, "is_canceled": settings.is_canceled}
        beside = beside_file(self.source, replace(captured, settings=own), script)
        world = replace(beside, files=(*self.source.files, script))
        recipes = self._wanted_recipes()
        if world.processes:
            names = ", ".join(process.name for process in world.processes)
            settings.say("info", f"not starting {names} of {world.name}: `sim_node run {script} --processes` does")
        session = Session(
            replace(world, processes=processes_of(recipes)),
            real_time_factor=0.0 if period is None else step / period,
            publish_rate=min(1.0 / (settings.record_every * step), 1e9 / self.source.time.step_ns),
            processes=True if recipes else None,
            record=settings.db_path,
            report=partial(settings.say, "info"),
            warn=partial(settings.say, "warn"),
        )
        try:
            with _own_errors(), session:
                session.run()
        except KeyboardInterrupt:
            return


@contextmanager
def _own_errors() -> Iterator[None]:
    """Raise the original error of a script instead of the RunFailed that it caused."""
    try:
        yield
    except RunFailed as error:
        raise error.__cause__ or error from None


class FileLive:
    """The state of systems beside a run of a world from a file, used instead of a Live in an Exec.

    Args:
        captured: The systems and the world.
        script: The file of the user.
    """

    def __init__(self, captured: capture.Captured, script: Path) -> None:
        assert captured.source is not None
        self.program, self.ticks = captured.program, 0
        self.simulation = Simulation(beside_file(captured.source, captured, script))
        (systems,) = (each for each in self.simulation.engines.values() if isinstance(each, FileSystems))
        self._live = systems.live
        self._steps = steps_per_tick(captured.program.structure.step, captured.source.time)

    @property
    def changing(self) -> tuple[str, ...]:
        """All components, because those that no system writes follow the run."""
        return tuple(self.program.start)

    def warm(self, ticks: int) -> None:
        """Do nothing: the tick at the start already compiled the systems."""

    def record(self, ticks: int) -> Mapping[str, Array]:
        """Run ticks, and return all components (ticks, n, *shape) after each of them."""
        start = self.program.start
        rows = {name: np.empty((ticks, *start[name].shape), start[name].dtype) for name in self.changing}
        for row in range(ticks):
            with _own_errors():
                self.simulation.step(self._steps)
            for name, values in rows.items():
                values[row] = self._live.get(name)
        self.ticks += ticks
        return rows
