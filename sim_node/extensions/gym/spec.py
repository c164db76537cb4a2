"""The spec of an environment: the observations, actions, reward and end of episodes of an agent in a world."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.gym.draws import Draw
from sim_node.extensions.gym.expressions import CompiledExpression, ExpressionError, Quantity, norm
from sim_node.extensions.gym.interface import (
    ACTIONS,
    DRAWS,
    EXPRESSION,
    OBSERVATION,
    PIXELS,
    REWARD,
    SIGNALS,
    WORLD,
    Action,
    Bounds,
    Signal,
    Term,
)
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World
from sim_node.world.declared import Nested, declared, given, place_of, places_of
from sim_node.world.problems import NO_PLACE, Place, Problem, WorldError, refuse_any
from sim_node.world.quantities import Flag, Number, Numbers, PartOf, Text, Whole
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_values import Table

ROUTE_SIGNALS = ("goal", "to_goal", "progress", "reached", "remaining")


@declared
class Route:
    """Goals that a frame must reach one after the other, drawn at each reset.

    It provides signals: goal (3,) m, to_goal (3,) from the frame to the goal, progress (m nearer to the goal in this
    step), reached (1 in a step that reached one), and remaining (number of goals).
    """

    frame: str = given(Text(), "The frame")
    count: int = given(Whole(1, 1000), "Number of goals")
    low: tuple[float, float, float] = given(Numbers(3), "Least corner of the box that goals are drawn from", "m")
    high: tuple[float, float, float] = given(Numbers(3), "Largest corner of the box, in the fixed frame", "m")
    radius: float = given(Number(1e-6), "Distance at which a goal is reached", "m", default=0.5)
    place: Place = place_of(default=NO_PLACE)

    def __post_init__(self) -> None:
        if self.count < 1 or not self.radius > 0.0 or not np.less_equal(self.low, self.high).all():
            raise WorldError([Problem(self.place.where, self.place.key or "route", "is empty: check count, low, high")])


class Goals:
    """The goals of an episode, and the progress of a frame.

    Attributes:
        frame: The frame.
        values: The signals of the route by name.
    """

    def __init__(self, route: Route) -> None:
        self._route, self.frame = route, route.frame
        self.values: dict[str, Quantity] = {}

    def begin(self, random: np.random.Generator, position: FloatArray) -> None:
        """Draw the goals."""
        self._goals = random.uniform(self._route.low, self._route.high, (self._route.count, 3))
        self._next, self._distance = 0, norm(self._goals[0] - position)
        self._set(position, 0.0, 0.0)

    def move(self, position: FloatArray) -> None:
        """Proceed to the next goal if the current one is reached."""
        goal = self._goals[min(self._next, len(self._goals) - 1)]
        distance = norm(goal - position)
        progress, reached = self._distance - distance, 0.0
        if distance <= self._route.radius and self._next < len(self._goals):
            self._next, reached = self._next + 1, 1.0
            distance = norm(self._goals[min(self._next, len(self._goals) - 1)] - position)
        self._distance = distance
        self._set(position, progress, reached)

    def _set(self, position: FloatArray, progress: float, reached: float) -> None:
        goal = self._goals[min(self._next, len(self._goals) - 1)]
        self.values = {
            "goal": goal.copy(),
            "to_goal": goal - position,
            "progress": progress,
            "reached": reached,
            "remaining": float(len(self._goals) - self._next),
        }


@declared(spread={"render": Nested(("camera", "follow", "size"), "What pictures show")})
class Spec:
    """An environment: an agent's action and its observation are numbers of actions and signals, one after the other."""

    world: World | str | Path = given(WORLD, "A World, a path, a package:// URI, or the name of a shipped world")
    # Its period must be a whole number of the world's steps.
    rate: float = given(Number(), "Actions per simulated second", "Hz")
    actions: Mapping[str, Action] = given(ACTIONS, "The actions by name")
    # The limits to which each is clipped: the absolute value, or low and high; None for no limits.
    observation: Mapping[str, Bounds] = given(OBSERVATION, "Names of signals and actions, with limits")
    reward: Mapping[str, Term] = given(REWARD, "Terms by name, which are added up")
    signals: Mapping[str, Signal] = given(SIGNALS, "The signals by name", default_factory=dict)
    termination: Term | None = given(EXPRESSION, "Condition that ends an episode", default=None)
    # Success also ends the episode, and is reported as info["is_success"].
    success: Term | None = given(EXPRESSION, "Condition of success", default=None)
    duration: float = given(Number(), "Simulated time after which an episode is truncated", "s", default=10.0)
    # By key path, as in `World.with_values`: distributions such as "uniform(1, 2)", see `draw_of`.
    variations: Mapping[str, str | float | Draw] = given(
        DRAWS, "Numbers of the world that are drawn at each reset", key="vary", default_factory=dict
    )
    route: Route | None = given(PartOf(Route), "Goals to reach", default=None)
    normalised: bool = given(Flag(), "Whether actions are -1 to 1, and scaled to their ranges", default=True)
    diverged: float = given(Number(), "Reward of a step in which the simulation diverges, the last one", default=0.0)
    camera: str = given(Text(), "The view, as in `RenderRequest`", default="")
    follow: str = given(Text(), "Frame that the camera moves with", default="")
    size: tuple[int, int] = given(PIXELS, "Width and height of pictures", "pixels", default=(640, 480))
    name: str = given(Text(), "The name", key="environment", default="environment")
    places: Mapping[str, Place] = places_of()

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
        refuse_any(problems)

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Use the name of the file by default, and record the locations of the entries of mappings."""
        found.setdefault("name", Path(table.value.report.file).stem)
        for key in ("signals", "actions", "observation", "reward", "vary"):
            value = table.get(key)
            if value is not None and isinstance(value.node, MappingNode):
                found["places"] |= {f"{key}.{name}": entry.place for name, _, entry in value.named()}
            elif value is not None and key == "observation":
                found["places"] |= {f"{key}.{getattr(each.node, 'text', '')}": each.place for each in value.items()}

    def names(self) -> tuple[str, ...]:
        """Return the names that every expression can use in addition to signals."""
        return (*self.actions, *(ROUTE_SIGNALS if self.route else ()), "time")

    def expressions(self) -> dict[str, CompiledExpression]:
        """Return the compiled expressions by key, such as signals.height or termination.

        Raises:
            WorldError: An expression is invalid, or uses a name that is unknown or defined later.
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
        found: dict[str, CompiledExpression] = {}
        for key, (text, allowed) in texts.items():
            found[key], fault = _parsed(text, allowed)
            problems += [self._problem(key, fault)] if fault else []
        refuse_any(problems)
        return found

    def place_of(self, key: str) -> Place:
        """Return the location of a key in the file.

        Args:
            key: The key, such as rate or reward.alive.

        Returns:
            The location; without a file, only the key.
        """
        return self.places.get(key) or self.places.get(key.partition(".")[0]) or Place(key=key)

    def _problem(self, key: str, message: str) -> Problem:
        place = self.place_of(key)
        return Problem(place.where, place.key, message)


def _parsed(text: str, known: list[str]) -> tuple[CompiledExpression, str]:
    """Return the expression, and why it is invalid; empty if it is valid."""
    try:
        expression = CompiledExpression.parse(text)
        expression.check_names(known)
        return expression, ""
    except ExpressionError as error:
        return CompiledExpression.parse("0"), str(error)
