"""World: a world written in Python, and its runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from sim_node.extensions.elodin import capture
from sim_node.extensions.elodin.batch import batched
from sim_node.extensions.elodin.components import EntityId
from sim_node.extensions.elodin.dynamics import NewtonEuler
from sim_node.extensions.elodin.elodin_numerics import ElodinNumerics
from sim_node.extensions.elodin.entities import GLOBALS_NAME, Values, described
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.frame_names import REFERENCES, reference_of
from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.monte_carlo import DB_PATH
from sim_node.extensions.elodin.numerics import Numerics, State
from sim_node.extensions.elodin.pairs import Pairs
from sim_node.extensions.elodin.program import CompiledProgram, compiled
from sim_node.extensions.elodin.s10 import PyRecipe
from sim_node.extensions.elodin.scenery import Scenery
from sim_node.extensions.elodin.session.exec import Exec
from sim_node.extensions.elodin.session.run import Run
from sim_node.extensions.elodin.session.samples import recording
from sim_node.extensions.elodin.session.settings import RunSettings, settings_of
from sim_node.extensions.elodin.step_context import Callback
from sim_node.extensions.elodin.structure import ComponentStructure, without_effect
from sim_node.text import did_you_mean
from sim_node.world import World as ParsedWorld
from sim_node.world.model import ORIGIN_RANGES
from sim_node.world.problems import Where, WorldError
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report

Step = Callable[[State], dict[str, Any]]


def step_function(program: CompiledProgram) -> tuple[Step, dict[str, Any]]:
    """Return one tick of a program as a pure, compiled function of its state, and the initial state.

    States are arrays (n, *shape) by component name.
    """
    return jax.jit(program.step), {name: jnp.asarray(array) for name, array in program.start.items()}


@jax.tree_util.register_pytree_node_class
class JaxSim:
    """The state of a world, and its step function. The leaves of the pytree are the components.

    Args:
        structure: The structure of the world.
        step: One tick.
        state: The state.

    Attributes:
        state: Arrays (n, *shape) by component name.
    """

    def __init__(self, structure: ComponentStructure, step: Step, state: State) -> None:
        self._structure, self._step = structure, step
        self.state: dict[str, Any] = dict(state)
        self._ticks = 0

    def step(self, max_steps: int = 1) -> None:
        """Advance by ticks.

        Args:
            max_steps: The number of ticks.
        """
        for _ in range(max_steps):
            self.state = self._step(self.state)
            self._ticks += 1

    def get_state(self, component_name: str | None = None, entity_name: str | None = None) -> Any:
        """Return the state, a component (n, *shape) of all entities, or a component of one entity.

        Args:
            component_name: A component, or None for all components by name.
            entity_name: An entity, or None for all entities.

        Returns:
            Arrays (n, *shape) by component name, an array (n, *shape), or an array (*shape).

        Raises:
            KeyError: There is no such component or entity; the message has the nearest name.
        """
        if component_name is None:
            return self.state
        if component_name not in self.state:
            raise KeyError(f"component {component_name!r} not found{did_you_mean(component_name, self.state)}")
        array = self.state[component_name]
        return array if entity_name is None else array[self._row(component_name, entity_name)]

    def set_state(self, component_name: str, entity_name: str, value: Any) -> None:
        """Replace a component of one entity.

        Args:
            component_name: The component.
            entity_name: The entity.
            value: The new value (*shape). It is converted to the component's type.

        Raises:
            KeyError: There is no such component or entity; the message has the nearest name.
            ValueError: The shape does not fit.
        """
        held = self.get_state(component_name, entity_name)
        value = jnp.asarray(value)
        if value.shape != held.shape:
            raise ValueError(f"{entity_name}.{component_name} has the shape {held.shape}; found {value.shape}")
        array = self.state[component_name]
        row = self._row(component_name, entity_name)
        self.state = {**self.state, component_name: array.at[row].set(value.astype(array.dtype))}

    def get_tick_count(self) -> int:
        """Return the number of ticks that this object has run."""
        return self._ticks

    def print_dictionary(self) -> None:
        """Print the entities of each component, and the shapes of their values."""
        structure = self._structure
        for name, entities in structure.entities.items():
            shape = tuple(self.state[name].shape[1:])
            print(f"{name}: {', '.join(f'{structure.names[each]} (shape: {shape})' for each in entities)}")

    def _row(self, component: str, entity: str) -> int:
        pairs = Pairs(self._structure)
        return pairs[f"{entity or GLOBALS_NAME}.{component}"].row

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Return the components for JAX."""
        return tuple(self.state.values()), (self._structure, self._step, tuple(self.state))

    @classmethod
    def tree_unflatten(cls, aux: Any, leaves: tuple[Any, ...]) -> JaxSim:
        """Return the object from components, for JAX.

        Args:
            aux: The structure of the world, its step and the names of its components, from `tree_flatten`.
            leaves: The components (n, *shape), in the order of the names.

        Returns:
            The object. Its count of ticks starts from 0.
        """
        structure, step, names = aux
        return cls(structure, step, dict(zip(names, leaves, strict=True)))


