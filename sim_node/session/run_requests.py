"""Requests to run, pause, stop, step and reset a simulation, as simulators answer them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from enum import IntEnum

from sim_node.session.entities import Rejected
from sim_node.session.entity_requests import EntityRequests
from sim_node.simulation import Loop, Refused

# Stepping is divided into this many parts, or more that have at most so many steps: in between other calls are served,
# each of which waits for a part of every goal. So all goals together have that many steps at most.
_PARTS, _MAX_PART = 1000, 100


class RunState(IntEnum):
    """States of a simulation, as simulation_interfaces numbers them."""

    STOPPED = 0
    PLAYING = 1
    PAUSED = 2
    QUITTING = 3
    NO_WORLD = 4
    LOADING_WORLD = 5


class ResetScope(IntEnum):
    """What a reset resets, as simulation_interfaces numbers it."""

    DEFAULT = 0
    TIME = 1
    STATE = 2
    SPAWNED = 4
    ALL = 255


_EVERYTHING = ResetScope.TIME | ResetScope.STATE | ResetScope.SPAWNED


class RunRequests:
    """Carries out requests about the run as a whole. Its methods may be called from any thread.

    STOPPED is paused at the start, without a step since; PAUSED at the start is what a request for it made of that.

    Args:
        loop: The run.
        entities: Its entities.
        despawn: Removes everything that was added to the run. Called from the loop.
        seed: Returns the seed from the next reset on.
        quit: Ends the program, once the reply is sent.
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
        """Whether there is no world."""
        return self._entities.unloaded

    def state(self) -> RunState:
        """Return the state of the simulation."""
        return RunState.LOADING_WORLD if self._loading else self._loop.call(self._state)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """State that a world is being read, for as long as the block takes."""
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
            Rejected: It is in that state (ALREADY_IN_TARGET_STATE), has no world (INCORRECT_STATE), or the state is not
                one to ask for (INCORRECT_TRANSITION; FEATURE_UNSUPPORTED for an undefined number).
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
        """Note that the run is at the start of another world, or of none. Call it from the loop."""
        self._entities.unloaded, self._paused_at_start = unloaded, False

    def reset(self, scope: int) -> None:
        """Go back to the start, as far as a scope says. The simulation stays running or paused.

        Args:
            scope: Bits of Scope.

        Raises:
            Rejected: The scope is not defined (FEATURE_UNSUPPORTED), there is no world (INCORRECT_STATE), or the world
                cannot be reset in part (OPERATION_FAILED).
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
        """Yield calls that step a paused simulation, to be made one after the other from the loop's thread.

        Args:
            steps: Number of steps.

        Returns:
            The calls, each of which returns the number of steps done since the first one. A goal of up to 1000 steps
            has one for each step. Close the iterator where it is left early.
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
        """Raise Rejected (OPERATION_FAILED) while the simulation runs."""

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
