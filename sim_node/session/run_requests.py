"""Requests to run, pause, stop, step and reset a simulation, as in simulation_interfaces."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from enum import IntEnum

from sim_node.session.entities import Rejected
from sim_node.session.entity_requests import EntityRequests
from sim_node.simulation import Loop, Refused

# A step request is divided into this many parts, or into more parts with at most this many steps. Other calls are
# served in between; each of them waits for one part of every goal, so the limit applies to all goals together.
_PARTS, _MAX_PART = 1000, 100


class RunState(IntEnum):
    """Simulation states, numbered as in simulation_interfaces."""

    STOPPED = 0
    PLAYING = 1
    PAUSED = 2
    QUITTING = 3
    NO_WORLD = 4
    LOADING_WORLD = 5


class ResetScope(IntEnum):
    """Scopes of a reset, numbered as in simulation_interfaces."""

    DEFAULT = 0
    TIME = 1
    STATE = 2
    SPAWNED = 4
    ALL = 255


_EVERYTHING = ResetScope.TIME | ResetScope.STATE | ResetScope.SPAWNED


class RunRequests:
    """Carries out requests about the run as a whole. Methods may be called from any thread.

    STOPPED means paused at the start, without a step since. PAUSED at the start results from a request to pause.

    Args:
        loop: The run.
        entities: Its entities.
        despawn: Removes everything that was spawned. Called from the loop.
        seed: Returns the seed to use from the next reset on.
        quit: Ends the program after the reply is sent.
    """

    def __init__(
        self,
        loop: Loop,
        entities: EntityRequests,
        *,
        despawn: Callable[[], None],
        seed: Callable[[], int],
        quit: Callable[[], None],
    ) -> None:
        self._loop, self._entities = loop, entities
        self._despawn, self._seed, self._quit = despawn, seed, quit
        self._again = {
            ResetScope.TIME | ResetScope.STATE: lambda: loop.restart(seed()),
            ResetScope.TIME: loop.reset_time,
            ResetScope.STATE: loop.reset_state,
        }
        self._paused_at_start = self._quitting = False
        self._loading = self._goals = 0

    @property
    def unloaded(self) -> bool:
        """Whether no world is loaded."""
        return self._entities.unloaded

    def state(self) -> RunState:
        """Return the state of the simulation."""
        return RunState.LOADING_WORLD if self._loading else self._loop.call(self._state)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Report LOADING_WORLD as the state while the block runs."""
        self._loading += 1
        try:
            yield
        finally:
            self._loading -= 1

    def set_state(self, target: int) -> None:
        """Change the state of the simulation.

        Args:
            target: The number of a RunState.

        Raises:
            Rejected: The simulation is already in that state (ALREADY_IN_TARGET_STATE), no world is loaded
                (INCORRECT_STATE), or the state cannot be requested (INCORRECT_TRANSITION; FEATURE_UNSUPPORTED for an
                undefined number).
        """

        def act() -> None:
            now = self._state()
            if target not in RunState._value2member_map_:
                defined = ", ".join(f"{each.value} ({each.name})" for each in RunState)
                raise Rejected("FEATURE_UNSUPPORTED", f"state {target} is not defined; defined: {defined}")
            wanted = RunState(target)
            if wanted == now:
                raise Rejected("ALREADY_IN_TARGET_STATE", f"the simulation is {now.name} already")
            if wanted is RunState.QUITTING:
                self._quitting = True
                self._quit()
                return
            if wanted in (RunState.NO_WORLD, RunState.LOADING_WORLD):
                raise Rejected("INCORRECT_TRANSITION", f"{wanted.name} is what unload_world and load_world lead to")
            if now in (RunState.NO_WORLD, RunState.QUITTING):
                raise Rejected("INCORRECT_STATE", f"the simulation is {now.name}; load a world first")
            if wanted is RunState.PLAYING:
                self._loop.resume()
                return
            self._loop.pause()
            if wanted is RunState.STOPPED:
                self._restart()
            else:
                self._paused_at_start = True

        self._loop.call(act)

    def entered(self, *, unloaded: bool = False) -> None:
        """Record that another world, or none, has been loaded and is at its start. Call it from the loop."""
        self._entities.unloaded, self._paused_at_start = unloaded, False

    def reset(self, scope: int) -> None:
        """Go back to the start, within a scope. The simulation stays running or paused.

        Args:
            scope: Bits of ResetScope.

        Raises:
            Rejected: The scope is not defined (FEATURE_UNSUPPORTED), no world is loaded (INCORRECT_STATE), or the world
                cannot be reset partially (OPERATION_FAILED).
        """
        wanted = _EVERYTHING if scope in (ResetScope.DEFAULT, ResetScope.ALL) else scope
        if wanted & ~_EVERYTHING:
            defined = "time (1), state (2), what was spawned (4), their sums, everything (0 or 255)"
            raise Rejected("FEATURE_UNSUPPORTED", f"scope {scope} is not defined; defined: {defined}")

        def act() -> None:
            self._entities.need_world()
            if wanted == _EVERYTHING:
                self._restart()
                return
            if wanted & ResetScope.SPAWNED:
                self._despawn()
            if wanted & ResetScope.TIME:
                self._paused_at_start = False
            moment = wanted & (ResetScope.TIME | ResetScope.STATE)
            if moment:
                try:
                    self._again[moment]()
                except (Refused, ValueError) as error:
                    raise Rejected("OPERATION_FAILED", str(error)) from None

        self._loop.call(act)

    def stepping(self, steps: int) -> Generator[Callable[[], int], None, None]:
        """Yield calls that step a paused simulation, to be made in order from the loop's thread.

        Args:
            steps: Number of steps.

        Returns:
            The calls. Each returns the number of steps completed so far. A goal of up to 1000 steps has one call per
            step. Close the generator if it is not exhausted.
        """
        done = 0
        part = max(1, steps // _PARTS)

        def advance() -> int:
            nonlocal done
            self.check_paused()
            count = min(max(1, min(part, _MAX_PART // self._goals)), steps - done)
            try:
                self._loop.step(count)
            except (Refused, ValueError) as error:
                raise Rejected("OPERATION_FAILED", str(error)) from None
            done += count
            return done

        self._goals += 1
        try:
            while done < steps:
                yield advance
        finally:
            self._goals -= 1

    def check_paused(self) -> None:
        """Raise Rejected (OPERATION_FAILED) if the simulation is running."""

        def check() -> None:
            self._entities.need_world()
            if not self._loop.paused:
                raise Rejected("OPERATION_FAILED", "the simulation is running; pause it to step")

        self._loop.call(check)

    def _restart(self) -> None:
        self._entities.spawned.clear()
        self._entities.infos.clear()
        self._paused_at_start = False
        self._loop.reset(self._seed())

    def _state(self) -> RunState:
        if self._quitting:
            return RunState.QUITTING
        if self.unloaded:
            return RunState.NO_WORLD
        if not self._loop.paused:
            self._paused_at_start = False
            return RunState.PLAYING
        at_start = self._loop.simulation.steps == 0 and not self._paused_at_start
        return RunState.STOPPED if at_start else RunState.PAUSED