# Equations of motion, and the methods that integrate them.
NUMERICS: dict[str, Callable[[], Numerics]] = {"": NewtonEuler, "elodin": ElodinNumerics}


# Subcommands of a script's command line with which Elodin does not run the world.
OTHER_WORDS = ("plan", "components", "bench", "params")


class World(Scenery):
    """A world written in Python: entities with components, and the processes that run beside them.

    Args:
        frame: The axes of the world: "ENU" (x east, y north, z up), "NED" (north, east, down) or "ECEF".
        compat: "elodin" to reproduce Elodin 0.16, whose equations of motion and integrators are less exact.
        origin: Geodetic position of the root of the frame tree: latitude and longitude (degrees), height above the
            ellipsoid (m). In ECEF, the default is 0, 0, 0.

    Attributes:
        recipes: Processes that `run` starts.
        reference: The frame in which the poses of entities are expressed: the root, `map_ned` or `earth`.
        origin: The origin, or None.
        source: The world from a file that the systems run beside, or None.

    Raises:
        EcsError: The frame or `compat` is unknown, or the origin is invalid.
    """

    source: ParsedWorld | None = None
    origin: tuple[float, float, float] | None = None
    # The components that follow the source.
    _mirrored: frozenset[str] = frozenset()

    def __init__(self, frame: Any = None, compat: str | None = None, *, origin: Sequence[float] | None = None) -> None:
        super().__init__()
        where = caller()
        name = str(getattr(frame, "name", frame) or "ENU").upper()
        if name not in REFERENCES:
            raise EcsError(f"frame: {frame!r} is not one of {', '.join(REFERENCES)}", where, "World")
        if origin is not None or name == "ECEF":
            self.origin = self._checked((0.0, 0.0, 0.0) if origin is None else origin, where)
        self.reference = reference_of(name, self.origin)
        if compat is not None and compat not in NUMERICS:
            near = did_you_mean(str(compat), [each for each in NUMERICS if each])
            raise EcsError(f"compat: {compat!r} is unknown{near or '; known: elodin'}", where, "World")
        self.compat = compat
        self.recipes: list[PyRecipe] = []

    @staticmethod
    def _checked(origin: Sequence[float], where: Where) -> tuple[float, float, float]:
        """Check and return an origin. Raises EcsError."""
        if len(origin) != len(ORIGIN_RANGES):
            raise EcsError(f"origin: found {origin!r}; {', '.join(ORIGIN_RANGES)} are needed", where, "World")
        for number, (name, (low, high)) in zip(origin, ORIGIN_RANGES.items(), strict=True):
            if not low <= number <= high:
                raise EcsError(f"origin: {name} {number:g} is not in {low:g} to {high:g}", where, "World")
        return float(origin[0]), float(origin[1]), float(origin[2])

    @staticmethod
    def from_file(world: ParsedWorld | str | Path, compat: str | None = None) -> World:
        """Return a world from a file: its frames, bodies, joints and sensors are entities with the same names.

        MuJoCo moves its bodies. Systems read them, apply forces, and set joint targets. See docs/worlds-in-python.md.

        Args:
            world: A World, a path, a package:// URI, or the name of a shipped world.
            compat: As for World, for bodies that systems move.

        Returns:
            The world, with these entities.

        Raises:
            WorldError: The world is invalid.
        """
        # Imported by name, because its module imports this one.
        made: World = import_module("sim_node.extensions.elodin.session.file_world").FileWorld(world, compat)
        return made

    def entity(self, name: str) -> EntityId:
        """Return the number of an entity.

        Args:
            name: Its name.

        Returns:
            Its number.

        Raises:
            EcsError: There is no such entity; the message has the nearest name.
        """
        try:
            return self.number(name)
        except KeyError as error:
            raise EcsError(error.args[0], caller(), "entity") from None

    def spawn(
        self, archetypes: Values | Iterable[Values], name: str | None = None, id: int | str | None = None
    ) -> EntityId:
        """Add an entity.

        Args:
            archetypes: One or several archetypes.
            name: Its name, unique in the world; by default a number. Components are also found by it in snake case.
            id: Its number, or another name by which its components are known.

        Returns:
            Its number.

        Raises:
            EcsError: The name or the number is in use, or a value does not fit its component.
        """
        if isinstance(id, str):
            return super().spawn(archetypes, id)
        return super().spawn(archetypes, name, id)

    def recipe(self, recipe: PyRecipe) -> None:
        """Add a process that `run` starts, and that ends with the run. The script's option --no-s10 disables it.

        Args:
            recipe: The process, such as s10.PyRecipe.process(...).

        Raises:
            EcsError: It is not a PyRecipe, or another one has its name.
        """
        if not isinstance(recipe, PyRecipe):
            message = f"{type(recipe).__name__} is not a recipe, such as s10.PyRecipe.process(...)"
            raise EcsError(message, caller(), "recipe")
        if recipe.name() in [each.name() for each in self.recipes]:
            raise EcsError(f"there is a recipe named {recipe.name()!r} already", caller(), "recipe")
        self.recipes.append(recipe)

    def _wanted_recipes(self) -> list[PyRecipe]:
        """Return the recipes that `run` starts: none if the script has the option --no-s10."""
        return [] if "--no-s10" in sys.argv[1:] else self.recipes

    def run(
        self,
        system: Any,
        sim_time_step: float | None = None,
        run_time_step: float | None = None,
        default_playback_speed: float = 1.0,
        max_ticks: int | None = None,
        optimize: bool = False,
        is_canceled: Callable[[], Any] | None = None,
        pre_step: Callback | None = None,
        post_step: Callback | None = None,
        db_path: str | PathLike[str] | None = None,
        interactive: bool = True,
        start_timestamp: int | None = None,
        log_level: str | None = None,
        record_every: int = 1,
        **later: Any,
    ) -> None:
        """Run the world until `max_ticks`, Ctrl-C, SIGTERM, or `is_canceled`.

        In each tick, `pre_step` is called first, then the systems run, then `post_step` is called. An exception in one
        of them ends the run, and is raised here.

        Args:
            system: The system, or a list of systems; None for none.
            sim_time_step: The time between two ticks, s; by default 1/120, or the step of the file.
            run_time_step: The wall time between two ticks, s; None for as fast as possible.
            default_playback_speed: The speed at which a viewer plays the run.
            max_ticks: The number of ticks to run; None for no limit.
            optimize: No effect: steps are always optimized.
            is_canceled: Called before each tick; the run ends when it returns True.
            pre_step: Called before each tick with its number, from 0, and a StepContext.
            post_step: Called after each tick.
            db_path: A folder for a recording, a ROS 2 bag; by default that of the environment variable ELODIN_DB_PATH,
                which is set for runs of campaigns. Without either, nothing is recorded.
            interactive: Whether to pause after `max_ticks` until Ctrl-C. This applies only if standard input is a
                terminal: a script in a pipe or a test ends.
            start_timestamp: The start time, us since 1970; None for now.
            log_level: `error`, `warn`, `info` (the default), `debug` or `trace`.
            record_every: Record only every N-th tick.
            **later: Arguments of other versions: simulation_rate, Hz; generate_real_time; telemetry_rate, Hz; backend
                and iree_flags, which have no effect.

        Raises:
            EcsError: An argument is unknown or not allowed, or a system does not fit the world.
        """
        where = caller()
        db_path = os.environ.get(DB_PATH) if db_path is None else db_path
        given = {name: value for name, value in locals().items() if name not in ("self", "system", "later", "where")}
        settings = self._settings(given, later, where, "run")
        program = self.program(system, settings.sim_time_step)
        captured = capture.Captured(self, program, pre_step, post_step, settings.mapping(), self.source, self._mirrored)
        capture.offer(captured)
        self._run(captured, settings, where)

    def _run(self, captured: capture.Captured, settings: RunSettings, where: Where) -> None:
        program = captured.program
        if (word := "".join(sys.argv[1:2])) in OTHER_WORDS:
            settings.say("warn", f"{where}: {word!r} on the command line has no effect: the world is run")
        for note in without_effect(program.structure):
            settings.say("warn", f"{where}: {note}")
        if settings.db_path is not None and (settings.start_timestamp or 0) < 0:
            note = "start_timestamp is before 1970; times of the recording count from the start"
            settings.say("warn", f"{where}: {note}")
        sink = None if settings.db_path is None else partial(recording, captured, settings, where.file)
        Run(captured, settings, self._wanted_recipes(), sink, partial(_seen, captured, where)).run()

    def _settings(self, given: Mapping[str, Any], later: Mapping[str, Any], where: Where, method: str) -> RunSettings:
        """Return the checked arguments of a method. Raises EcsError."""
        step = given["sim_time_step"]
        return settings_of({**given, "sim_time_step": self._step_s if step is None else step}, later, where, method)

    @property
    def _step_s(self) -> float:
        """The default time between two ticks, s."""
        return 1 / 120

    def build(
        self,
        system: Any,
        sim_time_step: float | None = None,
        run_time_step: float | None = None,
        default_playback_speed: float = 1.0,
        max_ticks: int | None = None,
        optimize: bool = False,
        batch: Mapping[str, Any] | None = None,
        **later: Any,
    ) -> Exec:
        """Compile the world, to be run tick by tick.

        Args:
            system: The system, or a list of systems; None for none.
            sim_time_step: The time between two ticks, s; by default 1/120, or the step of the file.
            run_time_step: No effect: an Exec runs as fast as possible.
            default_playback_speed: The speed at which a viewer plays the run.
            max_ticks: No effect: the number of ticks is an argument of Exec.run.
            optimize: No effect: steps are always optimized.
            batch: Initial values (batch, *shape) of many worlds that run at once, by name `entity.component`, with one
                value for each world.
            **later: Arguments of other versions, as in `run`; db_path has no effect.

        Returns:
            The compiled world, before its first tick.

        Raises:
            EcsError: An argument is unknown or not allowed, or a system does not fit the world.
        """
        where, began = caller(), time.perf_counter()
        given = {"sim_time_step": sim_time_step, "run_time_step": run_time_step, "max_ticks": max_ticks}
        given["default_playback_speed"] = default_playback_speed
        program = self.program(system, self._settings(given, later, where, "build").sim_time_step)
        return self._exec(program, batch, where, began)

    def _exec(self, program: CompiledProgram, batch: Mapping[str, Any] | None, where: Where, began: float) -> Exec:
        worlds = None
        if batch is not None:
            program, worlds = batched(program, batch, where)
        return Exec(program, worlds, time.perf_counter() - began)

    def program(self, system: Any, sim_time_step: float | None = None) -> CompiledProgram:
        """Compile the world to data and one pure function.

        Args:
            system: The system, or a list of systems; None for none.
            sim_time_step: The time between two ticks, s; by default 1/120, or the step of the file.

        Returns:
            The compiled world.

        Raises:
            EcsError: A system does not fit the world.
        """
        step = self._step_s if sim_time_step is None else sim_time_step
        return compiled(self, system, step, NUMERICS[self.compat or ""]())

    def step_function(self, system: Any, sim_time_step: float = 1 / 120) -> tuple[Step, dict[str, Any]]:
        """Return one tick as a pure function of the state, for jax.grad and jax.vmap, and the initial state.

        Args:
            system: The system, or a list of systems; None for none.
            sim_time_step: The time between two ticks, s.

        Returns:
            The function and the state. States are arrays (n, *shape) by component name.

        Raises:
            EcsError: A system does not fit the world.
        """
        return step_function(self.program(system, sim_time_step))

    def to_jax(self, system: Any, sim_time_step: float = 1 / 120, **later: Any) -> JaxSim:
        """Return the world as a JAX pytree that runs tick by tick.

        Args:
            system: The system, or a list of systems; None for none.
            sim_time_step: The time between two ticks, s.
            **later: simulation_rate, Hz, replaces sim_time_step. Accepted without effect: run_time_step, max_ticks,
                default_playback_speed, generate_real_time, telemetry_rate, backend and iree_flags.

        Returns:
            The world at the start.

        Raises:
            EcsError: An argument is unknown, or a system does not fit the world.
        """
        later = {name: value for name, value in later.items() if name not in ("run_time_step", "max_ticks")}
        later.pop("default_playback_speed", None)
        settings = settings_of({"sim_time_step": sim_time_step}, later, caller(), "to_jax")
        program = self.program(system, settings.sim_time_step)
        return JaxSim(program.structure, *step_function(program))

    def get_dict(self) -> dict[str, int]:
        """Return the components by name, with their numbers in the order of their first use."""
        return {name: number for number, name in enumerate(self.tables())}

    def discover_components(self) -> dict[str, Any]:
        """Return a description of all components and entities in plain types, for JSON."""
        return described(self)


def _seen(captured: capture.Captured, where: Where) -> ParsedWorld:
    """Return the world that cameras see. Raises WorldError."""
    from sim_node.extensions.elodin.reader import world_of

    script = Path(where.file or sys.argv[0] or "script.py").absolute()
    report = Report(str(script))
    world = world_of(captured, script, str(script), Roots.of(script), report)
    if world is None or report.errors:
        raise WorldError(report.errors)
    return world


# The name of the base of World in Elodin.
WorldBuilder = World
