"""Sessions of worlds in Python: which arguments of World.run they use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_node.extensions.elodin.coupling import FileSystems, steps_per_tick
from sim_node.extensions.elodin.engine import EcsEngine
from sim_node.extensions.elodin.part import PythonWorld
from sim_node.extensions.elodin.session.settings import RunSettings
from sim_node.extensions.elodin.structure import without_effect
from sim_node.session.run_parts import Attendant
from sim_node.simulation import Simulation, Sink, Snapshot
from sim_node.simulation.programs import Supervisor

# Arguments that are used only if the script itself is run.
_ONLY_OF_SCRIPTS = ("run_time_step", "default_playback_speed", "db_path", "log_level", "record_every")


class Scripted(Attendant):
    """How a session runs a world in Python.

    Args:
        of: The world in Python.
        simulation: Its simulation.
        shown: Whether a viewer shows it. An interactive script then continues after `max_ticks`.

    Attributes:
        notes: Sentences about arguments without an effect.
    """

    def __init__(self, of: PythonWorld, simulation: Simulation, shown: bool = False) -> None:
        captured, time = of.captured, simulation.world.time
        settings, structure = captured.settings, captured.program.structure
        ticks = settings.get("max_ticks")
        endless = shown and settings.get("interactive", True)
        per_tick = 1 if captured.source is None else steps_per_tick(structure.step, time)
        self.duration_ns = ticks * per_tick * time.step_ns if ticks and not endless else None
        self._engines = [each for each in simulation.engines.values() if isinstance(each, (EcsEngine, FileSystems))]
        self._is_canceled: Callable[[], Any] | None = settings.get("is_canceled")
        nothing = RunSettings().mapping()
        unused = [
            f"{name}={str(settings[name])!r}" if name == "db_path" else f"{name}={settings[name]!r}"
            for name in _ONLY_OF_SCRIPTS
            if settings.get(name, nothing[name]) != nothing[name]
        ]
        self.notes: list[str] = without_effect(structure)
        if ticks and endless:
            unused.append(f"max_ticks={ticks}")
        if unused:
            script = of.script.name
            self.notes.append(f"{script}: {', '.join(unused)} of run() has no effect here, only in `python {script}`")

    def sinks(self, stop: Callable[[], None]) -> tuple[Sink, ...]:
        """Return a sink that, at each published tick, asks the script whether to cancel the run, and stops it."""
        return () if self._is_canceled is None else (_Canceled(self._is_canceled, stop),)

    def let_stop(self, programs: Supervisor) -> None:
        """Make `stop_recipes` of the script's callbacks end the programs of a supervisor."""
        for engine in self._engines:
            engine.stop_recipes = programs.ask_to_end


class _Canceled(Sink):
    """A sink that ends a run when a function returns True."""

    def __init__(self, is_canceled: Callable[[], Any], stop: Callable[[], None]) -> None:
        self._is_canceled, self._stop = is_canceled, stop

    def write(self, snapshot: Snapshot) -> None:
        """Stop the run if it is canceled."""
        if self._is_canceled():
            self._stop()
