"""Common functions of actions: the run that they act on, and the effects that they begin and end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Annotated, Any, ClassVar, TypeVar

from sim_node.extensions.scenario.effects import EFFECTS, Effect, Lasting
from sim_node.extensions.scenario.timetable import reason_of, timetable_of
from sim_node.session.entities import Rejected
from sim_node.session.requests import RequestContext
from sim_node.simulation import Simulation
from sim_node.simulation.requests import request
from sim_node.text import did_you_mean, shown
from sim_node.world import Multirotor
from sim_node.world.autopilots import sensors_on
from sim_node.world.bases import Base
from sim_node.world.quantities import Number

F = TypeVar("F", bound=Callable[..., str])
# The duration of an effect; 0 for the rest of the run.
Seconds = Annotated[float, Number(0.0, 1e9)]


def action(name: str) -> Callable[[F], F]:
    """Register a function of a run as a request, which is executed between two ticks.

    Args:
        name: The name of the request, and of the action in world files.

    Returns:
        The decorator. The function is declared like those of `request`, except for its first argument. If it raises
        a KeyError, ValueError or TypeError, the request is rejected.
    """

    def enter(function: F) -> F:
        @wraps(function)
        def ask(context: RequestContext, /, *arguments: Any, **given: Any) -> str:
            def act() -> str:
                try:
                    return function(context.loop.simulation, *arguments, **given)
                except (KeyError, ValueError, TypeError) as error:
                    raise Rejected("OPERATION_FAILED", reason_of(error)) from None

            return context.loop.call(act)

        request(name)(ask)
        return function

    return enter


def begin(run: Simulation, kind: str, of: str, seconds: float = 0.0, **arguments: Any) -> None:
    """Begin an effect, which replaces any effect of the same kind on the same target.

    Args:
        run: The run.
        kind: Its entry in EFFECTS.
        of: Its target.
        seconds: Its duration, s; 0 for the rest of the run.
        arguments: Its arguments.
    """
    table = timetable_of(run)
    until = run.steps + max(table.steps_in(round(seconds * 1e9)), 1) if seconds else None
    lasting = Lasting(kind, of, run.steps, until, arguments)
    EFFECTS[kind].apply(run, lasting)  # raises before the effect begins
    table.begin(lasting)


def end(run: Simulation, kind: str, of: str) -> bool:
    """End an effect. Return whether it was in force."""
    lasting = timetable_of(run).drop(kind, of)
    if lasting is not None:
        EFFECTS[kind].end(run, lasting)
    return lasting is not None


class JointEffect(Effect):
    """An effect that acts together with all other effects of certain kinds."""

    kinds: ClassVar[tuple[str, ...]]

    @abstractmethod
    def act(self, run: Simulation, of: Lasting, every: Sequence[Lasting]) -> None:
        """Apply all effects in force to the next step. `of` is one of them, or has just ended."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Apply it together with the others."""
        every = self._in_force(run)
        every[lasting.kind, lasting.of] = lasting
        self.act(run, lasting, list(every.values()))

    def end(self, run: Simulation, lasting: Lasting) -> None:
        """Apply the remaining effects."""
        self.act(run, lasting, list(self._in_force(run).values()))

    def _in_force(self, run: Simulation) -> dict[tuple[str, str], Lasting]:
        every = timetable_of(run).progress.lasting
        return {(each.kind, each.of): each for each in every if each.kind in self.kinds}


def lasting(seconds: float) -> str:
    """Return a duration as the end of a sentence."""
    return f" for {seconds:g} s" if seconds else ""


def vehicle_of(run: Simulation, name: str) -> str:
    """Return the name of a vehicle: the given one, or the only one if it is empty. Raises ValueError."""
    known = list(run.vehicles)
    if name in known:
        return name
    if not name and len(known) == 1:
        return known[0]
    if not name:
        raise ValueError(f"which vehicle? {', '.join(known) or 'the world has none'}")
    raise ValueError(f"no vehicle {shown(name)!r}{did_you_mean(name, known)} (known: {', '.join(known) or 'none'})")


def described(run: Simulation, vehicle: str) -> Multirotor | Base:
    """Return the description of a vehicle in the world."""
    every: tuple[Multirotor | Base, ...] = (*run.world.of(Multirotor), *run.world.of(Base))
    return next(each for each in every if each.name == vehicle)


def sensor_of(run: Simulation, vehicle: str, types: tuple[str, ...], instance: int) -> str:
    """Return a sensor of a vehicle by type and number, from 1; 0 for the first. Raises ValueError."""
    body = described(run, vehicle).body
    found = [sensor.name for sensor in sensors_on(run.world, body) if sensor.type in types]
    if not found:
        raise ValueError(f"{vehicle!r} has no sensor of the type {' or '.join(types)}")
    if instance > len(found):
        raise ValueError(f"{vehicle!r} has {len(found)} of the type {' or '.join(types)}, and no number {instance}")
    return found[max(instance - 1, 0)]


def isolate(run: Simulation, sensor: str) -> None:
    """Separate a sensor from those that are measured together with it, so that it can be altered. Raises KeyError."""
    if len(run.sensors[sensor].together) > 1:
        run.change(run.world)
