"""The spec of an environment: what an agent observes and does in a world, for what reward, and when an episode ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.gym.draws import Draw
from sim_node.extensions.gym.expressions import Expression, ExpressionError, Quantity
from sim_node.extensions.gym.interface import Action, Signal
from sim_node.extensions.gym.route import ROUTE_SIGNALS, Route
from sim_node.world import World
from sim_node.world.problems import Place, Problem, WorldError

# A number from the values of all signals and actions by name.
Function = Callable[[Mapping[str, Quantity]], float]
# A term or condition: an expression, or in Python a function.
Term = str | Function
Bounds = float | tuple[float, float] | None


@dataclass(frozen=True)
class Spec:
    """An environment.

    Attributes:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        rate: Actions per simulated second, Hz. Its period must be a whole number of the world's steps.
        actions: The actions by name; an agent's action is their numbers one after the other.
        observation: Names of signals and actions, with a limit to which each is clipped: the absolute value, or low and
            high; None for none. An observation is their numbers one after the other.
        reward: Terms by name, which are added up.
        signals: The signals by name.
        termination: When an episode ends: a condition.
        success: When an episode is successful: a condition that also ends it and is reported as info["is_success"].
        duration: Simulated seconds after which an episode is truncated.
        variations: Numbers of the world that are drawn at each reset, by key path, as in `World.with_values`:
            distributions such as "uniform(1, 2)", see `draw_of`.
        route: Goals to reach.
        normalised: Whether actions are -1 to 1 and are scaled to their ranges; otherwise they are in their own units.
        diverged: Reward of a step in which the simulation diverges, which ends the episode.
        camera, size: The view and the size of pictures, as in `RenderRequest`; a frame to follow is `follow`.
        follow: Frame that the camera moves with.
        name: The name.
        places: Where the file gives each key.
    """

    world: World | str | Path
    rate: float
    actions: Mapping[str, Action]
    observation: Mapping[str, Bounds]
    reward: Mapping[str, Term]
    signals: Mapping[str, Signal] = field(default_factory=dict)
    termination: Term | None = None
    success: Term | None = None
    duration: float = 10.0
    variations: Mapping[str, str | float | Draw] = field(default_factory=dict)
    route: Route | None = None
    normalised: bool = True
    diverged: float = 0.0
    camera: str = ""
    follow: str = ""
    size: tuple[int, int] = (640, 480)
    name: str = "environment"
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = [
            self._problem(f"signals.{name}", "is the name of an action or of the route, too")
            for name in self.signals
            if name in self.actions or (self.route and name in ROUTE_SIGNALS)
        ]
        problems += [
            self._problem(f"{kind}.{name}", "a name has letters, digits and _, and does not begin with a digit")
            for kind in ("signals", "actions")
            for name in getattr(self, kind)
            if not name.isidentifier()
        ]
        problems += [
            self._problem(key, "at least one is needed") for key in ("actions", "observation") if not getattr(self, key)
        ]
        problems += [
            self._problem(key, f"{getattr(self, key)!r} is out of range; allowed: more than 0")
            for key in ("rate", "duration")
            if not 0.0 < getattr(self, key) < np.inf
        ]
        known = [*self.signals, *self.names()]
        problems += [
            self._problem(f"observation.{name}", f"is no signal or action (known: {', '.join(known)})")
            for name in self.observation
            if name not in known
        ]
        try:
            self.expressions()
        except WorldError as error:
            problems += error.problems
        if problems:
            raise WorldError(problems)

    def names(self) -> tuple[str, ...]:
        """Return the names that every expression can use, besides signals."""
        return (*self.actions, *(ROUTE_SIGNALS if self.route else ()), "time")

    def expressions(self) -> dict[str, Expression]:
        """Return the compiled expressions by key, as in signals.height or termination.

        Raises:
            WorldError: One is invalid, or uses a name that is not known or is defined later.
        """
        texts: dict[str, tuple[str, list[str]]] = {}
        known = [*self.names(), *(name for name, signal in self.signals.items() if not isinstance(signal, str))]
        for name, signal in self.signals.items():
            if isinstance(signal, str):
                texts[f"signals.{name}"] = signal, list(known)
                known.append(name)
        terms: dict[str, Any] = {f"reward.{name}": term for name, term in self.reward.items()}
        terms |= {"termination": self.termination, "success": self.success}
        texts |= {key: (term, known) for key, term in terms.items() if isinstance(term, str)}
        problems: list[Problem] = []
        found: dict[str, Expression] = {}
        for key, (text, allowed) in texts.items():
            found[key], fault = _parsed(text, allowed)
            problems += [self._problem(key, fault)] if fault else []
        if problems:
            raise WorldError(problems)
        return found

    def place_of(self, key: str) -> Place:
        """Return where the file gives a key.

        Args:
            key: Such as rate or reward.alive.

        Returns:
            The place; without a file, only the key.
        """
        return self.places.get(key) or self.places.get(key.partition(".")[0]) or Place(key=key)

    def _problem(self, key: str, message: str) -> Problem:
        place = self.place_of(key)
        return Problem(place.where, place.key, message)


def _parsed(text: str, known: list[str]) -> tuple[Expression, str]:
    """Return the expression, and why it is invalid; empty if it is valid."""
    try:
        expression = Expression.parse(text)
        expression.check_names(known)
        return expression, ""
    except ExpressionError as error:
        return Expression.parse("0"), str(error)
